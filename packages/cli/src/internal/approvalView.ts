/**
 * How questions are put to a person. Everything that a model or a tool wrote stands behind a bar, in every row of it, so that
 * it cannot pass for the program's own words.
 */
import type { Question } from "@capstan/core/Approval"
import type { Risk } from "@capstan/core/Assessment"
import * as Sanitiser from "@capstan/core/Sanitiser"
import * as CommandPolicy from "@capstan/tools/CommandPolicy"
import * as Diff from "../Diff.js"
import { count } from "./callLines.js"
import { type Line, lineWidth, render, span, type Style, wrap } from "./styledLine.js"

/** Lines of a command or a diff that are shown before somebody asks for all of them. */
const shownLines = 160

const bar: Line = [span("  │ ", "yellow")]

const riskStyle: { readonly [Level in Risk]: Style } = { low: "green", medium: "yellow", high: "red" }

const escaped = /(<U\+[0-9A-F]{4,6}>)/

/** What cannot be seen, and is written out, stands out. */
const marked = (text: string): Line =>
  Sanitiser.escapeInvisible(text).split(escaped).filter((part) => part !== "")
    .map((part) => span(part, escaped.test(part) ? "magenta" : undefined))

const behindBar = (lines: ReadonlyArray<Line>, all: boolean): ReadonlyArray<Line> => {
  const hidden = all ? 0 : Math.max(0, lines.length - shownLines)
  return [
    ...lines.slice(0, lines.length - hidden).map((line) => [...bar, ...line]),
    ...(hidden === 0 ? [] : [[...bar, span(`… ${count(hidden)} lines are not shown; v shows all`, "magenta")]])
  ]
}

const oneLine = (text: string): string => Sanitiser.escapeInvisible(text.replace(/\s*\n\s*/g, " "))

const textLines = (text: string): ReadonlyArray<Line> => text.replace(/\n$/, "").split("\n").map(marked)

const isLong = (text: string | null): boolean => text !== null && text.split("\n").length > shownLines

/** Whether something is left out until it is asked for. */
export const isCut = (questions: ReadonlyArray<Question>): boolean =>
  questions.some(({ detail, preview }) => isLong(detail) || isLong(preview))

const heading = (title: string, columns: number): Line => {
  const left = `── ${title} `
  return [span(left + "─".repeat(Math.max(0, Math.min(columns, 80) - lineWidth([span(left)]))), "yellow")]
}

const questionLines = (question: Question, all: boolean): ReadonlyArray<Line> => {
  const { detail, mustAsk, preview, risk, summary, tool, warnings } = question
  const isSaid = summary.includes(detail)
  return [
    [span(Sanitiser.escapeInvisible(tool), "bold"), span(" · "), span(`${risk} risk`, riskStyle[risk])],
    ...(isSaid ? [] : [...behindBar(textLines(summary.replace(/\s*\n\s*/g, " ")), true), bar]),
    ...behindBar(textLines(detail), all),
    ...(preview === null ? [] : [bar, ...behindBar(Diff.lines(preview), all)]),
    ...warnings.map((warning): Line => [span("  ! ", "red"), ...marked(warning.replace(/\s*\n\s*/g, " "))]),
    ...(mustAsk ? [[span("  ! ", "red"), span("This is asked every time, whatever was allowed before.")]] : [])
  ]
}

const laidOut = (lines: ReadonlyArray<Line>, columns: number, color = true): string =>
  lines.flatMap((line) => {
    const [first] = line
    const hanging = first?.text === bar[0]?.text ? bar : first?.text === "  ! " ? [span("    ")] : []
    return wrap(line, { columns, hanging, words: hanging !== bar })
  }).map((line) => `${render(line, color)}\n`).join("")

