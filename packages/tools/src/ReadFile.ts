/**
 * `read_file`: text by lines, or binary as base64.
 *
 * @since 0.1.0
 */
import type { CallContext } from "@capstan/core/CallContext"
import { byteLength, truncate } from "@capstan/core/OutputLimit"
import { isHandle } from "@capstan/core/OutputStore"
import * as Sandbox from "@capstan/core/Sandbox"
import { hiddenCharacters } from "@capstan/core/Sanitiser"
import * as Tool from "@capstan/core/Tool"
import * as ToolFailure from "@capstan/core/ToolFailure"
import type { FileBytes, Workspace } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { asFailure, badArgument } from "./internal/fileProblem.js"
import * as Reads from "./internal/reads.js"
import { count, decode, lineRange, linesOf } from "./internal/textFile.js"

/** Larger files are read without a hash, so they cannot be edited afterwards. */
const maxHashedBytes = 64 * 1024 * 1024
/** Of the budget this much is kept for the line that says which lines these are. */
const closingBytes = 400
const warnedLines = 10

const Parameters = Schema.Struct({
  path: Schema.String.annotations({
    description: "File, relative to the working directory; or the handle that a cut result names.",
    examples: ["src/main.ts"]
  }),
  start_line: Schema.optionalWith(
    Schema.Int.pipe(Schema.positive()).annotations({
      description: "First line to return, counted from 1. Leave out for the whole file.",
      examples: [1]
    }),
    { exact: true }
  ),
  end_line: Schema.optionalWith(
    Schema.Int.pipe(Schema.positive()).annotations({
      description: "Last line to return, included. Leave out to read to the end.",
      examples: [200]
    }),
    { exact: true }
  )
})

type Arguments = typeof Parameters.Type

/** What one read has found out. */
interface Reading {
  readonly args: Arguments
  readonly call: CallContext
  readonly files: Workspace["Type"]
  readonly file: FileBytes
  /** Whether the file goes on after `file.bytes`. */
  readonly cut: boolean
}

/** The hash of all of the file, if it is still the one that was read. */
const hashOf = ({ args, cut, file, files }: Reading): Effect.Effect<string | undefined> =>
  cut
    ? Effect.gen(function*() {
      const sha256 = yield* files.sha256({ path: args.path, maxBytes: maxHashedBytes })
      const now = yield* files.stat({ path: file.canonical })
      return now.size === file.size && now.modified === file.modified ? sha256 : undefined
    }).pipe(Effect.orElseSucceed(() => undefined))
    : Effect.succeed(file.sha256 ?? undefined)

/** An earlier output cannot be edited, so that it was read need not be remembered. */
const record = (reading: Reading, total: number, shown: ReadonlyArray<Reads.Lines> | null): Effect.Effect<void> =>
  Effect.flatMap(isHandle(reading.args.path) ? Effect.succeed(undefined) : hashOf(reading), (sha256) => {
    const path = reading.file.canonical
    return sha256 === undefined
      ? Effect.void
      : reading.call.recordRead(Reads.add(reading.call.lastRead(path), { path, sha256, total }, shown))
  })

const warning = (text: string, firstLine: number): string => {
  const hidden = hiddenCharacters(text)
  if (hidden.length === 0) return ""
  const lines = hidden.slice(0, warnedLines).map(({ codePoints, line }) =>
    `line ${line + firstLine - 1} (${codePoints.join(", ")})`
  )
  const more = hidden.length > warnedLines ? ` and ${hidden.length - warnedLines} more lines` : ""
  return `[warning: hidden characters, left as they are, in ${lines.join(", ")}${more}]`
}

/** A text and remarks on lines of their own. */
const withRemarks = (body: string, remarks: ReadonlyArray<string>): string => {
  const said = remarks.filter((remark) => remark !== "").join("\n")
  return said === "" ? body : `${body}${body === "" || body.endsWith("\n") ? "" : "\n"}${said}`
}

