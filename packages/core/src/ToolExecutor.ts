/**
 * The one way to a handler: a planned and approved call, its paths checked again, its intent journaled, run under a timeout,
 * its output cleaned and cut, its outcome journaled. Nothing else calls a handler.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import type { Account } from "./Account.js"
import type { ActiveTime } from "./ActiveTime.js"
import type { CallContext } from "./CallContext.js"
import * as CallResults from "./CallResults.js"
import * as DurableStep from "./DurableStep.js"
import { Event } from "./Event.js"
import type { FileRead } from "./FileRead.js"
import type { JournalError, LeaseError } from "./Journal.js"
import type { Values as LimitValues } from "./Limits.js"
import type { LiveSession } from "./LiveSession.js"
import type { Outcome } from "./Outcome.js"
import * as OutputLimit from "./OutputLimit.js"
import type { OutputStore } from "./OutputStore.js"
import * as RateLimit from "./RateLimit.js"
import { type Redactor, redactRecord } from "./Redaction.js"
import * as ResultContent from "./ResultContent.js"
import * as ResultNote from "./ResultNote.js"
import type { Sandbox } from "./Sandbox.js"
import * as SessionState from "./SessionState.js"
import * as Telemetry from "./Telemetry.js"
import * as ToolCall from "./ToolCall.js"
import * as ToolFailure from "./ToolFailure.js"
import * as ToolPlan from "./ToolPlan.js"

/**
 * A call that may run. `edited` are the arguments that a person put in place of the model's (null: the model's own run),
 * `changes` says so to the model (null: nothing to say), `preview` is what a person was shown of what it changes (null:
 * nothing).
 *
 * @since 0.1.0
 * @category models
 */
export interface ApprovedCall {
  readonly ready: ToolPlan.Ready
  readonly edited: Readonly<Record<string, unknown>> | null
  readonly changes: string | null
  readonly preview: string | null
}

/**
 * What the executor works with, for one turn.
 *
 * @since 0.1.0
 * @category models
 */
export interface Environment {
  readonly session: LiveSession
  readonly sandbox: Sandbox["Type"]
  readonly limits: LimitValues
  readonly redactor: Redactor
  readonly outputs: OutputStore["Type"]
  readonly fingerprint: (text: string) => string
  readonly user: string | undefined
  readonly account: Account
  readonly active: ActiveTime
  readonly delegate: CallContext["delegate"]
  readonly emit: (event: Event) => Effect.Effect<void>
}

/** What is kept of a call's output for a result that says how far it came. */
const lastOutputLength = 2_000

/**
 * What a stage may take: bytes of all its results together, and running time in milliseconds. `again`: only calls whose
 * outcome a crash left unknown run, once more.
 *
 * @since 0.1.0
 * @category models
 */
export interface StageLimits {
  readonly outputBytes: number
  readonly millis: number
  readonly again?: boolean
}

/**
 * Runs one stage: calls that may overlap. Those beyond what is left of rate limits and quota now are refused.
 *
 * @since 0.1.0
 * @category combinators
 */
export const runStage = (
  environment: Environment,
  calls: ReadonlyArray<ApprovedCall>,
  limits: StageLimits
): Effect.Effect<void, JournalError | LeaseError> =>
  Effect.gen(function*() {
    const again = limits.again === true
    const admitted = again ? calls : yield* admit(environment, calls)
    const now = yield* environment.active.millis
    const share = Math.floor(limits.outputBytes / calls.length)
    yield* DurableStep.stage(
      environment.session,
      admitted.map((call) => stepOf(environment, call, { outputBytes: share, stopsAt: now + limits.millis })),
      { concurrency: environment.limits.maxParallel, again }
    )
  })

const admit = (environment: Environment, calls: ReadonlyArray<ApprovedCall>) =>
  Effect.gen(function*() {
    const { limits, session } = environment
    const now = yield* Clock.currentTimeMillis
    let used: RateLimit.Used = session.state()
    const checked = calls.map((call) => {
      const { prepared, ref, tool } = call.ready
      if (DurableStep.standing(session, ref)._tag !== "Fresh") return { call, failure: undefined }
      const taken = RateLimit.take(used, { safety: tool.safety, writes: prepared.writes }, { limits, now })
      if (Either.isLeft(taken)) return { call, failure: taken.left }
      used = taken.right
      return { call, failure: undefined }
    })
    yield* CallResults.settle(
      environment,
      checked.flatMap(({ call: { changes, ready }, failure }) =>
        failure === undefined ? [] : [{
          ref: ready.ref,
          tool: ready.tool.definition.name,
          outcome: { _tag: "Refused", failure },
          ...(changes === null ? {} : { note: changes })
        }]
      )
    )
    return checked.flatMap(({ call, failure }) => failure === undefined ? [call] : [])
  })

