import type { FileErrorReason } from "@capstan/core/FileError"
import { FileError } from "@capstan/core/FileError"
import * as Effect from "effect/Effect"

/** The path that an operation works on, for its errors. */
export interface Asked {
  readonly path: string
  readonly canonical: string
}

/** Thrown where a checked path turned out to be another thing when it was used: a link or a replaced folder. */
export class Swapped extends Error {
  constructor(at: string) {
    super(`not what was checked: ${at}`)
    this.name = "Swapped"
  }
}

export const failure = (
  asked: Asked,
  reason: FileErrorReason,
  message: string,
  more: { readonly cause?: unknown; readonly pattern?: string } = {}
): FileError =>
  new FileError({
    reason,
    path: asked.path,
    ...(asked.canonical === "" ? {} : { resolved: asked.canonical }),
    message,
    ...more
  })

const texts: Record<string, readonly [FileErrorReason, (path: string) => string]> = {
  ENOENT: ["not-found", (path) => `There is no "${path}". Check the name, or list its folder.`],
  EACCES: [
    "permission",
    (path) => `The system does not permit this for "${path}". Ask the user to change its permissions.`
  ],
  EPERM: [
    "permission",
    (path) => `The system does not permit this for "${path}". Ask the user to change its permissions.`
  ],
  ENOSPC: ["no-space", (path) => `The disk is full: "${path}" was left as it was. Free some space and try again.`],
  EDQUOT: [
    "quota",
    (path) => `The disk quota is used up: "${path}" was left as it was. Free some space and try again.`
  ],
  EROFS: ["read-only", (path) => `"${path}" lies on a read-only file system. Write somewhere else.`],
  EEXIST: ["exists", (path) => `"${path}" exists already. Choose another name, or overwrite it on purpose.`],
  ENOTDIR: ["not-a-directory", (path) => `A part of "${path}" is a file, not a folder. Check the path.`],
  EISDIR: ["not-a-file", (path) => `"${path}" is a folder. Name a file.`],
  ENOTEMPTY: [
    "not-empty",
    (path) => `The folder "${path}" is not empty. Remove its content too (recursive), or choose another.`
  ],
  ENAMETOOLONG: [
    "bad-path",
    (path) => `A name in "${path.slice(0, 200)}" is longer than the file system takes. Shorten it.`
  ],
  EINVAL: [
    "bad-path",
    (path) => `The file system does not take "${path}" for this: a folder cannot move into itself. Choose another name.`
  ],
  ELOOP: ["changed", (path) => `"${path}" was replaced by a link while it was used. Look at it again, then retry.`],
  ENXIO: ["not-a-file", (path) => `"${path}" is not a regular file. Only regular files can be read.`],
  EFBIG: ["too-large", (path) => `The file system does not take a file of this size at "${path}". Write less.`],
  EXDEV: ["io", (path) => `"${path}" lies on another file system. Copy it, then delete the original.`]
}

const isErrno = (cause: unknown): cause is Error & { readonly code: string } =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string"

/** Whether a file system call failed with one of these codes. */
export const isCode = (cause: unknown, ...codes: ReadonlyArray<string>): boolean =>
  isErrno(cause) && codes.includes(cause.code)

/** The error that stands for something a file system call threw, or undefined for a defect. */
export const fromThrown = (asked: Asked, cause: unknown): FileError | undefined => {
  if (cause instanceof FileError) return cause
  if (cause instanceof Swapped) {
    return failure(
      asked,
      "changed",
      `"${asked.path}" was replaced while it was used. Look at it again, then retry.`,
      { cause }
    )
  }
  if (!isErrno(cause)) return undefined
  const known = texts[cause.code]
  return known === undefined
    ? failure(asked, "io", `The file system failed on "${asked.path}" (${cause.code}). Try again, or tell the user.`, {
      cause
    })
    : failure(asked, known[0], known[1](asked.path), { cause })
}

/** Runs synchronous file system calls as one step: what they throw becomes a {@link FileError}. */
export const attempt = <A>(asked: Asked, body: () => A): Effect.Effect<A, FileError> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(body())
    } catch (cause) {
      const error = fromThrown(asked, cause)
      return error === undefined ? Effect.die(cause) : Effect.fail(error)
    }
  })
