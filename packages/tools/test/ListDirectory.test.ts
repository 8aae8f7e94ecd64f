import { FileError } from "@capstan/core"
import { NodeSandbox } from "@capstan/node"
import { FakeSandbox } from "@capstan/testing"
import { ListDirectory } from "@capstan/tools"
import { describe, expect, it } from "@effect/vitest"
import { Effect, FastCheck, Schema } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { machines, temporaryFolder } from "./machines.js"
import { call, fail, findings, session, text } from "./toolCalls.js"

const list = ListDirectory.tool

const Listing = Schema.parseJson(Schema.Struct({
  path: Schema.String,
  entries: Schema.Array(Schema.Struct({
    name: Schema.String,
    path: Schema.String,
    depth: Schema.Number,
    type: Schema.Literal("file", "dir", "symlink", "other", "unknown"),
    size_bytes: Schema.NullOr(Schema.Int),
    modified_epoch_ms: Schema.NullOr(Schema.Int),
    is_hidden: Schema.Boolean,
    error_code: Schema.NullOr(Schema.String),
    error: Schema.NullOr(Schema.String)
  })),
  returned: Schema.Number,
  max_entries: Schema.Number,
  truncated: Schema.Boolean,
  truncated_reason: Schema.NullOr(Schema.Literal("max_entries", "max_output_bytes"))
}))

const parse = Schema.decodeSync(Listing, { onExcessProperty: "error" })

const listed = (args: Readonly<Record<string, unknown>>, capacity?: number) =>
  Effect.map(call(list, args, session(capacity === undefined ? {} : { capacity })), (json) => parse(json))

const paths = (args: Readonly<Record<string, unknown>>) =>
  Effect.map(listed(args), ({ entries }) => entries.map(({ path }) => path))

const files = {
  "b.txt": "22",
  "a/x.txt": "1",
  "a/deep/er/y.txt": "1",
  "a-b": "1",
  ".hidden": "1",
  ".env": "S=1",
  "link": { link: "a" }
}

