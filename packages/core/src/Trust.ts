/**
 * How much a run may do, in steps that include the ones before.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * How much a run may do: look around, read, change the workspace, run commands, everything.
 *
 * @since 0.1.0
 * @category models
 */
export const Trust = Schema.Literal("discovery", "read_only", "workspace", "shell", "full")

/**
 * How much a run may do.
 *
 * @since 0.1.0
 * @category models
 */
export type Trust = typeof Trust.Type

/**
 * Whether `level` is enough for something that needs `needed`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const covers = (level: Trust, needed: Trust): boolean =>
  Trust.literals.indexOf(level) >= Trust.literals.indexOf(needed)
