import type { FileError } from "@capstan/core/FileError"
import type { FileWritten } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import { begin, end, existing, fileName, flush, temporaryName, writeChunk } from "./draft.js"
import { attempt, failure } from "./fileFailure.js"
import type { OpenFile } from "./fileReading.js"
import { openParent, openRegular, readChunk } from "./fileReading.js"
import { commit, same, there } from "./fileWriting.js"
import type { Gate, Place } from "./gate.js"
import { enter } from "./gate.js"
import { orNearby } from "./nearby.js"

/** Bytes: larger files are for a command, not for a tool. */
const largest = 1024 * 1024 * 1024
const chunk = 1024 * 1024

/** Opens the file at a place; a link there is refused, wherever it leads. */
const openSource = (gate: Gate, place: Place, name: string): OpenFile => {
  const folder = openParent(gate, place)
  try {
    refuseLink(place, Fs.lstatSync(folder.at(name)))
    const file = openRegular(gate, place, folder, name)
    if (file.stat.size <= largest) return file
    Fs.closeSync(file.fd)
    throw failure(
      place,
      "too-large",
      `"${place.path}" has ${file.stat.size} bytes; files are copied up to ${largest}. Use a command for larger ones.`
    )
  } finally {
    folder.close()
  }
}

const refuseLink = (place: Place, stat: Fs.Stats | undefined): void => {
  if (stat?.isSymbolicLink() === true) {
    throw failure(place, "not-a-file", `"${place.path}" is a link. Name the file that it leads to.`)
  }
}

const requireTarget = (gate: Gate, place: Place, name: string, overwrite: boolean): void => {
  const folder = openParent(gate, place)
  try {
    refuseLink(place, Fs.lstatSync(folder.at(name), { throwIfNoEntry: false }))
    if (existing(place, folder, name) !== undefined && !overwrite) throw there(place)
  } finally {
    folder.close()
  }
}

/** Writes a file chunk by chunk, and answers its hash and size. */
const pour = (from: Place, file: OpenFile, to: Place, fd: number) =>
  Effect.gen(function*() {
    const hash = createHash("sha256")
    const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(chunk, file.stat.size)))
    let size = 0
    for (;;) {
      const got = yield* readChunk(from, file.fd, buffer, 0, size)
      if (got === 0) break
      hash.update(buffer.subarray(0, got))
      for (let at = 0; at < got;) at += yield* writeChunk(to, fd, buffer, at, got)
      size += got
    }
    yield* flush(to, fd)
    yield* attempt(from, () => {
      if (!same(file.stat, Fs.fstatSync(file.fd))) {
        throw failure(from, "changed", `"${from.path}" changed while it was copied: nothing was written. Try again.`)
      }
    })
    return { sha256: hash.digest("hex"), size }
  })

export const copy = (
  gate: Gate,
  options: { readonly from: string; readonly to: string; readonly overwrite: boolean; readonly vault?: boolean }
): Effect.Effect<FileWritten, FileError> =>
  Effect.gen(function*() {
    const from = yield* enter(gate, options.from, options.vault === true ? "vault" : "read", false)
    const to = yield* enter(gate, options.to, "write", false)
    const fromName = yield* fileName(from)
    const toName = yield* fileName(to)
    return yield* Effect.acquireUseRelease(
      orNearby(gate, from, attempt(from, () => openSource(gate, from, fromName))),
      (file) =>
        Effect.gen(function*() {
          if (from.canonical === to.canonical) {
            return yield* failure(to, "exists", `"${to.path}" is the same file. Choose another name.`)
          }
          if (to.missing <= 1) yield* attempt(to, () => requireTarget(gate, to, toName, options.overwrite))
          const temporary = yield* temporaryName("tmp")
          return yield* Effect.acquireUseRelease(
            attempt(to, () => begin(gate, to, toName, temporary)),
            (draft) =>
              Effect.gen(function*() {
                const { sha256, size } = yield* pour(from, file, to, draft.fd)
                yield* attempt(to, () => {
                  if (draft.before === undefined) Fs.fchmodSync(draft.fd, file.stat.mode & 0o777)
                })
                yield* commit(gate, to, toName, draft, options.overwrite ? undefined : "absent")
                return {
                  canonical: to.canonical,
                  display: to.display,
                  created: draft.before === undefined,
                  bytes: size,
                  sha256
                }
              }),
            (draft) => end(gate, to, draft)
          )
        }),
      (file) => Effect.sync(() => Fs.closeSync(file.fd))
    )
  })
