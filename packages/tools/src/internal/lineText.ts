/** Texts as lists of lines, by the newline model of LP1. */
import * as Either from "effect/Either"

/** A text as lines without their ends. With no lines there is no final newline either, whatever `finalNewline` says. */
export interface LineText {
  readonly lines: ReadonlyArray<string>
  readonly finalNewline: boolean
  readonly eol: "\n" | "\r\n"
}

/** Why a text has no place in the model, and in which of its lines (1-based). */
export interface Problem {
  readonly line: number
  readonly why: string
}

/** The 1-based line in which a position lies. */
export const lineAt = (text: string, position: number): number => {
  let line = 1
  for (let at = text.indexOf("\n"); at !== -1 && at < position; at = text.indexOf("\n", at + 1)) line++
  return line
}

const loneReturn = /\r(?!\n)/
const loneFeed = /(?<!\r)\n/

const problemOf = (text: string): Problem | undefined => {
  const alone = loneReturn.exec(text)
  if (alone !== null) {
    return { line: lineAt(text, alone.index), why: "has a carriage return that no line feed follows" }
  }
  const crlf = text.indexOf("\r\n")
  const lf = crlf === -1 ? null : loneFeed.exec(text)
  return lf === null
    ? undefined
    : { line: lineAt(text, Math.max(crlf, lf.index)), why: "mixes LF and CRLF as line ends" }
}

/** Takes a text apart. */
export const read = (text: string): Either.Either<LineText, Problem> => {
  const problem = problemOf(text)
  if (problem !== undefined) return Either.left(problem)
  const eol = text.includes("\r\n") ? "\r\n" : "\n"
  const finalNewline = text.endsWith("\n")
  const lines = text === "" ? [] : text.split(eol)
  return Either.right({ lines: finalNewline ? lines.slice(0, -1) : lines, finalNewline, eol })
}

/** Puts a text together again. */
export const write = ({ eol, finalNewline, lines }: LineText): string =>
  lines.length === 0 ? "" : lines.join(eol) + (finalNewline ? eol : "")

/** How many lines at the beginning of a block are also the last ones before each of its lines. */
const borders = (block: ReadonlyArray<string>): ReadonlyArray<number> => {
  const lengths = [0]
  let length = 0
  for (let at = 1; at < block.length; at++) {
    while (length > 0 && block[at] !== block[length]) length = lengths[length - 1] ?? 0
    if (block[at] === block[length]) length++
    lengths.push(length)
  }
  return lengths
}

/** Where a block of lines begins in others (0-based, ascending, overlapping ones too); in time that grows with both. */
export const occurrences = (lines: ReadonlyArray<string>, block: ReadonlyArray<string>): ReadonlyArray<number> => {
  const back = borders(block)
  const found: Array<number> = []
  let matched = 0
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]
    while (matched > 0 && line !== block[matched]) matched = back[matched - 1] ?? 0
    if (line === block[matched]) matched++
    if (matched === block.length) {
      found.push(at - matched + 1)
      matched = back[matched - 1] ?? 0
    }
  }
  return found
}
