/**
 * What a turn has left of its budgets, and of the budgets of the turns on whose behalf it runs.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { ActiveTime } from "./ActiveTime.js"
import * as Budget from "./Budget.js"
import { Event } from "./Event.js"
import type { JournalError, LeaseError } from "./Journal.js"
import type { LiveSession } from "./LiveSession.js"
import * as Usage from "./Usage.js"

/**
 * The budgets of a session that runs. What a sub-session spends is written into its `parent`, and so on upwards.
 *
 * @since 0.1.0
 * @category models
 */
export interface Account {
  readonly session: LiveSession
  readonly active: ActiveTime
  readonly budgets: Budget.Budgets
  readonly parent: Account | undefined
  /** Whether this account, or one above, has any budget. */
  readonly limited: boolean
  /** Writes what was spent since the last time into all accounts above. */
  readonly charge: Effect.Effect<void, JournalError | LeaseError>
}

/**
 * A budget that is used up, in words that a model and a user read. `limit` is in the budget's unit (time: milliseconds).
 *
 * @since 0.1.0
 * @category models
 */
export interface Reached {
  readonly budget: string
  readonly limit: number
  readonly message: string
}

/**
 * Opens the account of a session for one run. What it spent before is not charged again.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Omit<Account, "charge" | "limited">): Account => {
  const { budgets, parent, session } = options
  let charged = session.state().spent
  return {
    ...options,
    limited: !isEmpty(budgets.turn) || !isEmpty(budgets.session) || parent?.limited === true,
    charge: parent === undefined ? Effect.void : Effect.suspend(() => {
      const { spent } = session.state()
      if (spent === charged) return parent.charge
      const since = difference(spent, charged)
      charged = spent
      return isNothing(since) ? parent.charge : Effect.zipRight(
        parent.session.append([{ _tag: "ChildSpent", session: session.id, spent: since }]),
        parent.charge
      )
    })
  }
}

/** The time of a sub-session passes for its parent anyway. */
const difference = (now: Budget.Spent, before: Budget.Spent): Budget.Spent => ({
  usage: Usage.subtract(now.usage, before.usage),
  cost: now.cost === null ? (before.cost === null ? 0 : null) : now.cost - (before.cost ?? 0),
  calls: now.calls - before.calls,
  millis: 0
})

const isNothing = ({ calls, cost, usage }: Budget.Spent): boolean =>
  calls === 0 && cost === 0 && usage.input === 0 && usage.output === 0

interface Held {
  readonly account: Account
  /** It is not that of a session above. */
  readonly own: boolean
  readonly scope: "turn" | "session"
  readonly budget: Budget.Budget
  readonly spent: Budget.Spent
}

/** Every budget that this account spends from, with what was spent of it by the records. */
const held = (account: Account | undefined, own = true): ReadonlyArray<Held> => {
  if (account === undefined || !account.limited) return []
  const { open, spent } = account.session.state()
  const { session, turn } = account.budgets
  return [
    ...(isEmpty(turn)
      ? []
      : [{ own, account, scope: "turn" as const, budget: turn, spent: open?.spent ?? Budget.nothing }]),
    ...(isEmpty(session) ? [] : [{ own, account, scope: "session" as const, budget: session, spent }]),
    ...held(account.parent, false)
  ]
}

const isEmpty = ({ calls, cost, time, tokens }: Budget.Budget): boolean =>
  calls === undefined && cost === undefined && time === undefined && tokens === undefined

/**
 * The first budget that is used up; undefined: something is left of each. The number of calls is left out before a request,
 * since a model that has made its last call may still answer in words.
 *
 * @since 0.1.0
 * @category combinators
 */
export const reached = (account: Account, before: "request" | "calls"): Effect.Effect<Reached | undefined> =>
  account.limited ? firstReached(account, before) : Effect.succeed(undefined)

