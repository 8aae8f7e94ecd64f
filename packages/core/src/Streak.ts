/**
 * The same call with the same result, again and again.
 *
 * @since 0.1.0
 */
import * as Content from "./Content.js"
import { contentOf } from "./Conversation.js"
import type { Outcome } from "./Outcome.js"
import type { ToolCall } from "./ToolCall.js"

/**
 * How often the same call with the same result came last in a row.
 *
 * @since 0.1.0
 * @category models
 */
export interface Streak {
  readonly signature: string
  readonly count: number
}

/**
 * No call yet.
 *
 * @since 0.1.0
 * @category constructors
 */
export const none: Streak = { signature: "", count: 0 }

/**
 * The streak after one more call. One that was not run again because it had failed too often counts as failing again.
 *
 * @since 0.1.0
 * @category combinators
 */
export const next = (streak: Streak, call: ToolCall, outcome: Outcome): Streak => {
  const signature = signatureOf(call, outcome)
  return { signature, count: streak.signature === signature ? streak.count + 1 : 1 }
}

const signatureOf = (call: ToolCall, outcome: Outcome): string =>
  `${call.name} ${call.arguments === null ? call.raw : JSON.stringify(call.arguments)} ${
    JSON.stringify(saidOf(outcome))
  }`

const saidOf = (outcome: Outcome): ReadonlyArray<Content.ContentPart> =>
  outcome._tag !== "Succeeded" && outcome.failure._tag === "Repeated"
    ? [Content.text(outcome.failure.details.original)]
    : contentOf(outcome)
