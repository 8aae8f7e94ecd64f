import type { FileError } from "@capstan/core/FileError"
import type { FileBytes, FileKind, FileStat } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import type { Folder } from "./anchor.js"
import { walk } from "./anchor.js"
import type { Asked } from "./fileFailure.js"
import { attempt, failure, fromThrown, Swapped } from "./fileFailure.js"
import type { Gate, Place } from "./gate.js"
import { enter } from "./gate.js"
import { orNearby } from "./nearby.js"

const { O_NOCTTY, O_NONBLOCK, O_RDONLY } = Fs.constants

/** Up to here bytes are moved in one go, above in chunks that let others run. */
export const atOnce = 4 * 1024 * 1024
const chunk = 1024 * 1024
/** The most that one read returns. */
const mostReturned = 64 * 1024 * 1024

export const kindOf = (stat: Fs.Stats): FileKind =>
  stat.isFile() ? "file" : stat.isDirectory() ? "dir" : stat.isSymbolicLink() ? "symlink" : "other"

/** The last segment of a place, or undefined for the root of its mount. */
const lastName = (place: Place): string | undefined => place.segments.at(-1)

/** Opens the folder that holds a place. */
export const openParent = (gate: Gate, place: Place): Folder =>
  walk(gate.anchor, place.mount.root, place.segments.slice(0, -1))

/** An open regular file. */
export interface OpenFile {
  readonly fd: number
  readonly stat: Fs.Stats
}

/** Opens a regular file in a folder; anything else is refused before it is opened, and again after. */
export const openRegular = (gate: Gate, asked: Asked, folder: Folder, name: string): OpenFile => {
  requireRegular(asked, Fs.lstatSync(folder.at(name)))
  const fd = gate.anchor.open(folder, name, O_RDONLY | O_NONBLOCK | (O_NOCTTY ?? 0))
  try {
    const stat = Fs.fstatSync(fd)
    requireRegular(asked, stat)
    return { fd, stat }
  } catch (cause) {
    Fs.closeSync(fd)
    throw cause
  }
}

const requireRegular = (asked: Asked, stat: Fs.Stats): void => {
  if (stat.isFile()) return
  if (stat.isSymbolicLink()) throw new Swapped(asked.path)
  throw failure(
    asked,
    "not-a-file",
    stat.isDirectory()
      ? `"${asked.path}" is a folder. List it, or name a file in it.`
      : `"${asked.path}" is a pipe, socket or device. Only regular files can be read.`
  )
}

const openPlace = (gate: Gate, place: Place): OpenFile => {
  const name = lastName(place)
  if (name === undefined) {
    throw failure(place, "not-a-file", `"${place.path}" is a folder. List it, or name a file in it.`)
  }
  const folder = openParent(gate, place)
  try {
    return openRegular(gate, place, folder, name)
  } finally {
    folder.close()
  }
}

/** Reads a part of an open file into `target`; answers how much there was. One chunk in flight cannot be interrupted. */
const fill = (asked: Asked, fd: number, target: Uint8Array, position: number): Effect.Effect<number, FileError> =>
  target.length <= atOnce
    ? attempt(asked, () => {
      let filled = 0
      while (filled < target.length) {
        const got = Fs.readSync(fd, target, filled, target.length - filled, position + filled)
        if (got === 0) break
        filled += got
      }
      return filled
    })
    : Effect.gen(function*() {
      let filled = 0
      while (filled < target.length) {
        const got = yield* readChunk(asked, fd, target, filled, position + filled)
        if (got === 0) break
        filled += got
      }
      return filled
    })

/** Reads the next part of an open file; others run meanwhile. */
export const readChunk = (asked: Asked, fd: number, target: Uint8Array, at: number, position: number) =>
  Effect.uninterruptible(
    Effect.async<number, FileError>((resume) =>
      Fs.read(fd, target, at, Math.min(chunk, target.length - at), position, (cause, got) => {
        resume(cause === null ? Effect.succeed(got) : settle(asked, cause))
      })
    )
  )

