/**
 * Asking somebody before a tool runs.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { type ApprovalPolicy, safe } from "./ApprovalPolicy.js"
import { ApprovalStore, type StoredAnswer } from "./ApprovalStore.js"
import { Risk } from "./Assessment.js"
import { CallRef, keyOf } from "./ToolCall.js"

/**
 * How long an "always" answer holds: until the turn ends, in this session, or in every session of this project.
 *
 * @since 0.1.0
 * @category models
 */
export const Scope = Schema.Literal("turn", "session", "project")

/**
 * How long an "always" answer holds.
 *
 * @since 0.1.0
 * @category models
 */
export type Scope = typeof Scope.Type

/**
 * One question: whether this call may run. `summary` is one line, `detail` exactly what will happen (the whole command, the
 * whole path), `preview` a diff where there is one; secrets are redacted, nothing else is cut. `arguments` are those that
 * would run, `origin` says who asks (the model, and the parent session where there is one). `argumentsHash` binds the answer
 * to these arguments, `hint` says what flag or list entry would have answered it, `entry` is the narrowest list entry that
 * stands for this call (null: none does, or one that could not be shown as it is).
 *
 * @since 0.1.0
 * @category models
 */
export const Question = Schema.Struct({
  ref: CallRef,
  tool: Schema.String,
  summary: Schema.String,
  detail: Schema.String,
  preview: Schema.NullOr(Schema.String),
  arguments: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.Unknown }), {
    exact: true,
    default: () => ({})
  }),
  origin: Schema.optionalWith(Schema.String, { exact: true, default: () => "" }),
  risk: Risk,
  mustAsk: Schema.Boolean,
  warnings: Schema.Array(Schema.String),
  argumentsHash: Schema.String,
  hint: Schema.String,
  entry: Schema.optionalWith(Schema.NullOr(Schema.String), { exact: true, default: () => null })
})

/**
 * One question: whether this call may run.
 *
 * @since 0.1.0
 * @category models
 */
export type Question = typeof Question.Type

/**
 * The answer to one question. `Always` also approves calls that the entry covers, from now on, as far as `scope` reaches; `Edit` runs
 * other arguments, which are planned again; `reason` is read by the model.
 *
 * @since 0.1.0
 * @category models
 */
export const Answer = Schema.Union(
  Schema.TaggedStruct("Approve", {}),
  Schema.TaggedStruct("Always", {
    entry: Schema.String,
    scope: Schema.optionalWith(Scope, { exact: true, default: () => "session" })
  }),
  Schema.TaggedStruct("Edit", { arguments: Schema.Record({ key: Schema.String, value: Schema.Unknown }) }),
  Schema.TaggedStruct("Deny", { reason: Schema.NullOr(Schema.String) })
)

/**
 * The answer to one question.
 *
 * @since 0.1.0
 * @category models
 */
export type Answer = typeof Answer.Type

/**
 * One decision over a batch: all, none (the calls that needed no question included), or one answer per question by position
 * (a missing one is a denial; `by` says who gave it, where that is not who decides otherwise).
 *
 * @since 0.1.0
 * @category models
 */
export const Decision = Schema.Union(
  Schema.TaggedStruct("ApproveAll", {}),
  Schema.TaggedStruct("DenyAll", { reason: Schema.NullOr(Schema.String) }),
  Schema.TaggedStruct("Each", {
    answers: Schema.Array(Schema.Struct({
      position: Schema.Number,
      answer: Answer,
      by: Schema.optionalWith(Schema.String, { exact: true })
    }))
  }),
  Schema.TaggedStruct("Later", {})
)

/**
 * One decision over a batch. `Later` ends the turn as `awaiting`.
 *
 * @since 0.1.0
 * @category models
 */
export type Decision = typeof Decision.Type

/**
 * Nobody could be asked, or asking failed. The loop takes it for a denial.
 *
 * @since 0.1.0
 * @category errors
 */
export class ApprovalError extends Schema.TaggedError<ApprovalError>("@capstan/core/ApprovalError")("ApprovalError", {
  message: Schema.String,
  cause: Schema.optionalWith(Schema.Defect, { exact: true })
}) {}

/**
 * The questions of one batch.
 *
 * @since 0.1.0
 * @category models
 */
export interface ApprovalRequest {
  readonly session: string
  readonly questions: ReadonlyArray<Question>
}

/**
 * What may run, and who is asked about the rest. `by` says who decides, for the journal.
 *
 * @since 0.1.0
 * @category services
 */
export class Approval extends Context.Tag("@capstan/core/Approval")<Approval, {
  readonly policy: ApprovalPolicy
  readonly by: string
  readonly ask: (request: ApprovalRequest) => Effect.Effect<Decision, ApprovalError>
}>() {}

