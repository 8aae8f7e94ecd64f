import type { TextCall } from "../TextCall.js"
import { type Block, readBlock, readFence } from "./blocks.js"
import { callLanguages, introducesExample, openerWords, reasoning, reasoningWords, turnWords } from "./markers.js"
import { END, isSpaceCode, isWordCode, MORE, peek, type Reading, run, skipSpace, stands, type Tape } from "./tape.js"
import type { Toolbox } from "./toolbox.js"

export type Found =
  | { readonly _tag: "Text"; readonly raw: string }
  | { readonly _tag: "Reasoning"; readonly raw: string; readonly text: string }
  | { readonly _tag: "Call" | "NearMiss"; readonly raw: string; readonly call: TextCall }

const code = (char: string): number => char.charCodeAt(0)
const backtick = code("`")
const angle = code("<")
const bracket = code("[")
const brace = code("{")
const closingBrace = code("}")
const newline = code("\n")
const separators = [code(","), code(";")]

/**
 * Walks over an answer from left to right, once. What it has decided to be text ends at `settled`.
 */
export class Scanner {
  private readonly found: Array<Found> = []
  private readonly walk: Reading<void>
  private emitted = 0
  private settled = 0
  private kind: "Text" | "Reasoning" = "Text"
  /** How much of what is released next is a tag around reasoning. */
  private opening = 0
  private closing = 0

  private at = 0
  /** Only white space stands before `at` on its line. */
  private lineStart = true
  /** Nothing but white space and reasoning stands before `at`. */
  private blank = true
  /** Up to here nothing is looked for. */
  private inert = 0
  /** The backticks of the code fence or the inline code that `at` is in. */
  private fence = 0
  private inline = 0
  /** Where the last call ended, as long as only separators stand behind it; else -1. */
  private behindCall = -1
  private called = false
  /** The end of the text before `at`. */
  private tail = ""
  private readonly tape: Tape
  private readonly tools: Toolbox

  constructor(tape: Tape, tools: Toolbox, inReasoning: boolean) {
    this.tape = tape
    this.tools = tools
    this.walk = this.steps(inReasoning)
  }

  /** Goes on as far as the text goes, and gives out what was found. */
  advance(): ReadonlyArray<Found> {
    this.walk.next()
    this.release(this.settled)
    return this.found.splice(0)
  }

  private release(upTo: number): void {
    if (upTo <= this.emitted) return
    const raw = this.tape.slice(this.emitted, upTo)
    this.found.push(
      this.kind === "Text"
        ? { _tag: "Text", raw }
        : { _tag: "Reasoning", raw, text: raw.slice(this.opening, raw.length - this.closing) }
    )
    this.opening = 0
    this.closing = 0
    this.emitted = upTo
    this.tape.discard(upTo)
  }

  private *steps(inReasoning: boolean): Reading<void> {
    if (inReasoning) yield* this.reason("</think>")
    for (;;) {
      this.settled = this.behindCall < 0 ? this.at : this.behindCall
      const unit = this.tape.code(this.at)
      if (unit === MORE) {
        yield
      } else if (unit === END) {
        this.settled = this.at
        return
      } else if (this.fence > 0) {
        yield* this.insideFence(unit)
      } else if (this.at < this.inert) {
        this.step(unit)
      } else if (this.inline > 0) {
        yield* this.insideInline(unit)
      } else if (this.behindCall >= 0 && (isSpaceCode(unit) || separators.includes(unit))) {
        this.step(unit)
      } else {
        yield* this.look(unit)
      }
    }
  }

  private step(unit: number, units = 1): void {
    this.at += units
    if (this.behindCall < 0) {
      this.tail = (this.tail.length < 400 ? this.tail : this.tail.slice(-80)) + String.fromCharCode(unit)
    }
    if (unit === newline) this.lineStart = true
    else if (!isSpaceCode(unit)) {
      this.lineStart = false
      if (this.behindCall < 0) this.blank = false
    }
  }

  private *insideFence(unit: number): Reading<void> {
    const ticks = unit === backtick && this.lineStart ? yield* run(this.tape, this.at) : 1
    if (unit === backtick && this.lineStart && ticks >= this.fence) this.fence = 0
    this.step(unit, ticks)
  }

  private *insideInline(unit: number): Reading<void> {
    const ticks = unit === backtick ? yield* run(this.tape, this.at) : 1
    if (unit === newline || (unit === backtick && ticks === this.inline)) this.inline = 0
    this.step(unit, ticks)
  }

