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
import type { Decision, Question } from "./Approval.js"
import * as Content from "./Content.js"
import type { FileRead } from "./FileRead.js"
import type { JournalRecord, ResponsePart, TurnEnd } from "./JournalRecord.js"
import type { AssistantPart, Message, ToolResultPart } from "./Message.js"
import type { FinishReason } from "./ModelDelta.js"
import type { Outcome } from "./Outcome.js"
import type { ProcessIdentity } from "./ProcessRunner.js"
import type { CallRef, ToolCall } from "./ToolCall.js"
import * as ToolFailure from "./ToolFailure.js"
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
  readonly usage: Usage.Usage
  readonly cost: number | null
  readonly calls: Chunk.Chunk<TurnCall>
  readonly text: string
  readonly streak: Streak
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
 * Where a session stands. `open` is the turn that goes on or waits for answers, `seq` the last record folded in, `turns` counts turns begun, `tokens` is what the provider
 * counted for the latest request and answer (null: not known).
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
  tokens: null
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
    JSON.stringify(contentOf(outcome))
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
 * What a model reads of an outcome; never nothing, since an empty result is not valid everywhere.
 *
 * @since 0.1.0
 * @category combinators
 */
export const contentOf = (outcome: Outcome): ReadonlyArray<Content.ContentPart> => {
  if (outcome._tag !== "Succeeded") return [Content.text(ToolFailure.toText(outcome.failure))]
  const said = outcome.content.filter((part) => part.type !== "text" || part.text !== "")
  return said.length === 0 ? [Content.text("(no output)")] : said
}

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
          usage: Usage.zero,
          cost: 0,
          calls: Chunk.empty(),
          text: "",
          streak: { signature: "", count: 0 }
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
      return withBatch({ ...state, always: [...state.always, ...entries(record.decision)] }, (batch) => ({
        ...batch,
        decision: record.decision
      }))
    case "Intent":
      return withCall(state, record.ref, (call) => ({ ...call, started: true, tool: record.tool }))
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
        reads: record.reads.reduce((reads, read) => HashMap.set(reads, read.path, read), state.reads)
      })
    case "TurnEnded":
      return { ...state, open: record.end === "awaiting" ? state.open : null, end: record.end }
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

const entries = (decision: Decision): ReadonlyArray<string> =>
  decision._tag === "Each"
    ? decision.answers.flatMap(({ answer }) => answer._tag === "Always" ? [answer.entry] : [])
    : []

const responded = (
  state: SessionState,
  record: Extract<JournalRecord, { readonly _tag: "Responded" }>
): SessionState => {
  const received = state.batch ?? emptyBatch(record)
  const batch = { ...received, calls: [...received.calls].sort((a, b) => a.ref.position - b.ref.position) }
  const { parts, wireIds } = assistantParts(record.parts, batch, state.wireIds)
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
      text: record.parts.flatMap((part) => part.type === "text" ? [part.text] : []).join(""),
      usage: usage === null ? state.open.usage : Usage.add(state.open.usage, usage),
      cost: addCost(state.open.cost, usage === null ? null : Usage.cost(usage, record.prices))
    }
  }
}

const addCost = (total: number | null, cost: number | null): number | null =>
  total === null || cost === null ? null : total + cost

const assistantParts = (parts: ReadonlyArray<ResponsePart>, batch: Batch, taken: HashSet.HashSet<string>) => {
  let wireIds = taken
  const out: Array<AssistantPart> = []
  for (const part of parts) {
    if (part.type !== "call") {
      out.push(part)
      continue
    }
    const found = batch.calls.find((call) => call.ref.position === part.position)
    if (found === undefined) continue
    const id = wireId(found, wireIds)
    wireIds = HashSet.add(wireIds, id)
    out.push({ type: "tool-call", id, name: found.call.name, arguments: argumentsText(found.call) })
  }
  return { parts: out, wireIds }
}

const wireId = ({ call, ref }: BatchCall, taken: HashSet.HashSet<string>): string =>
  /^[a-zA-Z0-9_-]{1,40}$/.test(call.id) && !HashSet.has(taken, call.id)
    ? call.id
    : fresh(`call_${ref.turn}_${ref.iteration}_${ref.position}`, taken)

const fresh = (id: string, taken: HashSet.HashSet<string>): string =>
  HashSet.has(taken, id) ? fresh(`${id}_`, taken) : id

const argumentsText = (call: ToolCall): string => {
  if (call.arguments === null) return "{}"
  return call.repairs.length === 0 && call.raw.trim() !== "" ? call.raw : JSON.stringify(call.arguments)
}

const finishBatch = (state: SessionState): SessionState => {
  const { batch } = state
  if (batch === null || batch.calls.some((call) => call.settled === null)) return state
  const message = state.messages.at(-1)
  const parts = message?.role === "assistant" ? message.content.filter((part) => part.type === "tool-call") : []
  const results = batch.calls.flatMap((call, i): ReadonlyArray<ToolResultPart> => {
    const part = parts[i]
    return part === undefined ? [] : [{ type: "tool-result", id: part.id, name: part.name, ...resultOf(call, batch) }]
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

const resultOf = ({ settled }: BatchCall, batch: Batch): Pick<ToolResultPart, "content" | "isError"> => {
  if (settled === null) return { content: [], isError: true }
  const note = [
    ...(settled.note === null ? [] : [settled.note]),
    ...(batch.discarded
      ? ["The user discarded the results of this batch after a crash; treat this call as failed."]
      : [])
  ]
  return {
    content: [...contentOf(settled.outcome), ...note.map(Content.text)],
    isError: batch.discarded || settled.outcome._tag !== "Succeeded"
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
