/**
 * Closing a batch that a crash cut off, and telling the truth about it.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ApprovalPolicy from "./ApprovalPolicy.js"
import type { JournalError, LeaseError } from "./Journal.js"
import type { JournalRecord } from "./JournalRecord.js"
import type { LiveSession } from "./LiveSession.js"
import type { Outcome } from "./Outcome.js"
import * as ResultContent from "./ResultContent.js"
import { ConfigurationError, UnfinishedError } from "./RunError.js"
import type { Sandbox } from "./Sandbox.js"
import { type Batch, type BatchCall, unsettled } from "./SessionState.js"
import * as Supply from "./Supply.js"
import * as ToolExecutor from "./ToolExecutor.js"
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
  const awaiting = Supply.isAwaited(session.state())
  return new UnfinishedError({
    reason: awaiting ? "awaiting" : "crashed",
    session: session.id,
    ...report,
    message: awaiting
      ? `Session ${session.id} waits for answers or results of ${
        report.neverStarted.join(", ")
      }. Give them with supply (on the command line: resume), and the turn goes on.`
      : `Session ${session.id} was cut off in the middle of its calls. Choose "partial" (keep the results that are there) or "discard" (count all as failed).`
  })
}

/**
 * What recovery works with.
 *
 * @since 0.1.0
 * @category models
 */
export interface Environment extends ToolExecutor.Environment {
  readonly tools: ToolSet
  readonly policy: ApprovalPolicy.ApprovalPolicy
}

/**
 * How a batch is closed. `rerun`: with `partial`, calls that had started are run again, under the same idempotency key, where
 * their tool is declared idempotent or read-only and their arguments are in the journal as they were. Default: nothing runs.
 *
 * @since 0.1.0
 * @category models
 */
export interface RecoveryOptions {
  readonly choice: RecoveryChoice
  readonly rerun?: boolean
}

/**
 * Closes the batch that a crash cut off: every call without a result gets one that says what is known. A tool that declares
 * `reconcile` is asked first whether its effect happened. Calls no model. Fails where there is nothing to recover.
 *
 * @since 0.1.0
 * @category combinators
 */
export const recover = (
  environment: Environment,
  { choice, rerun = false }: RecoveryOptions
): Effect.Effect<RecoveryReport, JournalError | LeaseError | ConfigurationError> =>
  Effect.gen(function*() {
    const { sandbox, session } = environment
    if (session.state().end === "awaiting") {
      return yield* new ConfigurationError({
        message:
          `Session ${session.id} was not cut off: it waits for answers or results. Give them with supply; to give up, deny the calls or supply errors.`
      })
    }
    const report = yield* inspect(session, sandbox)
    const { batch } = session.state()
    if (report === undefined || batch === null) {
      return yield* new ConfigurationError({ message: `Session ${session.id} has no unfinished calls.` })
    }
    yield* session.note([
      { _tag: "Recovered", turn: batch.turn, iteration: batch.iteration, choice, ended: report.ended }
    ])
    if (rerun && choice === "partial") yield* runAgain(environment)
    const settled = yield* Effect.forEach(unsettled(session.state()), (call) =>
      Effect.map(outcomeOf(environment, call), (outcome): JournalRecord => ({
        _tag: "Settled",
        ref: call.ref,
        outcome,
        note: null,
        reads: [],
        written: 0,
        durationMillis: 0
      })))
    yield* session.commit(settled)
    return report
  })

/** The calls that had started, one after the other. */
const runAgain = (environment: Environment): Effect.Effect<void, JournalError | LeaseError> =>
  Effect.forEach(
    unsettled(environment.session.state()).flatMap((call) => repeatable(environment, call)),
    (call) =>
      ToolExecutor.runStage(environment, [call], {
        outputBytes: environment.limits.maxOutputBytes,
        millis: Duration.toMillis(environment.limits.batchTimeout),
        again: true
      }),
    { discard: true }
  )

const repeatable = (
  { policy, redactor, tools }: Environment,
  call: BatchCall
): ReadonlyArray<ToolExecutor.ApprovedCall> => {
  const found = preparedOf(tools, call)
  if (!call.started || found === undefined) return []
  const { args, prepared, tool } = found
  const mayRepeat = (tool.idempotent || tool.safety === "read-only") &&
    !redactor.containsMarker(JSON.stringify(args)) && ApprovalPolicy.refusal(policy, tool, prepared) === undefined
  const ready = { _tag: "Ready" as const, ref: call.ref, tool, arguments: args, prepared, repairs: [] }
  return mayRepeat ? [{ ready, edited: call.edited, changes: null, preview: null }] : []
}

/** The call as it had run: with the arguments that a person had put in place of the model's, if so. */
const preparedOf = (tools: ToolSet, call: BatchCall) => {
  const tool = call.tool === null ? undefined : tools.byName.get(call.tool)
  const args = call.edited ?? call.call.arguments
  if (tool === undefined || args === null) return undefined
  const prepared = Option.getOrUndefined(Either.getRight(tool.prepare(args)))
  return prepared === undefined ? undefined : { tool, args, prepared }
}

const outcomeOf = (environment: Environment, call: BatchCall): Effect.Effect<Outcome> => {
  const found = call.started ? preparedOf(environment.tools, call) : undefined
  if (found === undefined) return Effect.succeed(unknown(call.started))
  const { active, limits, session } = environment
  const capacity = limits.maxOutputBytes
  const context = ToolExecutor.contextOf(environment, call.ref, { capacity, traces: ToolExecutor.noTraces() })
  const asked = Effect.map(
    Effect.suspend(() => found.prepared.reconcile(context)),
    (output): Outcome => output === undefined ? unknown(true) : { _tag: "Succeeded", ...output }
  )
  return active.within(asked, {
    millis: Duration.toMillis(found.prepared.timeout ?? limits.callTimeout),
    onTimeout: () => unknown(true)
  }).pipe(
    Effect.catchAllCause((cause) =>
      Cause.isInterruptedOnly(cause)
        ? Effect.failCause(cause)
        : Effect.as(Effect.logError("A tool could not reconcile", cause), unknown(true))
    ),
    Effect.flatMap((outcome) =>
      ResultContent.fit(outcome, { ...environment, session: session.id, ref: call.ref, tool: found.tool, capacity })
    )
  )
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