  private *look(unit: number): Reading<void> {
    const atStart = this.lineStart || this.behindCall >= 0
    if (this.called && atStart && (yield* turnWords.at(this.tape, this.at)) !== "") {
      this.inert = Infinity
      return this.plain(unit)
    }
    if (unit === backtick) return yield* this.lookAtTicks()
    if ((unit === angle || unit === bracket) && this.lineStart) {
      const marker = yield* reasoningWords.at(this.tape, this.at)
      const closer = reasoning.get(marker)
      if (closer !== undefined) return yield* this.reason(closer, marker)
    }
    if (unit === brace && (yield* peek(this.tape, this.at + 1)) === brace) {
      if ((yield* peek(this.tape, this.at + 2)) === brace) return this.plain(unit)
      return yield* this.attempt(this.doubled(this.at + 1))
    }
    if (unit === brace || (unit === angle && (atStart || (yield* openerWords.at(this.tape, this.at)) !== ""))) {
      return yield* this.attempt(readBlock(this.tape, this.tools, this.at, "text"))
    }
    if (unit === bracket || (isWordCode(unit) && atStart)) {
      return yield* this.attempt(readBlock(this.tape, this.tools, this.at, "text"))
    }
    this.plain(unit)
  }

  private plain(unit: number): void {
    this.behindCall = -1
    this.step(unit)
  }

  private *lookAtTicks(): Reading<void> {
    const ticks = yield* run(this.tape, this.at)
    if (ticks < 3) {
      this.behindCall = -1
      this.inline = ticks
      this.step(backtick, ticks)
      return
    }
    const block = yield* readFence(
      this.tape,
      this.tools,
      this.at,
      ticks,
      (language) => callLanguages.has(language.split(/\s/)[0] ?? "")
    )
    const taken = yield* this.take(block)
    if (taken) return
    this.inert = Math.max(this.at + ticks, block.at)
    if (block.opened) this.fence = ticks
    this.behindCall = -1
    this.step(backtick, ticks)
  }

  private *attempt(reading: Reading<Block>): Reading<void> {
    const block = yield* reading
    if (yield* this.take(block)) return
    this.behindCall = -1
    this.inert = Math.max(block.at, this.at + 1)
  }

  /** A call in a second pair of braces, as in the templates that some models were trained on. */
  private *doubled(at: number): Reading<Block> {
    const block = yield* readBlock(this.tape, this.tools, at, "text")
    const end = yield* skipSpace(this.tape, block.at)
    if (block.calls.length === 0 || (yield* peek(this.tape, end)) !== closingBrace) return block
    const repair = { kind: "doubled-braces", detail: "a second pair of braces around the call was taken out" }
    return {
      ...block,
      at: end + 1,
      calls: block.calls.map((call) => ({ ...call, repairs: [...call.repairs, repair] }))
    }
  }

  /** Gives out the calls of a block; false when they are none. */
  private *take(block: Block): Reading<boolean> {
    const { calls } = block
    if (calls.some((call) => call.tool !== undefined)) {
      if (this.behindCall < 0 && introducesExample.test(this.tail)) return false
      this.called = true
      this.emit("Call", block)
      this.blank = false
      this.behindCall = block.at
      return true
    }
    const [only] = calls
    if (only === undefined || calls.length > 1 || !this.blank) return false
    const end = yield* skipSpace(this.tape, block.at)
    if ((yield* peek(this.tape, end)) !== END) return false
    this.emit("NearMiss", { calls, at: end })
    return true
  }

  private emit(tag: "Call" | "NearMiss", block: Block): void {
    this.release(this.behindCall < 0 ? this.at : this.behindCall)
    block.calls.forEach((call, position) => {
      this.found.push({ _tag: tag, raw: position === 0 ? this.tape.slice(this.emitted, block.at) : "", call })
    })
    this.at = block.at
    this.inert = block.at
    this.emitted = block.at
    this.settled = block.at
    this.lineStart = false
    this.tail = ""
    this.tape.discard(block.at)
  }

  private *reason(closer: string, opener = ""): Reading<void> {
    this.release(this.at)
    this.kind = "Reasoning"
    this.at += opener.length
    this.opening = opener.length
    const first = closer.charCodeAt(0)
    for (;;) {
      this.settled = this.at
      const unit = this.tape.code(this.at)
      if (unit === MORE) {
        yield
      } else if (unit === END) {
        return
      } else if (unit === first && (yield* stands(this.tape, this.at, closer))) {
        this.at += closer.length
        this.closing = closer.length
        break
      } else {
        this.at++
      }
    }
    this.release(this.at)
    this.kind = "Text"
    this.behindCall = -1
    this.lineStart = true
  }
}
