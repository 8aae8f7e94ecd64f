/** The file operations of the fake sandbox. */
import type { FileError } from "@capstan/core/FileError"
import type { FileBytes, Workspace, WriteAllRequest } from "@capstan/core/Workspace"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import * as Gate from "./memoryGate.js"
import { files, search } from "./memorySearch.js"
import * as Tree from "./memoryTree.js"

type Operations = Omit<Workspace["Type"], "mounts" | "workingDirectory" | "enforcement">

/** `written` collects the keys of finished writes of several files. */
export const make = (gate: Gate.Gate, written: Set<string> = new Set()): Operations => ({
  decide: ({ access, path }) =>
    Effect.sync(() => {
      const decision = gate.decide(path, access)
      if (decision._tag === "Refused") return decision
      const { canonical, display, mount } = decision
      return { _tag: "Allowed", path, canonical, display, mount }
    }),
  stat: ({ path, vault }) =>
    Effect.gen(function*() {
      const place = yield* Gate.enter(gate, path, vault === true ? "vault" : "list")
      const node = yield* existing(gate, place)
      return {
        kind: node.kind,
        canonical: place.canonical,
        size: node.kind === "file" ? node.bytes.length : 0,
        modified: node.modified,
        mode: node.mode,
        links: 1
      }
    }),
  read: (options) => read(gate, options),
  sha256: ({ maxBytes, path }) =>
    Effect.gen(function*() {
      const place = yield* Gate.enter(gate, path, "read")
      const { bytes } = yield* regular(gate, place)
      return bytes.length > maxBytes
        ? yield* Gate.failure(
          place,
          "too-large",
          `"${path}" has ${bytes.length} bytes; hashes are computed up to ${maxBytes}.`
        )
        : digest(bytes)
    }),
  write: (options) => write(gate, options),
  list: ({ path }) =>
    Effect.gen(function*() {
      const place = yield* Gate.enter(gate, path, "list")
      yield* folder(gate, place)
      return Tree.children(gate.tree, place.segments).flatMap((name) => {
        const segments = [...place.segments, name]
        const node = Tree.get(gate.tree, segments)
        return node === undefined || gate.denied(segments, "list") !== undefined ? [] : [{
          name,
          kind: node.kind,
          size: node.kind === "file" ? node.bytes.length : 0,
          modified: node.modified,
          error: null
        }]
      })
    }),
  writeAll: (options) => writeAll(gate, written, options),
  settleWriteAll: ({ key }) => Effect.sync(() => written.has(key) ? "whole" : "unknown"),
  copy: (options) => copy(gate, options),
  files: (request) =>
    Effect.gen(function*() {
      const place = yield* Gate.enter(gate, request.path, "list")
      yield* folder(gate, place)
      return yield* files(gate, place, request)
    }),
  makeDirectory: ({ path }) =>
    Effect.gen(function*() {
      const place = yield* Gate.enter(gate, path, "write")
      yield* folders(gate, place, place.segments)
    }),
  remove: (options) => remove(gate, options),
  move: (options) => move(gate, options),
  search: (request) =>
    Effect.gen(function*() {
      const place = yield* Gate.enter(gate, request.path, "read")
      const node = yield* existing(gate, place)
      return yield* search(gate, place, node.kind, request)
    })
})

const digest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

const existing = (gate: Gate.Gate, place: Gate.Allowed): Effect.Effect<Tree.Node, FileError> =>
  Effect.suspend(() => {
    const node = Tree.get(gate.tree, place.segments)
    if (node !== undefined) return Effect.succeed(node)
    return underFile(gate, place.segments)
      ? Gate.failure(place, "not-a-directory", `A part of "${place.path}" is a file, not a folder. Check the path.`)
      : Gate.failure(place, "not-found", `There is no "${place.path}". Check the name, or list its folder.`)
  })

const underFile = (gate: Gate.Gate, segments: ReadonlyArray<string>): boolean =>
  segments.some((_, index) => index > 0 && Tree.get(gate.tree, segments.slice(0, index))?.kind === "file")

const regular = (
  gate: Gate.Gate,
  place: Gate.Allowed
): Effect.Effect<Extract<Tree.Node, { kind: "file" }>, FileError> =>
  Effect.flatMap(existing(gate, place), (node) =>
    node.kind === "file"
      ? Effect.succeed(node)
      : Gate.failure(place, "not-a-file", `"${place.path}" is a folder. List it, or name a file in it.`))

const folder = (gate: Gate.Gate, place: Gate.Allowed): Effect.Effect<void, FileError> =>
  Effect.flatMap(existing(gate, place), (node) =>
    node.kind === "dir"
      ? Effect.void
      : Gate.failure(place, "not-a-directory", `"${place.path}" is a file, not a folder.`))

