/**
 * `vault_copy`: copies one file out of a read-only folder into the workspace.
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
    description: "File in a read-only folder of the sandbox, as an absolute path.",
    examples: ["/srv/vault/templates/letter.md"]
  }),
  to_path: Schema.String.annotations({
    description: "New file in the workspace: a file name with its folder. Missing folders are made.",
    examples: ["templates/letter.md"]
  })
})

type Arguments = typeof Parameters.Type

const handler = (args: Arguments, call: CallContext) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    return Copying.report(args.from_path, yield* Copying.copy(files, "vault_copy", args, call, true))
  })

/**
 * Copies one file from a read-only mount into the workspace. Somebody is always asked.
 *
 * @since 0.1.0
 * @category tools
 */
export const tool: Tool.Tool<Sandbox.Sandbox> = Tool.make("vault_copy", {
  description:
    "Copies one file from a read-only folder of the sandbox to a new file in the workspace, byte for byte. " +
    "The user is always asked first. " +
    "Example: {\"from_path\":\"/srv/vault/templates/letter.md\",\"to_path\":\"templates/letter.md\"}. " +
    "from_path is an absolute path in a read-only folder; if it is not, the error names these folders. " +
    "If to_path exists already the call fails; folders are made when they are missing. Only single files, no folders or links. " +
    "Do not use it between writable folders (use copy_file) or just to read a file (use read_file).",
  parameters: Parameters,
  assess: () => Effect.succeed({ risk: "medium", approval: "always", warnings: [] }),
  paths: ({ from_path, to_path }) => [{ path: from_path, access: "vault" }, { path: to_path, access: "write" }],
  summary: ({ from_path, to_path }) => `Copy ${from_path} from a read-only folder to ${to_path}`,
  detail: ({ from_path, to_path }) => `${from_path}\nto ${to_path}`,
  preview: (args) => Effect.flatMap(Sandbox.Sandbox, ({ files }) => Copying.preview(files, args, true)),
  handler
})