const firstReached = (account: Account, before: "request" | "calls"): Effect.Effect<Reached | undefined> =>
  Effect.gen(function*() {
    for (const { account: holder, budget, own, scope, spent } of held(account)) {
      const { calls: _, ...words } = budget
      const now = budget.time === undefined
        ? spent
        : { ...spent, millis: spent.millis + (yield* holder.active.sinceLap) }
      const part = Budget.usedUp(before === "request" ? words : budget, now)
      if (part !== undefined) return describe(part, { budget, scope, own, session: holder.session.id, spent: now })
    }
    return undefined
  })

const describe = (part: Budget.Part, options: {
  readonly budget: Budget.Budget
  readonly scope: "turn" | "session"
  readonly own: boolean
  readonly session: string
  readonly spent: Budget.Spent
}): Reached => {
  const { budget, own, scope, session, spent } = options
  const whose = own ? `this ${scope}` : `the ${scope} of ${session}, on whose behalf this one runs,`
  const limit = part === "time" ? Duration.toMillis(budget.time ?? 0) : budget[part] ?? 0
  return { budget: `${scope} ${part}`, limit, message: `${sentence(part, whose, budget, spent)}` }
}

const sentence = (part: Budget.Part, whose: string, budget: Budget.Budget, spent: Budget.Spent): string => {
  switch (part) {
    case "tokens":
      return `The tokens of ${whose} are used up: ${spent.usage.input + spent.usage.output} of ${budget.tokens ?? 0}.`
    case "cost":
      return spent.cost === null
        ? `What ${whose} has cost is not known, so its budget of $${budget.cost ?? 0} cannot be kept.`
        : `The money of ${whose} is used up: $${spent.cost.toFixed(4)} of $${budget.cost ?? 0}.`
    case "calls":
      return `The tool calls of ${whose} are used up: ${spent.calls} of ${budget.calls ?? 0}.`
    case "time":
      return `The running time of ${whose} is used up: ${Duration.format(Duration.millis(spent.millis))} of ${
        Duration.format(Duration.decode(budget.time ?? 0))
      }.`
  }
}

/**
 * How many more calls may start, as far as budgets say; and the budget that says so.
 *
 * @since 0.1.0
 * @category combinators
 */
export const callsLeft = (account: Account): { readonly calls: number; readonly reached: () => Reached } | undefined =>
  held(account)
    .flatMap(({ account: holder, budget, own, scope, spent }) =>
      budget.calls === undefined ? [] : [{
        calls: Math.max(0, budget.calls - spent.calls),
        reached: () =>
          describe("calls", {
            budget,
            scope,
            own,
            session: holder.session.id,
            spent: { ...spent, calls: Math.max(spent.calls, budget.calls ?? 0) }
          })
      }]
    )
    .reduce<ReturnType<typeof callsLeft>>(
      (least, one) => least === undefined || one.calls < least.calls ? one : least,
      undefined
    )

/**
 * Running time that is left of all budgets, in milliseconds; infinite if none of them limits it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const timeLeft = (account: Account): Effect.Effect<number> =>
  account.limited ? leastTime(account) : Effect.succeed(Infinity)

const leastTime = (account: Account): Effect.Effect<number> =>
  Effect.gen(function*() {
    let left = Infinity
    for (const { account: holder, budget, spent } of held(account)) {
      if (budget.time === undefined) continue
      const now = spent.millis + (yield* holder.active.sinceLap)
      left = Math.min(left, Math.max(0, Duration.toMillis(budget.time) - now))
    }
    return left
  })

/**
 * Whether a budget is in money, so that a model without known prices must not be used.
 *
 * @since 0.1.0
 * @category combinators
 */
export const limitsCost = (account: Account): boolean => held(account).some(({ budget }) => budget.cost !== undefined)

/**
 * Notes that the turn ends, because a budget is used up.
 *
 * @since 0.1.0
 * @category combinators
 */
export const note = (
  environment: { readonly session: LiveSession; readonly emit: (event: Event) => Effect.Effect<void> },
  { budget, message }: Reached
): Effect.Effect<void> =>
  Effect.zipRight(
    environment.session.note([{ _tag: "BudgetReached", turn: environment.session.state().turns - 1, budget, message }]),
    environment.emit(Event.BudgetReached({ budget, message }))
  )
