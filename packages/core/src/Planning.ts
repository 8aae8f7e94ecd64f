/**
 * The plan of a batch: the facts about each call are gathered, and the rest is {@link ToolPlan}.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ActiveTime } from "./ActiveTime.js"
import type { Approval } from "./Approval.js"
import * as ApprovalPolicy from "./ApprovalPolicy.js"
import type { ApprovalStore } from "./ApprovalStore.js"
import type { JournalError } from "./Journal.js"
import type { Values as LimitValues } from "./Limits.js"
import type { LiveSession } from "./LiveSession.js"
import type { Redactor } from "./Redaction.js"
import * as RetryAdvice from "./RetryAdvice.js"
import type { Sandbox } from "./Sandbox.js"
import type { CallRef, ToolCall } from "./ToolCall.js"
import * as ToolPlan from "./ToolPlan.js"
import type { ToolSet } from "./ToolRegistry.js"

/**
 * What a batch is planned with. `project` is what permissions are kept by.
 *
 * @since 0.1.0
 * @category models
 */
export interface Environment {
  readonly session: LiveSession
  readonly sandbox: Sandbox["Type"]
  readonly active: ActiveTime
  readonly limits: LimitValues
  readonly redactor: Redactor
  readonly tools: ToolSet
  readonly approval: Approval["Type"]
  readonly approvals: ApprovalStore["Type"]
  readonly project: string
}

/**
 * Calls of one response, as the model wrote them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Received {
  readonly calls: ReadonlyArray<{ readonly ref: CallRef; readonly call: ToolCall }>
  readonly circumstances: ToolPlan.Circumstances
}

/**
 * Nothing is known that would keep a whole batch from running.
 *
 * @since 0.1.0
 * @category constructors
 */
export const ordinary: ToolPlan.Circumstances = { disabled: false, outOfIterations: false, lastCutOff: false }

/**
 * What happens with each call. What a tool or a policy throws on the way is logged and denies the call.
 *
 * @since 0.1.0
 * @category constructors
 */
export const plan = (
  environment: Environment,
  received: Received
): Effect.Effect<ReadonlyArray<ToolPlan.PlannedCall>, JournalError> =>
  Effect.gen(function*() {
    const { limits, redactor, session, tools } = environment
    const policy = yield* policyOf(environment)
    const { batch, open } = session.state()
    const resolved = ToolPlan.resolve({
      ...received,
      tools,
      policy,
      limits,
      containsMarker: redactor.containsMarker,
      givenUp: ({ position }, tool) => {
        const said = batch?.calls.find(({ ref }) => ref.position === position)
        return open === null || said === undefined ? undefined : RetryAdvice.givenUp(open.attempts, tool, said.call)
      }
    })
    const ready = resolved.flatMap((call) => call._tag === "Ready" ? [call] : [])
    const facts = yield* Effect.forEach(ready, (call) => factsOf(environment, call))
    const planned = ToolPlan.decide({
      resolved,
      facts: new Map(facts.flat()),
      policy,
      always: yield* entriesFor(environment, facts.flat().map(([, { assessment }]) => assessment)),
      limits,
      used: session.state(),
      now: yield* Clock.currentTimeMillis
    })
    yield* Effect.forEach(planned, (call) =>
      call._tag === "Refused" && call.fault !== undefined
        ? Effect.logError("A tool or the policy failed to judge a call, which denies it", call.fault)
        : Effect.void, { discard: true })
    return planned
  })

/** A policy that cannot be read lets nothing run. */
const policyOf = ({ approval }: Environment): Effect.Effect<ApprovalPolicy.ApprovalPolicy> =>
  Effect.try(() => approval.policy).pipe(
    Effect.catchAll((error) =>
      Effect.as(Effect.logError("The approval policy could not be read, which denies all calls", error), {
        ...ApprovalPolicy.safe,
        enabled: false
      })
    )
  )

const factsOf = ({ active, limits, sandbox }: Environment, { prepared, ref }: ToolPlan.Ready) => {
  const facts = Effect.gen(function*() {
    const paths = yield* Effect.forEach(prepared.paths, (use) => sandbox.files.decide(use))
    const assessment = yield* prepared.assess
    const preview = yield* prepared.preview
    return Option.some<ToolPlan.Facts>({ paths, assessment, preview })
  })
  return active.within(facts, { millis: Duration.toMillis(limits.callTimeout), onTimeout: () => Option.none() }).pipe(
    Effect.flatMap(Option.match({
      onNone: () => Effect.fail("Looking at the call took longer than a call may run."),
      onSome: (facts) => Effect.succeed([[ref.position, facts] as const])
    })),
    Effect.catchAllCause((cause) => Effect.as(Effect.logError("Facts about a call could not be gathered", cause), []))
  )
}

/** Entries of this turn are in the journal; those of the session and the project hold until somebody takes them back. */
const entriesFor = (
  { approvals, project, session }: Environment,
  assessments: ReadonlyArray<ToolPlan.Facts["assessment"]>
): Effect.Effect<ReadonlyArray<string>, JournalError> => {
  if (assessments.every(({ approval }) => approval === "never" || approval === "always")) return Effect.succeed([])
  return Effect.map(approvals.permissions({ project }), (permissions) => [
    ...session.state().open?.always ?? [],
    ...permissions.flatMap((permission) =>
      permission.session === null || permission.session === session.id ? [permission.entry] : []
    )
  ])
}
