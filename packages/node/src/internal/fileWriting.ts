import type { FileError } from "@capstan/core/FileError"
import type { FileWritten } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import type { Draft } from "./draft.js"
import { begin, end, existing, fileName, fill, linkNew, temporaryName } from "./draft.js"
import { attempt, failure } from "./fileFailure.js"
import { digest, hashOpen, openRegular } from "./fileReading.js"
import type { Gate, Place } from "./gate.js"
import { enter } from "./gate.js"

/** Whether a file is still the one that was looked at. */
export const same = (left: Fs.Stats, right: Fs.Stats | undefined): boolean =>
  right !== undefined && left.ino === right.ino && left.dev === right.dev && left.size === right.size
  && left.mtimeMs === right.mtimeMs && left.ctimeMs === right.ctimeMs

/** Puts the temporary file in its place, if the file there still is what was expected. */
export const commit = (
  gate: Gate,
  place: Place,
  name: string,
  draft: Draft,
  expect: string | undefined
): Effect.Effect<void, FileError> => {
  const { calls } = gate.anchor
  const rename = () => {
    draft.folder.verify()
    calls.rename(draft.folder.at(draft.temporary), draft.folder.at(name))
    draft.settled = true
    draft.folder.verify()
    draft.folder.flush()
  }
  if (expect === undefined) {
    return attempt(place, rename)
  }
  if (expect === "absent") {
    return attempt(place, () => {
      if (existing(place, draft.folder, name) !== undefined) throw there(place)
      if (!linkNew(calls, draft.folder, draft.temporary, name)) return rename()
      draft.settled = true
      draft.folder.flush()
    })
  }
  return Effect.acquireUseRelease(
    attempt(place, () => {
      if (existing(place, draft.folder, name) === undefined) throw gone(place)
      return openRegular(gate, place, draft.folder, name)
    }),
    (file) =>
      Effect.flatMap(hashOpen(place, file), (hash) =>
        attempt(place, () => {
          if (hash !== expect.toLowerCase() || !same(file.stat, existing(place, draft.folder, name))) {
            throw changed(place)
          }
          rename()
        })),
    (file) => Effect.sync(() => Fs.closeSync(file.fd))
  )
}

/** The file is there, and must not be. */
export const there = (place: Place) =>
  failure(place, "exists", `"${place.path}" exists already. Read it first, or choose another name.`)

/** The file is not there, and must be. */
export const gone = (place: Place) =>
  failure(
    place,
    "changed",
    `"${place.path}" no longer exists: nothing was written. Look at its folder, then decide again.`
  )

/** The file is not what was read. */
export const changed = (place: Place) =>
  failure(
    place,
    "changed",
    `"${place.path}" changed since it was read: nothing was written. Read it again, then retry.`
  )

export const write = (
  gate: Gate,
  options: { readonly path: string; readonly content: Uint8Array; readonly expect?: string }
): Effect.Effect<FileWritten, FileError> =>
  Effect.gen(function*() {
    const place = yield* enter(gate, options.path, "write")
    const name = yield* fileName(place)
    const temporary = yield* temporaryName("tmp")
    return yield* Effect.acquireUseRelease(
      attempt(place, () => begin(gate, place, name, temporary)),
      (draft) =>
        Effect.gen(function*() {
          yield* fill(gate.anchor.calls, place, draft.fd, options.content)
          yield* commit(gate, place, name, draft, options.expect)
          return {
            canonical: place.canonical,
            display: place.display,
            created: draft.before === undefined,
            bytes: options.content.length,
            sha256: digest(options.content)
          }
        }),
      (draft) => end(gate, place, draft)
    )
  })
