/** Finding what a snippet that is not in a text was meant to be. */
import { lineRange, linesOf } from "./textFile.js"

/** The passage of a text that is most like a snippet; lines 1-based. `text` is exactly what stands there. */
export interface Passage {
  readonly first: number
  readonly last: number
  readonly text: string
  /** How it differs from the snippet, in words. */
  readonly difference: string
}

/** Lines of a snippet that are compared, and of a text; the rest is not looked at. */
const comparedLines = 24
const searchedLines = 20_000
const comparedCharacters = 200
/** Passages that share less than this are not called close. */
const leastLikeness = 0.45

const squeezed = (line: string): string => line.trim().replace(/\s+/g, " ")

const bigrams = (line: string): ReadonlyMap<string, number> => {
  const text = squeezed(line).slice(0, comparedCharacters).toLowerCase()
  const counts = new Map<string, number>()
  for (let at = 0; at < text.length; at++) {
    const pair = text.slice(at, at + 2)
    counts.set(pair, (counts.get(pair) ?? 0) + 1)
  }
  return counts
}

const total = (counts: ReadonlyMap<string, number>): number => {
  let sum = 0
  for (const count of counts.values()) sum += count
  return sum
}

/** Shared pairs of characters: 0 nothing in common, 1 the same but for white space. */
const likeness = (left: ReadonlyMap<string, number>, right: ReadonlyMap<string, number>): number => {
  const all = total(left) + total(right)
  if (all === 0) return 1
  let shared = 0
  for (const [pair, count] of left) shared += Math.min(count, right.get(pair) ?? 0)
  return 2 * shared / all
}

const indentation = (line: string): string => /^[ \t]*/.exec(line)?.[0] ?? ""

const blanks = (indent: string): string => {
  if (indent === "") return "no indentation"
  const tabs = indent.split("\t").length - 1
  const spaces = indent.length - tabs
  const parts = [
    ...(tabs > 0 ? [`${tabs} tab${tabs === 1 ? "" : "s"}`] : []),
    ...(spaces > 0 ? [`${spaces} space${spaces === 1 ? "" : "s"}`] : [])
  ]
  return `an indentation of ${parts.join(" and ")}`
}

const differenceOf = (
  sent: ReadonlyArray<string>,
  there: ReadonlyArray<string>,
  first: number,
  called: string
): string => {
  const index = sent.findIndex((line, at) => line !== there[at])
  const mine = sent[index] ?? ""
  const theirs = there[index] ?? ""
  const where = `Line ${first + Math.max(0, index)}`
  if (squeezed(mine) === squeezed(theirs)) {
    return indentation(mine) !== indentation(theirs)
      ? `Only white space differs. ${where} has ${blanks(indentation(theirs))}, your ${called} has ${
        blanks(indentation(mine))
      }.`
      : mine.trimEnd() === theirs.trimEnd()
      ? `Only white space differs. ${where} ${
        theirs.length > mine.length
          ? `ends with blanks that your ${called} has not`
          : `does not end with the blanks of your ${called}`
      }.`
      : `Only white space differs, within ${where.toLowerCase()}.`
  }
  return mine.toLowerCase() === theirs.toLowerCase()
    ? `${where} has other upper and lower case.`
    : `${where} is ${JSON.stringify(theirs)}, your ${called} has ${JSON.stringify(mine)}.`
}

/** The passage most like a snippet, or undefined where nothing is. `called` is what the snippet is called in words. */
export const closest = (text: string, snippet: string, called: string): Passage | undefined => {
  const lines = linesOf(text.replaceAll("\r\n", "\n"))
  const wanted = linesOf(snippet.replaceAll("\r\n", "\n"))
  const size = wanted.length
  const compared = wanted.slice(0, comparedLines).map(bigrams)
  const weights = compared.map((pairs) => total(pairs) + 1)
  const weight = weights.reduce((sum, one) => sum + one, 0)
  const searched = lines.slice(0, searchedLines).map(bigrams)
  let best = { at: -1, score: leastLikeness }
  for (let at = 0; at < searched.length; at++) {
    let score = 0
    for (const [index, pairs] of compared.entries()) {
      const line = searched[at + index]
      if (line !== undefined) score += (weights[index] ?? 0) * likeness(pairs, line) / weight
    }
    if (score > best.score) best = { at, score }
  }
  if (best.at === -1) return undefined
  const there = lines.slice(best.at, best.at + size)
  const endsLine = snippet.endsWith("\n") && best.at + there.length <= lines.length
  return {
    first: best.at + 1,
    last: best.at + there.length,
    text: there.join("\n") + (endsLine ? "\n" : ""),
    difference: differenceOf(wanted, there, best.at + 1, called)
  }
}

/** Escapes that were meant as what they stand for: `\n` written out, `\"` kept. */
export const unescaped = (snippet: string): string =>
  snippet.replace(
    /\\(["'nrt\\/])/g,
    (_, character: string) => character === "n" ? "\n" : character === "r" ? "\r" : character === "t" ? "\t" : character
  )

/** Lines of a text with their numbers, for a model to look at. */
export const numbered = (text: string, first: number, last: number): string => {
  const lines = linesOf(text)
  const from = Math.max(1, first)
  const to = Math.min(lines.length, last)
  return lines.slice(from - 1, to).map((line, index) => `${from + index} | ${line.replace(/\r$/, "")}`).join("\n")
}

/** Names places by their lines, the first few of them. */
export const nameLines = (ranges: ReadonlyArray<readonly [first: number, last: number]>, most: number): string =>
  ranges.slice(0, most).map(([first, last]) => lineRange(first, last)).join(", ") +
  (ranges.length > most ? ` and ${ranges.length - most} more` : "")
