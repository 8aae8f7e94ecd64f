/**
 * `edit_file`: replaces an exact snippet of a file.
 *
 * @since 0.1.0
 */
import type { CallContext } from "@capstan/core/CallContext"
import type { FileRead } from "@capstan/core/FileRead"
import * as Sandbox from "@capstan/core/Sandbox"
import { hiddenCharacters } from "@capstan/core/Sanitiser"
import * as Tool from "@capstan/core/Tool"
import * as ToolFailure from "@capstan/core/ToolFailure"
import type { Workspace } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Closest from "./internal/closest.js"
import * as CurrentFile from "./internal/currentFile.js"
import { asFailure, badArgument, missing } from "./internal/fileProblem.js"
import * as Reads from "./internal/reads.js"
import * as Snippet from "./internal/snippet.js"
import { count, encode, lineNumbers, lineRange, linesOf } from "./internal/textFile.js"
import { unifiedDiff } from "./internal/unifiedDiff.js"

/** How much of a file is shown in an error or around an edit. */
const maxShownCharacters = 4_096
const linesAround = 3
const placesShown = 5

const Parameters = Schema.Struct({
  path: Schema.String.annotations({
    description: "File to change, relative to the working directory.",
    examples: ["docs/guide.md"]
  }),
  old_text: Schema.String.annotations({
    description:
      "Text to replace, copied exactly from the file with its indentation and line breaks. Must occur once; add lines around it until it does.",
    examples: ["colour"]
  }),
  new_text: Schema.String.annotations({
    description: "Text to put in its place. Empty takes old_text out.",
    examples: ["color"]
  }),
  replace_all: Schema.optionalWith(
    Schema.Boolean.annotations({
      description: "Replace every occurrence of old_text. Default false: exactly one must be there.",
      examples: [true]
    }),
    { exact: true }
  )
})

type Arguments = typeof Parameters.Type

const checkArguments = ({ new_text, old_text, path }: Arguments) =>
  old_text === ""
    ? Effect.fail(badArgument("edit_file", "old_text", {
      expected: "a text that stands in the file",
      received: "an empty text",
      fix: `Copy the lines to replace out of the file. To fill an empty file use write_file with "path": ${
        JSON.stringify(path)
      }.`
    }))
    : old_text === new_text
    ? Effect.fail(badArgument("edit_file", "new_text", {
      expected: "another text than old_text",
      received: "the same text, which would change nothing",
      fix: "Send what the file should have instead."
    }))
    : Effect.void

const readText = (files: Workspace["Type"], path: string, maxBytes: number) =>
  Effect.gen(function*() {
    const file = yield* CurrentFile.read(files, path, maxBytes)
    if (file === undefined) return yield* Effect.flatMap(missing(files, path), Effect.fail)
    if (file.text !== undefined) return { ...file, text: file.text }
    return yield* Effect.fail(
      file.size > maxBytes
        ? ToolFailure.limit(
          "max_read_file_scan_bytes",
          maxBytes,
          `${file.display} has ${file.size} bytes; files up to ${maxBytes} bytes can be edited.`,
          "Change it with run_command."
        )
        : ToolFailure.execution(`${file.display} is binary and cannot be edited as text.`)
    )
  })

