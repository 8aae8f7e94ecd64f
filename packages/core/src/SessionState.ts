/**
 * Where a session stands: a pure fold over its journal. The loop keeps no other memory, so that a session which was opened
 * again is sent to the model exactly as one that never stopped.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import type { Decision, Question } from "./Approval.js"
import * as Budget from "./Budget.js"
import * as ContextGuard from "./ContextGuard.js"
import * as Conversation from "./Conversation.js"
import type { FileRead } from "./FileRead.js"
import type { JournalRecord, TurnEnd } from "./JournalRecord.js"
import type { Message } from "./Message.js"
import type { FinishReason } from "./ModelDelta.js"
import type { Outcome } from "./Outcome.js"
import type { ProcessIdentity } from "./ProcessRunner.js"
import * as RateLimit from "./RateLimit.js"
import * as RetryAdvice from "./RetryAdvice.js"
import type { Safety } from "./Safety.js"
import * as Streak from "./Streak.js"
import type { CallRef, ToolCall } from "./ToolCall.js"
import type { TurnCall } from "./TurnResult.js"
import * as Usage from "./Usage.js"

/**
 * A call of the current batch and what is known of it. `started`: its intent is journaled, which says the rest: `edited` are
 * the arguments that a person put in place of the model's.
 *
 * @since 0.1.0
 * @category models
 */
export interface BatchCall {
  readonly ref: CallRef
  readonly call: ToolCall
  readonly tool: string | null
  readonly started: boolean
  readonly safety: Safety
  readonly polls: boolean
  readonly edited: Readonly<Record<string, unknown>> | null
  readonly settled: { readonly outcome: Outcome; readonly note: string | null; readonly durationMillis: number } | null
}

/**
 * The calls of the latest response. `responded`: the response is complete and stands in history; `lastCutOff`: the limit of the
 * answer cut its last call off.
 *
 * @since 0.1.0
 * @category models
 */
export interface Batch {
  readonly turn: number
  readonly iteration: number
  readonly responded: boolean
  readonly lastCutOff: boolean
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
  readonly streak: Streak.Streak
  readonly attempts: RetryAdvice.Attempts
  /** Entries that a person approved until the turn ends. */
  readonly always: ReadonlyArray<string>
}

/**
 * Where a session stands. `open` is the turn that goes on or waits for answers, `seq` the last record folded in, `turns`
 * counts turns begun, `wireIds` the calls by the ids that models know them by, `context` how full the model's context is,
 * `spent` what the whole session spent, `starts` the handlers of the last minute, `written` the bytes that were written to
 * files.
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
  readonly wireIds: HashMap.HashMap<string, CallRef>
  readonly reads: HashMap.HashMap<string, FileRead>
  readonly context: ContextGuard.Use
  readonly spent: Budget.Spent
  readonly starts: ReadonlyArray<RateLimit.Start>
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
  wireIds: HashMap.empty(),
  reads: HashMap.empty(),
  context: ContextGuard.empty,
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
 * The state after one more record.
 *
 * @since 0.1.0
 * @category combinators
 */
export const step = (state: SessionState, record: JournalRecord): SessionState => {
  const next = apply(state, record)
  return {
    ...next,
    seq: state.seq + 1,
    context: ContextGuard.follow(state.context, record, state.messages, next.messages)
  }
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
          streak: Streak.none,
          attempts: RetryAdvice.none,
          always: []
        }
      }
    case "CallReceived": {
      const batch = state.batch ?? emptyBatch(record.ref)
      return {
        ...state,
        batch: {
          ...batch,
          calls: [...batch.calls, { ...unknown, ref: record.ref, call: record.call }]
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
          // What waited for the decision waits no more: a crash from here on is one in the middle of the calls.
          end: null,
          open: state.open === null
            ? null
            : { ...state.open, always: [...state.open.always, ...entriesOfTurn(record.decision)] }
        },
        (batch) => ({ ...batch, decision: record.decision })
      )
    case "Intent":
      return withCall(
        spend({
          ...state,
          starts: [...RateLimit.withoutOld(state.starts, record.at), { at: record.at, safety: record.safety }]
        }, { ...Budget.nothing, calls: 1 }),
        record.ref,
        (call) => ({
          ...call,
          started: true,
          tool: record.tool,
          safety: record.safety,
          polls: record.polls,
          edited: record.edited
        })
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
        end: null,
        reads: record.reads.reduce((reads, read) => HashMap.set(reads, read.path, read), state.reads),
        written: state.written + record.written
      })
    case "ChildSpent":
      return spend(state, record.spent)
    case "BudgetReached":
      return { ...state, open: state.open === null ? null : { ...state.open, usedUp: record.message } }
    case "Shortened":
      return { ...state, messages: Conversation.shorten(state.messages, record) }
    case "Compacted":
      return {
        ...spend(state, spentOn(record)),
        messages: Conversation.compact(state.messages, record)
      }
    case "TurnEnded": {
      const ended = spend(state, { ...Budget.nothing, millis: record.millis })
      return { ...ended, open: record.end === "awaiting" ? ended.open : null, end: record.end }
    }
  }
}

const unknown = {
  tool: null,
  started: false,
  safety: "read-only",
  polls: false,
  edited: null,
  settled: null
} as const

const emptyBatch = ({ iteration, turn }: { readonly turn: number; readonly iteration: number }): Batch => ({
  turn,
  iteration,
  responded: false,
  lastCutOff: false,
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

const entriesOfTurn = (decision: Decision): ReadonlyArray<string> =>
  decision._tag === "Each"
    ? decision.answers.flatMap(({ answer }) =>
      answer._tag === "Always" && answer.scope === "turn" ? [answer.entry] : []
    )
    : []

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
  return {
    ...state,
    wireIds,
    messages: parts.length === 0 ? state.messages : [...state.messages, { role: "assistant", content: parts }],
    batch: batch.calls.length === 0 ? null : {
      ...batch,
      responded: true,
      lastCutOff: record.finish === "length" && record.parts.at(-1)?.type === "call"
    },
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
        (streak, { call, polls, settled }) =>
          settled === null ? streak : polls ? Streak.none : Streak.next(streak, call, settled.outcome),
        state.open.streak
      ),
      attempts: batch.calls.reduce(
        (attempts, { call, safety, settled, tool }) =>
          settled === null ? attempts : RetryAdvice.after(attempts, {
            tool: tool ?? call.name,
            call,
            outcome: settled.outcome,
            changes: safety !== "read-only"
          }),
        state.open.attempts
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
