import { maxDepth } from "./relaxedJson.js"
import { END, isSpaceCode, isWordCode, MORE, peek, type Reading, skipSpace, type Tape } from "./tape.js"

/**
 * How far a bracket reaches: up to its partner (`closed`, `at` is behind it), to the end of the text (`cut`), or to
 * the first thing that cannot stand inside of it (`failed`).
 */
export interface Extent {
  readonly kind: "closed" | "cut" | "failed"
  readonly at: number
}

const code = (char: string): number => char.charCodeAt(0)
const openers = [code("{"), code("["), code("(")]
const closers = [code("}"), code("]"), code(")")]
const double = code("\"")
const single = code("'")
const backslash = code("\\")
const newline = code("\n")
const colon = code(":")
const comma = code(",")
const brace = code("{")
const slash = code("/")
const star = code("*")
const hash = code("#")

const jsonPunctuation = new Set([..."+-.,:"].map(code))
const pythonPunctuation = new Set([..."+-.,:=*/%<>|&^~\\"].map(code))
const foreignQuotes = new Map([["“", "”"], ["‘", "’"]].map(([open = "", close = ""]) => [code(open), code(close)]))

/**
 * Finds the end of the bracket at `start`. Brackets inside of texts do not count; a text ends at the quote behind
 * which something can follow that may follow a text.
 */
export function* balanced(tape: Tape, start: number, grammar: "json" | "python"): Reading<Extent> {
  const open: Array<number> = []
  let key = false
  let at = start
  for (;;) {
    const unit = tape.code(at)
    if (unit === MORE) {
      yield
      continue
    }
    if (unit === END) return { kind: "cut", at }
    const opener = openers.indexOf(unit)
    const closer = closers.indexOf(unit)
    if (opener >= 0) {
      if (key || open.length === maxDepth || (grammar === "json" && opener === 2)) return failed(start, at)
      open.push(opener)
      key = grammar === "json" && unit === brace
      at++
    } else if (closer >= 0) {
      if (!open.includes(closer)) return failed(start, at)
      while (open.pop() !== closer);
      at++
      if (open.length === 0) return { kind: "closed", at }
      key = false
    } else if (isSpaceCode(unit)) {
      at++
    } else if (unit === double || unit === single || foreignQuotes.has(unit)) {
      const end = yield* text(tape, at, grammar, key)
      if (end === END) return { kind: "cut", at: yield* lastPosition(tape, at) }
      at = end
      if (key && !(yield* colonFollows(tape, at))) return failed(start, at)
      key = false
    } else if (isWordCode(unit)) {
      at++
      while (isWordCode(yield* peek(tape, at)) || (key && (yield* peek(tape, at)) === code("-"))) at++
      if (key && !(yield* colonFollows(tape, at))) return failed(start, at)
      key = false
    } else if (unit === hash || (unit === slash && grammar === "json")) {
      const end = yield* comment(tape, at)
      if (end === undefined) return failed(start, at)
      at = end
    } else {
      const allowed = grammar === "json" ? jsonPunctuation : pythonPunctuation
      if (!allowed.has(unit) || (key && unit !== comma)) return failed(start, at)
      if (unit === comma && open.at(-1) === 0) key = grammar === "json"
      at++
    }
  }
}

const failed = (start: number, at: number): Extent => ({ kind: "failed", at: Math.max(at, start + 1) })

function* lastPosition(tape: Tape, at: number): Reading<number> {
  while ((yield* peek(tape, at)) !== END) at++
  return at
}

function* colonFollows(tape: Tape, at: number): Reading<boolean> {
  const next = yield* peek(tape, yield* skipSpace(tape, at))
  return next === colon || next === END
}

function* comment(tape: Tape, at: number): Reading<number | undefined> {
  const block = (yield* peek(tape, at)) === slash && (yield* peek(tape, at + 1)) === star
  if ((yield* peek(tape, at)) === slash && !block && (yield* peek(tape, at + 1)) !== slash) return undefined
  for (let end = at + 2;; end++) {
    const unit = yield* peek(tape, end)
    if (unit === END) return end
    if (block ? unit === slash && end > at + 2 && tape.code(end - 1) === star : unit === newline) return end + 1
  }
}

/** The position behind the text that starts at `at`, or `END`. */
function* text(tape: Tape, at: number, grammar: "json" | "python", key: boolean): Reading<number> {
  const opening = yield* peek(tape, at)
  const quote = foreignQuotes.get(opening) ?? opening
  const tripled = grammar === "python" && (yield* peek(tape, at + 1)) === quote && (yield* peek(tape, at + 2)) === quote
  at += tripled ? 3 : 1
  for (;;) {
    const unit = tape.code(at)
    if (unit === MORE) {
      yield
    } else if (unit === END) {
      return END
    } else if (unit === backslash) {
      at += 2
    } else if (unit !== quote) {
      at++
    } else if (tripled) {
      if (
        (yield* peek(tape, at + 1)) === quote && (yield* peek(tape, at + 2)) === quote &&
        (yield* peek(tape, at + 3)) !== quote
      ) return at + 3
      at++
    } else if (yield* ends(tape, at + 1, grammar, key)) {
      return at + 1
    } else {
      at++
    }
  }
}

const jsonFollowers = new Set([..."},]"].map(code))
const pythonFollowers = new Set([..."},])="].map(code))

function* ends(tape: Tape, from: number, grammar: "json" | "python", key: boolean): Reading<boolean> {
  const at = yield* skipSpace(tape, from)
  const next = yield* peek(tape, at)
  if (next === END) return true
  if (grammar === "python") return pythonFollowers.has(next) || next === colon
  if (key) return next === colon
  if (jsonFollowers.has(next)) return true
  if (at === from) return false
  if (next === slash || next === hash) return true
  return (next === double || next === single) && (yield* keyStands(tape, at))
}

/** Whether a quoted key of at most 64 units with its colon stands at `at`. */
function* keyStands(tape: Tape, at: number): Reading<boolean> {
  const quote = yield* peek(tape, at)
  let end = at + 1
  while (end - at <= 64 && (isWordCode(yield* peek(tape, end)) || (yield* peek(tape, end)) === code("-"))) end++
  if (end === at + 1 || (yield* peek(tape, end)) !== quote) return false
  end++
  for (let spaces = 0; spaces < 8 && isSpaceCode(yield* peek(tape, end)); spaces++) end++
  return (yield* peek(tape, end)) === colon
}
