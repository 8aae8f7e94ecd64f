/**
 * A recorded session played again from its journal: no model is asked and no tool runs. Everything is as it was stored, without
 * secrets.
 *
 * @since 0.1.0
 */
import type { ContentPart } from "./Content.js"
import { Event } from "./Event.js"
import type { JournalRow } from "./Journal.js"
import type { JournalRecord } from "./JournalRecord.js"
import type { Message } from "./Message.js"
import * as RecordedCall from "./RecordedCall.js"
import * as SessionState from "./SessionState.js"
import { type CallRef, keyOf } from "./ToolCall.js"
import * as Turn from "./Turn.js"
import * as Usage from "./Usage.js"

/**
 * A turn as its viewer saw it: when it began (milliseconds since the epoch), what the user said, and the events. What was never
 * stored is missing (output while a tool ran, thinking that goes back to no provider); texts come in one piece each. A turn
 * that a crash cut off has no `Final`.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReplayedTurn {
  readonly turn: number
  readonly at: number
  readonly message: ReadonlyArray<ContentPart>
  readonly events: ReadonlyArray<Event>
}

/**
 * The state after some rows, the first row of the session first.
 *
 * @since 0.1.0
 * @category constructors
 */
export const state = (rows: ReadonlyArray<JournalRow>): SessionState.SessionState =>
  rows.reduce((state, row) => SessionState.step(state, row.record), SessionState.empty)

/**
 * The messages that a model would be sent now.
 *
 * @since 0.1.0
 * @category constructors
 */
export const messages = (rows: ReadonlyArray<JournalRow>): ReadonlyArray<Message> => state(rows).messages

/**
 * The events of a whole session, turn after turn.
 *
 * @since 0.1.0
 * @category constructors
 */
export const events = (
  options: { readonly session: string; readonly rows: ReadonlyArray<JournalRow> }
): ReadonlyArray<Event> => turns(options).flatMap((turn) => turn.events)

/**
 * The turns of a session; takes the rows from the first on.
 *
 * @since 0.1.0
 * @category constructors
 */
export const turns = (
  options: { readonly session: string; readonly rows: ReadonlyArray<JournalRow> }
): ReadonlyArray<ReplayedTurn> => {
  const calls = new Map(RecordedCall.fromRows(options.rows).map((call) => [keyOf(call.ref), call]))
  const out: Array<
    {
      readonly turn: number
      readonly at: number
      readonly message: ReadonlyArray<ContentPart>
      readonly events: Array<Event>
    }
  > = []
  let state = SessionState.empty
  let iteration = -1
  for (const { at, record } of options.rows) {
    if (record._tag === "TurnStarted") {
      iteration = -1
      out.push({ turn: record.turn, at, message: record.content, events: [] })
    }
    const events = out.at(-1)?.events ?? []
    const begun = iterationOf(record)
    if (begun !== undefined && begun > iteration) {
      iteration = begun
      events.push(Event.IterationStarted({ iteration }))
    }
    const after = SessionState.step(state, record)
    events.push(...eventsOf(record, { session: options.session, before: state, after, calls }))
    state = after
  }
  const last = out.at(-1)
  if (last !== undefined && state.batch?.responded === false) last.events.push(...receivedCalls(state))
  return out
}

const iterationOf = (record: JournalRecord): number | undefined => {
  switch (record._tag) {
    case "CallReceived":
      return record.ref.iteration
    case "Responded":
    case "Voided":
      return record.iteration
    default:
      return undefined
  }
}

interface Surroundings {
  readonly session: string
  readonly before: SessionState.SessionState
  readonly after: SessionState.SessionState
  readonly calls: ReadonlyMap<string, RecordedCall.RecordedCall>
}

