/**
 * Going on with a turn that waits: for answers of somebody who approves, or for results of calls that are run elsewhere.
 *
 * @since 0.1.0
 */
import * as Approval from "@capstan/core/Approval"
import type { ApprovalStore } from "@capstan/core/ApprovalStore"
import { Event } from "@capstan/core/Event"
import type { Journal } from "@capstan/core/Journal"
import type { RunError } from "@capstan/core/RunError"
import type * as ToolLoop from "@capstan/core/ToolLoop"
import type { TurnResult } from "@capstan/core/TurnResult"
import * as Effect from "effect/Effect"
import * as Approvals from "./Approvals.js"
import * as CommandError from "./CommandError.js"
import { plural } from "./internal/callLines.js"
import * as Pending from "./Pending.js"
import type { Renderer } from "./Renderer.js"
import type * as Session from "./Session.js"
import type { Signals } from "./Signals.js"
import * as Turns from "./Turns.js"

/**
 * A result that a person gives to a call: its position, or the id that the model wrote.
 *
 * @since 0.1.0
 * @category models
 */
export interface Given {
  readonly call: string
  readonly text: string
}

/**
 * Goes on with what the session waits for: with stored answers, with those of whoever is asked now, or with the results that
 * are given. What is still missing is an error with exit code 3 that says how to give it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const goOn = (options: {
  readonly session: string
  readonly workspace: string
  readonly ask: Session.Session["ask"]
  readonly yes: boolean
  readonly results: ReadonlyArray<Given>
  readonly renderer: Renderer
  /** What to do about calls that have no result. */
  readonly hint?: typeof howToSupply
}): Effect.Effect<
  TurnResult,
  CommandError.CommandError | RunError,
  Approval.Approval | ApprovalStore | Journal | Signals | ToolLoop.ToolLoop
> =>
  Effect.gen(function*() {
    const { renderer, results, session, workspace } = options
    const pending = yield* Pending.of(session)
    if (pending === undefined) return yield* CommandError.usage(`Session ${session} waits for nothing.`)
    const begun = Effect.gen(function*() {
      yield* Effect.forEach(pending.calls, ({ call, ref }) => renderer.show(Event.CallReceived({ ref, call })))
      if (pending.questions.length > 0) yield* renderer.show(Event.ApprovalAsked({ questions: pending.questions }))
    })
    if (pending.questions.length === 0) {
      const supplied = yield* resultsOf(options, pending.calls)
      yield* begun
      return yield* Turns.supply({ session, workspace, results: supplied }, renderer)
    }
    if (results.length > 0) {
      return yield* CommandError.usage(
        `Session ${session} waits for approvals, not for results. See "capstan approvals".`
      )
    }
    const stored = yield* Pending.answers(session, pending.questions)
    const { decision, missing } = Approval.answeredBy(stored, pending.questions)
    const left = pending.isDecided ? [] : missing
    yield* answerable(options, left)
    yield* begun
    if (pending.isDecided) return yield* Turns.supply({ session, workspace }, renderer)
    const decided = left.length === 0
      ? decision
      : Approvals.merged(yield* askedNow(session, left), left, decision.answers)
    if (decided._tag === "Later") return yield* unanswered(session, missing)
    return yield* Turns.supply({ session, workspace, answers: decided }, renderer)
  })

/** Where nobody can be asked now, the session waits on. */
const answerable = ({ ask, session, yes }: Parameters<typeof goOn>[0], questions: ReadonlyArray<Approval.Question>) => {
  const left = yes ? questions.filter(({ mustAsk }) => mustAsk) : questions
  return ask === "nobody" && left.length > 0 ? unanswered(session, left) : Effect.void
}

const askedNow = (session: string, questions: ReadonlyArray<Approval.Question>) =>
  Effect.flatMap(
    Approval.Approval,
    (approval) => Effect.orElse(approval.ask({ session, questions }), () => unanswered(session, questions))
  )

const unanswered = (session: string, questions: ReadonlyArray<Approval.Question>) =>
  new CommandError.CommandError({ code: 3, tag: "awaiting", message: howToAnswer(session, questions.length) })

/**
 * What to do about a turn that waits for approvals.
 *
 * @since 0.1.0
 * @category combinators
 */
export const howToAnswer = (session: string, questions: number): string =>
  `Session ${session} waits for ${plural(questions, "approval")}. `
  + `See "capstan approvals", answer with "capstan approvals approve ${session}" or "capstan approvals deny ${session}", `
  + `then "capstan resume ${session}".`

/**
 * What to do about a turn that waits for results; `missing` are the positions that have none yet.
 *
 * @since 0.1.0
 * @category combinators
 */
export const howToSupply = (
  session: string,
  positions: ReadonlyArray<number>,
  missing: ReadonlyArray<number> = positions
): string =>
  `Session ${session} waits for ${plural(positions.length, "result")}${
    missing.length < positions.length ? `, all at once; missing: ${missing.join(", ")}` : ""
  }. Go on with: capstan resume ${session} ${positions.map((position) => `--result ${position}=TEXT`).join(" ")}`

type Calls = Pending.Pending["calls"]

/**
 * The call that is meant: by its position, or by the id that the model wrote, where only one has it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const callOf = (calls: Calls, written: string): Calls[number] | undefined => {
  const byId = calls.filter(({ call }) => call.id === written)
  return calls.find(({ ref }) => String(ref.position) === written) ?? (byId.length === 1 ? byId[0] : undefined)
}

const resultsOf = ({ hint = howToSupply, results, session }: Parameters<typeof goOn>[0], calls: Calls) =>
  Effect.gen(function*() {
    const positions = calls.map(({ ref }) => ref.position)
    const given = new Map<number, string>()
    for (const { call, text } of results) {
      const found = callOf(calls, call)
      if (found === undefined) {
        return yield* CommandError.usage(
          `Session ${session} has no open call "${call}". Its open calls: ${
            calls.map(({ call, ref }) => `${ref.position} (${call.name})`).join(", ")
          }.`
        )
      }
      given.set(found.ref.position, text)
    }
    const missing = positions.filter((position) => !given.has(position))
    return missing.length === 0
      ? [...given].map(([position, content]) => ({ position, content }))
      : yield* new CommandError.CommandError({ code: 3, tag: "awaiting", message: hint(session, positions, missing) })
  })
