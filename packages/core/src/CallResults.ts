/**
 * Results for calls that did not run.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { Event } from "./Event.js"
import type { JournalRecord } from "./JournalRecord.js"
import type { Values as LimitValues } from "./Limits.js"
import type { LiveSession } from "./LiveSession.js"
import type { Outcome } from "./Outcome.js"
import * as ResultNote from "./ResultNote.js"
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
  /** What the loop adds for the model. */
  readonly note?: string
}

/**
 * Gives results to calls that did not run, with advice for the model; the next write takes them along.
 *
 * @since 0.1.0
 * @category combinators
 */
export const settle = (
  environment: Environment & { readonly limits: LimitValues },
  calls: ReadonlyArray<Settled>
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const state = environment.session.state()
    return write(
      environment,
      calls.map((call) => {
        const advice = ResultNote.of(state, environment.limits, { ...call, polls: false })
        return { ...call, note: ResultNote.join(call.note, advice) }
      })
    )
  })

/**
 * Gives every call of the current batch that has no result the same one.
 *
 * @since 0.1.0
 * @category combinators
 */
export const settleRest = (environment: Environment, outcome: Outcome): Effect.Effect<void> =>
  Effect.suspend(() =>
    write(
      environment,
      unsettled(environment.session.state()).map(({ call, ref, tool }) => ({
        ref,
        tool: tool ?? call.name,
        outcome,
        note: null
      }))
    )
  )

const write = (
  { emit, session }: Environment,
  calls: ReadonlyArray<Omit<Settled, "note"> & { readonly note: string | null }>
): Effect.Effect<void> =>
  calls.length === 0 ? Effect.void : Effect.zipRight(
    session.note(calls.map(({ note, outcome, ref }): JournalRecord => ({
      _tag: "Settled",
      ref,
      outcome,
      note,
      reads: [],
      written: 0,
      durationMillis: 0
    }))),
    Effect.forEach(
      calls,
      ({ outcome, ref, tool }) => emit(Event.ToolFinished({ ref, tool, outcome, durationMillis: 0 })),
      { discard: true }
    )
  )
