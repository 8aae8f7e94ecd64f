import type { FileError } from "@capstan/core/FileError"
import type { FileWritten } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Fs from "node:fs"
import type { Folder } from "./anchor.js"
import { unmake, walk } from "./anchor.js"
import { attempt, failure, isCode, Swapped } from "./fileFailure.js"
import { atOnce, digest, hashOpen, openRegular, settle } from "./fileReading.js"
import type { Gate, Place } from "./gate.js"
import { enter } from "./gate.js"

const { O_CREAT, O_EXCL, O_WRONLY } = Fs.constants
const chunk = 1024 * 1024

/** A temporary file beside the file that it is going to be. */
interface Draft {
  readonly folder: Folder
  readonly temporary: string
  readonly fd: number
  /** How many parent folders were made for it. */
  readonly made: number
  /** The file that is there already. */
  readonly before: Fs.Stats | undefined
  /** The temporary name no longer exists: renamed, or taken back. */
  settled: boolean
}

/** A name for a temporary file that nobody else has. */
const temporaryName: Effect.Effect<string> = Effect.map(
  Random.nextIntBetween(0, Number.MAX_SAFE_INTEGER),
  (number) => `.capstan-${number.toString(36)}.tmp`
)

const existing = (place: Place, folder: Folder, name: string): Fs.Stats | undefined => {
  const stat = Fs.lstatSync(folder.at(name), { throwIfNoEntry: false })
  if (stat === undefined || stat.isFile()) return stat
  if (stat.isSymbolicLink()) throw new Swapped(place.path)
  throw failure(
    place,
    "not-a-file",
    stat.isDirectory()
      ? `"${place.path}" is a folder. Name a file in it.`
      : `"${place.path}" is a pipe, socket or device. Write to another name.`
  )
}

/** Opens the temporary file with the owner and mode that the file has, or that new files get. */
const begin = (gate: Gate, place: Place, name: string, temporary: string): Draft => {
  const parents = place.segments.slice(0, -1)
  const made = { made: 0 }
  try {
    const folder = walk(gate.anchor, place.mount.root, parents, made)
    try {
      const before = existing(place, folder, name)
      if (before !== undefined) Fs.accessSync(folder.at(name), Fs.constants.W_OK)
      const fd = gate.anchor.open(folder, temporary, O_WRONLY | O_CREAT | O_EXCL, before === undefined ? 0o666 : 0o600)
      try {
        if (before !== undefined) keepOwner(fd, before)
        return { folder, temporary, fd, made: made.made, before, settled: false }
      } catch (cause) {
        Fs.closeSync(fd)
        Fs.unlinkSync(folder.at(temporary))
        throw cause
      }
    } catch (cause) {
      folder.close()
      throw cause
    }
  } catch (cause) {
    unmake(gate.anchor, place.mount.root, parents, made.made)
    throw cause
  }
}

const keepOwner = (fd: number, before: Fs.Stats): void => {
  const now = Fs.fstatSync(fd)
  if (now.uid !== before.uid || now.gid !== before.gid) {
    try {
      Fs.fchownSync(fd, before.uid, before.gid)
    } catch {
      // Only a privileged process can give files away: the content is worth more than the owner.
    }
  }
  Fs.fchmodSync(fd, before.mode & 0o1777)
}

const end = (gate: Gate, place: Place, draft: Draft): Effect.Effect<void> =>
  Effect.sync(() => {
    Fs.closeSync(draft.fd)
    if (!draft.settled) {
      try {
        Fs.unlinkSync(draft.folder.at(draft.temporary))
      } catch {
        // What made the write fail is reported, not that cleaning up failed as well.
      }
      unmake(gate.anchor, place.mount.root, place.segments.slice(0, -1), draft.made)
    }
    draft.folder.close()
  })

const fill = (place: Place, draft: Draft, content: Uint8Array): Effect.Effect<void, FileError> =>
  content.length <= atOnce
    ? attempt(place, () => {
      for (let at = 0; at < content.length;) at += Fs.writeSync(draft.fd, content, at)
      Fs.fsyncSync(draft.fd)
    })
    : Effect.gen(function*() {
      for (let at = 0; at < content.length;) at += yield* writeChunk(place, draft.fd, content, at)
      yield* flush(place, draft.fd)
    })

const writeChunk = (place: Place, fd: number, content: Uint8Array, at: number) =>
  Effect.uninterruptible(
    Effect.async<number, FileError>((resume) =>
      Fs.write(fd, content, at, Math.min(chunk, content.length - at), null, (cause, written) => {
        resume(cause === null ? Effect.succeed(written) : settle(place, cause))
      })
    )
  )

const flush = (place: Place, fd: number) =>
  Effect.uninterruptible(
    Effect.async<void, FileError>((resume) =>
      Fs.fsync(fd, (cause) => {
        resume(cause === null ? Effect.void : settle(place, cause))
      })
    )
  )

const same = (left: Fs.Stats, right: Fs.Stats | undefined): boolean =>
  right !== undefined && left.ino === right.ino && left.dev === right.dev && left.size === right.size
  && left.mtimeMs === right.mtimeMs && left.ctimeMs === right.ctimeMs

/** Puts the temporary file in its place, if the file there still is what was expected. */
const commit = (
  gate: Gate,
  place: Place,
  name: string,
  draft: Draft,
  expect: string | undefined
): Effect.Effect<void, FileError> => {
  const rename = () => {
    draft.folder.verify()
    Fs.renameSync(draft.folder.at(draft.temporary), draft.folder.at(name))
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
      if (!linkNew(draft.folder, draft.temporary, name)) return rename()
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

const there = (place: Place) =>
  failure(place, "exists", `"${place.path}" exists already. Read it first, or choose another name.`)
const gone = (place: Place) =>
  failure(
    place,
    "changed",
    `"${place.path}" no longer exists: nothing was written. Look at its folder, then decide again.`
  )
const changed = (place: Place) =>
  failure(
    place,
    "changed",
    `"${place.path}" changed since it was read: nothing was written. Read it again, then retry.`
  )

/**
 * Gives a file a second name, which fails where one exists, and takes the first away: a rename that never overwrites.
 * False where the file system has no hard links.
 */
export const linkNew = (folder: Folder, from: string, to: string, target: Folder = folder): boolean => {
  target.verify()
  try {
    Fs.linkSync(folder.at(from), target.at(to))
  } catch (cause) {
    if (isCode(cause, "EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK")) return false
    throw cause
  }
  try {
    Fs.unlinkSync(folder.at(from))
  } catch (cause) {
    Fs.unlinkSync(target.at(to))
    throw cause
  }
  return true
}

export const write = (
  gate: Gate,
  options: { readonly path: string; readonly content: Uint8Array; readonly expect?: string }
): Effect.Effect<FileWritten, FileError> =>
  Effect.gen(function*() {
    const place = yield* enter(gate, options.path, "write")
    const name = place.segments.at(-1)
    if (name === undefined || place.folder) {
      return yield* failure(place, "not-a-file", `"${place.path}" names a folder. Name a file in it.`)
    }
    const temporary = yield* temporaryName
    return yield* Effect.acquireUseRelease(
      attempt(place, () => begin(gate, place, name, temporary)),
      (draft) =>
        Effect.gen(function*() {
          yield* fill(place, draft, options.content)
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
