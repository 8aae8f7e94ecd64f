/**
 * `search_files`: lines of files that match an expression.
 *
 * @since 0.1.0
 */
import type { CallContext } from "@capstan/core/CallContext"
import type { FileError } from "@capstan/core/FileError"
import { byteLength } from "@capstan/core/OutputLimit"
import * as Sandbox from "@capstan/core/Sandbox"
import * as Tool from "@capstan/core/Tool"
import * as ToolFailure from "@capstan/core/ToolFailure"
import type { SearchLine, SearchResult, Workspace } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { toFailure } from "./internal/fileProblem.js"
import { count } from "./internal/textFile.js"

const defaultResults = 50
const maxResults = 500
const maxContextLines = 10
const maxFileBytes = 1_048_576
/** Of the budget this much is kept for the line that says what there is in all. */
const closingBytes = 300

const Parameters = Schema.Struct({
  pattern: Schema.String.pipe(Schema.minLength(1)).annotations({
    description: "Regular expression to find within one line, or the text itself with literal.",
    examples: ["function \\w+\\("]
  }),
  path: Schema.optionalWith(
    Schema.String.annotations({
      description: "Folder (or file) to search, relative to the working directory. Default: all of it.",
      examples: ["src"]
    }),
    { exact: true }
  ),
  glob: Schema.optionalWith(
    Schema.String.annotations({ description: "Only files whose names match.", examples: ["*.ts"] }),
    { exact: true }
  ),
  literal: Schema.optionalWith(
    Schema.Boolean.annotations({
      description: "Take pattern as plain text, for text with ( [ . * and the like. Default false.",
      examples: [true]
    }),
    { exact: true }
  ),
  case_sensitive: Schema.optionalWith(
    Schema.Boolean.annotations({ description: "Default true.", examples: [false] }),
    { exact: true }
  ),
  context_lines: Schema.optionalWith(
    Schema.Int.pipe(Schema.between(0, maxContextLines)).annotations({
      description: "Lines to show before and after each match. Default 0.",
      examples: [2]
    }),
    { exact: true }
  ),
  max_results: Schema.optionalWith(
    Schema.Int.pipe(Schema.between(1, maxResults)).annotations({
      description: `Matches to return at most. Default ${defaultResults}.`,
      examples: [20]
    }),
    { exact: true }
  ),
  offset: Schema.optionalWith(
    Schema.Int.pipe(Schema.nonNegative()).annotations({
      description: "Matches to pass over, to get the next page. Default 0.",
      examples: [50]
    }),
    { exact: true }
  )
})

type Arguments = typeof Parameters.Type

const format = ({ line, match, path, text }: SearchLine): string =>
  match ? `${path}:${line}: ${text}` : `${path}-${line}- ${text}`

/** As many lines as fit, and how many of them are matches. */
const fitting = (lines: ReadonlyArray<SearchLine>, budget: number) => {
  const shown: Array<string> = []
  let matches = 0
  let used = 0
  let previous: SearchLine | undefined
  for (const line of lines) {
    const gap = previous !== undefined && (previous.path !== line.path || previous.line + 1 < line.line) &&
      lines.some(({ match }) => !match)
    const text = gap ? `--\n${format(line)}` : format(line)
    used += byteLength(text) + 1
    if (used > budget) break
    shown.push(text)
    if (line.match) matches++
    previous = line
  }
  return { text: shown.join("\n"), matches }
}

const skipped = ({ skippedLarge }: SearchResult): string =>
  skippedLarge === 0 ? "" : ` ${count(skippedLarge, "file")} above 1 MiB skipped.`

const nothing = (args: Arguments, result: SearchResult): string => {
  const { case_sensitive, glob, literal, pattern } = args
  const where = `${args.path ?? "."}${glob === undefined ? "" : ` (files ${glob})`}`
  if (result.total > 0) {
    return `[no more matches: there are ${result.total} in all, and offset is ${args.offset ?? 0}]`
  }
  const ideas = [
    ...(case_sensitive === false ? [] : ["\"case_sensitive\": false"]),
    ...(literal === true ? [] : ["\"literal\": true if pattern is plain text"]),
    ...(glob === undefined ? [] : ["no glob"]),
    ...(args.path === undefined || args.path === "." ? [] : ["no path"]),
    "a shorter pattern"
  ]
  return `No line matches ${JSON.stringify(pattern)} in ${where}. To widen the search: ${ideas.join(", ")}.${
    skipped(result)
  }`
}

const render = (args: Arguments, result: SearchResult, capacity: number): string => {
  if (result.matches === 0) return nothing(args, result)
  const { matches, text } = fitting(result.lines, capacity - closingBytes)
  const first = (args.offset ?? 0) + 1
  const next = first - 1 + matches
  const of = `${count(result.total, "match").replace(/matchs$/, "matches")} in ${count(result.files, "file")}`
  const closing = first === 1 && next >= result.total
    ? `[${of}.${skipped(result)}]`
    : next >= result.total
    ? `[matches ${first}-${next} of ${of}; these are the last.${skipped(result)}]`
    : `[matches ${first}-${next} of ${of}. More: send the same call with "offset": ${next}.${skipped(result)}]`
  return text === "" ? closing : `${text}\n${closing}`
}

const explain = (files: Workspace["Type"], { literal }: Arguments, error: FileError) =>
  error.reason === "bad-pattern"
    ? Effect.succeed(ToolFailure.execution(
      error.message,
      literal === true ? null : "To find the text itself send the same call with \"literal\": true."
    ))
    : toFailure(files, error)

const handler = (args: Arguments, call: CallContext) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    const result = yield* files.search({
      path: args.path ?? ".",
      pattern: args.pattern,
      literal: args.literal ?? false,
      caseSensitive: args.case_sensitive ?? true,
      glob: args.glob,
      contextLines: args.context_lines ?? 0,
      limit: args.max_results ?? defaultResults,
      offset: args.offset ?? 0,
      maxFileBytes
    }).pipe(Effect.catchAll((error) => Effect.flatMap(explain(files, args, error), Effect.fail)))
    return render(args, result, call.capacity)
  })

/**
 * Finds lines by a regular expression or by their text. Files that are ignored, denied, binary or above 1 MiB are not
 * searched.
 *
 * @since 0.1.0
 * @category tools
 */
export const tool: Tool.Tool<Sandbox.Sandbox> = Tool.make("search_files", {
  description:
    "Finds lines in files below a folder and returns them as path:line: text, with the number of matches in all. " +
    "Example: {\"pattern\":\"parseConfig\",\"path\":\"src\",\"glob\":\"*.ts\"}. " +
    "pattern is a regular expression that matches within one line; send \"literal\": true for plain text. " +
    "If nothing matches that is no error: the answer says how to search wider. " +
    "When there are more than max_results the list is cut, and offset gives the rest. " +
    "Ignored and binary files and files above 1 MiB are left out. " +
    "Do not use it to find files by name (use glob) or to read a known file (use read_file).",
  aliases: ["grep", "search", "find_in_files"],
  parameters: Parameters,
  safety: "read-only",
  trust: "discovery",
  paths: ({ path }) => [{ path: path ?? ".", access: "read" }],
  summary: ({ path, pattern }) => `Search ${path ?? "."} for ${JSON.stringify(pattern)}`,
  detail: ({ glob, path, pattern }) => `${pattern}\nin ${path ?? "."}${glob === undefined ? "" : ` (${glob})`}`,
  handler
})
