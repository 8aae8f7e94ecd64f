import type * as ToolCall from "@capstan/core/ToolCall"
import * as Either from "effect/Either"
import * as JsonArguments from "../JsonArguments.js"
import type { TextCall } from "../TextCall.js"
import { balanced } from "./balanced.js"
import { readElement, readNamedElement } from "./elements.js"
import { isObject } from "./jsonObject.js"
import { closerWords, namedElements, openerWords, separatorWords } from "./markers.js"
import { readCalls } from "./python.js"
import { END, isSpaceCode, isWordCode, peek, type Reading, run, skipSpace, stands, type Tape } from "./tape.js"
import type { Toolbox } from "./toolbox.js"

/**
 * Calls that end at `at`, or none: then what was looked at is text up to `at`, and nothing in it is looked at again.
 */
export interface Block {
  readonly calls: ReadonlyArray<TextCall>
  readonly at: number
}

/** Where a block stands: in plain text, in a code fence, or behind something that can only open a call. */
export type Place = "text" | "fence" | "explicit"

const code = (char: string): number => char.charCodeAt(0)
const brace = code("{")
const bracket = code("[")
const parenthesis = code("(")
const angle = code("<")
const backtick = code("`")
const newline = code("\n")

const none = (at: number): Block => ({ calls: [], at })

const note = (kind: string, detail: string): ToolCall.Repair => ({ kind, detail })

/**
 * Reads the call or calls that begin at `start`, where the text has arrived, with `{`, `[`, `<` or a word.
 */
export function* readBlock(tape: Tape, tools: Toolbox, start: number, place: Place): Reading<Block> {
  const unit = tape.code(start)
  if (unit === brace || unit === bracket) return yield* readBrackets(tape, tools, start, place)
  if (unit === angle) return yield* readTag(tape, tools, start, place)
  if (isWordCode(unit)) return yield* readWord(tape, tools, start, place)
  return none(start + 1)
}

function* readBrackets(tape: Tape, tools: Toolbox, start: number, place: Place): Reading<Block> {
  const list = tape.code(start) === bracket
  const marker = list && place !== "explicit" ? yield* openerWords.at(tape, start) : ""
  if (marker !== "") return yield* readMarked(tape, tools, start, marker)
  const python = list && (yield* callFollows(tape, yield* skipSpace(tape, start + 1)))
  const extent = yield* balanced(tape, start, python ? "python" : "json")
  if (extent.kind === "failed" || (python && extent.kind === "cut")) return none(extent.at)
  const next = extent.kind === "closed" ? yield* peek(tape, extent.at) : END
  if (next === bracket || next === parenthesis) return none(extent.at)
  const raw = tape.slice(start, extent.at)
  const calls = python ? pythonCalls(tools, raw) : jsonCalls(tools, raw, place)
  return {
    calls: place === "fence" && !calls.every((call) => call.tool !== undefined) && python ? [] : calls,
    at: extent.at
  }
}

const pythonCalls = (tools: Toolbox, raw: string): ReadonlyArray<TextCall> => {
  const calls = (readCalls(raw) ?? []).map((call) => tools.pythonCall(call))
  return calls.every((call) => call !== undefined) ? calls : []
}

const jsonCalls = (tools: Toolbox, raw: string, place: Place): ReadonlyArray<TextCall> => {
  const parsed = JsonArguments.parseValue(raw)
  if (Either.isLeft(parsed)) return []
  const { repairs, value } = parsed.right
  if (Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string")) {
    const quoted = value.map((item) => pythonCalls(tools, item))
    return quoted.every((calls) => calls.length > 0) ? quoted.flat() : []
  }
  return tools.read(value, repairs, place === "explicit")
}

function* callFollows(tape: Tape, at: number): Reading<boolean> {
  const { end } = yield* readName(tape, at)
  return end > at && (yield* peek(tape, end)) === parenthesis
}

const nameCodes = [..."_.:/\\-"].map(code)

function* readName(tape: Tape, at: number): Reading<{ readonly name: string; readonly end: number }> {
  let end = at
  while (end - at < 128) {
    const unit = yield* peek(tape, end)
    if (!isWordCode(unit) && !nameCodes.includes(unit)) break
    end++
  }
  return { name: tape.slice(at, end), end }
}