/** What one call may take: bytes of its result, and the running time of the turn at which it ends. */
interface CallLimits {
  readonly outputBytes: number
  readonly stopsAt: number
}

const stepOf = (environment: Environment, call: ApprovedCall, limits: CallLimits): DurableStep.Step => {
  const { arguments: args, ref, repairs, tool } = call.ready
  const name = tool.definition.name
  return {
    ref,
    intent: {
      tool: name,
      safety: tool.safety,
      polls: tool.polls,
      argumentsHash: environment.fingerprint(JSON.stringify(args)),
      edited: call.edited === null ? null : redactRecord(environment.redactor, call.edited),
      repairs
    },
    run: Telemetry.tool(
      { session: environment.session.id, ref, tool: name },
      run(environment, call, { ...limits, outputBytes: OutputLimit.budget(environment.limits, limits.outputBytes) })
    ),
    onSettled: ({ outcome }, durationMillis) =>
      environment.emit(Event.ToolFinished({ ref, tool: name, outcome, durationMillis }))
  }
}

/**
 * What a call did besides its outcome, as far as it has come: what it read, the bytes that it took from the quota for
 * writing, the end of what it printed; `over`: it has ended, and what it left running is not heard any more.
 *
 * @since 0.1.0
 * @category models
 */
export interface Traces {
  readonly reads: Array<FileRead>
  written: number
  printed: string
  over: boolean
}

/**
 * A call that has done nothing yet.
 *
 * @since 0.1.0
 * @category constructors
 */
export const noTraces = (): Traces => ({ reads: [], written: 0, printed: "", over: false })

