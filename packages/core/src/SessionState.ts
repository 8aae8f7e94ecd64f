/**
 * Where a session stands: a pure fold over its journal. The loop keeps no other memory, so that a session which was opened
 * again is sent to the model exactly as one that never stopped.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import type { Decision, Question, Scope } from "./Approval.js"
import * as Budget from "./Budget.js"
import * as Conversation from "./Conversation.js"
import type { FileRead } from "./FileRead.js"
import type { JournalRecord, TurnEnd } from "./JournalRecord.js"
import type { Message } from "./Message.js"
import type { FinishReason } from "./ModelDelta.js"
import type { Outcome } from "./Outcome.js"
import type { ProcessIdentity } from "./ProcessRunner.js"
import type { Safety } from "./Safety.js"
import type { CallRef, ToolCall } from "./ToolCall.js"
import type { TurnCall } from "./TurnResult.js"
import * as Usage from "./Usage.js"

/**
 * A call of the current batch and what is known of it. `started`: its intent is journaled.
 *
 * @since 0.1.0
 * @category models
 */
export interface BatchCall {
  readonly ref: CallRef
  readonly call: ToolCall
  readonly tool: string | null
  readonly started: boolean
  readonly settled: { readonly outcome: Outcome; readonly note: string | null; readonly durationMillis: number } | null
}

/**
 * The calls of the latest response. `responded`: the response is complete and stands in history.
 *
 * @since 0.1.0
 * @category models
 */
export interface Batch {
  readonly turn: number
  readonly iteration: number
  readonly responded: boolean
  readonly calls: ReadonlyArray<BatchCall>
  readonly questions: ReadonlyArray<Question>
  readonly decision: Decision | null
  readonly processes: ReadonlyArray<{ readonly ref: CallRef; readonly process: ProcessIdentity }>
  readonly discarded: boolean
}

/**
 * A turn that has begun and not ended. `iteration` counts its responses, `answered` says how the latest one ended if it had
 * no calls.
 *
 * @since 0.1.0
 * @category models
 */
export interface OpenTurn {
  readonly turn: number
  readonly iteration: number
  readonly answered: FinishReason | null
  readonly model: string
  readonly user: string | null
  readonly parent: string | null
  readonly spent: Budget.Spent
  /** Why the turn ends after what runs now; null: no budget is used up. */
  readonly usedUp: string | null
  readonly calls: Chunk.Chunk<TurnCall>
  readonly text: string
  readonly streak: Streak
  /** Entries that a person approved until the turn ends. */
  readonly always: ReadonlyArray<string>
}

/**
 * A handler that was started: when (milliseconds since the epoch) and what kind of tool it was.
 *
 * @since 0.1.0
 * @category models
 */
export interface Start {
  readonly at: number
  readonly safety: Safety
}

/**
 * How often the same call with the same result came last in a row.
 *
 * @since 0.1.0
 * @category models
 */
export interface Streak {
  readonly signature: string
  readonly count: number
}

/**
 * Where a session stands. `open` is the turn that goes on or waits for answers, `seq` the last record folded in, `turns`
 * counts turns begun, `tokens` is what the provider counted for the latest request and answer (null: not known), `spent` what
 * the whole session spent, `starts` the handlers of the last minute, `written` the bytes that were written to files.
 *
 * @since 0.1.0
 * @category models
 */
export interface SessionState {
  readonly seq: number
  readonly turns: number
  readonly open: OpenTurn | null
  readonly end: TurnEnd | null
  readonly batch: Batch | null
  readonly messages: ReadonlyArray<Message>
  readonly wireIds: HashSet.HashSet<string>
  readonly reads: HashMap.HashMap<string, FileRead>
  readonly always: ReadonlyArray<string>
  readonly tokens: number | null
  readonly spent: Budget.Spent
  readonly starts: ReadonlyArray<Start>
  readonly written: number
}

/**
 * A session in which nothing has happened.
 *
 * @since 0.1.0
 * @category constructors
 */
export const empty: SessionState = {
  seq: 0,
  turns: 0,
  open: null,
  end: null,
  batch: null,
  messages: [],
  wireIds: HashSet.empty(),
  reads: HashMap.empty(),
  always: [],
  tokens: null,
  spent: Budget.nothing,
  starts: [],
  written: 0
}