/** `<` that opens a call block, an element that names a tool, or nothing of the kind. */
function* readTag(tape: Tape, tools: Toolbox, start: number, place: Place): Reading<Block> {
  const marker = yield* openerWords.at(tape, start)
  if (marker !== "") return yield* readMarked(tape, tools, start, marker)
  return place === "text" || place === "fence" ? yield* readElement(tape, tools, start) : none(start + 1)
}

function* readMarked(tape: Tape, tools: Toolbox, start: number, marker: string): Reading<Block> {
  if (namedElements.includes(marker)) {
    return yield* withClosers(tape, yield* readNamedElement(tape, tools, start, marker))
  }
  let at = yield* skipSpace(tape, start + marker.length)
  for (let next = yield* openerWords.at(tape, at); next !== ""; next = yield* openerWords.at(tape, at)) {
    if (namedElements.includes(next)) return yield* withClosers(tape, yield* readNamedElement(tape, tools, at, next))
    at = yield* skipSpace(tape, at + next.length)
  }
  return yield* readBody(tape, tools, at, marker)
}

/** What stands behind an opener: one or several values, an element, or a name with its arguments. */
function* readBody(tape: Tape, tools: Toolbox, start: number, marker: string): Reading<Block> {
  const calls: Array<TextCall> = []
  let at = start
  for (;;) {
    const unit = yield* peek(tape, at)
    const begins = unit === brace || unit === bracket || (calls.length === 0 && (unit === angle || isWordCode(unit)))
    if (!begins) break
    const block = unit === angle
      ? yield* readElement(tape, tools, at, true)
      : yield* readBlock(tape, tools, at, "explicit")
    if (block.calls.length === 0) {
      if (calls.length > 0) break
      return unit === brace || unit === bracket ? yield* readBroken(tape, tools, at, block.at, marker) : none(block.at)
    }
    calls.push(...block.calls)
    at = yield* skipSpace(tape, block.at)
    if ((yield* peek(tape, at)) === END || (yield* peek(tape, at)) === code(",")) at = block.at
    start = block.at
  }
  return calls.length === 0 ? none(Math.max(at, start)) : yield* withClosers(tape, { calls, at: start })
}

/** JSON that no bracket count can end: its block's closing tag does. */
function* readBroken(tape: Tape, tools: Toolbox, start: number, from: number, marker: string): Reading<Block> {
  const closer = marker.startsWith("<") && !marker.startsWith("<|") && !marker.startsWith("<｜")
    ? `</${marker.slice(1)}`
    : ""
  if (closer === "" || tape.isAbsent(closer)) return none(from)
  for (let at = from;; at++) {
    const unit = yield* peek(tape, at)
    if (unit === END) {
      tape.noteAbsent(closer)
      return none(from)
    }
    if (unit !== angle) continue
    if (yield* stands(tape, at, closer)) {
      const calls = jsonCalls(tools, tape.slice(start, at), "explicit")
      return calls.length === 0 ? none(at + closer.length) : yield* withClosers(tape, { calls, at })
    }
  }
}

/** Takes the closing words behind a call with it. */
function* withClosers(tape: Tape, block: Block): Reading<Block> {
  if (block.calls.length === 0) return block
  let end = block.at
  for (;;) {
    const at = yield* skipSpace(tape, end)
    const closer = yield* closerWords.at(tape, at)
    if (closer === "") return { calls: block.calls, at: end }
    end = at + closer.length
  }
}

/** A word that may be a tool's name: `name(…)`, or a name with JSON behind it. */
function* readWord(tape: Tape, tools: Toolbox, start: number, place: Place): Reading<Block> {
  const explicit = place === "explicit"
  let { end, name } = yield* readName(tape, start)
  let separator = yield* separatorWords.at(tape, end)
  if (explicit && separator !== "" && (name === "function" || name === "tool")) {
    ;({ end, name } = yield* readName(tape, end + separator.length))
    separator = yield* separatorWords.at(tape, end)
  }
  if (!explicit && tools.resolve(name) === undefined) return none(end)
  if ((yield* peek(tape, end)) === parenthesis) {
    const extent = yield* balanced(tape, end, "python")
    if (extent.kind !== "closed") return none(extent.at)
    const closed = (yield* peek(tape, extent.at)) === code(";") ? extent.at + 1 : extent.at
    const calls = explicit || (yield* standsAlone(tape, closed)) ? pythonCalls(tools, tape.slice(start, extent.at)) : []
    return { calls, at: calls.length === 0 ? extent.at : closed }
  }
  return yield* readArguments(tape, tools, name, end, explicit)
}