const readBinary = (reading: Reading) =>
  Effect.gen(function*() {
    const { args, call, file } = reading
    if (args.start_line !== undefined || args.end_line !== undefined) {
      return yield* Effect.fail(badArgument("read_file", "start_line", {
        expected: "no line range, because this file is binary",
        received: "a line range",
        fix: `Send ${JSON.stringify({ path: args.path })} to get it as base64.`
      }))
    }
    const header = "[binary:base64]\n"
    const fits = (head: string) => Math.max(0, Math.floor((call.capacity - byteLength(head)) / 4)) * 3
    yield* record(reading, 0, null)
    if (!reading.cut && file.size <= Math.min(call.limits.maxFileReadBytes, fits(header))) {
      return header + Buffer.from(file.bytes).toString("base64")
    }
    const cutHeader = "[binary:base64] [truncated]\n"
    const bytes = file.bytes.subarray(0, Math.min(call.limits.maxFileReadBytes, fits(cutHeader)))
    return cutHeader + Buffer.from(bytes).toString("base64")
  })

const tooLarge = ({ args, cut, file }: Reading, total: number, budget: number): ToolFailure.ToolFailure => {
  const perLine = Math.max(1, file.bytes.length / Math.max(1, total))
  const some = Math.max(1, Math.min(total, Math.floor((budget - closingBytes) * 0.8 / perLine)))
  return ToolFailure.limit(
    "max_file_read_bytes",
    budget,
    `${file.display} is too large to read at once: ${cut ? "more than " : ""}${
      count(total, "line")
    }, ${file.size} bytes; ${budget} bytes fit.`,
    `Ask for a part of it: read_file ${
      JSON.stringify({ path: args.path, start_line: 1, end_line: some })
    }. To find something in it use search_files.`
  )
}

/** How to get what a ranged read did not show. */
const rest = ({ args, call, cut, file }: Reading, first: number, last: number, total: number): string => {
  const { path } = args
  if (first === 1 && last === total && !cut) return " This is the whole file."
  const whole = file.size <= Math.min(call.limits.maxFileReadBytes, call.capacity)
    ? ` Whole file: read_file ${JSON.stringify({ path })}.`
    : ""
  return last < total || cut
    ? ` ${cut ? "More" : count(total - last, "line")} after these: read_file ${
      JSON.stringify({ path, start_line: last + 1 })
    }.${whole}`
    : whole
}

/** As many lines from `start` as fit, at most to `end`. */
const fitting = (lines: ReadonlyArray<string>, start: number, end: number, budget: number): number => {
  let used = 0
  let last = start - 1
  while (last < end) {
    used += byteLength(lines[last] ?? "") + 1
    if (used > budget) break
    last++
  }
  return last
}

const readRange = (reading: Reading, all: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const { args, call, cut, file } = reading
    const lines = cut ? all.slice(0, -1) : all
    const total = lines.length
    const start = args.start_line ?? 1
    if (start > total) {
      const scanned = cut ? ` in its first ${file.bytes.length} bytes, further ones are not read` : ""
      return yield* Effect.fail(
        cut
          ? ToolFailure.limit(
            "max_read_file_scan_bytes",
            call.limits.maxReadFileScanBytes,
            `${file.display} has ${count(total, "line")}${scanned}; it has ${file.size} bytes in all.`,
            "Find what you need with search_files, or take a part out with run_command."
          )
          : badArgument("read_file", "start_line", {
            expected: `at most ${total}, because ${file.display} has ${count(total, "line")}`,
            received: String(start),
            fix: `Send ${JSON.stringify({ path: args.path })} to read all of it.`
          })
      )
    }
    const end = Math.min(args.end_line ?? total, total)
    const last = fitting(lines, start, end, call.capacity - closingBytes)
    const of = `${cut ? "more than " : ""}${total}`
    if (last < start) {
      const line = lines[start - 1] ?? ""
      yield* record(reading, total, [])
      return withRemarks(truncate(line, { maxBytes: call.capacity - closingBytes, keep: "head" }).text, [
        `[the beginning of line ${start} of ${of} in ${file.display}: this line alone has ${byteLength(line)} bytes]`
      ])
    }
    const body = lines.slice(start - 1, last).join("\n") + "\n"
    yield* record(reading, total, [[start, last]])
    return withRemarks(body, [
      warning(body, start),
      `[${lineRange(start, last)} of ${of} in ${file.display}.${rest(reading, start, last, total)}]`
    ])
  })

