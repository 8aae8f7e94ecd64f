/**
 * `file_info`: what is known of a path without reading it into the conversation.
 *
 * @since 0.1.0
 */
import type { FileError } from "@capstan/core/FileError"
import * as Sandbox from "@capstan/core/Sandbox"
import * as Tool from "@capstan/core/Tool"
import type { FileStat, Workspace } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { asFailure } from "./internal/fileProblem.js"

/** Bytes: of larger files no hash is computed. */
const maxHashedBytes = 64 * 1024 * 1024

const Parameters = Schema.Struct({
  path: Schema.String.annotations({
    description: "File or folder, relative to the working directory. It need not exist.",
    examples: ["package.json"]
  })
})

const Info = Schema.Struct({
  path: Schema.String,
  exists: Schema.Boolean,
  type: Schema.NullOr(Schema.Literal("file", "dir", "symlink", "other")),
  size_bytes: Schema.NullOr(Schema.Number),
  modified_epoch_ms: Schema.NullOr(Schema.Number),
  mode: Schema.NullOr(Schema.String),
  sha256: Schema.NullOr(Schema.String),
  sha256_missing: Schema.NullOr(Schema.String)
})

type Info = typeof Info.Type

const absent = (path: string): Info => ({
  path,
  exists: false,
  type: null,
  size_bytes: null,
  modified_epoch_ms: null,
  mode: null,
  sha256: null,
  sha256_missing: "There is nothing at this path."
})

/** Why a hash could not be computed, where the path itself is fine. */
const why = (error: FileError, stat: FileStat): string =>
  error.reason === "too-large"
    ? `The file has ${stat.size} bytes; hashes are computed up to ${maxHashedBytes}.`
    : error.message

const hash = (files: Workspace["Type"], path: string, stat: FileStat) =>
  stat.kind === "file"
    ? files.sha256({ path, maxBytes: maxHashedBytes }).pipe(
      Effect.match({
        onFailure: (error) => ({ sha256: null, sha256_missing: why(error, stat) }),
        onSuccess: (sha256) => ({ sha256, sha256_missing: null })
      })
    )
    : Effect.succeed({ sha256: null, sha256_missing: "Only regular files have a hash." })

const handler = ({ path }: typeof Parameters.Type) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    const stat = yield* files.stat({ path }).pipe(
      Effect.catchIf((error) => error.reason === "not-found", () => Effect.succeed(undefined)),
      asFailure(files)
    )
    const decision = yield* files.decide({ path, access: "list" })
    const shown = decision._tag === "Allowed" ? decision.display : path
    if (stat === undefined) return absent(shown)
    return {
      path: shown,
      exists: true,
      type: stat.kind,
      size_bytes: stat.size,
      modified_epoch_ms: Math.floor(stat.modified),
      mode: stat.mode.toString(8).padStart(4, "0"),
      ...(yield* hash(files, path, stat))
    }
  })

/**
 * Tells whether a path exists and what it is, with the SHA-256 of regular files up to 64 MiB.
 *
 * @since 0.1.0
 * @category tools
 */
export const tool: Tool.Tool<Sandbox.Sandbox> = Tool.make("file_info", {
  description:
    "Tells whether a path exists and what it is, as one JSON object: exists, type (file, dir, symlink, other), " +
    "size_bytes, modified_epoch_ms, mode (octal) and sha256. Example: {\"path\":\"package.json\"}. " +
    "If nothing is there that is an answer, not an error: exists is false. A link counts as what it leads to. " +
    "sha256 is null for folders and when the file is larger than 64 MiB; sha256_missing says why. " +
    "Do not use it to see the content (use read_file) or what is in a folder (use list_directory or glob).",
  aliases: ["stat", "file_exists", "get_file_info"],
  parameters: Parameters,
  success: Info,
  safety: "read-only",
  trust: "discovery",
  paths: ({ path }) => [{ path, access: "list" }],
  summary: ({ path }) => `Look at ${path}`,
  detail: ({ path }) => path,
  handler
})