/**
 * The calls of the current batch that have no result yet.
 *
 * @since 0.1.0
 * @category combinators
 */
export const unsettled = (state: SessionState): ReadonlyArray<BatchCall> =>
  state.batch === null ? [] : state.batch.calls.filter((call) => call.settled === null)

/**
 * The signature of a call that ended: equal for the same call with the same result.
 *
 * @since 0.1.0
 * @category combinators
 */
export const signature = (call: ToolCall, outcome: Outcome): string =>
  `${call.name} ${call.arguments === null ? call.raw : JSON.stringify(call.arguments)} ${
    JSON.stringify(Conversation.contentOf(outcome))
  }`

/**
 * The streak after one more call.
 *
 * @since 0.1.0
 * @category combinators
 */
export const nextStreak = (streak: Streak, next: string): Streak => ({
  signature: next,
  count: streak.signature === next ? streak.count + 1 : 1
})

/**
 * The state after one more record.
 *
 * @since 0.1.0
 * @category combinators
 */
export const step = (state: SessionState, record: JournalRecord): SessionState => {
  const next = apply(state, record)
  return { ...next, seq: state.seq + 1 }
}

const apply = (state: SessionState, record: JournalRecord): SessionState => {
  switch (record._tag) {
    case "TurnStarted":
      return {
        ...state,
        turns: record.turn + 1,
        end: null,
        batch: null,
        messages: [...state.messages, { role: "user", content: record.content }],
        open: {
          turn: record.turn,
          iteration: 0,
          answered: null,
          model: record.model,
          user: record.user,
          parent: record.parent,
          spent: Budget.nothing,
          usedUp: null,
          calls: Chunk.empty(),
          text: "",
          streak: { signature: "", count: 0 },
          always: []
        }
      }
    case "CallReceived": {
      const batch = state.batch ?? emptyBatch(record.ref)
      return {
        ...state,
        batch: {
          ...batch,
          calls: [...batch.calls, { ref: record.ref, call: record.call, tool: null, started: false, settled: null }]
        }
      }
    }
    case "Responded":
      return responded(state, record)
    case "Voided":
      return { ...state, batch: null }
    case "Planned":
    case "Recovered":
      return record._tag === "Recovered" && record.choice === "discard"
        ? withBatch(state, (batch) => ({ ...batch, discarded: true }))
        : state
    case "Asked":
      return withBatch(state, (batch) => ({ ...batch, questions: record.questions }))
    case "Decided":
      return withBatch(
        {
          ...state,
          always: [...state.always, ...entries(record.decision, "session")],
          open: state.open === null
            ? null
            : { ...state.open, always: [...state.open.always, ...entries(record.decision, "turn")] }
        },
        (batch) => ({ ...batch, decision: record.decision })
      )
    case "Intent":
      return withCall(
        spend({ ...state, starts: [...recent(state.starts, record.at), record] }, { ...Budget.nothing, calls: 1 }),
        record.ref,
        (call) => ({ ...call, started: true, tool: record.tool })
      )
    case "ProcessStarted":
      return withBatch(state, (batch) => ({
        ...batch,
        processes: [...batch.processes, { ref: record.ref, process: record.process }]
      }))
    case "Settled":
      return finishBatch({
        ...withCall(state, record.ref, (call) => ({
          ...call,
          settled: { outcome: record.outcome, note: record.note, durationMillis: record.durationMillis }
        })),
        reads: record.reads.reduce((reads, read) => HashMap.set(reads, read.path, read), state.reads),
        written: state.written + record.written
      })
    case "ChildSpent":
      return spend(state, record.spent)
    case "BudgetReached":
      return { ...state, open: state.open === null ? null : { ...state.open, usedUp: record.message } }
    case "Shortened":
      return { ...state, messages: Conversation.shorten(state.messages, record), tokens: null }
    case "Compacted":
      return {
        ...spend(state, spentOn(record)),
        messages: Conversation.compact(state.messages, record),
        tokens: null
      }
    case "TurnEnded": {
      const ended = spend(state, { ...Budget.nothing, millis: record.millis })
      return { ...ended, open: record.end === "awaiting" ? ended.open : null, end: record.end }
    }
  }
}

