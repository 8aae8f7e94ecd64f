import type { FileError } from "@capstan/core/FileError"
import * as ToolFailure from "@capstan/core/ToolFailure"
import type { DirectoryEntry, Workspace } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"

type Files = Workspace["Type"]

const named = 12
const foldersLookedAt = 40
const levelsLookedAt = 3

const shown = (entry: DirectoryEntry): string => entry.kind === "dir" ? `${entry.name}/` : entry.name

const names = (entries: ReadonlyArray<DirectoryEntry>): string =>
  entries.length === 0
    ? "is empty"
    : `has: ${entries.slice(0, named).map(shown).join(", ")}${
      entries.length > named ? ` and ${entries.length - named} more` : ""
    }`

const under = (folder: string, name: string): string => folder === "." ? name : `${folder.replace(/\/$/, "")}/${name}`

/** The deepest folder on the way to a path that exists, with its entries and the name that is missing in it. */
const deepest = (files: Files, path: string) =>
  Effect.gen(function*() {
    const segments = path.split("/").filter((segment, index) => index === 0 || (segment !== "" && segment !== "."))
    for (let length = segments.length - 1; length >= 0; length--) {
      const folder = length === 0 ? "." : segments.slice(0, length).join("/")
      const entries = folder === "" ? undefined : yield* Effect.option(files.list({ path: folder }))
      if (entries?._tag === "Some") return { folder, entries: entries.value, missing: segments[length] ?? "" }
    }
    return undefined
  })

/** Where else a name occurs, looked for in the upper levels of the workspace only. */
const elsewhere = (files: Files, name: string) =>
  Effect.gen(function*() {
    const found: Array<string> = []
    let folders: ReadonlyArray<string> = ["."]
    let looked = 0
    for (let level = 0; level < levelsLookedAt; level++) {
      const next: Array<string> = []
      for (const folder of folders) {
        if (looked++ >= foldersLookedAt) return found
        const entries = yield* Effect.orElseSucceed(files.list({ path: folder }), () => [])
        for (const entry of entries) {
          if (entry.name === name) found.push(under(folder, name))
          if (entry.kind === "dir" && !entry.name.startsWith(".") && entry.name !== "node_modules") {
            next.push(under(folder, entry.name))
          }
        }
      }
      folders = next
    }
    return found
  })

/** A path that does not exist, with what there is instead. */
export const missing = (files: Files, path: string): Effect.Effect<ToolFailure.ToolFailure> =>
  Effect.gen(function*() {
    const place = yield* deepest(files, path)
    if (place === undefined) return ToolFailure.notFound(path, `There is no "${path}".`, "Check the path.")
    const others = yield* elsewhere(files, path.split("/").findLast((segment) => segment !== "") ?? path)
    const { entries, folder, missing } = place
    const what = path.endsWith(missing) ? `There is no "${path}".` : `There is no folder "${missing}" in "${folder}".`
    return ToolFailure.notFound(
      path,
      `${what} "${folder}" ${names(entries)}.`,
      others.length > 0
        ? `Did you mean ${others.slice(0, 3).map((other) => `"${other}"`).join(" or ")}?`
        : "Use one of these names, or look further with list_directory."
    )
  })

/** A file was not as it was when it was read. */
export const stale = (path: string, message: string): ToolFailure.ToolFailure => ({
  _tag: "StaleFile",
  message: `${message}: ${path}. Nothing was written.`,
  suggestedFix: `Read it first: read_file ${JSON.stringify({ path })}. Then send the change again.`,
  details: { path }
})

/** What a handler says of arguments that do not fit together. */
export const badArgument = (tool: string, path: string, finding: {
  readonly expected: string
  readonly received: string
  readonly fix: string
}): ToolFailure.ToolFailure => ToolFailure.validation(tool, [{ path, ...finding }], null)

const permissionKind = {
  "bad-path": "outside-sandbox",
  outside: "outside-sandbox",
  denied: "denied-pattern",
  "read-only": "read-only"
} as const

/** What the file system or the sandbox said, as a failure that a model can act on. */
export const toFailure = (files: Files, error: FileError): Effect.Effect<ToolFailure.ToolFailure> => {
  switch (error.reason) {
    case "not-found":
      return missing(files, error.path)
    case "bad-path":
    case "outside":
    case "denied":
    case "read-only":
      return Effect.succeed(ToolFailure.permission({
        kind: permissionKind[error.reason],
        message: error.message,
        attempted: error.path,
        resolved: error.resolved,
        pattern: error.pattern
      }))
    case "changed":
      return Effect.succeed(stale(error.path, "File content changed since last read"))
    default:
      return Effect.succeed(ToolFailure.execution(error.message))
  }
}

/** Lets file errors of an effect be failures of the tool. */
export const asFailure =
  (files: Files) => <A, R>(effect: Effect.Effect<A, FileError, R>): Effect.Effect<A, ToolFailure.ToolFailure, R> =>
    Effect.catchAll(effect, (error) => Effect.flatMap(toFailure(files, error), Effect.fail))
