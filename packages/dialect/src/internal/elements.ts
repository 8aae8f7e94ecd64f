import * as Either from "effect/Either"
import * as JsonArguments from "../JsonArguments.js"
import { balanced } from "./balanced.js"
import type { Block } from "./blocks.js"
import { isObject } from "./jsonObject.js"
import { parameterElements, parameterWords } from "./markers.js"
import { END, isWordCode, peek, type Reading, skipSpace, stands, type Tape } from "./tape.js"
import { argumentKeys, nameKeys, type Toolbox } from "./toolbox.js"

const code = (char: string): number => char.charCodeAt(0)
const angle = code("<")
const brace = code("{")
const greater = code(">")

type Entry = readonly [key: string, text: string]

const none = (at: number): Block => ({ calls: [], at })

/** `<function=name>…</function>`, `<invoke name="name">…</invoke>` */
export function* readNamedElement(tape: Tape, tools: Toolbox, start: number, marker: string): Reading<Block> {
  const name = yield* attribute(tape, start + marker.length)
  if (name === undefined) return none(start + marker.length)
  const closer = `</${/^<(\w+)/.exec(marker)?.[1] ?? ""}>`
  const content = yield* readContent(tape, name.end, closer)
  if (content.arguments === undefined) return none(content.at)
  const call = Array.isArray(content.arguments)
    ? tools.elementCall(name.text, content.arguments)
    : tools.call(name.text, content.arguments, content.repairs)
  return { calls: [call], at: content.at }
}

/**
 * An element that is itself a call: `<read_file><path>a</path></read_file>` when `explicit` is false, the content of
 * a call block (`<name>…</name><arguments>…</arguments>`) when it is. `name` is given when it stood before the
 * elements (`name<arg_key>k</arg_key><arg_value>v</arg_value>`).
 */
export function* readElement(tape: Tape, tools: Toolbox, start: number, explicit = false, name = ""): Reading<Block> {
  if (!explicit) {
    const tag = yield* openTag(tape, start)
    if (tag === undefined) return none(start + 1)
    if (tools.resolve(tag.name) === undefined) return none(tag.end)
    const content = yield* readContent(tape, tag.end, `</${tag.name}>`)
    if (content.arguments === undefined) return none(content.at)
    const declared = tools.properties(tools.resolve(tag.name))
    const call = Array.isArray(content.arguments)
      ? tools.elementCall(tag.name, content.arguments)
      : tools.call(tag.name, content.arguments, content.repairs)
    const fits = declared === undefined || Object.keys(call.arguments ?? {}).every((key) => key in declared)
    return fits ? { calls: [call], at: content.at } : none(content.at)
  }
  const { at, entries } = yield* readEntries(tape, start)
  if (name !== "") return { calls: [tools.elementCall(name, pairs(entries))], at }
  const named = entries.find(([key]) => nameKeys.includes(key))
  const holder = entries.find(([key]) => argumentKeys.includes(key))
  if (named === undefined) {
    const [first] = entries
    const registered = entries.length === 1 && first !== undefined && tools.resolve(first[0]) !== undefined
    return registered ? { calls: [insideOf(tools, first[0], first[1])], at } : none(Math.max(at, start + 1))
  }
  if (holder !== undefined) return { calls: [insideOf(tools, named[1].trim(), holder[1])], at }
  return { calls: [tools.elementCall(named[1].trim(), entries.filter((entry) => entry !== named))], at }
}

const insideOf = (tools: Toolbox, name: string, text: string) => {
  const trimmed = text.trim()
  if (trimmed.startsWith("<")) return tools.elementCall(name, nestedEntries(trimmed))
  const parsed = JsonArguments.parseValue(trimmed === "" ? "{}" : trimmed)
  return Either.match(parsed, {
    onLeft: () => tools.call(name, trimmed, []),
    onRight: ({ repairs, value }) => tools.call(name, value, repairs)
  })
}

const nestedEntries = (text: string): ReadonlyArray<Entry> => {
  const found: Array<Entry> = []
  let at = 0
  for (;;) {
    const open = /\s*<([\p{L}\p{N}_.-]{1,64})>/uy
    open.lastIndex = at
    const name = open.exec(text)?.[1]
    if (name === undefined) return found
    const end = text.indexOf(`</${name}>`, open.lastIndex)
    if (end < 0) return found
    found.push([name, text.slice(open.lastIndex, end)])
    at = end + name.length + 3
  }
}

