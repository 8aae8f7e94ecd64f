import type * as ToolCall from "@capstan/core/ToolCall"
import { isWordCode } from "./tape.js"

/**
 * Why a text could not be read as JSON: an offset in UTF-16 units and what stands there.
 */
export interface Unreadable {
  readonly position: number
  readonly found: string
}

/**
 * Text rewritten to strict JSON, with what had to be changed.
 */
export interface Rewritten {
  readonly json: string
  readonly repairs: ReadonlyArray<ToolCall.Repair>
}

/** Deeper nesting than this is refused: no tool needs it, and recursive readers overflow on it. */
export const maxDepth = 128

const details: Record<string, string> = {
  "trailing-comma": "commas before a closing bracket were dropped",
  "missing-comma": "commas between values were added",
  "single-quotes": "quotes of another kind were read as double quotes",
  "unquoted-key": "keys without quotes were quoted",
  "unquoted-value": "words without quotes were read as text",
  "literal": "literals of Python or JavaScript were read as JSON's",
  "comment": "comments were dropped",
  "raw-newline": "control characters inside text were escaped",
  "bad-escape": "escapes that JSON does not know were read as they stand",
  "unescaped-quote": "quotes inside text were escaped",
  "cut-off-text": "text without an end was closed",
  "cut-off": "brackets without an end were closed",
  "mismatched-bracket": "brackets that close another kind were mended",
  "number": "numbers were written as JSON writes them"
}

const literals = new Map([
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
  ["TRUE", "true"],
  ["FALSE", "false"],
  ["NULL", "null"],
  ["undefined", "null"],
  ["NaN", "null"]
])

const closingQuote = new Map([["\"", "\""], ["'", "'"], ["`", "`"], ["“", "”"], ["‘", "’"], ["„", "”"]])
const isSpace = (char: string | undefined): boolean =>
  char !== undefined && (char <= " " || char === "\u00a0" || char === "\ufeff") && char !== ""
const isWord = (code: number): boolean => isWordCode(code) || code === 43 || code === 45 || code === 46
const jsonNumber = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/**
 * Rewrites one relaxed JSON value to strict JSON in one pass over the text. Anything that is not such a value is
 * refused with the place where it stops being one.
 */
export const rewrite = (text: string): Rewritten | Unreadable => new Rewriter(text).run()

export const isUnreadable = (result: Rewritten | Unreadable): result is Unreadable => "position" in result

type Expecting = "value" | "key" | "colon" | "separator"

class Rewriter {
  private position = 0
  private readonly output: Array<string> = []
  private readonly open: Array<"{" | "["> = []
  private readonly repairs = new Set<string>()
  private expecting: Expecting = "value"
  /** Where a comma was written that nothing has followed yet. */
  private comma = -1
  private readonly text: string

  constructor(text: string) {
    this.text = text
  }

  run(): Rewritten | Unreadable {
    for (;;) {
      const failed = this.blank()
      if (failed) return this.unreadable()
      const char = this.text[this.position]
      if (char === undefined) return this.finish()
      if (!this.token(char)) return this.unreadable()
      if (this.open.length > maxDepth) return this.unreadable()
      if (this.open.length === 0 && this.expecting === "separator") return this.tail()
    }
  }

  private unreadable(): Unreadable {
    const found = this.text.slice(this.position, this.position + 20)
    return { position: this.position, found: found === "" ? "the end of the text" : found }
  }

  private repaired(kind: string): void {
    this.repairs.add(kind)
  }

  private done(): Rewritten {
    return {
      json: this.output.join(""),
      repairs: [...this.repairs].map((kind) => ({ kind, detail: details[kind] ?? kind }))
    }
  }

  private finish(): Rewritten | Unreadable {
    if (this.output.length === 0) return this.unreadable()
    if (this.open.length === 0 && this.expecting === "separator") return this.done()
    this.repaired("cut-off")
    if (this.expecting === "colon") this.output.push(":null")
    else if (this.expecting === "value" && this.comma < 0) this.output.push("null")
    this.dropComma(false)
    while (this.open.length > 0) this.output.push(this.open.pop() === "{" ? "}" : "]")
    return this.done()
  }

  private tail(): Rewritten | Unreadable {
    for (;;) {
      if (this.blank()) return this.unreadable()
      const char = this.text[this.position]
      if (char === undefined) return this.done()
      if (char !== "," && char !== ";" && char !== "}" && char !== "]") return this.unreadable()
      this.repaired(char === "," || char === ";" ? "trailing-comma" : "mismatched-bracket")
      this.position++
    }
  }

  private blank(): boolean {
    for (;;) {
      const char = this.text[this.position]
      if (isSpace(char)) {
        this.position++
      } else if (char === "/" && this.text[this.position + 1] === "/" || char === "#") {
        const end = this.text.indexOf("\n", this.position)
        this.position = end < 0 ? this.text.length : end
        this.repaired("comment")
      } else if (char === "/" && this.text[this.position + 1] === "*") {
        const end = this.text.indexOf("*/", this.position + 2)
        if (end < 0) return true
        this.position = end + 2
        this.repaired("comment")
      } else {
        return false
      }
    }
  }

  private token(char: string): boolean {
    switch (char) {
      case "{":
      case "[":
        return this.opening(char)
      case "}":
      case "]":
        return this.closing(char)
      case ",":
        return this.separating()
      case ":":
        return this.colon()
      default:
        return this.scalar(char)
    }
  }

  private before(): boolean {
    if (this.expecting === "separator") {
      if (this.open.length === 0) return false
      this.repaired("missing-comma")
      this.write(",")
      this.comma = -1
      this.expecting = this.open.at(-1) === "{" ? "key" : "value"
    }
    this.comma = -1
    return true
  }