const folders = (
  gate: Gate.Gate,
  place: Gate.Allowed,
  segments: ReadonlyArray<string>
): Effect.Effect<void, FileError> =>
  Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    if (underFile(gate, segments) || (Tree.get(gate.tree, segments)?.kind ?? "dir") !== "dir") {
      return yield* Gate.failure(
        place,
        "not-a-directory",
        `A part of "${place.path}" is a file, not a folder. Check the path.`
      )
    }
    Tree.makeFolders(gate.tree, segments, now)
  })

const read = (
  gate: Gate.Gate,
  options: { readonly path: string; readonly offset?: number; readonly length?: number }
): Effect.Effect<FileBytes, FileError> =>
  Effect.gen(function*() {
    const place = yield* Gate.enter(gate, options.path, "read")
    const node = yield* regular(gate, place)
    const offset = Math.max(0, options.offset ?? 0)
    const end = options.length === undefined ? node.bytes.length : offset + Math.max(0, options.length)
    const bytes = node.bytes.slice(offset, end)
    return {
      canonical: place.canonical,
      display: place.display,
      bytes,
      size: node.bytes.length,
      modified: node.modified,
      sha256: bytes.length === node.bytes.length ? digest(bytes) : null
    }
  })

const write = (
  gate: Gate.Gate,
  options: { readonly path: string; readonly content: Uint8Array; readonly expect?: string }
) =>
  Effect.gen(function*() {
    const place = yield* Gate.enter(gate, options.path, "write")
    const before = Tree.get(gate.tree, place.segments)
    if (place.folder || place.segments.length === place.root.length || before?.kind === "dir") {
      return yield* Gate.failure(place, "not-a-file", `"${place.path}" is a folder. Name a file in it.`)
    }
    if (options.expect === "absent" && before !== undefined) {
      return yield* Gate.failure(
        place,
        "exists",
        `"${place.path}" exists already. Read it first, or choose another name.`
      )
    }
    if (options.expect !== undefined && options.expect !== "absent") {
      if (before?.kind !== "file" || digest(before.bytes) !== options.expect.toLowerCase()) {
        return yield* Gate.failure(place, "changed", `"${place.path}" changed since it was read: nothing was written.`)
      }
    }
    yield* folders(gate, place, place.segments.slice(0, -1))
    const modified = yield* Clock.currentTimeMillis
    const bytes = options.content.slice()
    gate.tree.set(place.canonical, { kind: "file", bytes, modified, mode: before?.mode ?? 0o644 })
    return {
      canonical: place.canonical,
      display: place.display,
      created: before === undefined,
      bytes: bytes.length,
      sha256: digest(bytes)
    }
  })

/** What a write needs is checked for each file before the first one is written. */
const writeAll = (gate: Gate.Gate, written: Set<string>, options: WriteAllRequest) =>
  Effect.gen(function*() {
    const before = new Map(gate.tree)
    const seen = new Set<string>()
    const done = yield* Effect.forEach(options.files, (file) =>
      Effect.gen(function*() {
        const result = yield* write(gate, file)
        if (seen.size === seen.add(result.canonical).size) {
          const place = yield* Gate.enter(gate, file.path, "write")
          return yield* Gate.failure(place, "bad-path", `"${file.path}" is named twice. Write each file once.`)
        }
        return result
      })).pipe(Effect.onError(() =>
        Effect.sync(() => {
          gate.tree.clear()
          for (const [path, node] of before) gate.tree.set(path, node)
        })
      ))
    written.add(options.key)
    return done
  })

const copy = (
  gate: Gate.Gate,
  options: { readonly from: string; readonly to: string; readonly overwrite: boolean; readonly vault?: boolean }
) =>
  Effect.gen(function*() {
    const from = yield* Gate.enter(gate, options.from, options.vault === true ? "vault" : "read", false)
    const to = yield* Gate.enter(gate, options.to, "write", false)
    if (from.folder) return yield* Gate.failure(from, "not-a-file", `"${from.path}" names a folder. Name a file in it.`)
    if (Tree.get(gate.tree, from.segments)?.kind === "symlink") return yield* isLink(from)
    const node = yield* regular(gate, from)
    if (from.canonical === to.canonical) {
      return yield* Gate.failure(to, "exists", `"${to.path}" is the same file. Choose another name.`)
    }
    const there = Tree.get(gate.tree, to.segments)
    if (there?.kind === "symlink") return yield* isLink(to)
    const written = yield* write(gate, {
      path: options.to,
      content: node.bytes,
      ...(options.overwrite ? {} : { expect: "absent" })
    })
    const copied = Tree.get(gate.tree, to.segments)
    if (there === undefined && copied?.kind === "file") gate.tree.set(to.canonical, { ...copied, mode: node.mode })
    return written
  })