/**
 * What a handler is told of its call; what it does is added to `traces`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const contextOf = (environment: Environment, ref: ToolCall.CallRef, options: {
  readonly capacity: number
  readonly traces: Traces
}): CallContext => ({
  session: environment.session.id,
  ref,
  idempotencyKey: environment.fingerprint(`${environment.session.id} ${ToolCall.keyOf(ref)}`),
  user: environment.user,
  workingDirectory: environment.sandbox.files.workingDirectory,
  limits: environment.limits,
  capacity: options.capacity,
  lastRead: (canonical) =>
    options.traces.reads.findLast((read) => read.path === canonical) ??
      SessionState.lastRead(environment.session.state(), canonical),
  recordRead: (read) => Effect.sync(() => options.traces.reads.push(read)),
  reserveWrite: (bytes) => reserveWrite(environment, options.traces, bytes),
  storedOutput: (handle) =>
    environment.outputs.get({ session: environment.session.id, handle }).pipe(
      Effect.catchAll((error) => Effect.as(Effect.logWarning("A stored output could not be read", error), undefined))
    ),
  emit: (chunk) =>
    Effect.suspend(() => {
      if (options.traces.over) return Effect.void
      options.traces.printed = (options.traces.printed + chunk.text).slice(-lastOutputLength)
      return environment.emit(Event.ToolOutput({ ref, chunk }))
    }),
  processStarted: (process) => Effect.orDie(environment.session.append([{ _tag: "ProcessStarted", ref, process }])),
  delegate: environment.delegate
})

const reserveWrite = (
  { limits, session }: Environment,
  traces: Traces,
  bytes: number
): Effect.Effect<void, ToolFailure.ToolFailure> =>
  Effect.suspend(() => {
    const failure = RateLimit.overQuota(session.state().written + traces.written, bytes, limits)
    if (failure !== undefined) return Effect.fail(failure)
    traces.written += bytes
    return Effect.void
  })

const run = (environment: Environment, call: ApprovedCall, limits: CallLimits): Effect.Effect<DurableStep.Settlement> =>
  Effect.gen(function*() {
    const { preview, ready } = call
    const { ref, tool } = ready
    const traces = noTraces()
    const context = contextOf(environment, ref, { capacity: limits.outputBytes, traces })
    const summary = environment.redactor.redact(ready.prepared.summary)
    yield* environment.emit(Event.ToolStarted({ ref, tool: tool.definition.name, summary, preview }))
    const received = yield* Effect.interruptible(handled(environment, call, context, { ...limits, traces })).pipe(
      Effect.exit,
      Effect.flatMap(Exit.match({ onSuccess: Effect.succeed, onFailure: (cause) => afterCause(cause, traces) }))
    )
    traces.over = true
    const outcome = yield* ResultContent.fit(received, {
      ...environment,
      session: environment.session.id,
      ref,
      tool,
      capacity: limits.outputBytes
    })
    const advice = ResultNote.of(environment.session.state(), environment.limits, {
      ref,
      tool: tool.definition.name,
      outcome,
      polls: tool.polls
    })
    return {
      outcome,
      note: ResultNote.join(call.changes, advice),
      reads: traces.reads,
      written: traces.written
    }
  })

const handled = (
  environment: Environment,
  { ready }: ApprovedCall,
  context: CallContext,
  { stopsAt, traces }: CallLimits & { readonly traces: Traces }
): Effect.Effect<Outcome> =>
  Effect.gen(function*() {
    const { active, sandbox } = environment
    const paths = yield* Effect.forEach(ready.prepared.paths, (use) => sandbox.files.decide(use))
    const moved = ToolPlan.pathFailure(paths)
    if (moved !== undefined) return { _tag: "Refused", failure: moved }
    const own = Duration.toMillis(ready.prepared.timeout ?? environment.limits.callTimeout)
    const left = stopsAt - (yield* active.millis)
    if (left <= 0) return notBegun
    const handler = Effect.match(Effect.suspend(() => ready.prepared.run(context)), {
      onSuccess: (output): Outcome => ({ _tag: "Succeeded", ...output }),
      onFailure: (failure): Outcome => ({ _tag: "Failed", failure })
    })
    const millis = Math.min(own, left)
    return yield* active.within(handler, { millis, onTimeout: () => timedOut(millis, left < own, traces.printed) })
  })

const notBegun: Outcome = {
  _tag: "Refused",
  failure: ToolFailure.limit(
    "time",
    0,
    "The time for all calls of this response was over before this call began. It did not run.",
    "Send it again in the next response if it is still needed."
  )
}

const timedOut = (elapsedMillis: number, shared: boolean, printed: string): Outcome => ({
  _tag: "TimedOut",
  failure: {
    _tag: "Timeout",
    message: `${shared ? "The time for all calls of this response was over" : "Timed out"} after ${
      Duration.format(Duration.millis(elapsedMillis))
    }; what it had started was ended.${lastOutput(printed)}`,
    suggestedFix: "Do less in one call, or ask for more time where the tool allows it.",
    details: { elapsedMillis }
  }
})

const afterCause = (cause: Cause.Cause<never>, traces: Traces): Effect.Effect<Outcome> =>
  Effect.flatMap(FiberRef.get(FiberRef.interruptedCause), (interrupted) => {
    if (!Cause.isEmpty(interrupted)) return Effect.succeed(cancelled(traces.printed))
    const message = Cause.isInterruptedOnly(cause) ? "it interrupted itself" : messageOf(Cause.squash(cause))
    return Effect.as(
      Effect.logError("A tool panicked", cause),
      { _tag: "Failed", failure: ToolFailure.panicked(message) }
    )
  })

/**
 * The outcome of a call that the user cancelled, with the end of what it had printed.
 *
 * @since 0.1.0
 * @category constructors
 */
export const cancelled = (printed: string): Outcome => ({
  _tag: "Cancelled",
  failure: {
    _tag: "Cancelled",
    message: `Cancelled by user${lastOutput(printed)}`,
    suggestedFix: null,
    details: {}
  }
})

const lastOutput = (printed: string): string => printed === "" ? "" : `\nIts last output:\n${printed}`

/** Whatever was thrown: even an object that cannot be made a text. */
const messageOf = (defect: unknown): string => {
  const said = Option.getOrElse(described(defect), () => "")
  return said === "" ? "it threw something that says nothing" : said
}

const described = Option.liftThrowable((defect: unknown): string =>
  defect instanceof Error ? defect.message || defect.name : String(defect)
)
