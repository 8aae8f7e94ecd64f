/**
 * `glob`: files by the pattern of their paths.
 *
 * @since 0.1.0
 */
import type { CallContext } from "@capstan/core/CallContext"
import { byteLength } from "@capstan/core/OutputLimit"
import * as Sandbox from "@capstan/core/Sandbox"
import * as Tool from "@capstan/core/Tool"
import * as ToolFailure from "@capstan/core/ToolFailure"
import type { FilesResult } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { toFailure } from "./internal/fileProblem.js"
import { count } from "./internal/textFile.js"

const defaultResults = 100
const maxResults = 1_000
/** Of the budget this much is kept for the line that says what there is in all. */
const closingBytes = 200

const Parameters = Schema.Struct({
  pattern: Schema.String.pipe(Schema.minLength(1)).annotations({
    description: "Glob: * any characters in a name, ** any folders, ? one character, {a,b} alternatives. " +
      "Without / it matches names at every depth; ! in front excludes.",
    examples: ["src/**/*.ts"]
  }),
  path: Schema.optionalWith(
    Schema.String.annotations({
      description: "Folder to look in, relative to the working directory; pattern starts there. Default: all of it.",
      examples: ["packages/core"]
    }),
    { exact: true }
  ),
  include_hidden: Schema.optionalWith(
    Schema.Boolean.annotations({
      description: "Include names that begin with a dot. Default false; a pattern that names one includes it anyway.",
      examples: [true]
    }),
    { exact: true }
  ),
  max_results: Schema.optionalWith(
    Schema.Int.pipe(Schema.between(1, maxResults)).annotations({
      description: `Paths to return at most. Default ${defaultResults}.`,
      examples: [20]
    }),
    { exact: true }
  )
})

type Arguments = typeof Parameters.Type

const render = ({ path, pattern }: Arguments, { files, total }: FilesResult, capacity: number): string => {
  const where = path ?? "."
  if (total === 0) {
    return `No file fits ${JSON.stringify(pattern)} in ${where}. Ignored files are left out, hidden ones too unless ` +
      "include_hidden is true. Try a wider pattern, or list_directory."
  }
  const shown: Array<string> = []
  let used = 0
  for (const file of files) {
    used += byteLength(file.path) + 1
    if (used > capacity - closingBytes) break
    shown.push(file.path)
  }
  const of = shown.length < total
    ? `the newest ${shown.length} of ${count(total, "file")}; narrow pattern or path to see others`
    : `${count(total, "file")}, newest first`
  return [...shown, `[${of}]`].join("\n")
}

const handler = (args: Arguments, call: CallContext) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    const found = yield* files.files({
      path: args.path ?? ".",
      glob: args.pattern,
      includeHidden: args.include_hidden ?? false,
      limit: args.max_results ?? defaultResults
    }).pipe(Effect.catchAll((error) =>
      Effect.flatMap(
        error.reason === "bad-pattern"
          ? Effect.succeed(ToolFailure.execution(error.message))
          : toFailure(files, error),
        Effect.fail
      )
    ))
    return render(args, found, call.capacity)
  })

/**
 * Finds files by a glob, the newest first. Ignored and denied files are left out.
 *
 * @since 0.1.0
 * @category tools
 */
export const tool: Tool.Tool<Sandbox.Sandbox> = Tool.make("glob", {
  description:
    "Finds files by the pattern of their paths and returns one path a line, the newest first, with their number. " +
    "Example: {\"pattern\":\"src/**/*.test.ts\"}. " +
    "Only files, no folders; what .gitignore names is left out. If nothing fits that is no error: the answer says so. " +
    "When there are more than max_results the list is cut, and the line in brackets at the end says how many there are. " +
    "Do not use it to find text in files (use search_files) or for the folders, sizes or times of a tree " +
    "(use list_directory).",
  aliases: ["find_files", "file_search"],
  parameters: Parameters,
  safety: "read-only",
  trust: "discovery",
  paths: ({ path }) => [{ path: path ?? ".", access: "list" }],
  summary: ({ path, pattern }) => `Find ${JSON.stringify(pattern)} in ${path ?? "."}`,
  detail: ({ path, pattern }) => `${pattern}\nin ${path ?? "."}`,
  handler
})