const emptyBatch = ({ iteration, turn }: { readonly turn: number; readonly iteration: number }): Batch => ({
  turn,
  iteration,
  responded: false,
  calls: [],
  questions: [],
  decision: null,
  processes: [],
  discarded: false
})

const withBatch = (state: SessionState, change: (batch: Batch) => Batch): SessionState =>
  state.batch === null ? state : { ...state, batch: change(state.batch) }

const withCall = (state: SessionState, ref: CallRef, change: (call: BatchCall) => BatchCall): SessionState =>
  withBatch(state, (batch) => ({
    ...batch,
    calls: batch.calls.map((call) => call.ref.position === ref.position ? change(call) : call)
  }))

const entries = (decision: Decision, scope: Scope): ReadonlyArray<string> =>
  decision._tag === "Each"
    ? decision.answers.flatMap(({ answer }) => answer._tag === "Always" && answer.scope === scope ? [answer.entry] : [])
    : []

const minuteMillis = 60_000

const recent = (starts: ReadonlyArray<Start>, now: number): ReadonlyArray<Start> =>
  starts.filter(({ at }) => at > now - minuteMillis)

const spend = (state: SessionState, spent: Budget.Spent): SessionState => ({
  ...state,
  spent: Budget.add(state.spent, spent),
  open: state.open === null ? null : { ...state.open, spent: Budget.add(state.open.spent, spent) }
})

const spentOn = ({ prices, usage }: Pick<Responded, "prices" | "usage">): Budget.Spent => ({
  ...Budget.nothing,
  usage: usage ?? Usage.zero,
  cost: usage === null ? null : Usage.cost(usage, prices)
})

type Responded = Extract<JournalRecord, { readonly _tag: "Responded" }>

const responded = (before: SessionState, record: Responded): SessionState => {
  const state = spend(before, { ...spentOn(record), millis: record.millis })
  const received = state.batch ?? emptyBatch(record)
  const batch = { ...received, calls: [...received.calls].sort((a, b) => a.ref.position - b.ref.position) }
  const { parts, wireIds } = Conversation.assistantParts(record.parts, batch.calls, state.wireIds)
  const usage = record.usage
  return {
    ...state,
    wireIds,
    tokens: usage === null ? state.tokens : usage.input + usage.output,
    messages: parts.length === 0 ? state.messages : [...state.messages, { role: "assistant", content: parts }],
    batch: batch.calls.length === 0 ? null : { ...batch, responded: true },
    open: state.open === null ? null : {
      ...state.open,
      iteration: record.iteration + 1,
      answered: batch.calls.length === 0 ? record.finish : null,
      text: record.parts.flatMap((part) => part.type === "text" ? [part.text] : []).join("")
    }
  }
}

const finishBatch = (state: SessionState): SessionState => {
  const { batch } = state
  if (batch === null || batch.calls.some((call) => call.settled === null)) return state
  const results = Conversation.results({
    message: state.messages.at(-1),
    calls: batch.calls,
    discarded: batch.discarded
  })
  return {
    ...state,
    batch: null,
    messages: [...state.messages, { role: "tool", results }],
    open: state.open === null ? null : {
      ...state.open,
      calls: Chunk.appendAll(state.open.calls, Chunk.fromIterable(batch.calls.flatMap(turnCall))),
      streak: batch.calls.reduce(
        (streak, { call, settled }) => settled === null ? streak : nextStreak(streak, signature(call, settled.outcome)),
        state.open.streak
      )
    }
  }
}

const turnCall = ({ call, ref, settled }: BatchCall): ReadonlyArray<TurnCall> =>
  settled === null ? [] : [{
    ref,
    name: call.name,
    arguments: call.arguments,
    outcome: settled.outcome,
    durationMillis: settled.durationMillis
  }]

/**
 * What the session last knew of a file, by canonical path.
 *
 * @since 0.1.0
 * @category combinators
 */
export const lastRead = (state: SessionState, canonical: string): FileRead | undefined =>
  Option.getOrUndefined(HashMap.get(state.reads, canonical))
