import type * as ToolCall from "@capstan/core/ToolCall"

/**
 * A call as Python writes it: arguments by name, and those without a name in their order.
 */
export interface PythonCall {
  readonly name: string
  readonly named: ReadonlyArray<readonly [string, unknown]>
  readonly positional: ReadonlyArray<unknown>
  readonly repairs: ReadonlyArray<ToolCall.Repair>
}

const maxDepth = 64
const escapes = new Map([
  ["n", "\n"],
  ["t", "\t"],
  ["r", "\r"],
  ["\\", "\\"],
  ["'", "'"],
  ["\"", "\""],
  ["\n", ""],
  ["b", "\b"],
  ["f", "\f"],
  ["0", "\0"]
])
const literals = new Map<string, unknown>([["True", true], ["False", false], ["None", null], ["true", true], [
  "false",
  false
], ["null", null]])
const nameStart = /[\p{L}_]/u
const nameChar = /[\p{L}\p{N}_.\-\\]/u
const space = /\s/

class NoCall extends Error {}

/**
 * Reads `f(a=1)`, `[f(a=1), g()]` or `f(a=1); g()`: every call, or undefined when there is anything else.
 */
export const readCalls = (text: string): ReadonlyArray<PythonCall> | undefined => {
  try {
    return new Reader(text).calls()
  } catch (error) {
    if (error instanceof NoCall) return undefined
    throw error
  }
}

class Reader {
  private at = 0
  private repairs: Array<ToolCall.Repair> = []
  private readonly text: string

  constructor(text: string) {
    this.text = text
  }

  calls(): ReadonlyArray<PythonCall> {
    this.spaces()
    const list = this.take("[")
    const found: Array<PythonCall> = []
    for (;;) {
      this.spaces()
      if (this.at >= this.text.length || (list && this.text[this.at] === "]")) break
      found.push(this.call())
      this.spaces()
      while (this.take(",") || this.take(";")) this.spaces()
    }
    if (list && !this.take("]")) throw new NoCall()
    this.take(";")
    this.spaces()
    if (this.at < this.text.length || found.length === 0) throw new NoCall()
    return found
  }

  private call(): PythonCall {
    this.repairs = []
    const written = this.name()
    const name = written.replaceAll("\\", "")
    this.expect("(")
    const named: Array<readonly [string, unknown]> = []
    const positional: Array<unknown> = []
    for (;;) {
      this.spaces()
      if (this.take(")")) break
      const start = this.at
      const key = this.isNameStart() ? this.name().replaceAll("\\", "") : ""
      this.spaces()
      if (key !== "" && this.text[this.at] === "=" && this.text[this.at + 1] !== "=") {
        this.at++
        named.push([key, this.value(0)])
      } else {
        this.at = start
        positional.push(this.value(0))
      }
      this.spaces()
      if (!this.take(",") && this.text[this.at] !== ")") throw new NoCall()
    }
    return { name, named, positional, repairs: this.repairs }
  }

  private repaired(kind: string, detail: string): void {
    if (!this.repairs.some((known) => known.kind === kind)) this.repairs.push({ kind, detail })
  }

