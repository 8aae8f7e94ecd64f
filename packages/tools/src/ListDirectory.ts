/**
 * `list_directory`: what is in a folder, as one JSON object.
 *
 * @since 0.1.0
 */
import type { CallContext } from "@capstan/core/CallContext"
import type { FileError } from "@capstan/core/FileError"
import { byteLength } from "@capstan/core/OutputLimit"
import * as Sandbox from "@capstan/core/Sandbox"
import * as Tool from "@capstan/core/Tool"
import type { DirectoryEntry, Workspace } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { asFailure, badArgument } from "./internal/fileProblem.js"

const defaultDepth = 4
const defaultEntries = 200

/**
 * What a model may ask for at most: levels below the folder, and entries.
 *
 * @since 0.1.0
 * @category models
 */
export interface Caps {
  readonly maxDepth: number
  readonly maxEntries: number
}

const defaultCaps: Caps = { maxDepth: 16, maxEntries: 1_000 }

const flag = (description: string) =>
  Schema.optionalWith(Schema.Boolean.annotations({ description, examples: [true] }), { exact: true })

const parametersOf = (caps: Caps) =>
  Schema.Struct({
    path: Schema.String.annotations({
      description: "Folder, relative to the working directory. \".\" is the working directory itself.",
      examples: ["src"]
    }),
    recursive: flag("Also list what is in the folders below. Default false."),
    max_depth: Schema.optionalWith(
      Schema.Int.pipe(Schema.between(1, caps.maxDepth)).annotations({
        description: `Levels to go down; only with recursive. Default ${defaultDepth}.`,
        examples: [2]
      }),
      { exact: true }
    ),
    max_entries: Schema.optionalWith(
      Schema.Int.pipe(Schema.between(1, caps.maxEntries)).annotations({
        description: `Entries to return at most. Default ${defaultEntries}.`,
        examples: [50]
      }),
      { exact: true }
    ),
    include_hidden: flag("Include names that begin with a dot. Default false."),
    include_files: flag("Include files. Default true."),
    include_dirs: flag("Include folders. Default true."),
    include_symlinks: flag("Include symbolic links; they are never followed. Default true."),
    include_other: flag("Include pipes, sockets and devices. Default false.")
  })

type Arguments = Schema.Schema.Type<ReturnType<typeof parametersOf>>

interface Entry {
  readonly name: string
  readonly path: string
  readonly depth: number
  readonly type: DirectoryEntry["kind"]
  readonly size_bytes: number | null
  readonly modified_epoch_ms: number | null
  readonly is_hidden: boolean
  readonly error_code: NonNullable<DirectoryEntry["error"]>["code"] | "read_dir_failed" | null
  readonly error: string | null
}

const check = (args: Arguments) => {
  const { include_dirs, include_files, include_other, include_symlinks, max_depth, recursive } = args
  if (recursive !== true && max_depth !== undefined && max_depth !== 1) {
    return Effect.fail(badArgument("list_directory", "max_depth", {
      expected: "1 or nothing without recursive",
      received: String(max_depth),
      fix: "Add \"recursive\": true, or take max_depth out."
    }))
  }
  return include_files === false && include_dirs === false && include_symlinks === false && include_other !== true
    ? Effect.fail(badArgument("list_directory", "include_files", {
      expected: "at least one kind to include",
      received: "none",
      fix: "Leave the include parameters out to list files, folders and links."
    }))
    : Effect.void
}

const wanted = (args: Arguments, { error_code, type }: Entry): boolean => {
  if (error_code !== null) return true
  switch (type) {
    case "file":
      return args.include_files !== false
    case "dir":
      return args.include_dirs !== false
    case "symlink":
      return args.include_symlinks !== false
    case "other":
      return args.include_other === true
    case "unknown":
      return true
  }
}

const toEntry = (entry: DirectoryEntry, path: string, depth: number): Entry => ({
  name: entry.name,
  path,
  depth,
  type: entry.kind,
  size_bytes: entry.size,
  modified_epoch_ms: entry.modified === null ? null : Math.floor(entry.modified),
  is_hidden: entry.name.startsWith("."),
  error_code: entry.error?.code ?? null,
  error: entry.error?.message ?? null
})

const unreadable = (entry: Entry, { message, reason }: FileError): Entry => ({
  ...entry,
  error_code: reason === "permission" ? "permission_denied" : "read_dir_failed",
  error: message
})

