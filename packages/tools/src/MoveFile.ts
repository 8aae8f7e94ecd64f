/**
 * `move_file`: renames or moves a file, folder or link.
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
    description: "File or folder to move, relative to the working directory.",
    examples: ["src/old-name.ts"]
  }),
  to_path: Schema.String.annotations({
    description: "Its new path, name included. Missing folders are made.",
    examples: ["src/lib/new-name.ts"]
  }),
  overwrite: Schema.optionalWith(
    Schema.Boolean.annotations({
      description:
        "Replace a file (or an empty folder, by a folder) that is there. Default false: then the call fails.",
      examples: [true]
    }),
    { exact: true }
  )
})

type Arguments = typeof Parameters.Type

const handler = (args: Arguments, call: CallContext) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    const { from_path: from, overwrite = false, to_path: to } = args
    const source = yield* files.decide({ path: from, access: "delete" })
    yield* Copying.orTaken(files, "move_file", args, "moved")(files.move({ from, to, overwrite }))
    const target = yield* files.decide({ path: to, access: "list" })
    const known = source._tag === "Allowed" ? call.lastRead(source.canonical) : undefined
    if (known !== undefined && target._tag === "Allowed") {
      yield* call.recordRead({ ...known, path: target.canonical })
    }
    const shown = (decision: typeof source, path: string) => decision._tag === "Allowed" ? decision.display : path
    return `moved ${shown(source, from)} to ${shown(target, to)}.`
  })

/**
 * Moves or renames within the sandbox.
 *
 * @since 0.1.0
 * @category tools
 */
export const tool: Tool.Tool<Sandbox.Sandbox> = Tool.make("move_file", {
  description: "Renames or moves one file or one folder with everything in it. " +
    "Example: {\"from_path\":\"src/old-name.ts\",\"to_path\":\"src/lib/new-name.ts\"}. " +
    "to_path is the whole new path, name included; folders are made when they are missing. " +
    "If to_path exists the call fails, unless overwrite is true. A link is moved itself. " +
    "A file that was read counts as read under its new path. Between different mounts only single files move. " +
    "Do not use it when the original should stay (use copy_file) or to change content (use edit_file).",
  aliases: ["rename_file", "mv", "rename"],
  parameters: Parameters,
  paths: ({ from_path, to_path }) => [{ path: from_path, access: "delete" }, { path: to_path, access: "write" }],
  summary: ({ from_path, overwrite, to_path }) =>
    `Move ${from_path} to ${to_path}${overwrite === true ? " (replacing it)" : ""}`,
  detail: ({ from_path, to_path }) => `${from_path}\nto ${to_path}`,
  preview: (args) => Effect.flatMap(Sandbox.Sandbox, ({ files }) => Copying.preview(files, args)),
  handler
})
