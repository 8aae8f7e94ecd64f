/**
 * All calls of one response: planned, asked about, run, each with exactly one result.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Answer, Approval, Decision, Question } from "./Approval.js"
import * as CallResults from "./CallResults.js"
import { Event } from "./Event.js"
import type { JournalError, LeaseError } from "./Journal.js"
import { type Redactor, redactRecord } from "./Redaction.js"
import * as Sanitiser from "./Sanitiser.js"
import * as Stages from "./Stages.js"
import type { CallRef, ToolCall } from "./ToolCall.js"
import type * as ToolExecutor from "./ToolExecutor.js"
import * as ToolFailure from "./ToolFailure.js"
import * as ToolPlan from "./ToolPlan.js"
import type { ToolSet } from "./ToolRegistry.js"

/**
 * What a batch is run with.
 *
 * @since 0.1.0
 * @category models
 */
export interface Environment extends Stages.Environment {
  readonly approval: Approval["Type"]
  readonly tools: ToolSet
}

/**
 * Calls of one response, as the model wrote them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Received {
  readonly turn: number
  readonly iteration: number
  readonly calls: ReadonlyArray<{ readonly ref: CallRef; readonly call: ToolCall }>
  readonly circumstances: ToolPlan.Circumstances
}

type Failure = JournalError | LeaseError

/**
 * Plans the calls, puts one question about all of them if need be, and runs what may run. False: the answer comes later,
 * through {@link answer}, and the calls have no results yet.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run = (environment: Environment, received: Received): Effect.Effect<boolean, Failure> =>
  Effect.gen(function*() {
    const planned = yield* plan(environment, received)
    const questions = planned.flatMap((call) => call._tag === "Ask" ? [questionOf(environment, call)] : [])
    const record = plannedRecord(received, planned)
    yield* environment.emit(Event.Planned(record))
    for (const { ready, ref } of planned.flatMap((call) => call._tag === "Refused" ? [] : [call])) {
      if (ready.repairs.length > 0) yield* environment.emit(Event.Repaired({ ref, repairs: ready.repairs }))
    }
    if (questions.length === 0) {
      yield* environment.session.note([record])
      yield* settleAndRun(environment, planned, { _tag: "ApproveAll" })
      return true
    }
    yield* environment.session.commit([record, { _tag: "Asked", questions }])
    yield* environment.emit(Event.ApprovalAsked({ questions }))
    const decision = yield* ask(environment, questions)
    if (decision._tag === "Later") return false
    yield* decide(environment, received, planned, decision)
    return true
  })

/**
 * Goes on with a batch whose questions were answered later. A call whose arguments are no longer the ones that were asked
 * about (secrets were taken out of the journal) is denied.
 *
 * @since 0.1.0
 * @category combinators
 */
export const answer = (
  environment: Environment,
  received: Received,
  questions: ReadonlyArray<Question>,
  decision: Decision
): Effect.Effect<void, Failure> =>
  Effect.gen(function*() {
    const planned = (yield* plan(environment, received)).map((call) => {
      const asked = questions.find((question) => question.ref.position === call.ref.position)
      return call._tag === "Ask" && asked?.argumentsHash !== questionOf(environment, call).argumentsHash
        ? refused(
          call,
          ToolFailure.permission({ kind: "denied", message: "The arguments are not the ones that were approved." })
        )
        : call
    })
    yield* decide(environment, received, planned, decision)
  })

const plan = (environment: Environment, received: Received): Effect.Effect<ReadonlyArray<ToolPlan.PlannedCall>> =>
  Effect.gen(function*() {
    const { approval, limits, redactor, sandbox, session, tools } = environment
    const resolved = ToolPlan.resolve({
      calls: received.calls,
      tools,
      policy: approval.policy,
      limits,
      circumstances: received.circumstances,
      containsMarker: redactor.containsMarker
    })
    const ready = resolved.flatMap((call) => call._tag === "Ready" ? [call] : [])
    const facts = yield* Effect.forEach(ready, (call) =>
      Effect.all({
        paths: Effect.forEach(call.prepared.paths, (use) => sandbox.files.decide(use)),
        assessment: call.prepared.assess,
        preview: call.prepared.preview
      }).pipe(
        Effect.map((facts) => [[call.ref.position, facts] as const]),
        Effect.catchAllCause((cause) =>
          Effect.as(Effect.logError("Facts about a call could not be gathered", cause), [])
        )
      ))
    return ToolPlan.decide({
      resolved,
      facts: new Map(facts.flat()),
      policy: approval.policy,
      always: session.state().always
    })
  })

const plannedRecord = (received: Received, planned: ReadonlyArray<ToolPlan.PlannedCall>) => {
  const positions = (tag: ToolPlan.PlannedCall["_tag"]) =>
    planned.flatMap((call) => call._tag === tag ? [call.ref.position] : [])
  return {
    _tag: "Planned" as const,
    turn: received.turn,
    iteration: received.iteration,
    refused: positions("Refused"),
    asked: positions("Ask"),
    stages: ToolPlan.stages(planned.flatMap((call) => call._tag === "Refused" ? [] : [call]))
      .map((stage) => stage.map(({ ref }) => ref.position))
  }
}

