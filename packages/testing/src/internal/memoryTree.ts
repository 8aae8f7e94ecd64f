/** Files, folders and links in memory, by absolute path. */
import type { FileErrorReason } from "@capstan/core/FileError"
import * as Either from "effect/Either"

export type Node =
  | { readonly kind: "file"; readonly bytes: Uint8Array; readonly modified: number; readonly mode: number }
  | { readonly kind: "dir"; readonly modified: number; readonly mode: number }
  | { readonly kind: "symlink"; readonly target: string; readonly modified: number; readonly mode: number }

export type Tree = Map<string, Node>

export const split = (path: string): ReadonlyArray<string> =>
  path.split("/").filter((segment) => segment !== "" && segment !== ".")

export const join = (segments: ReadonlyArray<string>): string => `/${segments.join("/")}`

/** What remains of `segments` below `root`; undefined: they are not below it. */
export const below = (
  root: ReadonlyArray<string>,
  segments: ReadonlyArray<string>
): ReadonlyArray<string> | undefined =>
  root.length <= segments.length && root.every((segment, index) => segment === segments[index])
    ? segments.slice(root.length)
    : undefined

export const byName = (left: string, right: string): number => left < right ? -1 : left > right ? 1 : 0

/** By path, name by name: what is in a folder stands together. */
const byPath = (left: ReadonlyArray<string>, right: ReadonlyArray<string>): number => {
  for (let index = 0; index < left.length && index < right.length; index++) {
    const order = byName(left[index] ?? "", right[index] ?? "")
    if (order !== 0) return order
  }
  return left.length - right.length
}

const root: Node = { kind: "dir", modified: 0, mode: 0o755 }

export const get = (tree: Tree, segments: ReadonlyArray<string>): Node | undefined =>
  segments.length === 0 ? root : tree.get(join(segments))

export const children = (tree: Tree, segments: ReadonlyArray<string>): ReadonlyArray<string> => {
  const prefix = segments.length === 0 ? "/" : `${join(segments)}/`
  return [...tree.keys()]
    .filter((path) => path.startsWith(prefix) && !path.slice(prefix.length).includes("/"))
    .map((path) => path.slice(prefix.length))
    .sort(byName)
}

/** Everything below a folder, by path. */
export const descendants = (tree: Tree, segments: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> => {
  const prefix = segments.length === 0 ? "/" : `${join(segments)}/`
  return [...tree.keys()].filter((path) => path.startsWith(prefix)).map(split).sort(byPath)
}

export const makeFolders = (tree: Tree, segments: ReadonlyArray<string>, modified: number): void => {
  segments.forEach((_, index) => {
    const path = join(segments.slice(0, index + 1))
    if (!tree.has(path)) tree.set(path, { kind: "dir", modified, mode: 0o755 })
  })
}

export interface DeadEnd {
  readonly reason: FileErrorReason
  readonly resolved: string
  readonly message: string
}

/**
 * Where a path leads: links resolved as far as it exists. `mayLeave` is asked for each `..` that was typed, not for
 * those in the targets of links: where these end is judged by the caller.
 */
export const canonicalise = (tree: Tree, options: {
  readonly base: ReadonlyArray<string>
  readonly segments: ReadonlyArray<string>
  readonly followLast: boolean
  readonly mayLeave: (folder: ReadonlyArray<string>) => boolean
}): Either.Either<ReadonlyArray<string>, DeadEnd> => {
  const dead = (reason: FileErrorReason, at: ReadonlyArray<string>, message: string) =>
    Either.left({ reason, resolved: join(at), message })
  const queue = options.segments.map((name) => ({ name, typed: true })).reverse()
  let current = options.base
  let links = 0
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (next.name === "..") {
      if (next.typed && !options.mayLeave(current)) {
        return dead("outside", current.slice(0, -1), "The path leaves its folder with \"..\".")
      }
      current = current.slice(0, -1)
      continue
    }
    const here = [...current, next.name]
    const node = get(tree, here)
    if (node === undefined || (node.kind === "file" && queue.length > 0)) {
      if (queue.some((rest) => rest.name === "..")) {
        return dead(
          node === undefined ? "not-found" : "not-a-directory",
          here,
          `"${next.name}" is no folder, so ".." behind it leads nowhere. Write the path without "..".`
        )
      }
      return Either.right([...here, ...queue.reverse().map((rest) => rest.name)])
    }
    if (node.kind !== "symlink" || (queue.length === 0 && !options.followLast)) {
      current = here
      continue
    }
    if (++links > 40) {
      return dead("bad-path", here, "The path goes through more than 40 links. Remove the loop of links.")
    }
    if (node.target.startsWith("/")) current = []
    for (const name of [...split(node.target)].reverse()) queue.push({ name, typed: false })
  }
  return Either.right(current)
}
