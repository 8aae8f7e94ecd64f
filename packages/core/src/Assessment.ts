/**
 * What a tool says of one particular call before it runs: how risky it is, and whether somebody must be asked.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * `low` reads, `medium` edits files, `high` runs commands or deletes.
 *
 * @since 0.1.0
 * @category models
 */
export const Risk = Schema.Literal("low", "medium", "high")

/**
 * `low` reads, `medium` edits files, `high` runs commands or deletes.
 *
 * @since 0.1.0
 * @category models
 */
export type Risk = typeof Risk.Type

/**
 * What a tool says of one call. `approval`: `always` asks in every mode whatever the lists say, `unless-allowed` asks in
 * every mode unless an allow entry covers the call, `by-policy` leaves it to mode and lists, `never` is for calls that only
 * read. `warnings` are shown to whoever is asked.
 *
 * @since 0.1.0
 * @category models
 */
export interface Assessment {
  readonly risk: Risk
  readonly approval: "always" | "unless-allowed" | "by-policy" | "never"
  readonly warnings: ReadonlyArray<string>
}
