/**
 * The one way to a handler: a planned and approved call, its paths checked again, its intent journaled, run under a timeout,
 * its output cleaned and cut, its outcome journaled. Nothing else calls a handler.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { CallContext } from "./CallContext.js"
import * as Content from "./Content.js"
import * as DurableStep from "./DurableStep.js"
import { Event } from "./Event.js"
import type { FileRead } from "./FileRead.js"
import type { JournalError, LeaseError } from "./Journal.js"
import type { Values as LimitValues } from "./Limits.js"
import type { LiveSession } from "./LiveSession.js"
import type { Outcome } from "./Outcome.js"
import * as OutputLimit from "./OutputLimit.js"
import type { OutputStore } from "./OutputStore.js"
import { type Redactor, redactRecord } from "./Redaction.js"
import type { Sandbox } from "./Sandbox.js"
import * as Sanitiser from "./Sanitiser.js"
import * as SessionState from "./SessionState.js"
import * as ToolCall from "./ToolCall.js"
import * as ToolFailure from "./ToolFailure.js"
import * as ToolPlan from "./ToolPlan.js"

/**
 * A call that may run. `edited` are the arguments that a person put in place of the model's (null: the model's own run),
 * `preview` is what a person was shown of what it changes (null: nothing).
 *
 * @since 0.1.0
 * @category models
 */
export interface ApprovedCall {
  readonly ready: ToolPlan.Ready
  readonly edited: Readonly<Record<string, unknown>> | null
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
  readonly emit: (event: Event) => Effect.Effect<void>
}

/** What is kept of a call's output for a result that says how far it came. */
const lastOutputLength = 2_000

/**
 * Runs one stage: calls that may overlap. `outputBytes` is what the results of the stage may take together.
 *
 * @since 0.1.0
 * @category combinators
 */
export const runStage = (
  environment: Environment,
  calls: ReadonlyArray<ApprovedCall>,
  options: { readonly outputBytes: number }
): Effect.Effect<void, JournalError | LeaseError> =>
  Effect.flatMap(
    Effect.forEach(calls, (call) => stepOf(environment, call, Math.floor(options.outputBytes / calls.length))),
    (steps) => DurableStep.stage(environment.session, steps, { concurrency: environment.limits.maxParallel })
  )

const stepOf = (environment: Environment, call: ApprovedCall, share: number): Effect.Effect<DurableStep.Step> =>
  Effect.sync(() => {
    const { arguments: args, ref, repairs, tool } = call.ready
    const name = tool.definition.name
    return {
      ref,
      intent: {
        tool: name,
        safety: tool.safety,
        argumentsHash: environment.fingerprint(JSON.stringify(args)),
        edited: call.edited === null ? null : redactRecord(environment.redactor, call.edited),
        repairs
      },
      run: run(environment, call, OutputLimit.budget(environment.limits, share)),
      onSettled: ({ outcome }, durationMillis) =>
        environment.emit(Event.ToolFinished({ ref, tool: name, outcome, durationMillis }))
    }
  })

/**
 * What a call did besides its outcome, as far as it has come: what it read, the bytes that it took from the quota for
 * writing, the end of what it printed.
 *
 * @since 0.1.0
 * @category models
 */
export interface Traces {
  readonly reads: Array<FileRead>
  written: number
  printed: string
}

/**
 * A call that has done nothing yet.
 *
 * @since 0.1.0
 * @category constructors
 */
export const noTraces = (): Traces => ({ reads: [], written: 0, printed: "" })

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
  emit: (chunk) => {
    options.traces.printed = (options.traces.printed + chunk.text).slice(-lastOutputLength)
    return environment.emit(Event.ToolOutput({ ref, chunk }))
  },
  processStarted: (process) => Effect.orDie(environment.session.append([{ _tag: "ProcessStarted", ref, process }]))
})

const reserveWrite = (
  { limits, session }: Environment,
  traces: Traces,
  bytes: number
): Effect.Effect<void, ToolFailure.ToolFailure> =>
  Effect.suspend(() => {
    const left = limits.bytesWrittenPerSession - session.state().written - traces.written
    if (bytes > left) {
      return Effect.fail(ToolFailure.limit(
        "bytes_written",
        limits.bytesWrittenPerSession,
        `This would write ${bytes} bytes; the session may write ${left} more.`,
        "Write less, or tell the user what is left to do."
      ))
    }
    traces.written += bytes
    return Effect.void
  })

