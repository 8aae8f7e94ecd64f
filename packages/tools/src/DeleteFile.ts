/**
 * `delete_file`: removes a file, a link, or a folder with all that is in it.
 *
 * @since 0.1.0
 */
import * as Sandbox from "@capstan/core/Sandbox"
import * as Tool from "@capstan/core/Tool"
import * as ToolFailure from "@capstan/core/ToolFailure"
import type { Workspace } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { toFailure } from "./internal/fileProblem.js"
import { count } from "./internal/textFile.js"

/** In the approval prompt so many names are shown, and so many entries counted. */
const maxNames = 20
const maxCounted = 10_000

const Parameters = Schema.Struct({
  path: Schema.String.annotations({
    description: "File or folder to delete, relative to the working directory.",
    examples: ["build/old.log"]
  }),
  recursive: Schema.optionalWith(
    Schema.Boolean.annotations({
      description: "Delete a folder with everything in it. Default false: only a file, a link or an empty folder.",
      examples: [true]
    }),
    { exact: true }
  )
})

type Arguments = typeof Parameters.Type

/** What is in a folder: how much, and what comes first. `whole` is false where counting stopped. */
interface Content {
  files: number
  folders: number
  bytes: number
  whole: boolean
  readonly names: Array<string>
}

const under = (folder: string, name: string): string => `${folder.replace(/\/$/, "")}/${name}`

const look = (files: Workspace["Type"], folder: string, content: Content): Effect.Effect<Content> =>
  Effect.gen(function*() {
    for (const entry of yield* Effect.orElseSucceed(files.list({ path: folder }), () => [])) {
      if (content.files + content.folders >= maxCounted) {
        content.whole = false
        return content
      }
      const path = under(folder, entry.name)
      const isFolder = entry.kind === "dir"
      if (content.names.length < maxNames) content.names.push(isFolder ? `${path}/` : path)
      if (isFolder) {
        content.folders++
        yield* look(files, path, content)
      } else {
        content.files++
        content.bytes += entry.size ?? 0
      }
    }
    return content
  })

const sum = ({ bytes, files, folders, whole }: Content): string =>
  `${whole ? "" : "more than "}${count(files, "file")} and ${count(folders, "folder")} in it, ${count(bytes, "byte")}`

const inFolder = (files: Workspace["Type"], path: string) =>
  look(files, path, { files: 0, folders: 0, bytes: 0, whole: true, names: [] })

/** The entry itself, a link not followed; undefined where there is none to be seen. */
const entryAt = (files: Workspace["Type"], path: string) =>
  Effect.gen(function*() {
    const decision = yield* files.decide({ path, access: "delete" })
    if (decision._tag === "Refused") return undefined
    const { canonical, display } = decision
    const slash = canonical.lastIndexOf("/")
    const entries = yield* files.list({ path: canonical.slice(0, slash) || "/" })
    const entry = entries.find(({ name }) => name === canonical.slice(slash + 1))
    return entry === undefined ? undefined : { ...entry, display }
  }).pipe(Effect.orElseSucceed(() => undefined))

const preview = ({ path, recursive }: Arguments) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    const entry = yield* entryAt(files, path)
    if (entry === undefined) return undefined
    if (entry.kind === "symlink") return `${entry.display} is a link: only the link is deleted.`
    if (entry.kind !== "dir") return `${entry.display}: ${count(entry.size ?? 0, "byte")}`
    const content = yield* inFolder(files, path)
    const { names } = content
    if (names.length === 0) return `${entry.display}/ is empty.`
    const more = content.files + content.folders - names.length
    return [
      `${entry.display}/ with ${sum(content)}${recursive === true ? "" : " (not deleted without recursive)"}:`,
      ...names.map((name) => `  ${name}`),
      ...(more > 0 ? [`  … and ${more} more${content.whole ? "" : " or further ones"}`] : [])
    ].join("\n")
  })

const notEmpty = (files: Workspace["Type"], path: string) =>
  Effect.map(inFolder(files, path), (inside) =>
    ToolFailure.execution(
      `"${path}" is a folder with ${sum(inside)}: nothing was deleted.`,
      `If all of it should go: delete_file ${JSON.stringify({ path, recursive: true })}.`
    ))

const handler = ({ path, recursive = false }: Arguments) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    const entry = yield* entryAt(files, path)
    const content = entry?.kind === "dir" && recursive ? yield* inFolder(files, path) : undefined
    yield* files.remove({ path, recursive }).pipe(
      Effect.catchAll((error) =>
        Effect.flatMap(error.reason === "not-empty" ? notEmpty(files, path) : toFailure(files, error), Effect.fail)
      )
    )
    const shown = entry?.display ?? path
    return content === undefined
      ? `deleted ${shown}${entry?.kind === "symlink" ? " (the link, not what it leads to)" : ""}.`
      : `deleted ${shown}/ with ${sum(content)}.`
  })

/**
 * Deletes a file, a link or a folder; somebody is always asked, with what is in a folder.
 *
 * @since 0.1.0
 * @category tools
 */
export const tool: Tool.Tool<Sandbox.Sandbox> = Tool.make("delete_file", {
  description: "Deletes one file, one link (never what it leads to) or one folder. The user is always asked first. " +
    "Example: {\"path\":\"build/old.log\"}, or {\"path\":\"build\",\"recursive\":true} for a folder with everything in it. " +
    "Without recursive a folder that is not empty is refused. There is no way back. " +
    "If a folder holds protected files (.git, keys) it is refused whole, and nothing in it is deleted. " +
    "Do not use it to empty a file (use write_file with empty content) or to rename one (use move_file).",
  aliases: ["remove_file", "delete", "rm"],
  parameters: Parameters,
  assess: () => Effect.succeed({ risk: "high", approval: "always", warnings: [] }),
  paths: ({ path }) => [{ path, access: "delete" }],
  summary: ({ path, recursive }) => `Delete ${path}${recursive === true ? " and everything in it" : ""}`,
  detail: ({ path }) => path,
  preview,
  handler
})
