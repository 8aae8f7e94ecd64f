/**
 * Keeps the last rows of a terminal up to date: each change writes over them in one go, and lines that stay scroll up above.
 */
import { gutter } from "./callLines.js"
import { type Line, lineWidth, render, shrunk, span, wrap } from "./styledLine.js"

/** What stands at the bottom now, and for which width it was drawn. */
export interface Painted {
  readonly rows: ReadonlyArray<{ readonly text: string; readonly width: number }>
  readonly columns: number
}

export const blank: Painted = { rows: [], columns: 0 }

const escape = "\u001b["

/** One frame: terminals that know how show it at once, and the cursor does not run about. */
const frame = (text: string): string => `${escape}?2026h${escape}?25l${text}${escape}?25h${escape}?2026l`

/** A terminal that became narrower has broken the rows that no longer fit. */
const height = ({ columns, rows }: Painted, now: number): number =>
  rows.reduce((sum, { width }) => sum + (now < columns ? Math.max(1, Math.ceil(width / Math.max(1, now))) : 1), 0)

/** Rows of a line after its first: behind the bar that it began with, or under the text after its mark. */
const hangingOf = (line: Line): Line => {
  const [first] = line
  if (first?.text === gutter.text) return [gutter]
  return line.length > 1 && first?.text.length === 2 ? [span("  ")] : []
}

/** The text that brings the terminal from what is painted to `live`, with `stay` above it. */
export const paint = (
  before: Painted,
  options: { readonly stay: ReadonlyArray<Line>; readonly live: ReadonlyArray<Line>; readonly columns: number }
): readonly [Painted, string] => {
  const { columns, live, stay } = options
  const rows = live.map((line) => ({ text: render(line, true), width: lineWidth(line) }))
  const after: Painted = { rows, columns }
  const isSame = stay.length === 0 && before.columns === columns && before.rows.length === rows.length
    && rows.every(({ text }, index) => text === before.rows[index]?.text)
  if (isSame || (stay.length === 0 && rows.length === 0 && before.rows.length === 0)) return [after, ""]
  const up = height(before, columns) - 1
  const top = `\r${up > 0 ? `${escape}${up}A` : ""}`
  const kept = stay.flatMap((line) => wrap(shrunk(line, columns), { columns, hanging: hangingOf(line), words: true }))
  const clear = `${escape}2K`
  const text = [
    ...kept.map((line) => `${clear}${render(line, true)}\n`),
    rows.map(({ text }) => `${clear}${text}`).join("\n"),
    `${escape}J`
  ].join("")
  return [after, frame(top + text)]
}