const run = (environment: Environment, call: ApprovedCall, capacity: number): Effect.Effect<DurableStep.Settlement> =>
  Effect.gen(function*() {
    const { ready } = call
    const traces = noTraces()
    const printed = () => traces.printed
    const context = contextOf(environment, ready.ref, { capacity, traces })
    yield* environment.emit(
      Event.ToolStarted({
        ref: ready.ref,
        tool: ready.tool.definition.name,
        summary: environment.redactor.redact(ready.prepared.summary),
        preview: call.preview
      })
    )
    const received = yield* Effect.interruptible(handled(environment, call, context, printed)).pipe(
      Effect.exit,
      Effect.flatMap(Exit.match({ onSuccess: Effect.succeed, onFailure: (cause) => afterCause(cause, printed) }))
    )
    const outcome = clean(received, { environment, call, capacity })
    return { outcome, note: noteOf(environment, call, outcome), reads: traces.reads, written: traces.written }
  })

const handled = (
  environment: Environment,
  { ready }: ApprovedCall,
  context: CallContext,
  printed: () => string
): Effect.Effect<Outcome> =>
  Effect.gen(function*() {
    const paths = yield* Effect.forEach(ready.prepared.paths, (use) => environment.sandbox.files.decide(use))
    const moved = ToolPlan.pathFailure(paths)
    if (moved !== undefined) return { _tag: "Refused", failure: moved }
    const timeout = ready.prepared.timeout ?? environment.limits.callTimeout
    return yield* ready.prepared.run(context).pipe(
      Effect.match({
        onSuccess: (output): Outcome => ({
          _tag: "Succeeded",
          content: output.content,
          ...(output.structured === undefined ? {} : { structured: output.structured })
        }),
        onFailure: (failure): Outcome => ({ _tag: "Failed", failure })
      }),
      Effect.timeoutTo({
        duration: timeout,
        onSuccess: (outcome) => outcome,
        onTimeout: () => timedOut(timeout, printed())
      })
    )
  })

const timedOut = (timeout: Duration.Duration, printed: string): Outcome => ({
  _tag: "TimedOut",
  failure: {
    _tag: "Timeout",
    message: `Timed out after ${Duration.format(timeout)}; what it had started was ended.${lastOutput(printed)}`,
    suggestedFix: "Do less in one call, or ask for more time where the tool allows it.",
    details: { elapsedMillis: Duration.toMillis(timeout) }
  }
})

const afterCause = (cause: Cause.Cause<never>, printed: () => string): Effect.Effect<Outcome> =>
  Cause.isInterruptedOnly(cause)
    ? Effect.succeed(cancelled(printed()))
    : Effect.as(
      Effect.logError("A tool panicked", cause),
      { _tag: "Failed", failure: ToolFailure.panicked(messageOf(Cause.squash(cause))) }
    )

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

const messageOf = (defect: unknown): string => defect instanceof Error ? defect.message : String(defect)

const clean = (
  outcome: Outcome,
  options: { readonly environment: Environment; readonly call: ApprovedCall; readonly capacity: number }
): Outcome => {
  const { redactor } = options.environment
  const { tool } = options.call.ready
  const cut = (text: string, keep: "head" | "head-and-tail") =>
    OutputLimit.truncate(text, { maxBytes: options.capacity, keep, hint: "ask for a part of it" }).text
  if (outcome._tag !== "Succeeded") {
    const { failure } = outcome
    const message = ToolFailure.isJsonObject(failure.message)
      ? failure.message
      : Sanitiser.sanitise(failure.message).text
    return { ...outcome, failure: { ...failure, message: cut(redactor.redact(message), "head-and-tail") } }
  }
  const content = outcome.content.map((part) => {
    if (part.type !== "text") return part
    const visible = tool.verbatim ? part.text : Sanitiser.sanitise(part.text).text
    const text = redactor.redact(visible)
    return Content.text(tool.outputCut === "self-limited" ? text : cut(text, tool.outputCut))
  })
  return {
    ...outcome,
    content: options.call.edited === null
      ? content
      : [
        Content.text(`The user changed the arguments to: ${redactor.redact(JSON.stringify(options.call.edited))}`),
        ...content
      ],
    ...("structured" in outcome ? { structured: redactor.redactJson(outcome.structured) } : {})
  }
}

const noteOf = (environment: Environment, { ready }: ApprovedCall, outcome: Outcome): string | null => {
  const state = environment.session.state()
  const call = state.batch?.calls.find((call) => call.ref.position === ready.ref.position)
  if (state.open === null || call === undefined || ready.tool.polls) return null
  const { count } = SessionState.nextStreak(state.open.streak, SessionState.signature(call.call, outcome))
  return count >= environment.limits.repeatsBeforeWarning
    ? `This is the same call with the same result, ${count} times in a row. The result will not change: take the next step, or answer.`
    : null
}
