/**
 * Who decides what may run: the rules of the flags first, then a person, or nobody.
 *
 * @since 0.1.0
 */
import * as Approval from "@capstan/core/Approval"
import type { ApprovalPolicy } from "@capstan/core/ApprovalPolicy"
import { ApprovalStore } from "@capstan/core/ApprovalStore"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { SessionFlags } from "./Flags.js"

/**
 * Asks a person about a batch.
 *
 * @since 0.1.0
 * @category models
 */
export type Prompt = (request: Approval.ApprovalRequest) => Effect.Effect<Approval.Decision, Approval.ApprovalError>

/**
 * The rules that the flags say, over the command line's defaults: side effects ask, commands are there and ask.
 *
 * @since 0.1.0
 * @category constructors
 */
export const policy = (flags: SessionFlags): ApprovalPolicy => ({
  enabled: true,
  mode: Option.getOrElse(flags.approve, () => "prompt" as const),
  allowlist: flags.allow,
  denylist: flags.deny,
  promptSideEffects: true,
  trust: Option.getOrElse(flags.trust, () => "shell" as const)
})

/**
 * What a denial says where nobody could be asked: the flag that would have allowed the call.
 *
 * @since 0.1.0
 * @category combinators
 */
export const unattended = ({ mustAsk, tool }: Approval.Question): string =>
  mustAsk
    ? "Nobody is there to approve it, and it must be approved by a person each time: run capstan in a terminal."
    : `Nobody is there to approve it. --yes or --allow ${tool} would allow it.`

/**
 * Who answers: a person here (`prompt`), another process within `wait`, nobody, or a dry run.
 *
 * @since 0.1.0
 * @category models
 */
export type Asked =
  | {
    readonly _tag: "Terminal"
    readonly prompt: Prompt
    /** Says what becomes of a question that is answered elsewhere while it stands there. */
    readonly note: (text: string) => Effect.Effect<void>
  }
  | { readonly _tag: "Queue"; readonly wait: Duration.DurationInput }
  | { readonly _tag: "Nobody" }
  | { readonly _tag: "DryRun"; readonly prompt: Prompt }

const asking = (policy: ApprovalPolicy, asked: Asked): Layer.Layer<Approval.Approval, never, ApprovalStore> => {
  switch (asked._tag) {
    case "Terminal":
      return Approval.layerCallback({
        policy,
        by: "user",
        ask: (request) => Effect.raceFirst(asked.prompt(request), elsewhere(request, asked.note))
      })
    case "DryRun":
      return Approval.layerCallback({ policy, by: "--dry-run", ask: asked.prompt })
    case "Queue":
      return Approval.layerQueue({ policy, wait: asked.wait })
    case "Nobody":
      return Approval.layerCallback({
        policy,
        by: "policy",
        ask: ({ questions }) =>
          Effect.succeed({
            _tag: "Each",
            answers: questions.map((question) => ({
              position: question.ref.position,
              answer: { _tag: "Deny", reason: unattended(question) }
            }))
          })
      })
  }
}

/** How often a question that stands in a terminal looks for answers of another process. */
const lookEvery = "500 millis"

/** Waits for another process to answer all of it. */
const elsewhere = (
  request: Approval.ApprovalRequest,
  note: (text: string) => Effect.Effect<void>
): Effect.Effect<Approval.Decision, never, ApprovalStore> =>
  Effect.flatMap(ApprovalStore, (store) => store.answers({ session: request.session })).pipe(
    Effect.map((stored) => Approval.answeredBy(stored, request.questions)),
    Effect.orElseSucceed(() => undefined),
    Effect.flatMap((matched) =>
      matched === undefined || matched.missing.length > 0
        ? Effect.delay(Effect.suspend(() => elsewhere(request, note)), lookEvery)
        : Effect.as(note("→ answered by another process"), matched.decision)
    )
  )

/**
 * The decisions of a run. With `--yes` only what must be asked every time is asked.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: {
  readonly flags: SessionFlags
  readonly asked: Asked
}): Layer.Layer<Approval.Approval, never, ApprovalStore> => {
  const { asked, flags } = options
  const answered = asking(policy(flags), asked)
  const timed = Option.match(flags.approvalTimeout, {
    onNone: () => answered,
    onSome: (seconds) => Approval.withTimeout(Duration.seconds(seconds))(answered)
  })
  return flags.yes ? yesTo(timed) : timed
}

const yesTo = <R>(layer: Layer.Layer<Approval.Approval, never, R>): Layer.Layer<Approval.Approval, never, R> =>
  Layer.map(layer, (context) => {
    const approval = Context.get(context, Approval.Approval)
    return Context.make(Approval.Approval, {
      ...approval,
      ask: (request) => {
        const must = request.questions.filter(({ mustAsk }) => mustAsk)
        const agreed: Answers = request.questions.filter(({ mustAsk }) => !mustAsk).map(({ ref }) => ({
          position: ref.position,
          answer: { _tag: "Approve" },
          by: "--yes"
        }))
        return must.length === 0
          ? Effect.succeed<Approval.Decision>({ _tag: "Each", answers: agreed })
          : Effect.map(approval.ask({ ...request, questions: must }), (decision) => merged(decision, must, agreed))
      }
    })
  })

type Answers = Extract<Approval.Decision, { readonly _tag: "Each" }>["answers"]

/**
 * One decision out of one over the questions that were asked, and answers to others. `DenyAll` stays what it is: it means the
 * calls that needed no question too.
 *
 * @since 0.1.0
 * @category combinators
 */
export const merged = (
  decision: Approval.Decision,
  questions: ReadonlyArray<Approval.Question>,
  others: Answers
): Approval.Decision => {
  switch (decision._tag) {
    case "ApproveAll":
      return {
        _tag: "Each",
        answers: [...others, ...questions.map(({ ref }) => ({ position: ref.position, answer: approve }))]
      }
    case "Each":
      return { _tag: "Each", answers: [...others, ...decision.answers] }
    case "DenyAll":
    case "Later":
      return decision
  }
}

const approve: Approval.Answer = { _tag: "Approve" }
