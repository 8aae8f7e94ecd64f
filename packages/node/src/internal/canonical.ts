import type { FileErrorReason } from "@capstan/core/FileError"
import * as Either from "effect/Either"
import * as Fs from "node:fs"
import * as Path from "node:path"
import type { PathStyle } from "../PathRules.js"
import * as PathRules from "../PathRules.js"
import { isCode } from "./fileFailure.js"

/** Where a path leads, with links resolved as far as it exists. `missing` are the segments that do not exist. */
export interface Canonical {
  readonly path: string
  readonly missing: number
}

/** Why a path leads nowhere. */
export interface DeadEnd {
  readonly reason: FileErrorReason
  readonly resolved: string
  readonly message: string
}

const maxLinks = 40

/**
 * Resolves as the kernel does, one component at a time from `base` (canonical, or the root of the file system).
 * `mayLeave` is asked for each `..` that was typed; those in the targets of links are free, where they end is judged
 * by the caller. With `followLast: false` a link at the end is the answer, not where it leads.
 */
export const canonicalise = (options: {
  readonly base: string
  readonly segments: ReadonlyArray<string>
  /** The path ended with a separator: what it leads to has to be a folder, if it exists. */
  readonly folder: boolean
  readonly style: PathStyle
  readonly followLast: boolean
  readonly mayLeave: (folder: string) => boolean
}): Either.Either<Canonical, DeadEnd> => {
  const deadEnd = (reason: FileErrorReason, resolved: string, message: string) =>
    Either.left({ reason, resolved, message })
  const queue = [...options.segments, ...(options.folder ? ["."] : [])].map((name) => ({ name, typed: true })).reverse()
  let current = options.base
  let links = 0
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (next.name === "..") {
      if (next.typed && !options.mayLeave(current)) {
        return deadEnd("outside", Path.dirname(current), "The path leaves its folder with \"..\".")
      }
      current = Path.dirname(current)
      continue
    }
    if (next.name === ".") continue
    const here = Path.join(current, next.name)
    const found = lookAt(here)
    if (found === "too long") return deadEnd("bad-path", current, "A name in the path is too long. Shorten it.")
    if (
      found === "no access" || found === undefined ||
      (queue.length > 0 && !found.isDirectory() && !found.isSymbolicLink())
    ) {
      const rest = queue.filter(({ name }) => name !== ".").map(({ name }) => name).reverse()
      if (found !== undefined && found !== "no access" && rest.length < queue.length && rest.length === 0) {
        return deadEnd("not-a-directory", here, `"${next.name}" is not a folder. Write it without "/" at the end.`)
      }
      if (rest.includes("..")) {
        const why = found === undefined
          ? "does not exist"
          : found === "no access"
          ? "cannot be looked into"
          : "is not a folder"
        const reason = found === undefined ? "not-found" : found === "no access" ? "permission" : "not-a-directory"
        return deadEnd(
          reason,
          here,
          `"${next.name}" ${why}, so ".." behind it leads nowhere. Write the path without "..".`
        )
      }
      return Either.right({ path: Path.join(here, ...rest), missing: rest.length + (found === undefined ? 1 : 0) })
    }
    if (!found.isSymbolicLink() || (queue.length === 0 && !options.followLast)) {
      current = here
      continue
    }
    if (++links > maxLinks) {
      return deadEnd("bad-path", here, "The path goes through more than 40 links. Remove the loop of links.")
    }
    const target = readLink(here)
    if (target === undefined) {
      return deadEnd("changed", here, "A link in the path changed while it was read. Try again.")
    }
    if (Path.isAbsolute(target)) current = Path.parse(target).root
    const inside = PathRules.split(target.slice(Path.isAbsolute(target) ? current.length : 0), options.style)
    if (PathRules.asksForFolder(target, options.style)) queue.push({ name: ".", typed: false })
    for (const name of [...inside].reverse()) queue.push({ name, typed: false })
  }
  return Either.right({ path: current, missing: 0 })
}

const lookAt = (path: string): Fs.Stats | "no access" | "too long" | undefined => {
  try {
    return Fs.lstatSync(path, { throwIfNoEntry: false })
  } catch (cause) {
    if (isCode(cause, "ENAMETOOLONG")) return "too long"
    if (isCode(cause, "EACCES", "EPERM")) return "no access"
    throw cause
  }
}

const readLink = (path: string): string | undefined => {
  try {
    return Fs.readlinkSync(path)
  } catch {
    return undefined
  }
}