/** Nothing but the end of the line, a list's comma, or the end of a fence follows. */
function* standsAlone(tape: Tape, at: number): Reading<boolean> {
  let next = at
  while ((yield* peek(tape, next)) === 32 || (yield* peek(tape, next)) === 9 || (yield* peek(tape, next)) === 13) next++
  const unit = yield* peek(tape, next)
  return unit === END || unit === newline || unit === code(",") || unit === code(";") || unit === backtick ||
    unit === angle || (next === at + 1 && isWordCode(unit) && tape.code(at - 1) === code(";"))
}

function* readArguments(tape: Tape, tools: Toolbox, name: string, end: number, explicit: boolean): Reading<Block> {
  let at = end
  if (explicit) {
    for (;;) {
      at = yield* skipSpace(tape, at)
      const separator = yield* separatorWords.at(tape, at)
      if (separator !== "") {
        at += separator.length
      } else if (yield* stands(tape, at, "[CALL_ID]")) {
        at = (yield* readName(tape, at + 9)).end
      } else if ((yield* peek(tape, at)) === backtick && (yield* run(tape, at)) >= 3) {
        at = (yield* readName(tape, at + (yield* run(tape, at)))).end
      } else {
        break
      }
    }
  } else {
    at = yield* skipSpace(tape, at)
  }
  const lineEnded = tape.slice(end, at).includes("\n")
  if ((yield* peek(tape, at)) !== brace || (!explicit && !lineEnded)) {
    return explicit && (yield* peek(tape, at)) === angle ? yield* readElement(tape, tools, at, true, name) : none(end)
  }
  const extent = yield* balanced(tape, at, "json")
  if (extent.kind === "failed" || (extent.kind === "cut" && !explicit)) return none(extent.at)
  const parsed = JsonArguments.parseValue(tape.slice(at, extent.at))
  if (Either.isLeft(parsed) || !isObject(parsed.right.value)) return none(extent.at)
  const call = tools.call(name, parsed.right.value, parsed.right.repairs)
  return { calls: [call], at: explicit ? yield* behindFence(tape, extent.at) : extent.at }
}

function* behindFence(tape: Tape, end: number): Reading<number> {
  const at = yield* skipSpace(tape, end)
  return (yield* peek(tape, at)) === backtick && (yield* run(tape, at)) >= 3 ? at + (yield* run(tape, at)) : end
}

/**
 * A code fence whose content is nothing but calls. `at` is where its text goes on when it is not; `body` is where its
 * content starts.
 */
export function* readFence(
  tape: Tape,
  tools: Toolbox,
  start: number,
  ticks: number,
  isCallLanguage: (language: string) => boolean
): Reading<Block & { readonly opened: boolean }> {
  let at = start + ticks
  for (;; at++) {
    const unit = yield* peek(tape, at)
    if (unit === END || unit === backtick) return { ...none(at), opened: false }
    if (unit === newline) break
  }
  const language = tape.slice(start + ticks, at).trim().toLowerCase()
  if (!isCallLanguage(language)) return { ...none(at), opened: true }
  const calls: Array<TextCall> = []
  for (;;) {
    const before = at
    at = yield* skipSeparators(tape, at)
    const unit = yield* peek(tape, at)
    if (unit === END) {
      if (calls.length === 0) return { ...none(at), opened: true }
      return {
        calls: calls.map((call) => ({
          ...call,
          repairs: [...call.repairs, note("unclosed-block", "a code fence without an end was closed")]
        })),
        at: before,
        opened: true
      }
    }
    if (unit === backtick) {
      const closing = yield* run(tape, at)
      return closing >= 3 && calls.length > 0
        ? { calls, at: at + closing, opened: true }
        : { ...none(at), opened: true }
    }
    const block = yield* readBlock(tape, tools, at, "fence")
    if (block.calls.length === 0) return { ...none(block.at), opened: true }
    calls.push(...block.calls)
    at = block.at
  }
}

function* skipSeparators(tape: Tape, at: number): Reading<number> {
  for (;;) {
    const unit = yield* peek(tape, at)
    if (!isSpaceCode(unit) && unit !== code(",") && unit !== code(";")) return at
    at++
  }
}