const eventsOf = (record: JournalRecord, around: Surroundings): ReadonlyArray<Event> => {
  switch (record._tag) {
    case "TurnStarted":
      return [
        Event.TurnStarted({
          session: around.session,
          turn: record.turn,
          provider: record.provider,
          model: record.model
        })
      ]
    case "Responded":
      return [...said(record, around.before), ...usageOf(record)]
    case "Voided":
      return [...receivedCalls(around.before), Event.Voided({ reason: record.reason })]
    case "Planned":
      return [
        Event.Planned(record),
        ...(around.before.batch?.calls ?? []).flatMap(({ ref }) => repairedOf(ref, around))
      ]
    case "Asked":
      return [Event.ApprovalAsked({ questions: record.questions })]
    case "Decided":
      return [Event.ApprovalAnswered({ by: record.by, decision: record.decision })]
    case "Intent":
      return [Event.ToolStarted({ ref: record.ref, tool: record.tool, ...shownOf(record, around) })]
    case "Settled":
      return finished(record, around)
    case "BudgetReached":
      return [Event.BudgetReached({ budget: record.budget, message: record.message })]
    case "Shortened":
      return [Event.Shortened({ handles: record.results.map(({ handle }) => handle) })]
    case "Compacted":
      return [...usageOf(record), Event.Compacted({ summary: record.summary })]
    case "TurnEnded": {
      const { end, millis, reason } = record
      return [Event.Final({ result: Turn.resultOf(around.before, { session: around.session, end, millis, reason }) })]
    }
    case "CallReceived":
    case "ProcessStarted":
    case "Recovered":
    case "ChildSpent":
      return []
  }
}

type Of<Tag extends JournalRecord["_tag"]> = Extract<JournalRecord, { readonly _tag: Tag }>

/** Calls stand in the journal before the text around them, so they wait for the end of their response. */
const said = ({ parts }: Of<"Responded">, { batch }: SessionState.SessionState): ReadonlyArray<Event> =>
  parts.flatMap((part): ReadonlyArray<Event> => {
    switch (part.type) {
      case "text":
        return [Event.TextDelta({ text: part.text })]
      case "reasoning":
        return part.text === "" ? [] : [Event.ThinkingDelta({ text: part.text })]
      case "call":
        return (batch?.calls ?? []).filter(({ ref }) => ref.position === part.position).flatMap(received)
    }
  })

const receivedCalls = ({ batch }: SessionState.SessionState): ReadonlyArray<Event> =>
  (batch?.calls ?? []).flatMap(received)

const received = ({ call, ref }: SessionState.BatchCall): ReadonlyArray<Event> => [
  Event.CallStarted({ position: ref.position, name: call.name }),
  Event.CallDelta({ position: ref.position, text: call.raw }),
  Event.CallReceived({ ref, call })
]

const usageOf = ({ prices, usage }: Of<"Responded"> | Of<"Compacted">): ReadonlyArray<Event> =>
  usage === null ? [] : [Event.UsageReported({ usage, cost: Usage.cost(usage, prices) })]

const repairedOf = (ref: CallRef, { calls }: Surroundings): ReadonlyArray<Event> => {
  const recorded = calls.get(keyOf(ref))
  const repairs = recorded?.intent?.repairs ?? recorded?.call.repairs ?? []
  return repairs.length === 0 || recorded?.plan === "refused" ? [] : [Event.Repaired({ ref, repairs })]
}

/** A summary is stored only with a question; the others show as those of a tool that has none. */
const shownOf = ({ edited, ref, tool }: Of<"Intent">, { calls }: Surroundings) => {
  const recorded = calls.get(keyOf(ref))
  return {
    summary: recorded?.question?.summary ??
      [...`${tool} ${JSON.stringify(edited ?? recorded?.call.arguments ?? {})}`].slice(0, 200).join(""),
    preview: recorded?.question?.preview ?? null
  }
}

const finished = (
  { durationMillis, outcome, ref }: Of<"Settled">,
  { after, before, calls }: Surroundings
): ReadonlyArray<Event> => {
  const recorded = calls.get(keyOf(ref))
  const tool = recorded === undefined ? "" : RecordedCall.toolOf(recorded)
  const ended = before.batch !== null && after.batch === null
  return [
    Event.ToolFinished({ ref, tool, outcome, durationMillis }),
    ...(ended ? [Event.IterationFinished({ iteration: ref.iteration })] : [])
  ]
}
