import type { FileError } from "@capstan/core/FileError"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Fs from "node:fs"
import type { Folder } from "./anchor.js"
import { unmake, walk } from "./anchor.js"
import { attempt, failure, isCode, Swapped } from "./fileFailure.js"
import { atOnce, settle } from "./fileReading.js"
import type { Gate, Place } from "./gate.js"
import type { SystemCalls } from "./systemCalls.js"

const { O_CREAT, O_EXCL, O_WRONLY } = Fs.constants
const chunk = 1024 * 1024
/** Milliseconds: no write takes this long, so what is older was left behind by one that was killed. */
const abandonedAfter = 60 * 60 * 1000

/** A temporary file beside the file that it is going to be. */
export interface Draft {
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
export const temporaryName = (ending: "tmp" | "old"): Effect.Effect<string> =>
  Effect.map(
    Random.nextIntBetween(0, Number.MAX_SAFE_INTEGER),
    (number) => `.capstan-${number.toString(36)}.${ending}`
  )

/** The file that a write would replace; anything else at its name is refused. */
export const existing = (place: Place, folder: Folder, name: string): Fs.Stats | undefined => {
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

/** The name of the file that a path to write to stands for. */
export const fileName = (place: Place): Effect.Effect<string, FileError> => {
  const name = place.segments.at(-1)
  return name === undefined || place.folder
    ? failure(place, "not-a-file", `"${place.path}" names a folder. Name a file in it.`)
    : Effect.succeed(name)
}

/** Opens the temporary file with the owner and mode that the file has, or that new files get. */
export const begin = (gate: Gate, place: Place, name: string, temporary: string, mode = 0o666): Draft => {
  const parents = place.segments.slice(0, -1)
  const made = { made: 0 }
  try {
    const folder = walk(gate.anchor, place.mount.root, parents, made)
    try {
      const before = existing(place, folder, name)
      if (before !== undefined) Fs.accessSync(folder.at(name), Fs.constants.W_OK)
      const fd = gate.anchor.open(folder, temporary, O_WRONLY | O_CREAT | O_EXCL, before === undefined ? mode : 0o600)
      try {
        if (before !== undefined) keepOwner(fd, before)
        sweepAbandoned(gate, folder, fd)
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

export const keepOwner = (fd: number, before: Fs.Stats): void => {
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

/**
 * Takes away the temporary files that killed writes left in a folder, once a folder. Their age is told by the clock of
 * the file system: that of the new file.
 */
const sweepAbandoned = (gate: Gate, folder: Folder, fd: number): void => {
  const { dev, ino } = folder.stat()
  const key = `${dev}:${ino}`
  if (gate.swept.has(key)) return
  gate.swept.add(key)
  const now = Fs.fstatSync(fd).mtimeMs
  try {
    for (const name of Fs.readdirSync(folder.self)) {
      if (!/^\.capstan-[0-9a-z]+\.tmp$/.test(name)) continue
      const stat = Fs.lstatSync(folder.at(name), { throwIfNoEntry: false })
      if (stat?.isFile() === true && now - stat.mtimeMs > abandonedAfter) Fs.unlinkSync(folder.at(name))
    }
  } catch {
    // A folder that cannot be read, or somebody else's file: the write matters more than the cleaning.
  }
}

/** Closes a draft; what was not settled is taken away with the folders made for it. */
export const end = (gate: Gate, place: Place, draft: Draft): Effect.Effect<void> =>
  Effect.sync(() => {
    Fs.closeSync(draft.fd)
    if (!draft.settled) {
      try {
        gate.anchor.calls.unlink(draft.folder.at(draft.temporary))
      } catch {
        // What made the write fail is reported, not that cleaning up failed as well.
      }
      unmake(gate.anchor, place.mount.root, place.segments.slice(0, -1), draft.made)
    }
    draft.folder.close()
  })

/** Writes bytes to a temporary file and makes them durable. */
export const fill = (
  calls: SystemCalls,
  place: Place,
  fd: number,
  content: Uint8Array
): Effect.Effect<void, FileError> =>
  content.length <= atOnce
    ? attempt(place, () => {
      for (let at = 0; at < content.length;) at += calls.write(fd, content, at)
      calls.fsync(fd)
    })
    : Effect.gen(function*() {
      for (let at = 0; at < content.length;) at += yield* writeChunk(place, fd, content, at, content.length)
      yield* flush(place, fd)
    })

/** Writes a part of a buffer, from `at` to `end` at most; others run meanwhile. */
export const writeChunk = (place: Place, fd: number, content: Uint8Array, at: number, end: number) =>
  Effect.uninterruptible(
    Effect.async<number, FileError>((resume) =>
      Fs.write(fd, content, at, Math.min(chunk, end - at), null, (cause, written) => {
        resume(cause === null ? Effect.succeed(written) : settle(place, cause))
      })
    )
  )

/** Makes an open file durable; others run meanwhile. */
export const flush = (place: Place, fd: number) =>
  Effect.uninterruptible(
    Effect.async<void, FileError>((resume) =>
      Fs.fsync(fd, (cause) => {
        resume(cause === null ? Effect.void : settle(place, cause))
      })
    )
  )

/**
 * Gives a file a second name, which fails where one exists, and takes the first away: a rename that never overwrites.
 * False where the file system has no hard links.
 */
export const linkNew = (
  calls: SystemCalls,
  folder: Folder,
  from: string,
  to: string,
  target: Folder = folder
): boolean => {
  target.verify()
  try {
    calls.link(folder.at(from), target.at(to))
  } catch (cause) {
    if (isCode(cause, ...unlinkable)) return false
    throw cause
  }
  try {
    calls.unlink(folder.at(from))
  } catch (cause) {
    calls.unlink(target.at(to))
    throw cause
  }
  return true
}

/** What a file system says that has no hard links, or not for this file. */
export const unlinkable = ["EPERM", "EACCES", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV"]
