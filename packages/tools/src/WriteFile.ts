/**
 * `write_file`: creates or overwrites one file.
 *
 * @since 0.1.0
 */
import type { CallContext } from "@capstan/core/CallContext"
import { FileError } from "@capstan/core/FileError"
import { byteLength } from "@capstan/core/OutputLimit"
import * as Sandbox from "@capstan/core/Sandbox"
import * as Tool from "@capstan/core/Tool"
import type { Workspace } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as CurrentFile from "./internal/currentFile.js"
import { asFailure } from "./internal/fileProblem.js"
import { count, linesOf } from "./internal/textFile.js"
import { unifiedDiff } from "./internal/unifiedDiff.js"

/** Of larger files no diff is shown. */
const maxDiffBytes = 1_048_576

const Parameters = Schema.Struct({
  path: Schema.String.annotations({
    description: "File to create or overwrite, relative to the working directory. Missing folders are made.",
    examples: ["docs/notes.md"]
  }),
  content: Schema.String.annotations({
    description: "The whole content of the file, exactly as it should be. End text files with a line break.",
    examples: ["first line\nsecond line\n"]
  })
})

/** Writes over what was read only, or where nothing is. */
const write = (files: Workspace["Type"], path: string, content: Uint8Array, before: string | undefined) =>
  files.write({ path, content, expect: before ?? "absent" }).pipe(
    Effect.mapError((error) =>
      error.reason === "exists" && before === undefined
        ? new FileError({ reason: "changed", path, message: error.message })
        : error
    ),
    asFailure(files)
  )

const run = ({ content, path }: typeof Parameters.Type, call: CallContext) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    const before = yield* CurrentFile.read(files, path, call.limits.maxReadFileScanBytes)
    if (before !== undefined) yield* CurrentFile.requireWholeRead(before, call, path, "overwriting")
    const bytes = new TextEncoder().encode(content)
    yield* call.reserveWrite(bytes.length)
    const written = yield* write(files, path, bytes, before?.sha256)
    yield* call.recordRead({ path: written.canonical, sha256: written.sha256, lines: null })
    const size = `${written.display}: ${count(written.bytes, "byte")}, ${count(linesOf(content).length, "line")}.`
    if (
      written.created
    ) return `created ${size} The file now exists with exactly the content you sent; this step is done.`
    return before?.sha256 === written.sha256
      ? `overwritten ${size} The file had exactly this content before, so nothing changed; do not send it again.`
      : `overwritten ${size} The file now has exactly the content you sent; this step is done.`
  })

const preview = ({ content, path }: typeof Parameters.Type) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    const before = yield* Effect.option(CurrentFile.read(files, path, maxDiffBytes))
    if (before._tag === "None") return undefined
    const file = before.value
    return file !== undefined && file.text === undefined
      ? `${file.display}: ${file.size} bytes that are not shown are replaced by ${content.length} characters.`
      : unifiedDiff({ path: file?.display ?? path, before: file?.text, after: content })
  })

/**
 * Creates a file, or overwrites one that this session has read and that has not changed since.
 *
 * @since 0.1.0
 * @category tools
 */
export const tool: Tool.Tool<Sandbox.Sandbox> = Tool.make("write_file", {
  description: "Creates a file, or replaces all of an existing one, with exactly the content given. " +
    "Example: {\"path\":\"docs/notes.md\",\"content\":\"# Notes\\n\"}. Send the complete file: what is not in content is gone. " +
    "Folders are made when they are missing, and content may be empty. " +
    "If the file exists it must have been read with read_file in this session and be unchanged since, " +
    "otherwise the call is refused and nothing is written. " +
    "Not for changing a part of a file (use edit_file), and not for showing text to the user (just answer).",
  aliases: ["create_file", "save_file"],
  parameters: Parameters,
  verbatim: true,
  paths: ({ path }) => [{ path, access: "write" }],
  writes: ({ content }) => byteLength(content),
  summary: ({ content, path }) => `Write ${path} (${content.length} characters)`,
  detail: ({ path }) => path,
  preview,
  handler: run
})
