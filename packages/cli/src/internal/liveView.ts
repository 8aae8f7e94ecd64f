/**
 * The part of the screen that changes while a turn runs: text that is being written, calls that are not done, and what is
 * waited for.
 */
import type { Redactor } from "@capstan/core/Redaction"
import { type CallView, count, details, duration, tail, titleOf } from "./callLines.js"
import { outputLines, type ScreenState } from "./screenState.js"
import { cut, type Line, plain, shrinking, shrunk, span, wrap } from "./styledLine.js"
import * as textFlow from "./textFlow.js"

export interface Size {
  readonly columns: number
  readonly rows: number
}

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const

const frameMillis = 80

const spinner = (now: number): string => frames[Math.floor(now / frameMillis) % frames.length] ?? frames[0]

const maxTitles = 8

/** Whole seconds, so that a line changes no more often than it must. */
const elapsed = (millis: number): string =>
  duration(millis < 1_000 ? 0 : Math.floor(millis / 1_000) * 1_000)
    .replace(/\.0 s$/, " s")
    .replace(/^0 ms$/, "0 s")

const titleLine = (call: CallView, now: number): Line => {
  if (call.settled !== undefined) return [span("· ", "dim"), shrinking(titleOf(call)), details(call, ["done"])]
  return call.startedAt === undefined
    ? [span("○ ", "dim"), shrinking(titleOf(call)), details(call, [])]
    : [span(`${spinner(now)} `, "cyan"), shrinking(titleOf(call)), details(call, [elapsed(now - call.startedAt)])]
}

const isRunning = ({ settled, startedAt }: CallView): boolean => startedAt !== undefined && settled === undefined

const callRows = (state: ScreenState, redactor: Redactor, rows: number, now: number): ReadonlyArray<Line> => {
  if (state.calls.length === 0) return []
  const titles = Math.max(1, Math.min(maxTitles, Math.floor(rows / 2)))
  const first = Math.max(0, Math.min(state.calls.findIndex(isRunning), state.calls.length - titles))
  const shown = state.calls.slice(first, first + titles)
  const left = state.calls.length - first - shown.length
  const running = shown.filter(isRunning).length
  const perCall = Math.min(outputLines, Math.floor((rows - shown.length - 1) / Math.max(1, running)) - 1)
  return [
    ...shown.flatMap((call) => {
      const open = [...textFlow.preview(call.stdout, redactor), ...textFlow.preview(call.stderr, redactor)]
      return [titleLine(call, now), ...(isRunning(call) ? tail(call, open, perCall) : [])]
    }),
    ...(left > 0 ? [[span(`  … ${left} more`, "dim")]] : [])
  ]
}

const activityLine = ({ activity, writing }: ScreenState, now: number): ReadonlyArray<Line> => {
  if (activity === undefined) return []
  const size = writing === undefined || writing.characters === 0 ? "" : ` · ${count(writing.characters)} characters`
  return [[span(`${spinner(now)} `, "cyan"), span(`${activity.what}${size} · ${elapsed(now - activity.since)}`, "dim")]]
}

/** The rows to show now; none is wider than the terminal, and there are fewer than it has. */
export const rows = (
  state: ScreenState,
  options: { readonly size: Size; readonly redactor: Redactor; readonly stream: boolean; readonly now: number }
): ReadonlyArray<Line> => {
  const { now, redactor, size, stream } = options
  const columns = Math.max(1, size.columns - 1)
  const height = Math.max(2, size.rows - 2)
  const below = [...callRows(state, redactor, height - 1, now), ...activityLine(state, now)]
  const above = stream
    ? textFlow.preview(state.text, redactor).flatMap((text) => wrap(plain(text), { columns, words: true }))
    : []
  const room = Math.max(0, height - below.length - 1)
  const text = above.length > room ? above.slice(above.length - room) : above
  const gap = text.length > 0 && state.last === "other" ? [[]] : []
  return [...gap, ...text, ...below].map((line) => cut(shrunk(line, columns), columns))
}