for (const machine of machines) {
  describe(`list_directory ${machine.name}`, () => {
    it.effect("lists one level, sorted, without hidden and denied names", () =>
      Effect.gen(function*() {
        const json = yield* call(list, { path: "." })
        expect(json).not.toMatch(/[\n ]/)
        expect(Object.keys(JSON.parse(json))).toEqual([
          "path",
          "entries",
          "returned",
          "max_entries",
          "truncated",
          "truncated_reason"
        ])
        const { entries, ...rest } = parse(json)
        expect(Object.keys(entries[0] ?? {})).toEqual([
          "name",
          "path",
          "depth",
          "type",
          "size_bytes",
          "modified_epoch_ms",
          "is_hidden",
          "error_code",
          "error"
        ])
        expect(rest).toEqual({ path: ".", returned: 4, max_entries: 200, truncated: false, truncated_reason: null })
        expect(entries.map(({ depth, is_hidden, path, type }) => [path, type, depth, is_hidden])).toEqual([
          ["a", "dir", 1, false],
          ["a-b", "file", 1, false],
          ["b.txt", "file", 1, false],
          ["link", "symlink", 1, false]
        ])
        expect(entries[2]).toMatchObject({ name: "b.txt", size_bytes: 2, error_code: null, error: null })
        expect(yield* paths({ path: ".", include_hidden: true })).toEqual([".hidden", "a", "a-b", "b.txt", "link"])
      }).pipe(Effect.provide(machine.layer(files))))

    it.effect("goes down as far as asked, and not through links", () =>
      Effect.gen(function*() {
        expect(yield* paths({ path: ".", recursive: true })).toEqual([
          "a",
          "a-b",
          "a/deep",
          "a/deep/er",
          "a/deep/er/y.txt",
          "a/x.txt",
          "b.txt",
          "link"
        ])
        expect(yield* paths({ path: "a", recursive: true, max_depth: 2 })).toEqual(["a/deep", "a/deep/er", "a/x.txt"])
        expect(yield* paths({ path: "a/", max_depth: 1 })).toEqual(["a/deep", "a/x.txt"])
        expect(yield* paths({ path: ".", recursive: true, include_dirs: false, include_symlinks: false })).toEqual([
          "a-b",
          "a/deep/er/y.txt",
          "a/x.txt",
          "b.txt"
        ])
        expect(yield* paths({ path: ".", include_files: false, include_dirs: false })).toEqual(["link"])
      }).pipe(Effect.provide(machine.layer(files))))

    it.effect("takes the first entries in depth-first order, and says that there are more", () =>
      Effect.gen(function*() {
        const found = yield* listed({ path: ".", recursive: true, max_entries: 4 })
        expect(found).toMatchObject({ returned: 4, max_entries: 4, truncated: true, truncated_reason: "max_entries" })
        expect(found.entries.map(({ path }) => path)).toEqual(["a", "a/deep", "a/deep/er", "a/deep/er/y.txt"])
        expect(yield* listed({ path: "a", max_entries: 2 })).toMatchObject({ returned: 2, truncated: false })
      }).pipe(Effect.provide(machine.layer(files))))

    it.effect("refuses arguments that make no sense", () =>
      Effect.gen(function*() {
        expect(yield* fail(list, { path: ".", max_depth: 2 })).toMatchObject({ _tag: "Validation" })
        expect(yield* fail(list, { path: ".", include_files: false, include_dirs: false, include_symlinks: false }))
          .toMatchObject({ _tag: "Validation" })
        expect(findings(list, { path: ".", recursive: true, max_depth: 17 })).toMatchObject([{ path: "max_depth" }])
        expect(findings(list, { path: ".", max_entries: 1_001 })).toMatchObject([{ path: "max_entries" }])
        expect(findings(list, { path: ".", max_entries: 0 })).toMatchObject([{ path: "max_entries" }])
        expect(findings(ListDirectory.make({ maxEntries: 5 }), { path: ".", max_entries: 6 })).toMatchObject([{
          path: "max_entries"
        }])
      }).pipe(Effect.provide(machine.layer({}))))

    it.effect("says what is there instead of a missing folder, and refuses files and denied folders", () =>
      Effect.gen(function*() {
        expect(text(yield* fail(list, { path: "srcs" }))).toContain(
          "There is no \"srcs\". \".\" has: .hidden, a/, a-b, b.txt, link."
        )
        expect(yield* fail(list, { path: "a/x.txt" })).toMatchObject({ _tag: "Execution" })
        expect(yield* fail(list, { path: "../.." })).toMatchObject({ _tag: "Permission" })
      }).pipe(Effect.provide(machine.layer(files))))
  })
}

/** A tree as its description says: a folder holds names, a text is a file, a number a link. */
interface Branch {
  readonly [name: string]: Branch | string | number
}

const { branch } = FastCheck.letrec<{ branch: Branch; node: Branch | string | number }>((tie) => ({
  branch: FastCheck.dictionary(
    FastCheck.string({ minLength: 1, maxLength: 4, unit: FastCheck.constantFrom("a", "b", "-", "ü", "\"", "😀") }),
    tie("node"),
    { maxKeys: 4, noNullPrototype: true }
  ),
  node: FastCheck.oneof({ maxDepth: 3 }, FastCheck.string({ maxLength: 5 }), FastCheck.constant(0), tie("branch"))
}))

const grow = (folder: string, tree: Branch): void => {
  for (const [name, node] of Object.entries(tree)) {
    const path = Path.join(folder, name)
    if (typeof node === "string") Fs.writeFileSync(path, node)
    else if (typeof node === "number") Fs.symlinkSync("..", path)
    else {
      Fs.mkdirSync(path)
      grow(path, node)
    }
  }
}

