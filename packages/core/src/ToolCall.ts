/**
 * A model's request to run a tool, and the identity that everything about it goes by.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * The identity of a call inside its session: user turn, iteration in the turn, position in the response, all from 0.
 * The id that a model wrote is only an attribute; step keys, approvals and results go by this.
 *
 * @since 0.1.0
 * @category models
 */
export const CallRef = Schema.Struct({
  turn: Schema.Number,
  iteration: Schema.Number,
  position: Schema.Number
})

/**
 * The identity of a call inside its session.
 *
 * @since 0.1.0
 * @category models
 */
export type CallRef = typeof CallRef.Type

/**
 * A change that was made to what a model wrote before it was read: `kind` in a word (`trailing-comma`, `rescued`,
 * `name-corrected`), `detail` for people.
 *
 * @since 0.1.0
 * @category models
 */
export const Repair = Schema.Struct({ kind: Schema.String, detail: Schema.String })

/**
 * A change that was made to what a model wrote before it was read.
 *
 * @since 0.1.0
 * @category models
 */
export type Repair = typeof Repair.Type

/**
 * A tool call of a response. `id` is what the model wrote (`""`: it wrote none), `name` the name that it wrote, `raw` the
 * text of its arguments, `arguments` those parsed (after repair), or null with the reason in `malformed`.
 *
 * @since 0.1.0
 * @category models
 */
export const ToolCall = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  raw: Schema.String,
  arguments: Schema.NullOr(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  malformed: Schema.optionalWith(Schema.String, { exact: true }),
  repairs: Schema.Array(Repair)
})

/**
 * A tool call of a response.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolCall = typeof ToolCall.Type

/**
 * The key of a call in the journal, unique in its session: `turn.iteration.position`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const keyOf = (ref: CallRef): string => `${ref.turn}.${ref.iteration}.${ref.position}`

/**
 * Reads arguments strictly: a JSON object, nothing repaired. Providers whose models need more are decorated by
 * `@capstan/dialect`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromJson = (options: { readonly id: string; readonly name: string; readonly raw: string }): ToolCall => {
  const parsed = parseObject(options.raw)
  return typeof parsed === "string"
    ? { ...options, arguments: null, malformed: parsed, repairs: [] }
    : { ...options, arguments: parsed, repairs: [] }
}

const parseObject = (raw: string): Record<string, unknown> | string => {
  try {
    const value: unknown = JSON.parse(raw)
    return isObject(value) ? value : "the arguments are JSON, but not an object"
  } catch (error) {
    return error instanceof Error ? error.message : "the arguments are not JSON"
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