const readText = (reading: Reading, text: string) =>
  Effect.gen(function*() {
    const { args, call, cut } = reading
    const lines = linesOf(text)
    if (text === "" && !cut) {
      yield* record(reading, 0, null)
      return "[the file is empty: 0 bytes]"
    }
    if (args.start_line !== undefined || args.end_line !== undefined) return yield* readRange(reading, lines)
    const budget = Math.min(call.limits.maxFileReadBytes, call.capacity)
    if (cut || byteLength(text) > budget) return yield* Effect.fail(tooLarge(reading, lines.length, budget))
    yield* record(reading, lines.length, null)
    return withRemarks(text, [warning(text, 1)])
  })

const checkRange = ({ end_line, start_line }: Arguments) =>
  start_line !== undefined && end_line !== undefined && start_line > end_line
    ? Effect.fail(badArgument("read_file", "end_line", {
      expected: `a line not before start_line (${start_line})`,
      received: String(end_line),
      fix: "Send start_line and end_line in ascending order."
    }))
    : Effect.void

const readFile = (args: Arguments, call: CallContext) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    const length = Math.max(call.limits.maxReadFileScanBytes, call.limits.maxFileReadBytes)
    const file = yield* asFailure(files)(files.read({ path: args.path, offset: 0, length }))
    const cut = file.bytes.length < file.size
    const content = decode(file.bytes, cut)
    const reading = { args, call, files, file, cut }
    return yield* content._tag === "Binary" ? readBinary(reading) : readText(reading, content.text)
  })

const readOutput = (args: Arguments, call: CallContext) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    const text = yield* call.storedOutput(args.path)
    if (text === undefined) {
      return yield* Effect.fail(ToolFailure.notFound(
        args.path,
        `There is no output ${args.path} in this session.`,
        "Use the handle exactly as a result gave it, or run the call again."
      ))
    }
    const bytes = new TextEncoder().encode(text)
    const file = { bytes, size: bytes.length, canonical: args.path, display: args.path, modified: 0, sha256: null }
    return yield* readText({ args, call, files, file, cut: false }, text)
  })

/**
 * Reads one file, or an earlier output by its handle. A text comes as it is, a range of lines with a closing line that says which these are and how to get the
 * rest, binary content as base64. Records what was shown, which edits and overwriting rely on.
 *
 * @since 0.1.0
 * @category tools
 */
export const tool: Tool.Tool<Sandbox.Sandbox> = Tool.make("read_file", {
  description: "Reads one text file and returns its exact text. Read a file before you edit or overwrite it. " +
    "Example: {\"path\":\"src/main.ts\"}. Give only path to get the whole file. " +
    "If the file is too large for that it is refused with its number of lines: then ask for a part with start_line and " +
    "end_line (from 1, both included), which ends with a line in brackets that says how to get the rest. " +
    "If the file is binary it comes as base64, and a line range is refused. " +
    "Not for folders (use list_directory) and not to find text in many files (use search_files).",
  aliases: ["open_file", "view_file", "cat"],
  parameters: Parameters,
  safety: "read-only",
  verbatim: true,
  paths: ({ path }) => isHandle(path) ? [] : [{ path, access: "read" }],
  summary: ({ end_line, path, start_line }) =>
    start_line === undefined && end_line === undefined
      ? `Read ${path}`
      : `Read ${path}, lines ${start_line ?? 1} to ${end_line ?? "the end"}`,
  detail: ({ path }) => path,
  handler: (args, call) =>
    Effect.zipRight(checkRange(args), isHandle(args.path) ? readOutput(args, call) : readFile(args, call))
})