const isLink = (place: Gate.Allowed) =>
  Gate.failure(place, "not-a-file", `"${place.path}" is a link. Name the file that it leads to.`)

/** Roots of mounts stay, and so do the folders that hold them. */
const requireMovable = (gate: Gate.Gate, place: Gate.Allowed): Effect.Effect<void, FileError> => {
  const mount = gate.mounts.find(({ root }) => Tree.below(place.segments, Tree.split(root)) !== undefined)
  return mount === undefined
    ? Effect.void
    : Gate.failure(
      place,
      "denied",
      `"${place.path}" holds the sandbox folder "${mount.name}" and stays. Name something inside.`
    )
}

const requireFree = (gate: Gate.Gate, place: Gate.Allowed): Effect.Effect<void, FileError> => {
  const pattern = Tree.descendants(gate.tree, place.segments)
    .map((segments) => gate.denied(segments, "delete") ?? gate.denied(segments, "read"))
    .find((pattern) => pattern !== undefined)
  return pattern === undefined ? Effect.void : Gate.failure(
    place,
    "denied",
    `"${place.path}" holds something protected by the deny pattern "${pattern}": nothing was done.`
  )
}

const remove = (gate: Gate.Gate, options: { readonly path: string; readonly recursive: boolean }) =>
  Effect.gen(function*() {
    const place = yield* Gate.enter(gate, options.path, "delete")
    yield* requireMovable(gate, place)
    const node = yield* existing(gate, place)
    const inside = node.kind === "dir" ? Tree.descendants(gate.tree, place.segments) : []
    if (inside.length > 0 && !options.recursive) {
      return yield* Gate.failure(
        place,
        "not-empty",
        `The folder "${place.path}" is not empty. Remove its content too (recursive).`
      )
    }
    yield* requireFree(gate, place)
    for (const segments of inside) gate.tree.delete(Tree.join(segments))
    gate.tree.delete(place.canonical)
  })

const move = (
  gate: Gate.Gate,
  options: { readonly from: string; readonly to: string; readonly overwrite: boolean }
) =>
  Effect.gen(function*() {
    yield* Gate.enter(gate, options.from, "read", false)
    const from = yield* Gate.enter(gate, options.from, "delete")
    const to = yield* Gate.enter(gate, options.to, "write", false)
    yield* requireMovable(gate, from)
    yield* requireMovable(gate, to)
    const node = yield* existing(gate, from)
    if (from.mount.name !== to.mount.name) {
      if (node.kind !== "file") {
        return yield* Gate.failure(
          to,
          "bad-path",
          `"${from.path}" and "${to.path}" lie in different mounts, between which only single files move.`
        )
      }
      yield* copy(gate, options)
      gate.tree.delete(from.canonical)
      return
    }
    if (node.kind === "dir") yield* requireFree(gate, from)
    if (
      node.kind === "dir" && from.canonical !== to.canonical && Tree.below(from.segments, to.segments) !== undefined
    ) {
      return yield* Gate.failure(to, "bad-path", `The folder "${from.path}" cannot move into itself.`)
    }
    if (from.canonical !== to.canonical) yield* requireReplaceable(gate, node, to, options.overwrite)
    yield* folders(gate, to, to.segments.slice(0, -1))
    const inside = Tree.descendants(gate.tree, from.segments).flatMap((segments) => {
      const moved = gate.tree.get(Tree.join(segments))
      return moved === undefined ? [] : [{ segments, moved }]
    })
    for (const path of [from.canonical, ...inside.map(({ segments }) => Tree.join(segments))]) gate.tree.delete(path)
    gate.tree.set(to.canonical, node)
    for (const { moved, segments } of inside) {
      gate.tree.set(Tree.join([...to.segments, ...segments.slice(from.segments.length)]), moved)
    }
  })

const requireReplaceable = (
  gate: Gate.Gate,
  node: Tree.Node,
  to: Gate.Allowed,
  overwrite: boolean
): Effect.Effect<void, FileError> => {
  const there = Tree.get(gate.tree, to.segments)
  if (there === undefined) return Effect.void
  if (!overwrite) {
    return Gate.failure(to, "exists", `"${to.path}" exists already. Choose another name, or overwrite it on purpose.`)
  }
  if (there.kind === "dir" && node.kind !== "dir") {
    return Gate.failure(to, "exists", `"${to.path}" is a folder. Name a file in it.`)
  }
  if (there.kind !== "dir" && node.kind === "dir") {
    return Gate.failure(to, "not-a-directory", `"${to.path}" is a file, not a folder.`)
  }
  return Tree.children(gate.tree, to.segments).length > 0
    ? Gate.failure(to, "not-empty", `The folder "${to.path}" is not empty.`)
    : Effect.void
}
