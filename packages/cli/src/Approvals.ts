/**
 * Who decides what may run: the rules of the flags first, then a person, or nobody.
 *
 * @since 0.1.0
 */
import * as Approval from "@capstan/core/Approval"
import type { ApprovalPolicy } from "@capstan/core/ApprovalPolicy"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
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

const approve: Approval.Answer = { _tag: "Approve" }

const denied = (question: Approval.Question): Approval.Answer => ({ _tag: "Deny", reason: unattended(question) })

/**
 * The decisions of a run. `prompt` asks a person (undefined: nobody is there); with `--yes` only what must be asked every
 * time reaches it.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: {
  readonly flags: SessionFlags
  readonly prompt: Prompt | undefined
}): Layer.Layer<Approval.Approval> => {
  const { flags, prompt } = options
  const askPerson = (request: Approval.ApprovalRequest) =>
    prompt === undefined
      ? Effect.succeed<Approval.Decision>({
        _tag: "Each",
        answers: request.questions.map((question) => ({ position: question.ref.position, answer: denied(question) }))
      })
      : prompt(request)
  return Approval.layerCallback({
    policy: policy(flags),
    by: flags.yes ? "--yes" : prompt === undefined ? "policy" : "user",
    ask: (request) => {
      if (!flags.yes) return askPerson(request)
      const must = request.questions.filter(({ mustAsk }) => mustAsk)
      if (must.length === 0) return Effect.succeed<Approval.Decision>({ _tag: "ApproveAll" })
      const approved = request.questions.filter(({ mustAsk }) => !mustAsk)
        .map(({ ref }) => ({ position: ref.position, answer: approve }))
      return Effect.map(askPerson({ ...request, questions: must }), (decision) => merged(decision, must, approved))
    }
  })
}

/** `DenyAll` stays what it is: it means the calls that needed no question too. */
const merged = (
  decision: Approval.Decision,
  must: ReadonlyArray<Approval.Question>,
  approved: ReadonlyArray<{ readonly position: number; readonly answer: Approval.Answer }>
): Approval.Decision => {
  switch (decision._tag) {
    case "ApproveAll":
      return {
        _tag: "Each",
        answers: [...approved, ...must.map(({ ref }) => ({ position: ref.position, answer: approve }))]
      }
    case "Each":
      return { _tag: "Each", answers: [...approved, ...decision.answers] }
    case "DenyAll":
    case "Later":
      return decision
  }
}