/** The whole question; `all`: with nothing left out. */
export const request = (
  questions: ReadonlyArray<Question>,
  options: { readonly columns: number; readonly origin: string; readonly all: boolean }
): string => {
  const { all, columns, origin } = options
  const of = questions.length
  const [first] = questions
  const where = first === undefined ? "" : `turn ${first.ref.turn + 1}, answer ${first.ref.iteration + 1}`
  return laidOut([
    [],
    heading(of === 1 ? "Approval needed" : `Approval needed for ${of} calls`, columns),
    [span(`Asked for by ${oneLine(first?.origin === "" ? origin : first?.origin ?? origin)} (${where})`, "dim")],
    ...questions.flatMap((question, index) => [
      ...(of === 1 ? [] : [[], [span(`Call ${index + 1} of ${of}`, "yellow")]]),
      ...questionLines(question, all)
    ]),
    []
  ], columns)
}

/** A question again, short, where each is answered by itself. */
export const again = (question: Question, index: number, of: number, columns: number): string =>
  laidOut([
    [span(`Call ${index + 1} of ${of}: `, "yellow"), span(Sanitiser.escapeInvisible(question.tool), "bold")],
    ...behindBar(textLines(question.summary.replace(/\s*\n\s*/g, " ")), true)
  ], columns)

/** The questions of a session for a list: whole, by position, each with what is known of its answer. */
export const listing = (options: {
  readonly heading: string
  readonly asked: string
  readonly questions: ReadonlyArray<{ readonly question: Question; readonly note: string | undefined }>
  readonly columns: number
  readonly color: boolean
}): string => {
  const origin = options.questions[0]?.question.origin ?? ""
  return laidOut(
    [
      [span(options.heading, "bold")],
      [span(`${options.asked}${origin === "" ? "" : `, for ${oneLine(origin)}`}`, "dim")],
      ...options.questions.flatMap(({ note, question }) => [
        [],
        [span(`Position ${question.ref.position}`, "yellow")],
        ...questionLines(question, true),
        ...(note === undefined ? [] : [[span("  → ", "green"), ...marked(note.replace(/\s*\n\s*/g, " "))]])
      ]),
      []
    ],
    options.columns,
    options.color
  )
}

/** Text of somebody else on its own, behind the bar. */
export const quoted = (text: string, columns: number): string => laidOut(behindBar(textLines(text), true), columns)

export interface Choice {
  readonly key: string
  readonly says: string
}

/** The keys that answer. */
export const choices = (all: ReadonlyArray<Choice>, columns: number): string => {
  const rows: Array<Array<Choice>> = [[]]
  let used = 0
  for (const choice of all) {
    const wide = choice.says.length + 6
    if (used + wide > columns && used > 0) {
      rows.push([])
      used = 0
    }
    rows.at(-1)?.push(choice)
    used += wide
  }
  return rows.map((row) =>
    render(row.flatMap(({ key, says }) => [span(`[${key}]`, "bold"), span(` ${says}  `)]), true).trimEnd()
  ).join("\n") + "\n"
}

/** A line of the program's own. */
export const said = (text: string, style: Style, columns: number): string => laidOut([[span(text, style)]], columns)

/**
 * The list entry that is offered for the call: the very command, the tool within the folder of the path, or the narrowest that
 * the tool knows. Undefined: none stands for it and nothing else, or it could not be shown as it is.
 */
export const entryOf = (question: Question): string | undefined => {
  if (question.mustAsk) return undefined
  const entry = offered(question)
  return entry === undefined || entry.includes("\n") || Sanitiser.escapeInvisible(entry) !== entry ||
      Sanitiser.lookAlikes(entry).length > 0
    ? undefined
    : entry
}

const offered = ({ arguments: { command, path }, entry, tool }: Question): string | undefined => {
  if (typeof command === "string") {
    const pattern = CommandPolicy.exactly(command)
    return pattern === undefined ? undefined : `${tool}(${pattern})`
  }
  if (typeof path !== "string") return entry ?? undefined
  const slash = path.lastIndexOf("/")
  if (slash > 0 && !/[*?]/.test(path) && !path.split("/").includes("..")) return `${tool}(${path.slice(0, slash)}/**)`
  return entry === null || entry === tool ? undefined : entry
}