/**
 * Asks a function of yours, for instance a user interface. `policy` is completed by the safe defaults.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerCallback = <R = never>(options: {
  readonly policy?: Partial<ApprovalPolicy>
  readonly by?: string
  readonly ask: (request: ApprovalRequest) => Effect.Effect<Decision, ApprovalError, R>
}): Layer.Layer<Approval, never, R> =>
  Layer.effect(
    Approval,
    Effect.map(Effect.context<R>(), (context) => ({
      policy: { ...safe, ...options.policy },
      by: options.by ?? "callback",
      ask: (request: ApprovalRequest) =>
        Effect.mapInputContext(options.ask(request), (_: Context.Context<never>) => context)
    }))
  )

/**
 * Asks nobody: what the policy does not let run is denied, and the denial says what would allow it. For programs without a
 * person.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerPolicy = (policy: Partial<ApprovalPolicy> = {}): Layer.Layer<Approval> =>
  layerCallback({
    policy,
    by: "policy",
    ask: ({ questions }) => Effect.succeed(denyEach(questions, ({ hint }) => `Nobody is there to approve it. ${hint}`))
  })

/** How often a queue looks for answers. */
const lookEvery = Duration.millis(200)

/**
 * Takes the answers that another process puts into the {@link ApprovalStore}: those that are there, and for `wait` (default:
 * not at all) those that come. Then the turn ends as `awaiting`, and `ToolLoop.supply` goes on with it once they are there.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerQueue = (options: {
  readonly policy?: Partial<ApprovalPolicy>
  readonly wait?: Duration.DurationInput
} = {}): Layer.Layer<Approval, never, ApprovalStore> =>
  layerCallback({
    ...(options.policy === undefined ? {} : { policy: options.policy }),
    by: "queue",
    ask: ({ questions, session }) =>
      Effect.flatMap(ApprovalStore, (store) => store.answers({ session })).pipe(
        Effect.map((stored) => answeredBy(stored, questions)),
        Effect.repeat(
          Schedule.spaced(lookEvery).pipe(
            Schedule.upTo(options.wait ?? Duration.zero),
            Schedule.passthrough<number, Matched, never>,
            Schedule.whileInput(({ missing }: Matched) => missing.length > 0)
          )
        ),
        Effect.mapBoth({
          onFailure: (cause) => new ApprovalError({ message: "The stored answers could not be read.", cause }),
          onSuccess: ({ decision, missing }): Decision => missing.length > 0 ? { _tag: "Later" } : decision
        })
      )
  })

/**
 * What stored answers come to for the questions of a batch: a decision over those that are answered, and the questions
 * without an answer to exactly these arguments.
 *
 * @since 0.1.0
 * @category models
 */
export interface Matched {
  readonly decision: Extract<Decision, { readonly _tag: "Each" }>
  readonly missing: ReadonlyArray<Question>
}

/**
 * Finds the stored answers to questions.
 *
 * @since 0.1.0
 * @category combinators
 */
export const answeredBy = (stored: ReadonlyArray<StoredAnswer>, questions: ReadonlyArray<Question>): Matched => {
  const found = questions.map((question) => ({
    question,
    given: stored.find(({ argumentsHash, ref }) =>
      keyOf(ref) === keyOf(question.ref) && argumentsHash === question.argumentsHash
    )
  }))
  return {
    decision: {
      _tag: "Each",
      answers: found.flatMap(({ given, question }) =>
        given === undefined ? [] : [{ position: question.ref.position, answer: given.answer, by: given.by }]
      )
    },
    missing: found.flatMap(({ given, question }) => given === undefined ? [question] : [])
  }
}

/**
 * Gives whoever is asked so much time; when it has run out the questions are denied, and the denial says so.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withTimeout =
  (duration: Duration.DurationInput) =>
  <A, E, R>(layer: Layer.Layer<A | Approval, E, R>): Layer.Layer<A | Approval, E, R> =>
    Layer.map(layer, (context) => {
      const approval = Context.get(context, Approval)
      const reason = `Nobody answered within ${Duration.format(Duration.decode(duration))}.`
      return Context.add(context, Approval, {
        ...approval,
        ask: (request) =>
          Effect.timeoutTo(Effect.suspend(() => approval.ask(request)), {
            duration,
            onSuccess: (decision) => decision,
            onTimeout: () => denyEach(request.questions, () => reason)
          })
      })
    })

const denyEach = (questions: ReadonlyArray<Question>, reason: (question: Question) => string): Decision => ({
  _tag: "Each",
  answers: questions.map((question) => ({
    position: question.ref.position,
    answer: { _tag: "Deny", reason: reason(question) }
  }))
})
