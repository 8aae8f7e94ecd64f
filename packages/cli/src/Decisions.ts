/**
 * Decisions about calls, in words for listings.
 *
 * @since 0.1.0
 */
import type { Answer, Decision } from "@capstan/core/Approval"

/**
 * An answer to one question.
 *
 * @since 0.1.0
 * @category combinators
 */
export const answerText = (answer: Answer): string => {
  switch (answer._tag) {
    case "Approve":
      return "approved"
    case "Always":
      return `approved always (${answer.scope}): ${answer.entry}`
    case "Edit":
      return `approved with other arguments: ${JSON.stringify(answer.arguments)}`
    case "Deny":
      return `denied${answer.reason === null ? "" : `: ${answer.reason}`}`
  }
}

/**
 * A decision over a batch.
 *
 * @since 0.1.0
 * @category combinators
 */
export const toText = (decision: Decision): string => {
  switch (decision._tag) {
    case "ApproveAll":
      return "approved"
    case "DenyAll":
      return answerText({ _tag: "Deny", reason: decision.reason })
    case "Each":
      return decision.answers.map(({ answer, by, position }) =>
        `call ${position} ${answerText(answer)}${by === undefined ? "" : ` (${by})`}`
      ).join(", ")
    case "Later":
      return "later"
  }
}