const notFound = (file: CurrentFile.TextFile, known: FileRead, { new_text, old_text }: Arguments, call: CallContext) =>
  Effect.gen(function*() {
    const { display, text } = file
    const lines = linesOf(text)
    if (new_text !== "" && Snippet.find(text, new_text, "").places.length > 0) {
      const at = Snippet.find(text, new_text, "").places.map(({ start }) => start)
      const [line = 1] = lineNumbers(text, at)
      return ToolFailure.notFound(
        "old_text",
        `old_text is not in ${display}, but new_text is, at line ${line}. If this was the change, it is done already; nothing was written.`,
        "Take the next step."
      )
    }
    const meant = Closest.unescaped(old_text)
    const passage = meant !== old_text && Snippet.find(text, meant, "").places.length === 1
      ? { text: meant, difference: "Your old_text has backslashes that the file has not.", first: 0, last: -1 }
      : Closest.closest(text, old_text, "old_text")
    const { canonical: path, sha256 } = file
    const see = (shown: ReadonlyArray<Reads.Lines> | null) =>
      call.recordRead(Reads.add(known, { path, sha256, total: lines.length }, shown))
    if (passage === undefined || passage.text.length > maxShownCharacters) {
      const whole = text.length <= maxShownCharacters
      if (whole) yield* see(null)
      return ToolFailure.notFound(
        "old_text",
        `old_text is not in ${display}, and nothing there is like it.${
          whole ? ` This is all of the file:\n${text}` : ` It has ${count(lines.length, "line")}.`
        }`,
        "Copy old_text exactly out of the file, or find the right file with search_files."
      )
    }
    yield* see([[passage.first, passage.last]])
    const hidden = hiddenCharacters(passage.text).length > 0
      ? " It has hidden characters there: change the lines around them instead, or write the file anew."
      : ""
    const where = passage.last < passage.first
      ? ""
      : ` The closest is ${lineRange(passage.first, passage.last)}:\n${passage.text.replace(/\n$/, "")}\n`
    return ToolFailure.notFound(
      "old_text",
      `old_text is not in ${display}; nothing was written.${where === "" ? " " : where}${passage.difference}${hidden}`,
      `To change that, send the call again with exactly this: "old_text": ${JSON.stringify(passage.text)}`
    )
  })

const ambiguous = (file: CurrentFile.TextFile, places: ReadonlyArray<Reads.Lines>) => {
  const around = places.slice(0, placesShown).map(([first, last]) => Closest.numbered(file.text, first - 1, last + 1))
    .join("\n...\n")
  return ToolFailure.execution(
    `old_text is in ${file.display} ${places.length} times: ${
      Closest.nameLines(places, placesShown)
    }. Nothing was written.\n${around}`,
    "Add lines before or after it to old_text (without the line numbers) until it is the only one, or send \"replace_all\": true to change all of them."
  )
}

const linesOfPlaces = (text: string, places: ReadonlyArray<Snippet.Place>): ReadonlyArray<Reads.Lines> => {
  const firsts = lineNumbers(text, places.map(({ start }) => start))
  const lasts = lineNumbers(text, places.map(({ end, start }) => Math.max(start, end - 1)))
  return places.map((_, index): Reads.Lines => [firsts[index] ?? 1, lasts[index] ?? 1])
}

interface Edit {
  readonly places: ReadonlyArray<Snippet.Place>
  readonly replacement: string
  readonly text: string
}

/** The edit that the arguments describe, or undefined where the snippet does not stand once (or at all). */
const editOf = (text: string, args: Arguments): Edit | undefined => {
  const found = Snippet.find(text, args.old_text, args.new_text)
  if (found.places.length === 0 || (found.places.length > 1 && args.replace_all !== true)) return undefined
  const places = found.separate
  return { places, replacement: found.replacement, text: Snippet.replace(text, places, found.replacement) }
}

/** Where the new text stands afterwards. */
const placesAfter = ({ places, replacement }: Edit): ReadonlyArray<Snippet.Place> => {
  let moved = 0
  return places.map(({ end, start }) => {
    const place = { start: start + moved, end: start + moved + replacement.length }
    moved += replacement.length - (end - start)
    return place
  })
}

const breaks = (text: string): number => text.split("\n").length - 1

const report = (display: string, before: string, edit: Edit): string => {
  const after = linesOfPlaces(edit.text, placesAfter(edit))
  const lines = linesOf(edit.text)
  const what = edit.places.length === 1 ? "replaced 1 occurrence" : `replaced ${edit.places.length} occurrences`
  const empty = edit.replacement.trim() === ""
    ? after.flatMap(([first], index) => {
      const { end = 0 } = edit.places[index] ?? {}
      return (lines[first - 1] ?? "x").trim() === "" && before[end - 1] !== "\n" ? [first] : []
    })
    : []
  const left = empty.length > 0
    ? ` Line ${
      empty.slice(0, placesShown).join(", ")
    } is now empty: if it should go too, edit again with its line break in old_text.`
    : ""
  const around = after.slice(0, placesShown).map(([first, last]) =>
    Closest.numbered(edit.text, first - linesAround, Math.min(last, first + 2 * linesAround) + linesAround)
  ).join("\n...\n")
  const shown = around.length > maxShownCharacters ? `${around.slice(0, maxShownCharacters)}\n...` : around
  return `edited ${display}: ${what} (${Closest.nameLines(after, placesShown)}). The file is changed and has ${
    count(lines.length, "line")
  } now; this step is done.${left}${shown === "" ? "" : ` With line numbers it says there:\n${shown}`}`
}

