/**
 * What must be true of every session's journal, whatever happened: the loop's promises, checked against its records.
 *
 * @since 0.1.0
 */
import type { JournalRow } from "@capstan/core/Journal"
import type { JournalRecord } from "@capstan/core/JournalRecord"
import type { Outcome } from "@capstan/core/Outcome"
import type { Safety } from "@capstan/core/Safety"
import { type CallRef, keyOf } from "@capstan/core/ToolCall"

/**
 * A promise that a journal can break.
 *
 * - `one-result`: each call of a response that stands has one result before the next response and before the turn ends.
 * - `no-result`: a call of a response that does not stand has none.
 * - `intent-first`: a handler that ran was announced before; one that was denied was not.
 * - `intent-once`: a handler is announced once, unless a re-run was asked for.
 * - `planned-first`, `answered-first`: nothing is announced before the plan, and before questions are answered.
 * - `one-by-one`: beside a call that changes something nothing runs.
 * - `truth`: a call of unknown outcome says that it started if, and only if, it was announced.
 *
 * @since 0.1.0
 * @category models
 */
export type Rule =
  | "one-result"
  | "no-result"
  | "intent-first"
  | "intent-once"
  | "planned-first"
  | "answered-first"
  | "one-by-one"
  | "truth"

/**
 * A broken promise; `seq` is the record where it shows.
 *
 * @since 0.1.0
 * @category models
 */
export interface Violation {
  readonly rule: Rule
  readonly seq: number
  readonly message: string
}

/**
 * What may be true of a session. `rerun`: calls were run again after a crash because somebody asked for it. `unfinished`: the
 * session was not closed yet, its last batch may lack results.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly rerun?: boolean
  readonly unfinished?: boolean
}

interface Call {
  readonly key: string
  readonly intents: number
  readonly safety: Safety | null
  readonly results: number
}

interface Batch {
  readonly stands: boolean
  readonly planned: boolean
  readonly asked: boolean
  readonly decided: boolean
  readonly calls: ReadonlyArray<Call>
}

const none: Batch = { stands: false, planned: false, asked: false, decided: false, calls: [] }

/**
 * The promises that the records of one session break.
 *
 * @since 0.1.0
 * @category combinators
 */
export const validate = (rows: ReadonlyArray<JournalRow>, options: Options = {}): ReadonlyArray<Violation> => {
  let batch = none
  const found: Array<Violation> = []
  for (const { record, seq } of rows) {
    const broken = (rule: Rule, message: string) => found.push({ rule, seq, message })
    check(batch, record, options, broken)
    batch = next(batch, record)
  }
  if (options.unfinished !== true) {
    for (const call of withoutResult(batch)) {
      found.push({ rule: "one-result", seq: rows.at(-1)?.seq ?? 0, message: `call ${call.key} has no result` })
    }
  }
  return found
}

/**
 * Violations as text, one a line; empty: none.
 *
 * @since 0.1.0
 * @category combinators
 */
export const toText = (violations: ReadonlyArray<Violation>): string =>
  violations.map(({ message, rule, seq }) => `${rule} at record ${seq}: ${message}`).join("\n")

type Broken = (rule: Rule, message: string) => void

const check = (batch: Batch, record: JournalRecord, options: Options, broken: Broken): void => {
  switch (record._tag) {
    case "TurnStarted":
    case "Responded":
    case "TurnEnded":
      if (record._tag === "TurnEnded" && record.end === "awaiting") return
      for (const call of withoutResult(batch)) {
        broken("one-result", `call ${call.key} has no result when ${record._tag} comes`)
      }
      return
    case "Intent":
      return intent(batch, record, options, broken)
    case "Settled":
      return settled(batch, record, broken)
    default:
      return
  }
}

const intent = (
  batch: Batch,
  record: Extract<JournalRecord, { readonly _tag: "Intent" }>,
  options: Options,
  broken: Broken
): void => {
  const key = keyOf(record.ref)
  const call = callOf(batch, record.ref)
  if (!batch.planned) broken("planned-first", `call ${key} starts without a plan`)
  if (batch.asked && !batch.decided) broken("answered-first", `call ${key} starts before the questions are answered`)
  if (call !== undefined && call.intents > 0 && options.rerun !== true) {
    broken("intent-once", `call ${key} starts again`)
  }
  for (const other of batch.calls) {
    const runs = other.key !== key && other.intents > 0 && other.results === 0
    if (runs && (record.safety !== "read-only" || other.safety !== "read-only")) {
      broken("one-by-one", `call ${key} starts while ${other.key} runs`)
    }
  }
}

const ran: ReadonlyArray<Outcome["_tag"]> = ["Succeeded", "Failed", "TimedOut"]

const settled = (
  batch: Batch,
  { outcome, ref }: Extract<JournalRecord, { readonly _tag: "Settled" }>,
  broken: Broken
): void => {
  const key = keyOf(ref)
  const call = callOf(batch, ref)
  if (call === undefined || !batch.stands) return broken("no-result", `${key} is no call that waits for a result`)
  if (call.results > 0) broken("one-result", `call ${key} has a second result`)
  const announced = call.intents > 0
  if (batch.planned && ran.includes(outcome._tag) && !announced) {
    broken("intent-first", `call ${key} ${outcome._tag} without an intent`)
  }
  if (outcome._tag === "Denied" && announced) broken("intent-first", `call ${key} was denied and started`)
  if (
    outcome._tag === "Unknown" && outcome.failure._tag === "Unknown" && outcome.failure.details.started !== announced
  ) {
    broken("truth", `call ${key} is said to have ${outcome.failure.details.started ? "started" : "never started"}`)
  }
}

const next = (batch: Batch, record: JournalRecord): Batch => {
  switch (record._tag) {
    case "TurnStarted":
    case "Voided":
      return none
    case "CallReceived":
      return {
        ...(batch.stands ? none : batch),
        calls: [
          ...(batch.stands ? [] : batch.calls),
          { key: keyOf(record.ref), intents: 0, safety: null, results: 0 }
        ]
      }
    case "Responded":
      return record.parts.some(({ type }) => type === "call") ? { ...batch, stands: true } : none
    case "Planned":
      return { ...batch, planned: true }
    case "Asked":
      return { ...batch, asked: true }
    case "Decided":
      return { ...batch, decided: true }
    case "Intent":
      return withCall(batch, record.ref, (call) => ({ ...call, intents: call.intents + 1, safety: record.safety }))
    case "Settled":
      return withCall(batch, record.ref, (call) => ({ ...call, results: call.results + 1 }))
    default:
      return batch
  }
}

const callOf = (batch: Batch, ref: CallRef): Call | undefined => batch.calls.find(({ key }) => key === keyOf(ref))

const withCall = (batch: Batch, ref: CallRef, change: (call: Call) => Call): Batch => ({
  ...batch,
  calls: batch.calls.map((call) => call.key === keyOf(ref) ? change(call) : call)
})

const withoutResult = ({ calls, stands }: Batch): ReadonlyArray<Call> =>
  stands ? calls.filter(({ results }) => results === 0) : []
