/**
 * What a turn that ended `awaiting` is given so that it goes on: answers to its questions, or results of its calls.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Approval from "./Approval.js"
import * as Batch from "./Batch.js"
import * as CallResults from "./CallResults.js"
import * as Content from "./Content.js"
import type { JournalError, LeaseError } from "./Journal.js"
import type { Outcome } from "./Outcome.js"
import * as Planning from "./Planning.js"
import { ConfigurationError } from "./RunError.js"
import type * as SessionState from "./SessionState.js"
import { keyOf } from "./ToolCall.js"
import * as ToolFailure from "./ToolFailure.js"

/**
 * A result for one call of a batch, by its position.
 *
 * @since 0.1.0
 * @category models
 */
export interface GivenResult {
  readonly position: number
  readonly content: string | ReadonlyArray<Content.ContentPart>
  readonly isError?: boolean
}

/**
 * What is given: a decision over the questions, or a result for each call. With neither, the answers that other processes
 * put into the `ApprovalStore` are taken; each question needs one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Given {
  readonly answers?: Exclude<Approval.Decision, { readonly _tag: "Later" }>
  readonly results?: ReadonlyArray<GivenResult>
}

/**
 * Whether a session waits for answers or results and nothing of its batch has begun. One that a crash cut off while its
 * questions were asked, or before what was answered had begun, waits for answers, too.
 *
 * @since 0.1.0
 * @category guards
 */
export const isAwaited = ({ batch, end }: SessionState.SessionState): boolean =>
  batch !== null && batch.responded &&
  (end === "awaiting" ||
    (batch.questions.length > 0 && batch.calls.every(({ settled, started }) => settled === null && !started)))

/**
 * Gives the batch what it waits for. Whatever is missing is named by the error, and the session waits on. A decision that
 * stands in the journal already, and that a crash kept from being carried out, counts and no other.
 *
 * @since 0.1.0
 * @category combinators
 */
export const accept = (
  environment: Batch.Environment,
  given: Given
): Effect.Effect<void, ConfigurationError | JournalError | LeaseError> =>
  Effect.gen(function*() {
    const { session } = environment
    const state = session.state()
    const { batch } = state
    if (batch === null || !isAwaited(state)) {
      return yield* new ConfigurationError({ message: `Session ${session.id} waits for nothing.` })
    }
    const received = { ...batch, circumstances: { ...Planning.ordinary, lastCutOff: batch.lastCutOff } }
    const { decision: journaled, questions } = batch
    if (journaled !== null) {
      return yield* Batch.answer(environment, received, { questions, decision: journaled, journaled: true })
    }
    if (given.results !== undefined || questions.length === 0) {
      return yield* CallResults.settle(environment, yield* resultsOf(environment, batch, given.results ?? []))
    }
    const decision = given.answers ?? (yield* storedAnswers(environment, questions))
    return yield* Batch.answer(environment, received, { questions, decision, journaled: false })
  })

const storedAnswers = (
  { approvals, session }: Batch.Environment,
  questions: ReadonlyArray<Approval.Question>
): Effect.Effect<Approval.Decision, ConfigurationError | JournalError> =>
  Effect.flatMap(approvals.answers({ session: session.id }), (stored) => {
    const { decision, missing } = Approval.answeredBy(stored, questions)
    if (missing.length === 0) return Effect.succeed(decision)
    const answered = new Set(stored.map(({ ref }) => keyOf(ref)))
    const named = missing.map(({ ref, tool }) =>
      `${tool} (${ref.position})${answered.has(keyOf(ref)) ? ", answered for other arguments" : ""}`
    )
    return new ConfigurationError({
      message: `Session ${session.id} waits for an answer to each question; missing: ${named.join("; ")}.`
    })
  })

const resultsOf = (
  { redactor, session }: Batch.Environment,
  { calls }: SessionState.Batch,
  results: ReadonlyArray<GivenResult>
): Effect.Effect<ReadonlyArray<CallResults.Settled>, ConfigurationError> => {
  const given = calls.filter(({ settled }) => settled === null).map(({ call, ref }) => ({
    ref,
    tool: call.name,
    result: results.find(({ position }) => position === ref.position)
  }))
  const missing = given.filter(({ result }) => result === undefined)
  if (missing.length > 0) {
    return new ConfigurationError({
      message: `Session ${session.id} waits for a result of each call; missing: ${
        missing.map(({ ref, tool }) => `${tool} (${ref.position})`).join("; ")
      }.`
    })
  }
  return Effect.succeed(
    given.flatMap(({ ref, result, tool }) =>
      result === undefined ? [] : [{ ref, tool, outcome: outcomeOf(result, redactor.redact) }]
    )
  )
}

const outcomeOf = (result: GivenResult, redact: (text: string) => string): Outcome => {
  const content = Content.mapText(
    typeof result.content === "string" ? [Content.text(result.content)] : result.content,
    redact
  )
  return result.isError === true
    ? { _tag: "Failed", failure: ToolFailure.execution(Content.toText(content)) }
    : { _tag: "Succeeded", content }
}