const questionOf = (
  { fingerprint, redactor }: Environment,
  { facts, mustAsk, ready, ref }: Extract<ToolPlan.PlannedCall, { readonly _tag: "Ask" }>
): Question => {
  const shown = (text: string) => Sanitiser.escapeInvisible(redactor.redact(text))
  const tool = ready.tool.definition.name
  return {
    ref,
    tool,
    summary: [...shown(ready.prepared.summary)].slice(0, 200).join(""),
    detail: shown(ready.prepared.detail),
    preview: previewOf(redactor, facts),
    arguments: redactRecord(redactor, ready.arguments),
    origin: "",
    risk: facts.assessment.risk,
    mustAsk,
    warnings: [...facts.assessment.warnings, ...suspicious(ready.prepared.detail)],
    argumentsHash: fingerprint(JSON.stringify(ready.arguments)),
    hint: mustAsk
      ? "It must be approved by a person each time."
      : `Allow it with the entry "${tool}" on the allowlist, or approve it in a terminal.`
  }
}

const previewOf = (redactor: Redactor, { preview }: ToolPlan.Facts): string | null =>
  preview === undefined ? null : Sanitiser.escapeInvisible(redactor.redact(preview))

const suspicious = (text: string): ReadonlyArray<string> => [
  ...Sanitiser.hiddenCharacters(text).map(({ codePoints, line }) =>
    `Line ${line} has hidden characters: ${codePoints.join(", ")}.`
  ),
  ...Sanitiser.lookAlikes(text).map(({ scripts, word }) => `"${word}" mixes the scripts ${scripts.join(" and ")}.`)
]

const ask = (
  { active, approval, session }: Environment,
  questions: ReadonlyArray<Question>
): Effect.Effect<Decision> =>
  active.excluding(Effect.suspend(() => approval.ask({ session: session.id, questions }))).pipe(
    Effect.catchAllCause((cause) =>
      Effect.as(Effect.logWarning("Approval failed, which counts as a denial", cause), {
        _tag: "DenyAll" as const,
        reason: "The question could not be put to anybody."
      })
    )
  )

const decide = (
  environment: Environment,
  { iteration, turn }: Received,
  planned: ReadonlyArray<ToolPlan.PlannedCall>,
  decision: Decision
): Effect.Effect<void, Failure> =>
  Effect.gen(function*() {
    const { approval, emit, session } = environment
    yield* session.note([{ _tag: "Decided", turn, iteration, by: approval.by, decision }])
    yield* emit(Event.ApprovalAnswered({ by: approval.by, decision }))
    yield* settleAndRun(environment, planned, decision)
  })

const settleAndRun = (
  environment: Environment,
  planned: ReadonlyArray<ToolPlan.PlannedCall>,
  decision: Decision
): Effect.Effect<void, Failure> =>
  Effect.gen(function*() {
    const decided = planned.map((call) => applied(environment, call, decision))
    yield* CallResults.settle(environment, decided.flatMap((call) => "outcome" in call ? [call] : []))
    yield* Stages.run(environment, decided.flatMap((call) => "outcome" in call ? [] : [call]))
  })

const applied = (
  environment: Environment,
  call: ToolPlan.PlannedCall,
  decision: Decision
): ToolExecutor.ApprovedCall | CallResults.Settled => {
  if (call._tag === "Refused") {
    return { ref: call.ref, tool: call.tool, outcome: { _tag: "Refused", failure: call.failure } }
  }
  if (decision._tag === "DenyAll") return denied(call, decision.reason)
  const asWritten = { ready: call.ready, edited: null, preview: previewOf(environment.redactor, call.facts) }
  if (call._tag === "Run" || decision._tag === "ApproveAll") return asWritten
  const given: Answer | undefined = decision._tag === "Each"
    ? decision.answers.find(({ position }) => position === call.ref.position)?.answer
    : undefined
  switch (given?._tag) {
    case undefined:
      return denied(call, null)
    case "Approve":
    case "Always":
      return asWritten
    case "Deny":
      return denied(call, given.reason)
    case "Edit":
      return edited(environment, call.ready, given.arguments)
  }
}

const edited = (
  { approval, limits, redactor, tools }: Environment,
  ready: ToolPlan.Ready,
  args: Readonly<Record<string, unknown>>
): ToolExecutor.ApprovedCall | CallResults.Settled => {
  const [again] = ToolPlan.resolve({
    calls: [{
      ref: ready.ref,
      call: {
        id: "",
        name: ready.tool.definition.name,
        raw: JSON.stringify(args),
        arguments: args,
        repairs: ready.repairs
      }
    }],
    tools,
    policy: approval.policy,
    limits,
    circumstances: { disabled: false, outOfIterations: false, lastCutOff: false },
    containsMarker: redactor.containsMarker
  })
  if (again === undefined) return denied({ ref: ready.ref, ready }, "The edited arguments could not be read.")
  return again._tag === "Ready"
    ? { ready: again, edited: args, preview: null }
    : { ref: again.ref, tool: again.tool, outcome: { _tag: "Refused", failure: again.failure } }
}

const refused = (
  call: { readonly ref: CallRef; readonly ready: ToolPlan.Ready },
  failure: ToolFailure.ToolFailure
): ToolPlan.PlannedCall => ({ _tag: "Refused", ref: call.ref, tool: call.ready.tool.definition.name, failure })

const denied = (
  call: { readonly ref: CallRef; readonly ready: ToolPlan.Ready },
  reason: string | null
): CallResults.Settled => ({
  ref: call.ref,
  tool: call.ready.tool.definition.name,
  outcome: {
    _tag: "Denied",
    reason,
    failure: ToolFailure.permission({
      kind: "denied",
      message: reason === null ? "The user denied this call." : `The user denied this call: ${reason}`,
      suggestedFix: "Do not send it again. Go on without it, or ask what is wanted instead."
    })
  }
})