  private write(piece: string): void {
    this.output.push(piece)
  }

  private opening(char: "{" | "["): boolean {
    if (!this.before() || this.expecting !== "value") return false
    this.write(char)
    this.open.push(char)
    this.expecting = char === "{" ? "key" : "value"
    this.position++
    return true
  }

  private dropComma(report: boolean): void {
    if (this.comma < 0) return
    this.output[this.comma] = ""
    this.comma = -1
    if (report) this.repaired("trailing-comma")
  }

  private closing(char: "}" | "]"): boolean {
    const kind = char === "}" ? "{" : "["
    if (!this.open.includes(kind)) return false
    const last = this.open.at(-1)
    if (this.expecting === "colon") return false
    if (this.expecting === "value" && last === "{") {
      this.write("null")
      this.repaired("cut-off")
    }
    this.dropComma(true)
    for (let top = this.open.pop(); top !== undefined; top = this.open.pop()) {
      this.write(top === "{" ? "}" : "]")
      if (top === kind) break
      this.repaired("mismatched-bracket")
    }
    this.expecting = "separator"
    this.position++
    return true
  }

  private separating(): boolean {
    this.position++
    if (this.expecting !== "separator") {
      this.repaired("trailing-comma")
      return this.open.length > 0 && this.expecting !== "colon"
    }
    this.comma = this.output.length
    this.write(",")
    this.expecting = this.open.at(-1) === "{" ? "key" : "value"
    return true
  }

  private colon(): boolean {
    if (this.expecting !== "colon") return false
    this.write(":")
    this.expecting = "value"
    this.position++
    return true
  }

  private scalar(char: string): boolean {
    if (!this.before() || this.expecting === "colon") return false
    const key = this.expecting === "key"
    const close = closingQuote.get(char)
    const written = close === undefined ? this.word(key) : this.string(close, char !== "\"", key)
    if (!written) return false
    this.expecting = key ? "colon" : "separator"
    return true
  }

  private word(key: boolean): boolean {
    const start = this.position
    while (isWord(this.text.charCodeAt(this.position))) this.position++
    const word = this.text.slice(start, this.position)
    if (word === "") return false
    if (key) {
      this.repaired("unquoted-key")
      this.write(JSON.stringify(word))
      return true
    }
    const literal = literals.get(word)
    if (literal !== undefined) {
      if (literal !== word) this.repaired("literal")
      this.write(literal)
      return true
    }
    if (jsonNumber.test(word)) {
      this.write(word)
      return true
    }
    const number = Number(word)
    if (word.length < 40 && Number.isFinite(number)) {
      this.repaired("number")
      this.write(String(number))
      return true
    }
    return this.bareText(start)
  }

  /** A word that is no literal is text, as long as nothing but a delimiter follows it. */
  private bareText(start: number): boolean {
    let end = this.position
    while (end < this.text.length && !",:{}[]\"'\n".includes(this.text[end] ?? "\n")) end++
    const next = this.text[end]
    if (next !== undefined && !",}]\n".includes(next)) return false
    this.position = end
    this.repaired("unquoted-value")
    this.write(JSON.stringify(this.text.slice(start, end).trimEnd()))
    return true
  }

  private string(close: string, foreign: boolean, key: boolean): boolean {
    if (foreign) this.repaired("single-quotes")
    const pieces: Array<string> = []
    let from = ++this.position
    const keep = () => {
      if (this.position > from) pieces.push(this.text.slice(from, this.position))
    }
    for (;;) {
      const char = this.text[this.position]
      if (char === undefined) {
        keep()
        this.repaired("cut-off-text")
        break
      }
      if (char === "\\") {
        keep()
        pieces.push(this.escape())
        from = this.position
      } else if (char === close) {
        if (this.ends(key)) {
          keep()
          this.position++
          break
        }
        keep()
        this.repaired("unescaped-quote")
        pieces.push(close === "\"" ? "\\\"" : close)
        from = ++this.position
      } else if (char === "\"") {
        keep()
        pieces.push("\\\"")
        from = ++this.position
      } else if (char < " ") {
        keep()
        this.repaired("raw-newline")
        pieces.push(JSON.stringify(char).slice(1, -1))
        from = ++this.position
      } else {
        this.position++
      }
    }
    this.write(pieces.length === 1 ? `"${pieces[0]}"` : `"${pieces.join("")}"`)
    return true
  }

  private escape(): string {
    const next = this.text[this.position + 1]
    if (next === undefined) {
      this.position++
      return ""
    }
    if ("\"\\/bfnrt".includes(next)) {
      this.position += 2
      return `\\${next}`
    }
    if (next === "u" && /^[0-9a-fA-F]{4}$/.test(this.text.slice(this.position + 2, this.position + 6))) {
      this.position += 6
      return this.text.slice(this.position - 6, this.position)
    }
    this.position += 2
    if (next === "'" || next === "`") return next
    if (next === "\n") return "\\n"
    this.repaired("bad-escape")
    return next < " " ? JSON.stringify(next).slice(1, -1) : `\\\\${next}`
  }

  /** A quote ends its text when what follows can follow text; a quote in the middle of a sentence does not. */
  private ends(key: boolean): boolean {
    let next = this.position + 1
    while (isSpace(this.text[next])) next++
    const char = this.text[next]
    if (char === undefined) return true
    if (key) return char === ":"
    if (char === "}" || char === "]" || char === ",") return true
    if (char === "/" || char === "#") return next > this.position + 1
    return next > this.position + 1 && (char === "\"" || char === "'") && this.keyFollows(next)
  }

  private keyFollows(at: number): boolean {
    return /^["'][\p{L}\p{N}_$-]{1,64}["']\s{0,8}:/u.test(this.text.slice(at, at + 80))
  }
}
