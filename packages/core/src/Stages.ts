/**
 * The approved calls of a batch, stage after stage, as long as time and budgets last.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Account from "./Account.js"
import * as CallResults from "./CallResults.js"
import type { JournalError, LeaseError } from "./Journal.js"
import * as OutputLimit from "./OutputLimit.js"
import * as ToolExecutor from "./ToolExecutor.js"
import * as ToolFailure from "./ToolFailure.js"
import * as ToolPlan from "./ToolPlan.js"

/**
 * What stages are run with. `capacity`: bytes of results that still fit into the model's context.
 *
 * @since 0.1.0
 * @category models
 */
export interface Environment extends ToolExecutor.Environment {
  readonly capacity: number
}

/**
 * Runs read-only calls that stand next to each other together and every other call alone, in call order. When the time of
 * the batch or a budget is used up the calls that have not run get a result that says so, and the turn ends after them.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run = (
  environment: Environment,
  calls: ReadonlyArray<ToolExecutor.ApprovedCall>
): Effect.Effect<void, JournalError | LeaseError> =>
  Effect.gen(function*() {
    const { account, active, limits } = environment
    const stopsAt = (yield* active.millis) + Duration.toMillis(limits.batchTimeout)
    let outputBytes = Math.min(limits.maxBatchOutputBytes, environment.capacity)
    let done = 0
    let stop: Account.Reached | undefined
    for (const stage of ToolPlan.stages(calls)) {
      yield* account.charge
      stop = yield* Account.reached(account, "calls")
      if (stop !== undefined) break
      const left = Account.callsLeft(account)
      const started = left === undefined ? stage : stage.slice(0, left.calls)
      const millis = Math.min(stopsAt - (yield* active.millis), yield* Account.timeLeft(account))
      yield* ToolExecutor.runStage(environment, started, { outputBytes, millis })
      done += started.length
      outputBytes = Math.max(0, outputBytes - usedBy(environment, started))
      stop = started.length < stage.length ? left?.reached() : undefined
      if (stop === undefined && (yield* active.millis) >= stopsAt) stop = batchTimeOver(limits.batchTimeout)
      if (stop !== undefined) break
    }
    yield* account.charge
    if (stop !== undefined) yield* refuseRest(environment, calls.slice(done), stop)
  })

const batchTimeOver = (timeout: Duration.Duration): Account.Reached => ({
  budget: "batch time",
  limit: Duration.toMillis(timeout),
  message: `The calls of one response may run for ${Duration.format(timeout)} together; that time is over.`
})

const refuseRest = (
  environment: Environment,
  calls: ReadonlyArray<ToolExecutor.ApprovedCall>,
  reached: Account.Reached
): Effect.Effect<void> =>
  Effect.zipRight(
    CallResults.settle(
      environment,
      calls.map(({ ready }) => ({
        ref: ready.ref,
        tool: ready.tool.definition.name,
        outcome: {
          _tag: "Refused",
          failure: ToolFailure.limit(
            reached.budget,
            reached.limit,
            `${reached.message} This call did not run.`,
            "Do not send it again. Say what is done and what is left to do."
          )
        }
      }))
    ),
    Account.note(environment, reached)
  )

const usedBy = ({ session }: Environment, stage: ReadonlyArray<ToolExecutor.ApprovedCall>): number => {
  const calls = session.state().batch?.calls ?? []
  return stage.reduce((sum, { ready }) => {
    const outcome = calls.find(({ ref }) => ref.position === ready.ref.position)?.settled?.outcome
    if (outcome === undefined) return sum
    if (outcome._tag !== "Succeeded") return sum + OutputLimit.byteLength(outcome.failure.message)
    return outcome.content.reduce(
      (bytes, part) => bytes + (part.type === "text" ? OutputLimit.byteLength(part.text) : 0),
      sum
    )
  }, 0)
}