/** `arg_key` and `arg_value` elements in turn are the entries of one call. */
const pairs = (entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> =>
  entries.flatMap(([key, text], position): ReadonlyArray<Entry> => {
    if (key === "arg_key") return [[text.trim(), entries[position + 1]?.[1] ?? ""]]
    return key === "arg_value" ? [] : [[key, text]]
  })

interface Content {
  readonly arguments: ReadonlyArray<Entry> | Readonly<Record<string, unknown>> | undefined
  readonly repairs: JsonArguments.JsonArguments["repairs"]
  readonly at: number
}

function* readContent(tape: Tape, start: number, closer: string): Reading<Content> {
  const at = yield* skipSpace(tape, start)
  if ((yield* peek(tape, at)) === brace) {
    const extent = yield* balanced(tape, at, "json")
    const end = yield* skipSpace(tape, extent.at)
    if (extent.kind !== "closed" || !(yield* stands(tape, end, closer))) {
      return { arguments: undefined, repairs: [], at: extent.at }
    }
    const parsed = JsonArguments.parseValue(tape.slice(at, extent.at))
    const read = Either.isRight(parsed) && isObject(parsed.right.value) ? parsed.right.value : undefined
    return { arguments: read, repairs: Either.isRight(parsed) ? parsed.right.repairs : [], at: end + closer.length }
  }
  const entries = yield* readEntries(tape, at)
  const end = yield* skipSpace(tape, entries.at)
  if (!(yield* stands(tape, end, closer))) return { arguments: undefined, repairs: [], at: Math.max(end, start) }
  return { arguments: entries.entries, repairs: [], at: end + closer.length }
}

/** Elements one behind the other, as long as there are any. */
function* readEntries(
  tape: Tape,
  start: number
): Reading<{ readonly entries: ReadonlyArray<Entry>; readonly at: number }> {
  const entries: Array<Entry> = []
  let end = start
  for (;;) {
    const at = yield* skipSpace(tape, end)
    const marker = yield* parameterWords.at(tape, at)
    const attributed = marker === "" ? undefined : yield* attribute(tape, at + marker.length)
    const tag = marker === ""
      ? yield* openTag(tape, at)
      : attributed === undefined
      ? undefined
      : { name: attributed.text, end: attributed.end }
    if (tag === undefined) return { entries, at: end }
    const closer = parameterElements.get(marker) ?? `</${tag.name}>`
    const close = yield* findCloser(tape, tag.end, closer)
    if (close === END) return { entries, at: end }
    entries.push([tag.name, tape.slice(tag.end, close)])
    end = close + closer.length
  }
}

/**
 * The first closing tag behind which another tag follows; a closing tag in the middle of a text belongs to the text.
 */
function* findCloser(tape: Tape, start: number, closer: string): Reading<number> {
  if (tape.isAbsent(closer)) return END
  let last = END
  for (let at = start;; at++) {
    const unit = yield* peek(tape, at)
    if (unit === END) {
      if (last === END) tape.noteAbsent(closer)
      return last
    }
    if (unit === angle && (yield* stands(tape, at, closer))) {
      last = at
      const next = yield* peek(tape, yield* skipSpace(tape, at + closer.length))
      if (next === angle || next === END) return at
    }
  }
}

/** `<name>` */
function* openTag(tape: Tape, at: number): Reading<{ readonly name: string; readonly end: number } | undefined> {
  if ((yield* peek(tape, at)) !== angle) return undefined
  let end = at + 1
  while (
    end - at < 66 &&
    (isWordCode(yield* peek(tape, end)) || (yield* peek(tape, end)) === code("-") ||
      (yield* peek(tape, end)) === code("."))
  ) end++
  return end === at + 1 || (yield* peek(tape, end)) !== greater
    ? undefined
    : { name: tape.slice(at + 1, end), end: end + 1 }
}

/** The rest of a tag after `name="` or `=`: the name and where the tag ends. */
function* attribute(tape: Tape, at: number): Reading<{ readonly text: string; readonly end: number } | undefined> {
  let end = at
  for (; end - at < 128; end++) {
    const unit = yield* peek(tape, end)
    if (unit === END || unit === 10 || unit === angle) return undefined
    if (unit === greater) return { text: tape.slice(at, end).replace(/["'].*$/, "").trim(), end: end + 1 }
  }
  return undefined
}
