/**
 * What the loop adds to a result for the model: that it goes in circles, and what to do about a failure.
 *
 * @since 0.1.0
 */
import type { Values as LimitValues } from "./Limits.js"
import type { Outcome } from "./Outcome.js"
import * as RetryAdvice from "./RetryAdvice.js"
import type { SessionState } from "./SessionState.js"
import * as Streak from "./Streak.js"
import type { CallRef } from "./ToolCall.js"

/**
 * The note for a call of the current batch that ended so; null: nothing is to be said. `polls`: repeating is what it is for.
 *
 * @since 0.1.0
 * @category combinators
 */
export const of = (
  { batch, open }: SessionState,
  limits: LimitValues,
  ended: { readonly ref: CallRef; readonly tool: string; readonly outcome: Outcome; readonly polls: boolean }
): string | null => {
  const call = batch?.calls.find(({ ref }) => ref.position === ended.ref.position)?.call
  if (open === null || call === undefined) return null
  const { outcome, polls, tool } = ended
  const count = polls ? 0 : Streak.next(open.streak, call, outcome).count
  return join(
    count >= limits.repeatsBeforeWarning
      ? `This is the same call with the same result, ${count} times in a row. The result will not change: take the next step, or answer.`
      : null,
    outcome._tag === "Succeeded" ? null : RetryAdvice.noteOf(open.attempts, tool, outcome.failure)
  )
}

/**
 * Notes as one; null: there is none.
 *
 * @since 0.1.0
 * @category combinators
 */
export const join = (...notes: ReadonlyArray<string | null | undefined>): string | null => {
  const said = notes.filter((note) => note !== null && note !== undefined)
  return said.length === 0 ? null : said.join("\n")
}
