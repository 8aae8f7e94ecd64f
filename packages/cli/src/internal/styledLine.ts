/**
 * Lines for a terminal: pieces of text, each with a style. Control sequences are written here and nowhere else; a piece that
 * holds a control character loses it, whoever wrote it.
 */
import stringWidth from "string-width"

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan" | "magenta"

export interface Span {
  readonly text: string
  readonly style: Style | undefined
  /** What may be cut for the rest of its line to fit. */
  readonly shrinks?: boolean
}

export type Line = ReadonlyArray<Span>

const codes: { readonly [Name in Style]: number } = {
  bold: 1,
  dim: 2,
  red: 31,
  green: 32,
  yellow: 33,
  cyan: 36,
  magenta: 35
}

export const span = (text: string, style?: Style): Span => ({ text, style })

export const shrinking = (text: string): Span => ({ text, style: undefined, shrinks: true })

export const plain = (text: string): Line => [span(text)]

const controls = /(?!\t)\p{Control}|\p{Surrogate}|\p{Line_Separator}|\p{Paragraph_Separator}/gu

const tabStop = 8

/** A piece of text without controls; tabs, which have no width of their own, become blanks from `column` on. */
const printable = (text: string, column: number): string => {
  const clean = text.replace(controls, "")
  if (!clean.includes("\t")) return clean
  return clean.split("\t").reduce((done, part) => {
    const at = column + width(done)
    return done + " ".repeat(tabStop - at % tabStop) + part
  })
}

const ascii = /^[\x20-\x7e]*$/

/** Columns that a text takes. */
const width = (text: string): number => ascii.test(text) ? text.length : stringWidth(text)

export const lineWidth = (line: Line): number =>
  line.reduce((column, { text }) => column + width(printable(text, column)), 0)

/** The text of a line, for a terminal with colours, or for anybody, with its tabs. */
export const render = (line: Line, color: boolean): string => {
  if (!color) return line.map(({ text }) => text.replace(controls, "")).join("")
  let column = 0
  return line.map(({ style, text }) => {
    const shown = printable(text, column)
    column += width(shown)
    return style === undefined || shown === "" ? shown : `\u001b[${codes[style]}m${shown}\u001b[0m`
  }).join("")
}

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** The pieces that a text can be broken into, each with its width. */
const cells = (text: string): ReadonlyArray<{ readonly text: string; readonly width: number }> =>
  ascii.test(text)
    ? Array.from(text, (character) => ({ text: character, width: 1 }))
    : Array.from(segmenter.segment(text), ({ segment }) => ({ text: segment, width: width(segment) }))

/** As much of a line as fits, with `…` where something is missing. */
export const cut = (line: Line, columns: number): Line => {
  if (lineWidth(line) <= columns) return line
  const out: Array<Span> = []
  let column = 0
  for (const { style, text } of line) {
    let kept = ""
    for (const cell of cells(printable(text, column))) {
      if (column + cell.width > columns - 1) return [...out, span(kept, style), span("…", "dim")]
      kept += cell.text
      column += cell.width
    }
    out.push(span(kept, style))
  }
  return out
}

const minShrunk = 28

/** The line with its shrinking piece cut, if that makes it fit. */
export const shrunk = (line: Line, columns: number): Line => {
  const over = lineWidth(line) - columns
  if (over <= 0) return line
  return line.flatMap((piece) => {
    const left = width(piece.text) - over
    return piece.shrinks === true && left >= minShrunk ? cut([piece], left) : [piece]
  })
}

/**
 * The line in rows that fit, broken at blanks where there are some (`words`) or anywhere. Rows after the first begin with
 * `hanging`.
 */
export const wrap = (
  line: Line,
  options: { readonly columns: number; readonly hanging?: Line; readonly words?: boolean }
): ReadonlyArray<Line> => {
  const { columns, hanging = [], words = false } = options
  if (lineWidth(line) <= columns) return [line]
  const indent = lineWidth(hanging)
  const rows: Array<Line> = []
  let row: Array<Span> = []
  let column = 0
  const breakRow = () => {
    rows.push(row)
    row = [...hanging]
    column = indent
  }
  const put = (text: string, wide: number, style: Style | undefined) => {
    const last = row.at(-1)
    if (last !== undefined && last.style === style && row.length > (rows.length === 0 ? 0 : hanging.length)) {
      row[row.length - 1] = span(last.text + text, style)
    } else {
      row.push(span(text, style))
    }
    column += wide
  }
  for (const { style, text } of line) {
    const shown = printable(text, column)
    for (const word of words ? shown.match(/\s+|\S+/gu) ?? [] : [shown]) {
      const wide = width(word)
      const isBlank = words && word.trim() === ""
      if (words && column + wide > columns && column > indent && wide <= columns - indent) {
        breakRow()
        if (isBlank) continue
      }
      if (column + wide <= columns) {
        put(word, wide, style)
        continue
      }
      for (const cell of cells(word)) {
        if (column + cell.width > columns && column > indent) breakRow()
        put(cell.text, cell.width, style)
      }
    }
  }
  rows.push(row)
  return rows
}