/** What a callback of the file system reported, as an error or a defect. */
export const settle = (asked: Asked, cause: unknown): Effect.Effect<never, FileError> => {
  const error = fromThrown(asked, cause)
  return error === undefined ? Effect.die(cause) : Effect.fail(error)
}

/** SHA-256 (hex) of bytes in memory. */
export const digest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

/** SHA-256 (hex) of an open file. */
export const hashOpen = (asked: Asked, file: OpenFile): Effect.Effect<string, FileError> =>
  Effect.gen(function*() {
    const hash = createHash("sha256")
    const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(chunk, file.stat.size)))
    const small = file.stat.size <= atOnce
    for (let position = 0;;) {
      const got = small
        ? yield* fill(asked, file.fd, buffer, position)
        : yield* readChunk(asked, file.fd, buffer, 0, position)
      if (got === 0) return hash.digest("hex")
      hash.update(buffer.subarray(0, got))
      position += got
    }
  })

const withFile = <A>(
  gate: Gate,
  path: string,
  use: (place: Place, file: OpenFile) => Effect.Effect<A, FileError>
): Effect.Effect<A, FileError> =>
  Effect.flatMap(enter(gate, path, "read"), (place) =>
    orNearby(
      gate,
      place,
      Effect.acquireUseRelease(
        attempt(place, () => openPlace(gate, place)),
        (file) => use(place, file),
        (file) => Effect.sync(() => Fs.closeSync(file.fd))
      )
    ))

export const read = (
  gate: Gate,
  options: { readonly path: string; readonly offset?: number; readonly length?: number }
): Effect.Effect<FileBytes, FileError> =>
  withFile(gate, options.path, (place, file) =>
    Effect.gen(function*() {
      const offset = Math.max(0, options.offset ?? 0)
      const rest = Math.max(0, file.stat.size - offset)
      const wanted = Math.min(rest, Math.max(0, options.length ?? rest))
      if (wanted > mostReturned) {
        return yield* failure(
          place,
          "too-large",
          `"${place.path}" has ${file.stat.size} bytes; at most ${mostReturned} are read at once. Read a part with offset and length.`
        )
      }
      const buffer = new Uint8Array(wanted)
      const got = yield* fill(place, file.fd, buffer, offset)
      const bytes = got === wanted ? buffer : buffer.subarray(0, got)
      const shrunk = got < wanted
      const size = shrunk ? offset + got : file.stat.size
      return {
        canonical: place.canonical,
        display: place.display,
        bytes,
        size,
        modified: file.stat.mtimeMs,
        sha256: offset === 0 && bytes.length === size ? digest(bytes) : null
      }
    }))

export const sha256 = (
  gate: Gate,
  options: { readonly path: string; readonly maxBytes: number }
): Effect.Effect<string, FileError> =>
  withFile(gate, options.path, (place, file) =>
    file.stat.size > options.maxBytes
      ? failure(
        place,
        "too-large",
        `"${place.path}" has ${file.stat.size} bytes; hashes are computed up to ${options.maxBytes}. Go on without one.`
      )
      : hashOpen(place, file))

export const stat = (
  gate: Gate,
  options: { readonly path: string; readonly vault?: boolean }
): Effect.Effect<FileStat, FileError> =>
  Effect.flatMap(enter(gate, options.path, options.vault === true ? "vault" : "list"), (place) =>
    orNearby(
      gate,
      place,
      attempt(place, () => {
        const folder = openParent(gate, place)
        try {
          const name = lastName(place)
          const found = name === undefined ? folder.stat() : Fs.lstatSync(folder.at(name))
          if (found.isSymbolicLink()) throw new Swapped(place.path)
          return {
            kind: kindOf(found),
            canonical: place.canonical,
            size: found.size,
            modified: found.mtimeMs,
            mode: found.mode & 0o7777,
            links: found.nlink
          }
        } finally {
          folder.close()
        }
      })
    ))
