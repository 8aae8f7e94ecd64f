/**
 * All calls of one response: planned, asked about, run, each with exactly one result.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Decision, Question } from "./Approval.js"
import * as CallQuestion from "./CallQuestion.js"
import * as CallResults from "./CallResults.js"
import { Event } from "./Event.js"
import type { JournalError, LeaseError } from "./Journal.js"
import * as Planning from "./Planning.js"
import * as Ruling from "./Ruling.js"
import * as Stages from "./Stages.js"
import * as ToolFailure from "./ToolFailure.js"
import * as ToolPlan from "./ToolPlan.js"

/**
 * What a batch is run with.
 *
 * @since 0.1.0
 * @category models
 */
export interface Environment extends Stages.Environment, Planning.Environment {}

/**
 * Calls of one response, as the model wrote them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Received extends Planning.Received {
  readonly turn: number
  readonly iteration: number
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
    const { emit, session } = environment
    const planned = yield* Planning.plan(environment, received)
    const asker = askerOf(environment)
    const questions = planned.flatMap((call) => call._tag === "Ask" ? [CallQuestion.make(asker, call)] : [])
    const record = plannedRecord(received, planned)
    yield* emit(Event.Planned(record))
    for (const { ready, ref } of planned.flatMap((call) => call._tag === "Refused" ? [] : [call])) {
      if (ready.repairs.length > 0) yield* emit(Event.Repaired({ ref, repairs: ready.repairs }))
    }
    if (questions.length === 0) {
      yield* session.note([record])
      yield* carryOut(environment, planned, { _tag: "ApproveAll" })
      return true
    }
    yield* session.commit([record, { _tag: "Asked", questions }])
    yield* emit(Event.ApprovalAsked({ questions }))
    const decision = yield* ask(environment, questions)
    if (decision._tag === "Later") return false
    yield* decide(environment, received, decision)
    yield* carryOut(environment, planned, decision)
    return true
  })

/**
 * Goes on with a batch whose questions were answered later. `journaled`: the decision stands in the journal already. A call
 * that is not the one that was asked about (its arguments lost a secret on the way into the journal, or rules and tools are
 * others now) is refused.
 *
 * @since 0.1.0
 * @category combinators
 */
export const answer = (environment: Environment, received: Received, given: {
  readonly questions: ReadonlyArray<Question>
  readonly decision: Decision
  readonly journaled: boolean
}): Effect.Effect<void, Failure> =>
  Effect.gen(function*() {
    const planned = yield* Planning.plan(environment, received)
    yield* given.journaled ? takeStored(environment) : decide(environment, received, given.decision)
    yield* carryOut(
      environment,
      planned.map((call) => asAsked(environment, call, given.questions)),
      given.decision
    )
  })

const asAsked = (
  environment: Environment,
  call: ToolPlan.PlannedCall,
  questions: ReadonlyArray<Question>
): ToolPlan.PlannedCall => {
  if (call._tag !== "Ask") return call
  const asked = questions.find((question) => question.ref.position === call.ref.position)
  const tool = call.ready.tool.definition.name
  const isSame = asked?.tool === tool && asked.argumentsHash === CallQuestion.hashOf(environment, call.ready)
  return isSame ? call : { _tag: "Refused", ref: call.ref, tool, failure: asked === undefined ? notAsked : notTheSame }
}

const notTheSame = ToolFailure.permission({
  kind: "denied",
  message: "The arguments are not the ones that were approved.",
  suggestedFix: "Send it again if it is still needed, so that it can be asked about."
})

const notAsked = ToolFailure.permission({
  kind: "denied",
  message: "Nobody was asked about this call, and now somebody must be.",
  suggestedFix: "Send it again if it is still needed, so that it can be asked about."
})

const askerOf = (environment: Environment): CallQuestion.Asker => {
  const { open } = environment.session.state()
  const model = open?.model ?? ""
  return {
    ...environment,
    origin: open === null || open.parent === null ? model : `${model}, on behalf of the session ${open.parent}`
  }
}

const plannedRecord = (received: Received, planned: ReadonlyArray<ToolPlan.PlannedCall>) => {
  const positions = (tag: ToolPlan.PlannedCall["_tag"]) =>
    planned.flatMap((call) => call._tag === tag ? [call.ref.position] : [])
  const written = new Map(received.calls.map(({ call, ref }) => [ref.position, call.name]))
  const corrected = planned.flatMap((call) => {
    const tool = call._tag === "Refused" ? call.tool : call.ready.tool.definition.name
    return tool === written.get(call.ref.position) ? [] : [{ position: call.ref.position, tool }]
  })
  return {
    _tag: "Planned" as const,
    turn: received.turn,
    iteration: received.iteration,
    refused: positions("Refused"),
    asked: positions("Ask"),
    stages: ToolPlan.stages(planned.flatMap((call) => call._tag === "Refused" ? [] : [call]))
      .map((stage) => stage.map(({ ref }) => ref.position)),
    ...(corrected.length === 0 ? {} : { corrected })
  }
}

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

/**
 * Makes a decision part of the session: what it allows for longer is granted first, and answers that another process stored
 * are taken away once the journal has them, so that a crash in between neither loses nor repeats one.
 */
const decide = (environment: Environment, received: Received, decision: Decision): Effect.Effect<void, Failure> =>
  Effect.gen(function*() {
    const { approval, approvals, emit, project, redactor, session } = environment
    const { by } = approval
    const at = yield* Clock.currentTimeMillis
    for (const given of decision._tag === "Each" ? decision.answers : []) {
      if (given.answer._tag !== "Always" || given.answer.scope === "turn") continue
      yield* approvals.grant({
        project,
        session: given.answer.scope === "session" ? session.id : null,
        entry: given.answer.entry,
        by: given.by ?? by,
        at
      })
    }
    const recorded = Ruling.recorded(redactor, decision)
    yield* session.note([{
      _tag: "Decided",
      turn: received.turn,
      iteration: received.iteration,
      by,
      decision: recorded
    }])
    yield* takeStored(environment)
    yield* emit(Event.ApprovalAnswered({ by, decision: recorded }))
  })

const takeStored = ({ approvals, session }: Environment): Effect.Effect<void, Failure> =>
  Effect.flatMap(
    approvals.answers({ session: session.id }),
    (stored) =>
      stored.length === 0 ? Effect.void : Effect.zipRight(
        session.barrier,
        approvals.take({ session: session.id, refs: stored.map(({ ref }) => ref) })
      )
  )

const carryOut = (
  environment: Environment,
  planned: ReadonlyArray<ToolPlan.PlannedCall>,
  decision: Decision
): Effect.Effect<void, Failure> =>
  Effect.gen(function*() {
    const ruled = yield* Effect.forEach(planned, (call) => Ruling.apply(environment, call, decision))
    yield* CallResults.settle(environment, ruled.flatMap((call) => "outcome" in call ? [call] : []))
    yield* Stages.run(environment, ruled.flatMap((call) => "outcome" in call ? [] : [call]))
  })
