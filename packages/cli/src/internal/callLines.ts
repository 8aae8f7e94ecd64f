/**
 * How calls, and what a turn came to, are put into lines.
 */
import type { Outcome } from "@capstan/core/Outcome"
import type { Redactor } from "@capstan/core/Redaction"
import type { CallRef, ToolCall } from "@capstan/core/ToolCall"
import type { TurnResult } from "@capstan/core/TurnResult"
import * as Diff from "../Diff.js"
import { type Line, shrinking, span, type Style } from "./styledLine.js"
import * as textFlow from "./textFlow.js"

export interface CallView {
  readonly ref: CallRef
  readonly call: ToolCall | undefined
  readonly tool: string
  readonly summary: string
  readonly preview: string | null
  /** Somebody has seen the preview with the question. */
  readonly isSeen: boolean
  readonly startedAt: number | undefined
  readonly stdout: textFlow.TextFlow
  readonly stderr: textFlow.TextFlow
  /** The last lines of its output, and how many there were. */
  readonly output: ReadonlyArray<string>
  readonly printed: number
  readonly settled: { readonly outcome: Outcome; readonly durationMillis: number } | undefined
}

/** What of the output stays when a call is done: of one that went well, and of one that did not. */
const tails = { good: 3, bad: 12 } as const

/** Lines of a diff that stay under a call that nobody was asked about. */
const diffLines = 40

export const gutter = span("  │ ", "dim")

/** A time for people: `340 ms`, `3.4 s`, `2 min 5 s`. */
export const duration = (millis: number): string => {
  if (millis < 1_000) return `${Math.round(millis)} ms`
  if (millis < 60_000) return `${(millis / 1_000).toFixed(1)} s`
  const seconds = Math.round(millis / 1_000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** A number with its thousands apart. */
export const count = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ",")

export const plural = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? "" : "s"}`

const maxUnplanned = 120

/** What is known of a call that no tool has described: its name and arguments, short. */
export const unplanned = ({ name, raw }: ToolCall, redactor: Redactor): string => {
  const text = textFlow.oneLine(`${name} ${raw.slice(0, 64 * maxUnplanned)}`, redactor)
  return text.length > maxUnplanned ? `${[...text].slice(0, maxUnplanned).join("")}…` : text
}

interface Ending {
  readonly glyph: string
  readonly style: Style
  readonly reason: string
}

const endingOf = (outcome: Outcome): Ending => {
  switch (outcome._tag) {
    case "Succeeded":
      return { glyph: "✓", style: "green", reason: "" }
    case "Denied":
      return { glyph: "⊘", style: "yellow", reason: outcome.reason === null ? "denied" : `denied: ${outcome.reason}` }
    case "Refused":
      return { glyph: "⊘", style: "yellow", reason: outcome.failure.message }
    case "Cancelled":
      return { glyph: "⊘", style: "yellow", reason: "cancelled" }
    case "TimedOut":
    case "Failed":
    case "Unknown":
      return { glyph: "✗", style: "red", reason: outcome.failure.message }
  }
}

/** The tool's name after a summary that does not say it. */
const toolOf = ({ summary, tool }: CallView): ReadonlyArray<string> =>
  summary === "" || summary.startsWith(tool) ? [] : [tool]

export const titleOf = (call: CallView): string => call.summary === "" ? call.tool : call.summary

/** The details of a call in a few words, dim. */
export const details = (call: CallView, more: ReadonlyArray<string>) =>
  span([...toolOf(call), ...more].map((detail) => ` · ${detail}`).join(""), "dim")

/** Output under a call: its last lines, and how many came before. */
export const tail = (call: CallView, open: ReadonlyArray<string>, rows: number): ReadonlyArray<Line> => {
  const all = [...call.output, ...open]
  const shown = rows <= 0 ? [] : all.slice(-rows)
  const hidden = call.printed + open.length - shown.length
  return [
    ...(hidden > 0 && shown.length > 0 ? [[gutter, span(`… ${plural(hidden, "line")} before`, "dim")]] : []),
    ...shown.map((line): Line => [gutter, span(line)])
  ]
}

const diffOf = (preview: string): ReadonlyArray<Line> => {
  const all = Diff.lines(preview)
  const shown = all.length <= diffLines ? all : all.slice(0, diffLines)
  return [
    ...shown.map((line): Line => [gutter, ...line]),
    ...(shown.length < all.length ? [[gutter, span(`… ${plural(all.length - shown.length, "line")} more`, "dim")]] : [])
  ]
}

/** The lines that stay of a call that has a result. */
export const settled = (call: CallView, redactor: Redactor): ReadonlyArray<Line> => {
  if (call.settled === undefined) return []
  const { durationMillis, outcome } = call.settled
  const { glyph, reason, style } = endingOf(outcome)
  const [first = "", ...more] = textFlow.whole(reason, redactor).trim().split("\n")
  const ran = call.startedAt !== undefined
  const isGood = outcome._tag === "Succeeded"
  const title: Line = [
    span(`${glyph} `, style),
    shrinking(titleOf(call)),
    details(call, ran ? [duration(durationMillis)] : []),
    ...(first === "" ? [] : [span(`: ${first}`, style)])
  ]
  const rest = more.filter((line) => line.trim() !== "").slice(0, tails.bad).map((line): Line => [gutter, span(line)])
  return [
    title,
    ...(isGood && call.preview !== null && !call.isSeen ? diffOf(call.preview) : []),
    ...tail(call, [], isGood ? tails.good : tails.bad),
    ...(call.printed > 0 ? [] : rest)
  ]
}

const endings: { readonly [End in Exclude<TurnResult["end"], "answered">]: string } = {
  iterations: "Stopped: too many steps for one message",
  budget: "Stopped",
  loop: "Stopped: the same call again and again",
  refused: "The model refused",
  cancelled: "Cancelled",
  awaiting: "Waiting for somebody"
}

/** What a turn came to: how it ended, where it was not with an answer, and the figures. */
export const totals = (
  result: TurnResult,
  options: {
    readonly elapsed: number
    readonly waited: number
    /** Whether the session was named before. */
    readonly isTold: boolean
    readonly redactor: Redactor
  }
): ReadonlyArray<Line> => {
  const { calls, cost, end, pending, reason, session, usage } = result
  const said = reason === null || end === "cancelled" || end === "awaiting"
    ? ""
    : textFlow.oneLine(reason, options.redactor)
  const figures = [
    ...(calls.length === 0 ? [] : [plural(calls.length, "call")]),
    `${duration(options.elapsed)}${
      options.waited >= 1_000 ? ` (and ${duration(options.waited)} waiting for you)` : ""
    }`,
    ...(usage.input + usage.output === 0 ? [] : [`${count(usage.input)} tokens in, ${count(usage.output)} out`]),
    ...(cost === null || usage.input + usage.output === 0 ? [] : [`$${cost.toFixed(cost < 0.1 ? 4 : 2)}`]),
    ...(options.isTold ? [] : [`session ${session}`])
  ]
  return [
    ...pending.map(({ call }): Line => [
      span("○ ", "yellow"),
      span(unplanned(call, options.redactor)),
      span(" waits", "dim")
    ]),
    ...(end === "answered" && result.text.trim() === "" ? [[span("The model ended without a word.", "yellow")]] : []),
    ...(end === "answered" ? [] : [[span(`${endings[end]}${said === "" ? "." : `: ${said}`}`, "yellow")]]),
    [span(figures.join(" · "), "dim")]
  ]
}
