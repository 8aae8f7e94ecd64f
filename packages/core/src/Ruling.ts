/**
 * What a decision makes of each planned call: it runs, with the arguments of the model or those of a person, or it gets the
 * result of a call that did not run.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Answer, Decision } from "./Approval.js"
import * as ArgumentEdit from "./ArgumentEdit.js"
import * as CallQuestion from "./CallQuestion.js"
import type { Settled } from "./CallResults.js"
import type { JournalError } from "./Journal.js"
import * as Planning from "./Planning.js"
import { type Redactor, redactRecord } from "./Redaction.js"
import type { ApprovedCall } from "./ToolExecutor.js"
import * as ToolFailure from "./ToolFailure.js"
import type * as ToolPlan from "./ToolPlan.js"

/**
 * Applies a decision to a call. A denial holds for a call that needed no question, too; edited arguments are planned again.
 *
 * @since 0.1.0
 * @category combinators
 */
export const apply = (
  environment: Planning.Environment,
  call: ToolPlan.PlannedCall,
  decision: Decision
): Effect.Effect<ApprovedCall | Settled, JournalError> => {
  if (call._tag === "Refused") return Effect.succeed(refused(call))
  if (decision._tag === "DenyAll") return Effect.succeed(denied(environment, call, decision.reason))
  const asWritten: ApprovedCall = {
    ready: call.ready,
    edited: null,
    changes: null,
    preview: CallQuestion.previewOf(environment.redactor, call.facts)
  }
  const answer = answerTo(call, decision)
  switch (answer?._tag) {
    case undefined:
      return Effect.succeed(
        call._tag === "Run" || decision._tag === "ApproveAll" ? asWritten : denied(environment, call, null)
      )
    case "Approve":
    case "Always":
      return Effect.succeed(asWritten)
    case "Deny":
      return Effect.succeed(denied(environment, call, answer.reason))
    case "Edit":
      return edited(environment, call, answer.arguments)
  }
}

/** Where several answers name the same call a denial among them holds, else the first. */
const answerTo = ({ ref }: Admitted, decision: Decision): Answer | undefined => {
  if (decision._tag !== "Each") return undefined
  const given = decision.answers.filter(({ position }) => position === ref.position).map(({ answer }) => answer)
  return given.find(({ _tag }) => _tag === "Deny") ?? given[0]
}

type Admitted = Exclude<ToolPlan.PlannedCall, { readonly _tag: "Refused" }>

const edited = (environment: Planning.Environment, call: Admitted, args: Readonly<Record<string, unknown>>) =>
  Effect.map(
    Planning.plan(environment, {
      calls: [{
        ref: call.ref,
        call: {
          id: "",
          name: call.ready.tool.definition.name,
          raw: JSON.stringify(args),
          arguments: args,
          repairs: []
        }
      }],
      circumstances: Planning.ordinary
    }),
    ([again]): ApprovedCall | Settled => {
      const { redactor } = environment
      const shown = redactRecord(redactor, args)
      const changes = redactor.redact(
        ArgumentEdit.describe(redactRecord(redactor, call.ready.arguments), shown)
      )
      if (again === undefined) return { ...denied(environment, call, null), note: changes }
      if (again._tag === "Refused") return { ...refused(again), note: changes }
      // Whoever edited a harmless call into one that must always be asked about has not seen that question.
      if (again._tag === "Ask" && again.mustAsk && !(call._tag === "Ask" && call.mustAsk)) {
        return { ...refused({ ...again, tool: again.ready.tool.definition.name, failure: mustBeAsked }), note: changes }
      }
      return { ready: again.ready, edited: args, changes, preview: CallQuestion.previewOf(redactor, again.facts) }
    }
  )

const mustBeAsked = ToolFailure.permission({
  kind: "denied",
  message: "What the user put in place of these arguments must be asked about by itself, so it did not run.",
  suggestedFix: "Send a call with the changed arguments if that is what is wanted."
})

const refused = ({ failure, ref, tool }: Pick<ToolPlan.Refused, "failure" | "ref" | "tool">): Settled => ({
  ref,
  tool,
  outcome: { _tag: "Refused", failure }
})

const denied = ({ redactor }: Planning.Environment, { ready, ref }: Admitted, given: string | null): Settled => {
  const reason = redactedReason(redactor, given)
  return {
    ref,
    tool: ready.tool.definition.name,
    outcome: {
      _tag: "Denied",
      reason,
      failure: ToolFailure.permission({
        kind: "denied",
        message: reason === null ? "The user denied this call." : `The user denied this call: ${reason}`,
        suggestedFix: "Do not send it again. Go on without it, or ask what is wanted instead."
      })
    }
  }
}

/**
 * The decision as it may stand in history: without secrets.
 *
 * @since 0.1.0
 * @category combinators
 */
export const recorded = (redactor: Redactor, decision: Decision): Decision => {
  switch (decision._tag) {
    case "ApproveAll":
    case "Later":
      return decision
    case "DenyAll":
      return { ...decision, reason: redactedReason(redactor, decision.reason) }
    case "Each":
      return {
        ...decision,
        answers: decision.answers.map((given) => ({ ...given, answer: recordedAnswer(redactor, given.answer) }))
      }
  }
}

const redactedReason = (redactor: Redactor, reason: string | null): string | null =>
  reason === null ? null : redactor.redact(reason)

const recordedAnswer = (redactor: Redactor, answer: Answer): Answer => {
  switch (answer._tag) {
    case "Approve":
      return answer
    case "Always":
      return { ...answer, entry: redactor.redact(answer.entry) }
    case "Edit":
      return { ...answer, arguments: redactRecord(redactor, answer.arguments) }
    case "Deny":
      return { ...answer, reason: redactedReason(redactor, answer.reason) }
  }
}