const under = (folder: string, name: string): string =>
  folder === "." ? name : folder.endsWith("/") ? folder + name : `${folder}/${name}`

/** Entries in depth-first order, one more than wanted where there are more. */
const walk = (files: Workspace["Type"], args: Arguments, root: string, entries: ReadonlyArray<DirectoryEntry>) => {
  const most = (args.max_entries ?? defaultEntries) + 1
  const levels = args.recursive === true ? args.max_depth ?? defaultDepth : 1
  const found: Array<Entry> = []
  const visit = (folder: string, depth: number, inside: ReadonlyArray<DirectoryEntry>): Effect.Effect<void> =>
    Effect.gen(function*() {
      for (const child of inside) {
        if (found.length >= most) return
        if (child.name.startsWith(".") && args.include_hidden !== true) continue
        const path = under(folder, child.name)
        const entry = toEntry(child, path, depth)
        const below = child.kind === "dir" && depth < levels
          ? yield* Effect.either(files.list({ path }))
          : undefined
        const known = below?._tag === "Left" ? unreadable(entry, below.left) : entry
        if (wanted(args, known)) found.push(known)
        if (below?._tag === "Right") yield* visit(path, depth + 1, below.right)
      }
    })
  return Effect.as(visit(root, 1, entries), found)
}

const byPath = (left: Entry, right: Entry): number => left.path < right.path ? -1 : left.path > right.path ? 1 : 0

const listing = (
  path: string,
  entries: ReadonlyArray<Entry>,
  maxEntries: number,
  reason: "max_entries" | "max_output_bytes" | null
): string =>
  JSON.stringify({
    path,
    entries,
    returned: entries.length,
    max_entries: maxEntries,
    truncated: reason !== null,
    truncated_reason: reason
  })

/** The listing with as many entries, from the first on, as the budget holds. */
const withinBudget = (path: string, found: ReadonlyArray<Entry>, maxEntries: number, budget: number): string => {
  const entries = found.slice(0, maxEntries).sort(byPath)
  const whole = listing(path, entries, maxEntries, found.length > maxEntries ? "max_entries" : null)
  if (byteLength(whole) <= budget) return whole
  // The number of entries takes at most as many digits as here, so what is counted fits.
  let used = byteLength(listing(path, [], maxEntries, "max_output_bytes")) + String(entries.length).length - 1
  let kept = 0
  for (const entry of entries) {
    used += byteLength(JSON.stringify(entry)) + (kept === 0 ? 0 : 1)
    if (used > budget) break
    kept++
  }
  return kept === 0 && entries.length === 0
    ? whole
    : listing(path, entries.slice(0, kept), maxEntries, "max_output_bytes")
}

const handler = (args: Arguments, call: CallContext) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    yield* check(args)
    const entries = yield* asFailure(files)(files.list({ path: args.path }))
    const decision = yield* files.decide({ path: args.path, access: "list" })
    const root = decision._tag === "Allowed" ? decision.display : args.path
    const found = yield* walk(files, args, root, entries)
    return withinBudget(root, found, args.max_entries ?? defaultEntries, call.capacity)
  })

/**
 * The tool with other caps for what a model may ask for.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (caps: Partial<Caps>): Tool.Tool<Sandbox.Sandbox> =>
  Tool.make("list_directory", {
    description:
      "Lists a folder as one JSON object: entries with name, path, type (file, dir, symlink), size_bytes, sorted by path. " +
      "Example: {\"path\":\".\"} for the working directory, {\"path\":\"src\",\"recursive\":true,\"max_depth\":2} for a tree. " +
      "Use the path of an entry for other tools. If truncated is true the list was cut: list a folder below, or raise max_entries. " +
      "Hidden names need include_hidden; links are never followed; an entry that cannot be read says why in error. " +
      "Not to read a file (use read_file) and not to find text (use search_files).",
    aliases: ["list_files", "list_dir", "ls"],
    parameters: parametersOf({ ...defaultCaps, ...caps }),
    safety: "read-only",
    trust: "discovery",
    outputCut: "self-limited",
    paths: ({ path }) => [{ path, access: "list" }],
    summary: ({ path, recursive }) => `List ${path}${recursive === true ? " and what is below" : ""}`,
    detail: ({ path }) => path,
    handler
  })

/**
 * Lists a folder, also recursively. The result is always valid JSON: over the budget, entries are dropped from the end.
 *
 * @since 0.1.0
 * @category tools
 */
export const tool: Tool.Tool<Sandbox.Sandbox> = make({})