/** The listing by the letter of its specification, from the description and the times on disk. */
const described = (root: string, tree: Branch, levels: number, most: number): string => {
  const visit = (below: string, inside: Branch, depth: number): ReadonlyArray<Readonly<Record<string, unknown>>> =>
    Object.keys(inside).sort().flatMap((name) => {
      const path = below === "" ? name : `${below}/${name}`
      const node = inside[name] ?? ""
      const stat = Fs.lstatSync(Path.join(root, path))
      const entry = {
        name,
        path,
        depth,
        type: typeof node === "string" ? "file" : typeof node === "number" ? "symlink" : "dir",
        size_bytes: stat.size,
        modified_epoch_ms: Math.floor(stat.mtimeMs),
        is_hidden: false,
        error_code: null,
        error: null
      }
      return typeof node === "object" && depth < levels ? [entry, ...visit(path, node, depth + 1)] : [entry]
    })
  const found = visit("", tree, 1)
  const entries = found.slice(0, most).sort((left, right) => String(left["path"]) < String(right["path"]) ? -1 : 1)
  const truncated = found.length > most
  return `{"path":".","entries":${
    JSON.stringify(entries)
  },"returned":${entries.length},"max_entries":${most},"truncated":${truncated},"truncated_reason":${
    truncated ? "\"max_entries\"" : "null"
  }}`
}

describe("list_directory", () => {
  it.scopedLive.prop(
    "is byte for byte what its specification says of a tree",
    [branch, FastCheck.integer({ min: 1, max: 4 }), FastCheck.integer({ min: 1, max: 12 })],
    ([tree, levels, most]) =>
      Effect.gen(function*() {
        const workspace = yield* temporaryFolder
        grow(workspace, tree)
        const args = { path: ".", recursive: true, max_depth: levels, max_entries: most }
        const sandbox = NodeSandbox.layer({ mounts: { workspace }, osSandbox: "off" })
        const json = yield* Effect.provide(call(list, args), sandbox)
        expect(json).toBe(described(workspace, tree, levels, most))
        const empty = described(workspace, {}, 1, most)
        for (const capacity of [0, empty.length, Math.floor(Buffer.byteLength(json) / 2), Buffer.byteLength(json)]) {
          const cut = yield* Effect.provide(call(list, args, session({ capacity })), sandbox)
          if (capacity >= Buffer.byteLength(json)) expect(cut).toBe(json)
          const found = parse(cut)
          if (found.returned > 0) expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(capacity)
          expect(JSON.stringify(found.entries)).toBe(JSON.stringify(parse(json).entries.slice(0, found.returned)))
        }
      }),
    { fastCheck: { numRuns: 25 }, timeout: 60_000 }
  )

  it.effect("keeps entries that cannot be read, with the reason", () =>
    Effect.gen(function*() {
      const { entries } = yield* listed({ path: ".", recursive: true, include_dirs: false })
      expect(entries.map(({ error_code, path }) => [path, error_code])).toEqual([
        ["gone", "read_dir_failed"],
        ["locked", "permission_denied"],
        ["ok/a", null]
      ])
    }).pipe(Effect.provide(FakeSandbox.layer({
      files: { "ok/a": "1", "locked/a": "1", "gone/a": "1" },
      fault: ({ name, path }) =>
        name === "list" && path === "locked"
          ? new FileError.FileError({ reason: "permission", path, message: "no" })
          : name === "list" && path === "gone"
          ? new FileError.FileError({ reason: "io", path, message: "no" })
          : undefined
    }))))

  it.effect.prop(
    "is valid JSON within every budget that holds an empty listing",
    [
      FastCheck.integer({ min: 0, max: 3_000 }),
      FastCheck.array(
        FastCheck.string({ minLength: 1, maxLength: 6, unit: FastCheck.constantFrom("a", "ü", "\"", "😀", "b") }),
        {
          maxLength: 12
        }
      )
    ],
    ([budget, names]) =>
      Effect.gen(function*() {
        const json = yield* call(list, { path: "." }, session({ capacity: budget }))
        const found = parse(json)
        const all = [...new Set(names)].sort((left, right) => left < right ? -1 : 1)
        expect(found.entries.map(({ name }) => name)).toEqual(all.slice(0, found.returned))
        expect(found.truncated).toBe(found.returned < all.length)
        if (Buffer.byteLength(json) > budget) expect(found.returned).toBe(0)
        if (found.returned < all.length) expect(found.truncated_reason).toBe("max_output_bytes")
      }).pipe(Effect.provide(FakeSandbox.layer({ files: Object.fromEntries(names.map((name) => [name, "1"])) }))),
    { fastCheck: { numRuns: 150 } }
  )
})
