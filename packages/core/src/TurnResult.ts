/**
 * What a user turn came to.
 *
 * @since 0.1.0
 */
import type { Spent } from "./Budget.js"
import type { TurnEnd } from "./JournalRecord.js"
import type { Outcome } from "./Outcome.js"
import type { CallRef, ToolCall } from "./ToolCall.js"
import type { Usage } from "./Usage.js"

/**
 * A call of the turn that has a result. `name` is what the model wrote, `arguments` null where they could not be read.
 *
 * @since 0.1.0
 * @category models
 */
export interface TurnCall {
  readonly ref: CallRef
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>> | null
  readonly outcome: Outcome
  readonly durationMillis: number
}

/**
 * What a user turn came to: the last answer's text, every call in order, tokens, cost in US dollars (null: a price is
 * unknown), all that counts toward budgets (sub-sessions included), and how it ended. `reason` explains an end other than
 * `answered`.
 *
 * @since 0.1.0
 * @category models
 */
export interface TurnResult {
  readonly session: string
  readonly turn: number
  readonly text: string
  readonly calls: ReadonlyArray<TurnCall>
  /** Calls that wait for answers or results, when the turn ended `awaiting`. */
  readonly pending: ReadonlyArray<{ readonly ref: CallRef; readonly call: ToolCall }>
  readonly usage: Usage
  readonly cost: number | null
  readonly spent: Spent
  readonly end: TurnEnd
  readonly reason: string | null
}