/** What is known of the file after the edit: lines that were seen before it, and the new ones. */
const knownAfter = (known: FileRead, file: CurrentFile.TextFile, edit: Edit, sha256: string): FileRead => {
  const { canonical: path } = file
  if (known.lines === null) return { path, sha256, lines: null }
  const touched = linesOfPlaces(file.text, edit.places)
  const replacements = edit.places.reduce<ReadonlyArray<Reads.Replacement>>((done, { end, start }, index) => {
    const [first, last] = touched[index] ?? [1, 1]
    const grown = breaks(edit.replacement) - breaks(file.text.slice(start, end))
    const before = done.at(-1)
    return before !== undefined && first <= before.lines[1]
      ? [...done.slice(0, -1), {
        lines: [before.lines[0], last],
        added: before.added + last - before.lines[1] + grown
      }]
      : [...done, { lines: [first, last], added: last - first + 1 + grown }]
  }, [])
  const total = linesOf(edit.text).length
  return Reads.add(undefined, { path, sha256, total }, Reads.shift(known.lines, replacements))
}

const run = (args: Arguments, call: CallContext) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    yield* checkArguments(args)
    const file = yield* readText(files, args.path, call.limits.maxReadFileScanBytes)
    const known = yield* CurrentFile.requireRead(file, call, args.path, "editing")
    const found = Snippet.find(file.text, args.old_text, args.new_text)
    if (found.places.length === 0) return yield* Effect.flatMap(notFound(file, known, args, call), Effect.fail)
    const edit = editOf(file.text, args)
    if (edit === undefined) return yield* Effect.fail(ambiguous(file, linesOfPlaces(file.text, found.places)))
    yield* CurrentFile.requireSeen({
      file,
      known,
      touched: linesOfPlaces(file.text, edit.places),
      call,
      path: args.path,
      verb: "editing"
    })
    const content = encode(edit.text, file.bom)
    yield* call.reserveWrite(content.length)
    const written = yield* asFailure(files)(files.write({ path: args.path, content, expect: file.sha256 }))
    yield* call.recordRead(knownAfter(known, file, edit, written.sha256))
    return report(written.display, file.text, edit)
  })

const preview = (args: Arguments) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    const file = yield* Effect.option(readText(files, args.path, maxDiffBytes))
    if (file._tag === "None" || args.old_text === "") return undefined
    const { display, text } = file.value
    const edit = editOf(text, args)
    return edit === undefined ? undefined : unifiedDiff({ path: display, before: text, after: edit.text })
  })

/** Of larger files no diff is shown. */
const maxDiffBytes = 1_048_576

/**
 * Replaces an exact snippet of a file that this session has read and that has not changed since.
 *
 * @since 0.1.0
 * @category tools
 */
export const tool: Tool.Tool<Sandbox.Sandbox> = Tool.make("edit_file", {
  description: "Changes a part of a file: replaces old_text by new_text. " +
    "Example: {\"path\":\"docs/guide.md\",\"old_text\":\"colour\",\"new_text\":\"color\"}. " +
    "Read the file with read_file first and copy old_text exactly, with its indentation; it must occur once: if it is missing or occurs more often, the call fails and nothing is written, unless replace_all is true. " +
    "Line breaks match whether the file has LF or CRLF. To take whole lines out, end old_text with their line break and send an empty new_text. " +
    "If old_text is not found, the error hands over the text to use. Not for new files or complete rewrites (use write_file).",
  aliases: ["replace_in_file", "str_replace"],
  parameters: Parameters,
  verbatim: true,
  paths: ({ path }) => [{ path, access: "write" }],
  summary: ({ path, replace_all }) => `Edit ${path}${replace_all === true ? " (all occurrences)" : ""}`,
  detail: ({ path }) => path,
  preview,
  handler: run
})
