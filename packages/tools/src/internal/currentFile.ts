import type { CallContext } from "@capstan/core/CallContext"
import type { FileError } from "@capstan/core/FileError"
import type { FileRead } from "@capstan/core/FileRead"
import type * as ToolFailure from "@capstan/core/ToolFailure"
import type { Workspace } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import { nameLines } from "./closest.js"
import { asFailure, stale } from "./fileProblem.js"
import * as Reads from "./reads.js"
import { count, decode, linesOf } from "./textFile.js"

type Files = Workspace["Type"]

/** A file, or lines of it, that were not read are shown up to this size, and then count as read. */
const maxShownBytes = 4_096
const rangesNamed = 5

/** A file as it is now. `text` is undefined for what is no text. */
export interface CurrentFile {
  readonly canonical: string
  readonly display: string
  readonly size: number
  readonly sha256: string
  readonly text: string | undefined
  readonly bom: boolean
}

/** A file that is text, as it is now. */
export interface TextFile extends CurrentFile {
  readonly text: string
}

/** The file at a path, or undefined where there is none. */
export const read = (
  files: Files,
  path: string,
  maxBytes: number
): Effect.Effect<CurrentFile | undefined, ToolFailure.ToolFailure> =>
  Effect.gen(function*() {
    const file = yield* files.read({ path, offset: 0, length: maxBytes })
    const sha256 = file.sha256 ?? (yield* files.sha256({ path, maxBytes: Number.MAX_SAFE_INTEGER }))
    const content = decode(file.bytes, file.bytes.length < file.size)
    const whole = content._tag === "Text" && file.bytes.length === file.size
    return {
      canonical: file.canonical,
      display: file.display,
      size: file.size,
      sha256,
      text: whole ? content.text : undefined,
      bom: whole && content.bom
    }
  }).pipe(
    Effect.catchIf((error: FileError) => error.reason === "not-found", () => Effect.succeed(undefined)),
    asFailure(files)
  )

/** What would be done to the file. */
type Verb = "editing" | "overwriting" | "patching"

/** What to do after the content was shown. */
const nowThatItIsShown: Record<Verb, string> = {
  editing: "Now call edit_file again, with old_text copied exactly from this content.",
  overwriting: "If all of this should go, call write_file again now; to keep some of it, send it as a part of content.",
  patching: "Now send the patch again, with every match copied exactly from this content."
}

/** A file that the session has not read is refused; a small text is shown with the refusal, and then counts as read. */
const notRead = (
  file: CurrentFile,
  call: CallContext,
  path: string,
  verb: Verb,
  why: string
): Effect.Effect<never, ToolFailure.ToolFailure> =>
  Effect.gen(function*() {
    const { sha256, text } = file
    const details = { path }
    if (text === undefined || file.size > maxShownBytes) {
      const kind = text === undefined ? "" : `, ${count(linesOf(text).length, "line")}`
      return yield* Effect.fail<ToolFailure.ToolFailure>({
        _tag: "StaleFile",
        message: `${why} ${file.display} has ${file.size} bytes${kind}. Nothing was written.`,
        suggestedFix: `Read it first: read_file ${JSON.stringify({ path })}. Then send the change again.`,
        details
      })
    }
    const total = linesOf(text).length
    yield* call.recordRead(Reads.add(undefined, { path: file.canonical, sha256, total }, null))
    return yield* Effect.fail<ToolFailure.ToolFailure>({
      _tag: "StaleFile",
      message: `${why} Nothing was written. ${file.display} has ${file.size} bytes, ${
        count(total, "line")
      }; this is its content, which now counts as read:\n${text}`,
      suggestedFix: nowThatItIsShown[verb],
      details
    })
  })

/** Fails unless the session knows the file as it is now. What it knows is returned. */
export const requireRead = (
  file: CurrentFile,
  call: CallContext,
  path: string,
  verb: Verb
): Effect.Effect<FileRead, ToolFailure.ToolFailure> => {
  const known = call.lastRead(file.canonical)
  if (known === undefined) return notRead(file, call, path, verb, `File was not read before ${verb}.`)
  return known.sha256 === file.sha256
    ? Effect.succeed(known)
    : Effect.fail(stale(path, "File content changed since last read"))
}

/** Fails unless the session has seen all of the file as it is now. */
export const requireWholeRead = (
  file: CurrentFile,
  call: CallContext,
  path: string,
  verb: Verb
): Effect.Effect<void, ToolFailure.ToolFailure> =>
  Effect.flatMap(requireRead(file, call, path, verb), (known) => {
    // Of what is too large to be read whole, a part has to do.
    if (known.lines === null || file.text === undefined) return Effect.void
    const seen = known.lines.map(([first, last]) => `${first}-${last}`).join(", ")
    return notRead(
      file,
      call,
      path,
      verb,
      `Only a part of the file was read before ${verb} (lines ${seen === "" ? "none" : seen}).`
    )
  })

/** Fails where a change rests on lines that were not seen; they are shown, and then count as read. */
export const requireSeen = (options: {
  readonly file: TextFile
  readonly known: FileRead
  readonly touched: ReadonlyArray<Reads.Lines>
  readonly call: CallContext
  readonly path: string
  readonly verb: Verb
}): Effect.Effect<void, ToolFailure.ToolFailure> =>
  Effect.gen(function*() {
    const { call, file, known, path, touched, verb } = options
    const gaps = touched.flatMap((lines) => Reads.unseen(known, lines))
    const [first] = gaps
    if (first === undefined) return
    const all = linesOf(file.text)
    const shown = fitting(gaps.map((gap) => ({ gap, text: all.slice(gap[0] - 1, gap[1]).join("\n") })))
    if (shown.length > 0) {
      const now = { path: file.canonical, sha256: file.sha256, total: all.length }
      yield* call.recordRead(Reads.add(known, now, shown.map(({ gap }) => gap)))
    }
    const [start, end] = gaps[shown.length] ?? first
    const where = nameLines(gaps, rangesNamed)
    return yield* Effect.fail<ToolFailure.ToolFailure>({
      _tag: "StaleFile",
      message: `File was not read before ${verb} at ${where} of ${file.display}. Nothing was written.${
        shown.length > 0
          ? ` There it says, which now counts as read:\n${shown.map(({ text }) => text).join("\n...\n")}`
          : ""
      }`,
      suggestedFix: shown.length === gaps.length
        ? "If the change is still right, send it again."
        : `Read these lines: read_file ${JSON.stringify({ path, start_line: start, end_line: end })}.`,
      details: { path }
    })
  })

interface Shown {
  readonly gap: Reads.Lines
  readonly text: string
}

/** As many of the first passages as may be shown together. */
const fitting = (passages: ReadonlyArray<Shown>): ReadonlyArray<Shown> => {
  let length = 0
  const first = passages.findIndex(({ text }) => (length += text.length + 1) > maxShownBytes + 1)
  return first === -1 ? passages : passages.slice(0, first)
}
