/**
 * Asking somebody before a tool runs.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { type ApprovalPolicy, safe } from "./ApprovalPolicy.js"
import { Risk } from "./Assessment.js"
import { CallRef } from "./ToolCall.js"

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
 * to these arguments, `hint` says what flag or list entry would have answered it.
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
  hint: Schema.String
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
 * (a missing one is a denial).
 *
 * @since 0.1.0
 * @category models
 */
export const Decision = Schema.Union(
  Schema.TaggedStruct("ApproveAll", {}),
  Schema.TaggedStruct("DenyAll", { reason: Schema.NullOr(Schema.String) }),
  Schema.TaggedStruct("Each", {
    answers: Schema.Array(Schema.Struct({ position: Schema.Number, answer: Answer }))
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
    ask: ({ questions }) =>
      Effect.succeed({
        _tag: "Each",
        answers: questions.map(({ hint, ref }) => ({
          position: ref.position,
          answer: { _tag: "Deny", reason: `Nobody is there to approve it. ${hint}` }
        }))
      })
  })