  private value(depth: number): unknown {
    this.spaces()
    if (depth > maxDepth) throw new NoCall()
    const char = this.text[this.at] ?? ""
    if (char === "[" || char === "(") return this.list(char === "[" ? "]" : ")", depth)
    if (char === "{") return this.dictionary(depth)
    if (char === "\"" || char === "'") return this.string()
    if (/[rbfuRBFU]/.test(char) && /["']/.test(this.text[this.at + 1] ?? "")) {
      this.at++
      return this.string(char.toLowerCase() === "r")
    }
    if (/[-+.\d]/.test(char)) return this.number()
    return this.word()
  }

  private list(close: string, depth: number): ReadonlyArray<unknown> {
    this.at++
    const items: Array<unknown> = []
    for (;;) {
      this.spaces()
      if (this.take(close)) return items
      items.push(this.value(depth + 1))
      this.spaces()
      if (!this.take(",") && this.text[this.at] !== close) throw new NoCall()
    }
  }

  private dictionary(depth: number): unknown {
    this.at++
    const entries: Array<readonly [string, unknown]> = []
    for (;;) {
      this.spaces()
      if (this.take("}")) return Object.fromEntries(entries)
      const key = this.value(depth + 1)
      this.spaces()
      this.expect(":")
      entries.push([String(key), this.value(depth + 1)])
      this.spaces()
      if (!this.take(",") && this.text[this.at] !== "}") throw new NoCall()
    }
  }

  private number(): unknown {
    const start = this.at
    while (/[-+.\w]/.test(this.text[this.at] ?? "!")) this.at++
    const word = this.text.slice(start, this.at)
    const value = Number(word.replaceAll("_", ""))
    if (!Number.isFinite(value) || !this.atEndOfValue()) throw new NoCall()
    return value
  }

  private word(): unknown {
    const start = this.at
    if (!this.isNameStart()) throw new NoCall()
    this.name()
    const word = this.text.slice(start, this.at)
    if (literals.has(word)) return literals.get(word)
    if (this.text[this.at] === "[") return this.subscript(start)
    if (!this.atEndOfValue()) throw new NoCall()
    this.repaired("unquoted-value", "words without quotes were read as text")
    return word.replaceAll("\\", "")
  }

  /** `data["sales"]`: something that only the tool can make sense of. */
  private subscript(start: number): string {
    const end = this.text.indexOf("]", this.at)
    if (end < 0) throw new NoCall()
    this.at = end + 1
    if (!this.atEndOfValue()) throw new NoCall()
    this.repaired("unquoted-value", "words without quotes were read as text")
    return this.text.slice(start, this.at)
  }

  private atEndOfValue(): boolean {
    let next = this.at
    while (space.test(this.text[next] ?? "")) next++
    return ",)]}:".includes(this.text[next] ?? "!")
  }

  private string(raw = false): string {
    const quote = this.text[this.at] ?? ""
    const tripled = this.text.startsWith(quote.repeat(3), this.at)
    this.at += tripled ? 3 : 1
    const pieces: Array<string> = []
    let from = this.at
    let lines = false
    let quotes = false
    for (;;) {
      const char = this.text[this.at]
      if (char === undefined || (lines && quotes)) throw new NoCall()
      if (char === "\\" && !raw) {
        pieces.push(this.text.slice(from, this.at), this.escape())
        from = this.at
      } else if (char === "\\") {
        this.at += 2
      } else if (
        char === quote &&
        (tripled ? this.text.startsWith(quote.repeat(3), this.at) && this.text[this.at + 3] !== quote : this.ends())
      ) {
        pieces.push(this.text.slice(from, this.at))
        this.at += tripled ? 3 : 1
        return pieces.join("")
      } else {
        if (char === quote && !tripled) {
          quotes = true
          this.repaired("unescaped-quote", "quotes inside text were read as part of it")
        }
        lines ||= char === "\n" && !tripled
        this.at++
      }
    }
  }

  private escape(): string {
    const next = this.text[this.at + 1] ?? ""
    const hex = next === "x" ? 2 : next === "u" ? 4 : next === "U" ? 8 : 0
    const digits = this.text.slice(this.at + 2, this.at + 2 + hex)
    if (hex > 0 && digits.length === hex && /^[0-9a-fA-F]+$/.test(digits) && parseInt(digits, 16) <= 0x10ffff) {
      this.at += 2 + hex
      return String.fromCodePoint(parseInt(digits, 16))
    }
    this.at += 2
    return escapes.get(next) ?? `\\${next}`
  }

  private ends(): boolean {
    let next = this.at + 1
    while (space.test(this.text[next] ?? "")) next++
    const char = this.text[next]
    return char === undefined || ",)]}:=".includes(char)
  }

  private isNameStart(): boolean {
    return nameStart.test(this.text[this.at] ?? "")
  }

  private name(): string {
    const start = this.at
    if (!this.isNameStart()) throw new NoCall()
    while (nameChar.test(this.text[this.at] ?? "")) this.at++
    return this.text.slice(start, this.at)
  }

  private spaces(): void {
    while (space.test(this.text[this.at] ?? "")) this.at++
  }

  private take(char: string): boolean {
    if (this.text[this.at] !== char) return false
    this.at++
    return true
  }

  private expect(char: string): void {
    if (!this.take(char)) throw new NoCall()
  }
}
