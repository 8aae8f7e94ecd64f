/**
 * Somebody who answers approvals from a script, and remembers what was asked.
 *
 * @since 0.1.0
 */
import {
  type Answer,
  Approval,
  ApprovalError,
  type ApprovalRequest,
  type Decision,
  type Scope
} from "@capstan/core/Approval"
import { type ApprovalPolicy, safe } from "@capstan/core/ApprovalPolicy"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/**
 * One step of a script: the answer to one question (a batch with three questions takes three), or a decision over a whole
 * batch.
 *
 * @since 0.1.0
 * @category models
 */
export type Step =
  | { readonly _tag: "Answer"; readonly answer: Answer }
  | {
    readonly _tag: "Batch"
    readonly decide: (request: ApprovalRequest) => Effect.Effect<Decision, ApprovalError>
  }

/**
 * The requests that came so far, and how many steps of the script are left.
 *
 * @since 0.1.0
 * @category services
 */
export class ScriptedApproval extends Context.Tag("@capstan/testing/ScriptedApproval")<ScriptedApproval, {
  readonly requests: Effect.Effect<ReadonlyArray<ApprovalRequest>>
  readonly left: Effect.Effect<number>
}>() {}

/**
 * The requests that came so far, one per batch.
 *
 * @since 0.1.0
 * @category accessors
 */
export const requests: Effect.Effect<ReadonlyArray<ApprovalRequest>, never, ScriptedApproval> = Effect.flatMap(
  ScriptedApproval,
  (approval) => approval.requests
)

const answer = (answer: Answer): Step => ({ _tag: "Answer", answer })

/**
 * Decides over a batch by a function, which may wait or fail.
 *
 * @since 0.1.0
 * @category constructors
 */
export const decide = (decide: (request: ApprovalRequest) => Effect.Effect<Decision, ApprovalError>): Step => ({
  _tag: "Batch",
  decide
})

/**
 * Approves one call.
 *
 * @since 0.1.0
 * @category constructors
 */
export const approve: Step = answer({ _tag: "Approve" })

/**
 * Approves one call and, from now on, what the list entry covers; `scope` says how far (default: in this session).
 *
 * @since 0.1.0
 * @category constructors
 */
export const always = (entry: string, scope: Scope = "session"): Step => answer({ _tag: "Always", entry, scope })

/**
 * Runs one call with other arguments, which are planned again.
 *
 * @since 0.1.0
 * @category constructors
 */
export const edit = (args: Readonly<Record<string, unknown>>): Step => answer({ _tag: "Edit", arguments: args })

/**
 * Denies one call; the model reads the reason.
 *
 * @since 0.1.0
 * @category constructors
 */
export const deny = (reason: string | null = null): Step => answer({ _tag: "Deny", reason })

/**
 * Approves all questions of a batch.
 *
 * @since 0.1.0
 * @category constructors
 */
export const approveAll: Step = decide(() => Effect.succeed({ _tag: "ApproveAll" }))

/**
 * Denies a whole batch, the calls that needed no question included.
 *
 * @since 0.1.0
 * @category constructors
 */
export const denyAll = (reason: string | null = null): Step => decide(() => Effect.succeed({ _tag: "DenyAll", reason }))

/**
 * Answers the questions of a batch by the position of their calls, for instance
 * `each({ 0: approve, 2: deny("keep it") })`. A question without an answer stays without one.
 *
 * @since 0.1.0
 * @category constructors
 */
export const each = (answers: Readonly<Record<number, Step>>): Step =>
  decide((request) => {
    const asked = new Set(request.questions.map(({ ref }) => ref.position))
    const given = Object.entries(answers).map(([position, step]) => ({ position: Number(position), step }))
    const wrong = given.find(({ position, step }) => !asked.has(position) || step._tag !== "Answer")
    return wrong === undefined
      ? Effect.succeed({
        _tag: "Each",
        answers: given.flatMap(({ position, step }) =>
          step._tag === "Answer" ? [{ position, answer: step.answer }] : []
        )
      })
      : Effect.dieMessage(
        `The scripted answer at position ${wrong.position} answers no single question: asked were ${describe(request)}.`
      )
  })

/**
 * Ends the turn as `awaiting`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const later: Step = decide(() => Effect.succeed({ _tag: "Later" }))

/**
 * Fails to ask anybody.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fail = (message: string): Step => decide(() => new ApprovalError({ message }))

/**
 * Never answers.
 *
 * @since 0.1.0
 * @category constructors
 */
export const hang: Step = decide(() => Effect.never)

const describe = (request: ApprovalRequest): string =>
  request.questions.map(({ ref, summary }) => `${ref.position}: ${summary}`).join("; ")

/**
 * Approvals from a script. A request that the script has no answer for is a defect that names the questions. `policy` is
 * completed by the safe defaults; `by` (default `script`) is who decided, for the journal.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  script: ReadonlyArray<Step>,
  options: { readonly policy?: Partial<ApprovalPolicy>; readonly by?: string } = {}
): Layer.Layer<Approval | ScriptedApproval> =>
  Layer.effectContext(Effect.sync(() => {
    const kept: Array<ApprovalRequest> = []
    let used = 0

    const ask = (request: ApprovalRequest): Effect.Effect<Decision, ApprovalError> =>
      Effect.suspend(() => {
        kept.push(request)
        const first = script[used]
        if (first?._tag === "Batch") {
          used++
          return first.decide(request)
        }
        const steps = script.slice(used, used + request.questions.length)
        used += steps.length
        const answers = request.questions.flatMap(({ ref }, index) => {
          const step = steps[index]
          return step?._tag === "Answer" ? [{ position: ref.position, answer: step.answer }] : []
        })
        return answers.length === request.questions.length
          ? Effect.succeed<Decision>({ _tag: "Each", answers })
          : Effect.dieMessage(
            `The script of approvals (${script.length} steps) has ${answers.length} answers left for ${request.questions.length} `
              + `questions (${describe(request)}). Add a step for each, or one for the whole batch.`
          )
      })

    return Context.make(Approval, { policy: { ...safe, ...options.policy }, by: options.by ?? "script", ask }).pipe(
      Context.add(ScriptedApproval, {
        requests: Effect.sync(() => kept.slice()),
        left: Effect.sync(() => script.length - used)
      })
    )
  }))
