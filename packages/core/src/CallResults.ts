/**
 * Results for calls that did not run.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { Event } from "./Event.js"
import type { JournalRecord } from "./JournalRecord.js"
import type { LiveSession } from "./LiveSession.js"
import type { Outcome } from "./Outcome.js"
import { unsettled } from "./SessionState.js"
import type { CallRef } from "./ToolCall.js"

/**
 * Where results go.
 *
 * @since 0.1.0
 * @category models
 */
export interface Environment {
  readonly session: LiveSession
  readonly emit: (event: Event) => Effect.Effect<void>
}

/**
 * A call that did not run, and what the model is told instead.
 *
 * @since 0.1.0
 * @category models
 */
export interface Settled {
  readonly ref: CallRef
  readonly tool: string
  readonly outcome: Outcome
}

/**
 * Gives results to calls that did not run; the next write takes them along.
 *
 * @since 0.1.0
 * @category combinators
 */
export const settle = ({ emit, session }: Environment, calls: ReadonlyArray<Settled>): Effect.Effect<void> =>
  calls.length === 0 ? Effect.void : Effect.zipRight(
    session.note(calls.map(({ outcome, ref }): JournalRecord => ({
      _tag: "Settled",
      ref,
      outcome,
      note: null,
      reads: [],
      written: 0,
      durationMillis: 0
    }))),
    Effect.forEach(calls, (call) => emit(Event.ToolFinished({ ...call, durationMillis: 0 })), { discard: true })
  )

/**
 * Gives every call of the current batch that has no result the same one.
 *
 * @since 0.1.0
 * @category combinators
 */
export const settleRest = (environment: Environment, outcome: Outcome): Effect.Effect<void> =>
  settle(
    environment,
    unsettled(environment.session.state()).map(({ call, ref, tool }) => ({ ref, tool: tool ?? call.name, outcome }))
  )
