/**
 * What a screen knows of a turn, as a fold over its events; each step gives the lines that stay.
 */
import { Event } from "@capstan/core/Event"
import type { Outcome } from "@capstan/core/Outcome"
import type { Redactor } from "@capstan/core/Redaction"
import { type CallRef, keyOf } from "@capstan/core/ToolCall"
import type { TurnResult } from "@capstan/core/TurnResult"
import * as callLines from "./callLines.js"
import type { CallView } from "./callLines.js"
import { type Line, plain, span } from "./styledLine.js"
import * as textFlow from "./textFlow.js"

/** A line that stays: of the answer, of what happens on the way, or a blank one between both. */
export interface Out {
  readonly to: "answer" | "progress" | "gap"
  readonly line: Line
}

export interface Settings {
  readonly redactor: Redactor
  /** The answer is shown as it is written. */
  readonly stream: boolean
  readonly verbose: boolean
}

/** What the turn is doing, for the line with the spinner. */
interface Activity {
  readonly what: string
  readonly since: number
}

export interface ScreenState {
  readonly activity: Activity | undefined
  readonly model: string
  /** Undefined: no turn is shown. */
  readonly startedAt: number | undefined
  /** Milliseconds of this turn in which a person was asked. */
  readonly waited: number
  readonly text: textFlow.TextFlow
  readonly thinking: textFlow.TextFlow
  /** Lines of the answer that are not shown yet, because it is not streamed. */
  readonly kept: ReadonlyArray<string>
  /** Whether this iteration has shown text. */
  readonly spoke: boolean
  /** Blank lines that are shown only when something follows. */
  readonly blanks: number
  readonly last: "nothing" | "text" | "other"
  /** Whether the session was named. */
  readonly isTold: boolean
  readonly writing: { readonly name: string; readonly characters: number } | undefined
  readonly calls: ReadonlyArray<CallView>
}

export type Step = readonly [ScreenState, ReadonlyArray<Out>]

export const outputLines = 50

export const initial: ScreenState = {
  activity: undefined,
  model: "the model",
  startedAt: undefined,
  waited: 0,
  text: textFlow.empty,
  thinking: textFlow.empty,
  kept: [],
  spoke: false,
  blanks: 0,
  last: "nothing",
  isTold: false,
  writing: undefined,
  calls: []
}

const only = (state: ScreenState): Step => [state, []]

const also = ([state, out]: Step, next: (state: ScreenState) => Step): Step => {
  const [after, more] = next(state)
  return [after, [...out, ...more]]
}

/** Lines that are not the answer. A blank line sets them apart from text. */
export const say = (state: ScreenState, lines: ReadonlyArray<Line>): Step =>
  lines.length === 0 ? only(state) : [
    { ...state, last: "other", blanks: 0 },
    [
      ...(state.last === "text" ? [{ to: "gap" as const, line: [] }] : []),
      ...lines.map((line) => ({ to: "progress" as const, line }))
    ]
  ]

/** Lines of the answer. Blank lines at its beginning and its end are left out. */
const speak = (state: ScreenState, lines: ReadonlyArray<string>, to: Out["to"] = "answer"): Step => {
  let { blanks, last } = state
  const out: Array<Out> = []
  for (const text of lines) {
    if (text.trim() === "") {
      if (last === "text") blanks++
      continue
    }
    if (last === "other") out.push({ to: "gap", line: [] })
    for (; blanks > 0; blanks--) out.push({ to, line: [] })
    out.push({ to, line: plain(text) })
    last = "text"
  }
  return [{ ...state, blanks, last, spoke: state.spoke || out.length > 0 }, out]
}

const heard = (state: ScreenState, lines: ReadonlyArray<string>, { stream }: Settings): Step =>
  stream ? speak(state, lines) : [{ ...state, kept: [...state.kept, ...lines] }, []]

/** The text so far is complete. What was not streamed and stands before calls is no answer. */
const endText = (state: ScreenState, settings: Settings): Step => {
  const rest = textFlow.end(state.text, settings.redactor)
  const [thought, lines] = endThinking({ ...state, text: textFlow.empty }, settings)
  return also(
    also([thought, lines], (next) => heard(next, rest, settings)),
    (next) => speak({ ...next, kept: [] }, next.kept, "progress")
  )
}

const thoughts = (lines: ReadonlyArray<string>): ReadonlyArray<Line> => lines.map((line) => [span(line, "dim")])

