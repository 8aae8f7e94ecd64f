import { byteLength } from "@capstan/core/OutputLimit"
import type { CapturedOutput, ProcessResult } from "@capstan/core/ProcessRunner"

const firstBytes = (text: string, bytes: number): string =>
  new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, Math.max(0, bytes)), { stream: true })

const isInside = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x80 && byte < 0xC0

const lastBytes = (text: string, bytes: number): string => {
  const all = new TextEncoder().encode(text)
  let from = Math.max(0, all.length - Math.max(0, bytes))
  while (isInside(all[from])) from++
  return new TextDecoder().decode(all.subarray(from))
}

const left = (bytes: number): string => `\n[… ${bytes} bytes left out here …]\n`

/** Beginning and end of what was printed, as much as fits; what is missing between is counted. */
const fit = ({ droppedBytes, head, tail, totalBytes }: CapturedOutput, budget: number): string => {
  if (droppedBytes === 0 && byteLength(head) + byteLength(tail) <= budget) return head + tail
  const room = Math.max(0, budget - byteLength(left(totalBytes)))
  const begin = firstBytes(head, Math.ceil(room / 2))
  const end = lastBytes(tail === "" ? head.slice(begin.length) : tail, Math.floor(room / 2))
  return begin + left(Math.max(0, totalBytes - byteLength(begin) - byteLength(end))) + end
}

const size = ({ droppedBytes, head, tail }: CapturedOutput): number =>
  byteLength(head) + byteLength(tail) + droppedBytes

const heading = "[stderr]\n"

/** Both outputs as one text: stdout, and after a blank line stderr under its name. */
export const render = ({ stderr, stdout }: ProcessResult, budget: number): string => {
  if (size(stderr) === 0) return fit(stdout, budget)
  const room = budget - byteLength(heading) - 2
  const errors = fit(stderr, Math.max(Math.floor(room / 2), room - size(stdout)))
  const output = fit(stdout, room - byteLength(errors))
  const gap = output === "" ? "" : output.endsWith("\n") ? "\n" : "\n\n"
  return `${output}${gap}${heading}${errors}`
}
