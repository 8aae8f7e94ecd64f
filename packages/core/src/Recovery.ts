/**
 * Closing a batch that a crash cut off, and telling the truth about it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { CallContext } from "./CallContext.js"
import type { JournalError, LeaseError } from "./Journal.js"
import type { JournalRecord } from "./JournalRecord.js"
import type { LiveSession } from "./LiveSession.js"
import type { Outcome } from "./Outcome.js"
import { UnfinishedError } from "./RunError.js"
import type { Sandbox } from "./Sandbox.js"
import { type Batch, type BatchCall, unsettled } from "./SessionState.js"
import type { ToolSet } from "./ToolRegistry.js"

/**
 * What is done with the results of a batch that a crash cut off: `partial` keeps those that are there, `discard` marks every
 * call of the batch as failed.
 *
 * @since 0.1.0
 * @category models
 */
export type RecoveryChoice = "partial" | "discard"

/**
 * What a crash left, by call (`tool (position)`): with a result, started without one, never started; and the processes that
 * were still alive and were ended.
 *
 * @since 0.1.0
 * @category models
 */
export interface RecoveryReport {
  readonly finished: ReadonlyArray<string>
  readonly unknown: ReadonlyArray<string>
  readonly neverStarted: ReadonlyArray<string>
  readonly ended: ReadonlyArray<string>
}

/**
 * Ends the processes that a crash left behind and says what is known of the batch. Undefined: no batch is unfinished. A
 * response that had not ended is voided, since nothing of it ran.
 *
 * @since 0.1.0
 * @category combinators
 */
export const inspect = (
  session: LiveSession,
  sandbox: Sandbox["Type"]
): Effect.Effect<RecoveryReport | undefined, JournalError | LeaseError> =>
  Effect.gen(function*() {
    const { batch } = session.state()
    if (batch === null) return undefined
    if (!batch.responded) {
      const { iteration, turn } = batch
      yield* session.append([{
        _tag: "Voided",
        turn,
        iteration,
        reason: "the process ended before the answer was complete"
      }])
      return undefined
    }
    const ended = yield* sandbox.processes.reap(batch.processes.map(({ process }) => process))
    return {
      finished: namesOf(batch, (call) => call.settled !== null),
      unknown: namesOf(batch, (call) => call.settled === null && call.started),
      neverStarted: namesOf(batch, (call) => call.settled === null && !call.started),
      ended
    }
  })

const namesOf = (batch: Batch, select: (call: BatchCall) => boolean): ReadonlyArray<string> =>
  batch.calls.filter(select).map(({ call, ref }) => `${call.name} (${ref.position})`)

/**
 * The error that asks for a choice.
 *
 * @since 0.1.0
 * @category constructors
 */
export const unfinished = (session: LiveSession, report: RecoveryReport): UnfinishedError => {
  const awaiting = session.state().end === "awaiting"
  return new UnfinishedError({
    reason: awaiting ? "awaiting" : "crashed",
    session: session.id,
    ...report,
    message: awaiting
      ? `Session ${session.id} waits for answers or results of ${
        report.neverStarted.join(", ")
      }. Give them, then go on.`
      : `Session ${session.id} was cut off in the middle of its calls. Choose "partial" (keep the results that are there) or "discard" (count all as failed).`
  })
}

/**
 * Closes the batch: every call without a result gets one that says what is known. A tool that declares `reconcile` is asked
 * first whether its effect happened. Runs no handler and calls no model.
 *
 * @since 0.1.0
 * @category combinators
 */
export const close = (options: {
  readonly session: LiveSession
  readonly tools: ToolSet
  readonly choice: RecoveryChoice
  readonly report: RecoveryReport
  readonly contextOf: (call: BatchCall) => CallContext
}): Effect.Effect<void, JournalError | LeaseError> =>
  Effect.gen(function*() {
    const { choice, report, session } = options
    const { batch } = session.state()
    if (batch === null) return
    const settled = yield* Effect.forEach(unsettled(session.state()), (call) =>
      Effect.map(outcomeOf(call, options), (outcome): JournalRecord => ({
        _tag: "Settled",
        ref: call.ref,
        outcome,
        note: null,
        reads: [],
        written: 0,
        durationMillis: 0
      })))
    yield* session.commit([
      { _tag: "Recovered", turn: batch.turn, iteration: batch.iteration, choice, ended: report.ended },
      ...settled
    ])
  })

const outcomeOf = (call: BatchCall, { contextOf, tools }: Parameters<typeof close>[0]): Effect.Effect<Outcome> => {
  if (!call.started) return Effect.succeed(unknown(false))
  const tool = call.tool === null ? undefined : tools.byName.get(call.tool)
  const prepared = Option.fromNullable(call.call.arguments).pipe(
    Option.flatMap((args) =>
      Option.fromNullable(tool).pipe(Option.flatMap((tool) => Option.getRight(tool.prepare(args))))
    )
  )
  return Option.match(prepared, {
    onNone: () => Effect.succeed(unknown(true)),
    onSome: (prepared) =>
      prepared.reconcile(contextOf(call)).pipe(
        Effect.map((output): Outcome =>
          output === undefined ? unknown(true) : { _tag: "Succeeded", content: output.content }
        ),
        Effect.catchAllCause((cause) => Effect.as(Effect.logError("A tool could not reconcile", cause), unknown(true)))
      )
  })
}

const unknown = (started: boolean): Outcome => ({
  _tag: "Unknown",
  failure: {
    _tag: "Unknown",
    message: started
      ? "The program was cut off while this call ran. It started; its outcome is unknown, and side effects may have happened."
      : "The program was cut off before this call started. It did not run.",
    suggestedFix: started ? "Look at what is true now before you do it again." : "Send it again if it is still needed.",
    details: { started }
  }
})