const endThinking = (state: ScreenState, { redactor, verbose }: Settings): Step => {
  const rest = textFlow.end(state.thinking, redactor)
  const next = { ...state, thinking: textFlow.empty }
  return verbose && rest.length > 0 ? say(next, thoughts(rest)) : [next, []]
}

const newCall = (ref: CallRef, tool: string): CallView => ({
  ref,
  call: undefined,
  tool,
  summary: "",
  preview: null,
  isSeen: false,
  startedAt: undefined,
  stdout: textFlow.empty,
  stderr: textFlow.empty,
  output: [],
  printed: 0,
  settled: undefined
})

const update = (state: ScreenState, ref: CallRef, tool: string, change: (call: CallView) => CallView): ScreenState => {
  const key = keyOf(ref)
  return state.calls.some((call) => keyOf(call.ref) === key)
    ? { ...state, calls: state.calls.map((call) => keyOf(call.ref) === key ? change(call) : call) }
    : { ...state, calls: [...state.calls, change(newCall(ref, tool))] }
}

const printed = (call: CallView, lines: ReadonlyArray<string>): CallView => ({
  ...call,
  output: lines.length === 0 ? call.output : [...call.output, ...lines].slice(-outputLines),
  printed: call.printed + lines.length
})

/** Calls are shown for good in their order: a finished one waits for those before it. */
const settleCalls = (state: ScreenState, settings: Settings): Step => {
  const open = state.calls.findIndex(({ settled }) => settled === undefined)
  const done = state.calls.slice(0, open === -1 ? state.calls.length : open)
  return say(
    { ...state, calls: state.calls.slice(done.length) },
    done.flatMap((call) => callLines.settled(call, settings.redactor))
  )
}

const finish = (
  state: ScreenState,
  { durationMillis, outcome, ref, tool }: Extract<Event, { readonly _tag: "ToolFinished" }>,
  settings: Settings
): Step => {
  const next = update(state, ref, tool, (call) => ({
    ...printed(call, [
      ...textFlow.end(call.stdout, settings.redactor),
      ...textFlow.end(call.stderr, settings.redactor)
    ]),
    tool,
    stdout: textFlow.empty,
    stderr: textFlow.empty,
    settled: { outcome, durationMillis }
  }))
  return settleCalls(next, settings)
}

const unknownEnd: Outcome = {
  _tag: "Cancelled",
  failure: { _tag: "Cancelled", message: "Cancelled by user", suggestedFix: null, details: {} }
}

const final = (state: ScreenState, result: TurnResult, settings: Settings, now: number): Step => {
  const settled = state.calls.map((call) => {
    const known = result.calls.find(({ ref }) => keyOf(ref) === keyOf(call.ref))
    return call.settled !== undefined || result.pending.some(({ ref }) => keyOf(ref) === keyOf(call.ref))
      ? call
      : { ...call, settled: { outcome: known?.outcome ?? unknownEnd, durationMillis: known?.durationMillis ?? 0 } }
  })
  const isSpoken = state.spoke && settings.stream
  const text = textFlow.whole(result.text, settings.redactor)
  const rest = isSpoken ? textFlow.end(state.text, settings.redactor) : text === "" ? [] : text.split("\n")
  const quiet = endThinking({ ...state, calls: settled, text: textFlow.empty, kept: [], writing: undefined }, settings)
  const calls = also(quiet, (next) => settleCalls(next, settings))
  const answered = also(calls, (next) => speak(next, rest))
  return also(answered, (next) =>
    say(
      { ...next, activity: undefined, calls: [], isTold: true, startedAt: undefined, waited: 0 },
      callLines.totals(result, {
        elapsed: Math.max(0, now - (next.startedAt ?? now) - next.waited),
        waited: next.waited,
        isTold: next.isTold,
        redactor: settings.redactor
      })
    ))
}

const doing = (state: ScreenState, what: string, now: number): ScreenState =>
  state.activity?.what === what ? state : { ...state, activity: { what, since: now } }

