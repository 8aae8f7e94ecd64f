/**
 * What a turn or a session may spend before it is ended in words, and what it has spent.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as Usage from "./Usage.js"

/**
 * The most that may be spent; what is left out has no limit. `tokens` counts input and output of all responses, `cost` is in
 * US dollars (a model without known prices then refuses to start), `calls` counts handlers that were started, `time` is
 * running time: waiting for a person or for a slow consumer does not count.
 *
 * @since 0.1.0
 * @category models
 */
export interface Budget {
  readonly tokens?: number
  readonly cost?: number
  readonly calls?: number
  readonly time?: Duration.Duration
}

/**
 * Budgets of each turn and of the whole session. Sub-sessions spend from those of their parents, too.
 *
 * @since 0.1.0
 * @category models
 */
export interface Budgets {
  readonly turn: Budget
  readonly session: Budget
}

/**
 * No limits.
 *
 * @since 0.1.0
 * @category constructors
 */
export const unlimited: Budgets = { turn: {}, session: {} }

/**
 * What was spent. `cost` in US dollars (null: a price is unknown), `millis` of running time.
 *
 * @since 0.1.0
 * @category models
 */
export const Spent = Schema.Struct({
  usage: Usage.Usage,
  cost: Schema.NullOr(Schema.Number),
  calls: Schema.Number,
  millis: Schema.Number
})

/**
 * What was spent.
 *
 * @since 0.1.0
 * @category models
 */
export type Spent = typeof Spent.Type

/**
 * Nothing spent.
 *
 * @since 0.1.0
 * @category constructors
 */
export const nothing: Spent = { usage: Usage.zero, cost: 0, calls: 0, millis: 0 }

/**
 * The sum of two; an unknown cost stays unknown.
 *
 * @since 0.1.0
 * @category combinators
 */
export const add = (a: Spent, b: Spent): Spent => ({
  usage: Usage.add(a.usage, b.usage),
  cost: a.cost === null || b.cost === null ? null : a.cost + b.cost,
  calls: a.calls + b.calls,
  millis: a.millis + b.millis
})

/**
 * Which part of a budget is used up.
 *
 * @since 0.1.0
 * @category models
 */
export type Part = keyof Budget

/**
 * The first part of a budget that is used up; undefined: something is left of each.
 *
 * @since 0.1.0
 * @category combinators
 */
export const usedUp = (budget: Budget, spent: Spent): Part | undefined => {
  const over = (limit: number | undefined, used: number | null) =>
    limit !== undefined && (used === null || used >= limit)
  if (over(budget.tokens, spent.usage.input + spent.usage.output)) return "tokens"
  if (over(budget.cost, spent.cost)) return "cost"
  if (over(budget.calls, spent.calls)) return "calls"
  if (over(budget.time === undefined ? undefined : Duration.toMillis(budget.time), spent.millis)) return "time"
  return undefined
}
