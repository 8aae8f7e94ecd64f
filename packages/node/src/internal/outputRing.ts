import type { CapturedOutput } from "@capstan/core/ProcessRunner"
import { Buffer } from "node:buffer"

/** Collects the first and the last bytes of a stream in bounded memory. */
export interface OutputRing {
  readonly push: (bytes: Uint8Array) => void
  readonly capture: () => CapturedOutput
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** The length without a character that is cut off at the end. */
const completeLength = (bytes: Uint8Array): number => {
  let start = bytes.length - 1
  while (start > 0 && start > bytes.length - 4 && isContinuation(bytes[start])) start--
  const lead = bytes[start]
  if (lead === undefined) return bytes.length
  const width = lead >= 0xf0 && lead < 0xf8 ? 4 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xc0 && lead < 0xe0 ? 2 : 1
  return start + width > bytes.length ? start : bytes.length
}

/** Where the first whole character begins. */
const characterStart = (bytes: Uint8Array): number => {
  let start = 0
  while (start < 3 && isContinuation(bytes[start])) start++
  return start
}

/** Memory that grows with what it holds, up to `limit`. */
const grow = (buffer: Buffer, needed: number, limit: number): Buffer => {
  if (needed <= buffer.length) return buffer
  const grown = Buffer.alloc(Math.min(limit, Math.max(needed, buffer.length * 2, 4096)))
  buffer.copy(grown)
  return grown
}

/** Keeps `keepBytes`: the first half from the start, the rest as a ring over what follows. */
export const make = (keepBytes: number): OutputRing => {
  const headLimit = Math.ceil(keepBytes / 2)
  const tailLimit = keepBytes - headLimit
  let head: Buffer = Buffer.alloc(0)
  let headLength = 0
  let tail: Buffer = Buffer.alloc(0)
  let written = 0
  let total = 0

  const pushTail = (bytes: Uint8Array) => {
    const last = bytes.subarray(Math.max(0, bytes.length - tailLimit))
    if (last.length > 0) {
      tail = grow(tail, Math.min(tailLimit, written + bytes.length), tailLimit)
      const at = (written + bytes.length - last.length) % tailLimit
      const first = Math.min(last.length, tailLimit - at)
      tail.set(last.subarray(0, first), at)
      tail.set(last.subarray(first), 0)
    }
    written += bytes.length
  }

  return {
    push: (bytes) => {
      total += bytes.length
      const room = Math.min(bytes.length, headLimit - headLength)
      if (room > 0) {
        head = grow(head, headLength + room, headLimit)
        head.set(bytes.subarray(0, room), headLength)
        headLength += room
      }
      if (room < bytes.length) pushTail(bytes.subarray(room))
    },
    capture: () => {
      const first = head.subarray(0, headLength)
      if (written <= tailLimit) {
        const all = Buffer.concat([first, tail.subarray(0, written)])
        return { head: all.toString("utf8"), tail: "", droppedBytes: 0, totalBytes: total }
      }
      const split = tailLimit === 0 ? 0 : written % tailLimit
      const last = Buffer.concat([tail.subarray(split), tail.subarray(0, split)])
      const keptHead = first.subarray(0, completeLength(first))
      const keptTail = last.subarray(characterStart(last))
      return {
        head: keptHead.toString("utf8"),
        tail: keptTail.toString("utf8"),
        droppedBytes: total - keptHead.length - keptTail.length,
        totalBytes: total
      }
    }
  }
}
