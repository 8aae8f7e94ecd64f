/**
 * Tokens and money.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Tokens of one response, or of several added up. `cacheRead` and `cacheWrite` are parts of `input`.
 *
 * @since 0.1.0
 * @category models
 */
export const Usage = Schema.Struct({
  input: Schema.Number,
  output: Schema.Number,
  cacheRead: Schema.Number,
  cacheWrite: Schema.Number,
  reasoning: Schema.Number
})

/**
 * Tokens of one response, or of several added up.
 *
 * @since 0.1.0
 * @category models
 */
export type Usage = typeof Usage.Type

/**
 * US dollars per million tokens, and where the figures come from.
 *
 * @since 0.1.0
 * @category models
 */
export const Prices = Schema.Struct({
  input: Schema.Number,
  output: Schema.Number,
  cacheRead: Schema.NullOr(Schema.Number),
  cacheWrite: Schema.NullOr(Schema.Number),
  source: Schema.String
})

/**
 * US dollars per million tokens, and where the figures come from.
 *
 * @since 0.1.0
 * @category models
 */
export type Prices = typeof Prices.Type

/**
 * No tokens.
 *
 * @since 0.1.0
 * @category constructors
 */
export const zero: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 }

/**
 * The sum of two.
 *
 * @since 0.1.0
 * @category combinators
 */
export const add = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  output: a.output + b.output,
  cacheRead: a.cacheRead + b.cacheRead,
  cacheWrite: a.cacheWrite + b.cacheWrite,
  reasoning: a.reasoning + b.reasoning
})

/**
 * What the first has more than the second.
 *
 * @since 0.1.0
 * @category combinators
 */
export const subtract = (a: Usage, b: Usage): Usage => ({
  input: a.input - b.input,
  output: a.output - b.output,
  cacheRead: a.cacheRead - b.cacheRead,
  cacheWrite: a.cacheWrite - b.cacheWrite,
  reasoning: a.reasoning - b.reasoning
})

/**
 * What the tokens cost in US dollars; null where the price is unknown. A cache price that is missing counts as input.
 *
 * @since 0.1.0
 * @category combinators
 */
export const cost = (usage: Usage, prices: Prices | null): number | null =>
  prices === null
    ? null
    : ((usage.input - usage.cacheRead - usage.cacheWrite) * prices.input +
      usage.cacheRead * (prices.cacheRead ?? prices.input) +
      usage.cacheWrite * (prices.cacheWrite ?? prices.input) +
      usage.output * prices.output) / 1_000_000
