/**
 * `copy_file`: copies one file.
 *
 * @since 0.1.0
 */
import type { CallContext } from "@capstan/core/CallContext"
import * as Sandbox from "@capstan/core/Sandbox"
import * as Tool from "@capstan/core/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Copying from "./internal/copying.js"

const Parameters = Schema.Struct({
  from_path: Schema.String.annotations({
    description: "File to copy, relative to the working directory.",
    examples: ["config/base.json"]
  }),
  to_path: Schema.String.annotations({
    description: "The copy: a file name with its folder. Missing folders are made.",
    examples: ["config/local.json"]
  }),
  overwrite: Schema.optionalWith(
    Schema.Boolean.annotations({
      description: "Replace a file that is there. Default false: then the call fails.",
      examples: [true]
    }),
    { exact: true }
  )
})

type Arguments = typeof Parameters.Type

const handler = (args: Arguments, call: CallContext) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    return Copying.report(args.from_path, yield* Copying.copy(files, "copy_file", args, call))
  })

/**
 * Copies one file within the sandbox.
 *
 * @since 0.1.0
 * @category tools
 */
export const tool: Tool.Tool<Sandbox.Sandbox> = Tool.make("copy_file", {
  description: "Copies one file, byte for byte, also a binary one, and says how many bytes and their SHA-256. " +
    "Example: {\"from_path\":\"config/base.json\",\"to_path\":\"config/local.json\"}. " +
    "to_path is the name of the copy, with its folder; folders are made when they are missing. " +
    "If to_path exists the call fails, unless overwrite is true. " +
    "If from_path is a folder or a link it is refused: copy the files one by one. " +
    "Do not use it to rename (use move_file), to take a file out of a vault (use vault_copy), " +
    "or to make a changed version (use write_file).",
  aliases: ["cp", "duplicate_file"],
  parameters: Parameters,
  paths: ({ from_path, to_path }) => [{ path: from_path, access: "read" }, { path: to_path, access: "write" }],
  summary: ({ from_path, overwrite, to_path }) =>
    `Copy ${from_path} to ${to_path}${overwrite === true ? " (replacing it)" : ""}`,
  detail: ({ from_path, to_path }) => `${from_path}\nto ${to_path}`,
  preview: (args) => Effect.flatMap(Sandbox.Sandbox, ({ files }) => Copying.preview(files, args)),
  handler
})
