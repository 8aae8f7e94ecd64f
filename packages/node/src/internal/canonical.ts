import type { FileErrorReason } from "@capstan/core/FileError"
import * as Either from "effect/Either"
import * as Fs from "node:fs"
import * as Path from "node:path"
import type { PathStyle } from "../PathRules.js"
import * as PathRules from "../PathRules.js"

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
  readonly style: PathStyle
  readonly followLast: boolean
  readonly mayLeave: (folder: string) => boolean
}): Either.Either<Canonical, DeadEnd> => {
  const deadEnd = (reason: FileErrorReason, resolved: string, message: string) =>
    Either.left({ reason, resolved, message })
  const queue = options.segments.map((name) => ({ name, typed: true })).reverse()
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
    const here = Path.join(current, next.name)
    const found = lookAt(here)
    if (found === "too long") return deadEnd("bad-path", current, "A name in the path is too long. Shorten it.")
    if (found === "no access" || found === undefined || (queue.length > 0 && !found.isDirectory() && !found.isSymbolicLink())) {
      if (queue.some((rest) => rest.name === "..")) {
        return found === undefined
          ? deadEnd("not-found", here, `"${next.name}" does not exist, so ".." behind it leads nowhere. Write the path without "..".`)
          : found === "no access"
          ? deadEnd("permission", here, `"${next.name}" cannot be looked into, so ".." behind it leads nowhere. Write the path without "..".`)
          : deadEnd("not-a-directory", here, `"${next.name}" is not a folder, so ".." behind it leads nowhere. Write the path without "..".`)
      }
      const missing = queue.length + (found === undefined ? 1 : 0)
      return Either.right({ path: Path.join(here, ...queue.reverse().map((rest) => rest.name)), missing })
    }
    if (!found.isSymbolicLink() || (queue.length === 0 && !options.followLast)) {
      current = here
      continue
    }
    if (++links > maxLinks) return deadEnd("bad-path", here, "The path goes through more than 40 links. Remove the loop of links.")
    const target = readLink(here)
    if (target === undefined) return deadEnd("changed", here, "A link in the path changed while it was read. Try again.")
    if (Path.isAbsolute(target)) current = Path.parse(target).root
    const inside = PathRules.split(target.slice(Path.isAbsolute(target) ? current.length : 0), options.style)
    for (const name of [...inside].reverse()) queue.push({ name, typed: false })
  }
  return Either.right({ path: current, missing: 0 })
}

const lookAt = (path: string): Fs.Stats | "no access" | "too long" | undefined => {
  try {
    return Fs.lstatSync(path, { throwIfNoEntry: false })
  } catch (cause) {
    if (cause instanceof Error && "code" in cause) {
      if (cause.code === "ENAMETOOLONG") return "too long"
      if (cause.code === "EACCES" || cause.code === "EPERM") return "no access"
    }
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
