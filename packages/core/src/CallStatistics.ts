/**
 * How well models call tools, counted from what a journal says.
 *
 * @since 0.1.0
 */
import type { JournalRow } from "./Journal.js"
import * as RecordedCall from "./RecordedCall.js"
import { rules } from "./RetryAdvice.js"

/**
 * Counters of calls. A call that corrects one whose arguments did not fit belongs to the same attempt chain and is one of the
 * `retries`; `firstAttemptSuccesses` are those that succeeded and are none, repaired or not; `repairs` are calls of which
 * something had to be repaired before it could be read. `failures` counts calls without success by the code of the failure.
 *
 * @since 0.1.0
 * @category models
 */
export interface Counters {
  readonly calls: number
  readonly successes: number
  readonly firstAttemptSuccesses: number
  readonly repairs: number
  readonly retries: number
  readonly failures: Readonly<Record<string, number>>
}

/**
 * The counters of one tool under one model.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolCounters extends Counters {
  readonly provider: string
  readonly model: string
  readonly tool: string
}

/**
 * No calls.
 *
 * @since 0.1.0
 * @category constructors
 */
export const zero: Counters = {
  calls: 0,
  successes: 0,
  firstAttemptSuccesses: 0,
  repairs: 0,
  retries: 0,
  failures: {}
}

/**
 * The sum of two.
 *
 * @since 0.1.0
 * @category combinators
 */
export const add = (a: Counters, b: Counters): Counters => ({
  calls: a.calls + b.calls,
  successes: a.successes + b.successes,
  firstAttemptSuccesses: a.firstAttemptSuccesses + b.firstAttemptSuccesses,
  repairs: a.repairs + b.repairs,
  retries: a.retries + b.retries,
  failures: Object.entries(b.failures).reduce<Record<string, number>>(
    (sum, [code, count]) => ({ ...sum, [code]: (sum[code] ?? 0) + count }),
    { ...a.failures }
  )
})

/**
 * The counters of a session, by model and tool in the order of their first call; takes the rows from the first on. Calls of
 * responses that broke off do not count, nor do those that have no result yet.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromRows = (rows: ReadonlyArray<JournalRow>): ReadonlyArray<ToolCounters> => {
  const counted = new Map<string, ToolCounters>()
  for (const { isRetry, recorded } of withRetries(RecordedCall.fromRows(rows))) {
    const who = {
      provider: recorded.turn?.provider ?? "",
      model: recorded.turn?.model ?? "",
      tool: RecordedCall.toolOf(recorded)
    }
    const key = JSON.stringify(who)
    counted.set(key, { ...who, ...add(counted.get(key) ?? zero, countersOf(recorded, isRetry)) })
  }
  return [...counted.values()]
}

const countersOf = ({ call, intent, settled }: RecordedCall.RecordedCall, isRetry: boolean): Counters => {
  const code = settled === null || settled.outcome._tag === "Succeeded"
    ? undefined
    : rules[settled.outcome.failure._tag].code
  const success = code === undefined ? 1 : 0
  return {
    calls: 1,
    successes: success,
    firstAttemptSuccesses: isRetry ? 0 : success,
    repairs: call.repairs.length + (intent?.repairs.length ?? 0) > 0 ? 1 : 0,
    retries: isRetry ? 1 : 0,
    failures: code === undefined ? {} : { [code]: 1 }
  }
}

/**
 * Each call that was invalid waits for one later call of the same tool in its turn to correct it. Calls of one response are
 * written before any of their results is known, so none of them corrects another.
 */
const withRetries = (all: ReadonlyArray<RecordedCall.RecordedCall>) => {
  const calls = all.filter(({ settled, voided }) => !voided && settled !== null)
  const waiting = new Map<string, Array<number>>()
  return calls.map((recorded) => {
    const { iteration, turn } = recorded.ref
    const key = `${turn} ${RecordedCall.toolOf(recorded).toLowerCase().replace(/[^a-z0-9]/g, "")}`
    const invalid = waiting.get(key) ?? []
    const isRetry = invalid[0] !== undefined && invalid[0] < iteration
    const left = isRetry ? invalid.slice(1) : invalid
    waiting.set(key, isInvalid(recorded) ? [...left, iteration] : left)
    return { recorded, isRetry }
  })
}

const isInvalid = ({ settled }: RecordedCall.RecordedCall): boolean =>
  settled !== null && settled.outcome._tag !== "Succeeded" && settled.outcome.failure._tag === "Validation"