/** The next state, and the lines that stay. `now` is in milliseconds. A turn that goes on has no event that begins it. */
export const step = (before: ScreenState, event: Event, settings: Settings, now: number): Step => {
  const state = before.startedAt === undefined ? { ...before, startedAt: now } : before
  const { redactor, verbose } = settings
  const line = (text: string) => textFlow.oneLine(text, redactor)
  return Event.$match(event, {
    TurnStarted: ({ model }) =>
      only({ ...initial, last: state.last, isTold: state.isTold, model: line(model), startedAt: now }),
    IterationStarted: () => only(doing({ ...state, spoke: false, calls: [] }, `Waiting for ${state.model}`, now)),
    TextDelta: ({ text }) => {
      const [before, thought] = endThinking(state, settings)
      const [flow, lines] = textFlow.feed(before.text, text, redactor)
      return also([doing({ ...before, text: flow }, "Answering", now), thought], (next) => heard(next, lines, settings))
    },
    ThinkingDelta: ({ text }) => {
      const [flow, lines] = textFlow.feed(state.thinking, text, redactor)
      const next = doing({ ...state, thinking: flow }, "Thinking", now)
      return verbose && lines.length > 0 ? say(next, thoughts(lines)) : only(next)
    },
    CallStarted: ({ name }) =>
      also(
        endText(state, settings),
        (next) => only(doing({ ...next, writing: { name: line(name), characters: 0 } }, `Writing ${line(name)}`, now))
      ),
    CallDelta: ({ text }) =>
      only(
        state.writing === undefined
          ? state
          : { ...state, writing: { ...state.writing, characters: state.writing.characters + text.length } }
      ),
    CallReceived: ({ call, ref }) =>
      also(endText(state, settings), (next) =>
        only(update({ ...next, writing: undefined }, ref, call.name, (view) => ({
          ...view,
          call,
          summary: callLines.unplanned(call, redactor)
        })))),
    Retry: ({ attempt, delayMillis, reason }) =>
      say(doing(state, `Waiting to try again (try ${attempt})`, now), [[
        span("↻ ", "yellow"),
        span(`Try ${attempt} in ${callLines.duration(delayMillis)}: ${line(reason)}`)
      ]]),
    Voided: ({ reason }) => {
      const { activity, blanks, isTold, last, model, startedAt, waited } = state
      const fresh: ScreenState = { ...initial, activity, blanks, isTold, last, model, startedAt, waited }
      return say(fresh, [[
        span("✗ ", "red"),
        span(`The answer broke off; what it said does not count, and nothing of it runs. ${line(reason)}`)
      ]])
    },
    UsageReported: () => only(state),
    Planned: () => also(endText(state, settings), (next) => only({ ...next, activity: undefined, writing: undefined })),
    Repaired: ({ ref, repairs }) => {
      const tool = state.calls.find((call) => keyOf(call.ref) === keyOf(ref))?.tool ?? "a call"
      return verbose
        ? say(state, [[
          span("~ ", "yellow"),
          span(line(`Repaired ${tool}: ${repairs.map(({ detail }) => detail).join("; ")}`), "dim")
        ]])
        : only(state)
    },
    ApprovalAsked: ({ questions }) =>
      only(
        questions.reduce((next, { preview, ref, summary, tool }) =>
          update(next, ref, tool, (call) => ({ ...call, tool, summary: line(summary), preview })), state)
      ),
    ApprovalAnswered: ({ by }) =>
      only(by === asked ? { ...state, calls: state.calls.map((call) => ({ ...call, isSeen: true })) } : state),
    ToolStarted: ({ preview, ref, summary, tool }) =>
      only(update({ ...state, activity: undefined }, ref, tool, (call) => ({
        ...call,
        tool,
        summary: line(summary),
        preview: preview ?? call.preview,
        startedAt: now
      }))),
    ToolOutput: ({ chunk, ref }) =>
      only(update(state, ref, "", (call) => {
        const [flow, lines] = textFlow.feed(call[chunk.stream], chunk.text, redactor)
        return printed({ ...call, [chunk.stream]: flow }, lines)
      })),
    ToolFinished: (finished) => finish(state, finished, settings),
    IterationFinished: () => only({ ...state, activity: undefined }),
    BudgetReached: ({ message }) => say(state, [[span("! ", "yellow"), span(line(message))]]),
    Shortened: ({ handles }) =>
      verbose
        ? say(state, [[span("~ ", "yellow"), span(line(`Made room: ${handles.join(", ")}`), "dim")]])
        : only(state),
    Compacted: () => say(state, [[span("~ ", "yellow"), span("Summed up the conversation to make room.", "dim")]]),
    Final: ({ result }) => final(state, result, settings, now)
  })
}

/** Who answers in a terminal: what was asked there need not be shown again. */
const asked = "user"
