/**
 * One thing that is wrong with the arguments of a call, so that a model can mend it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * One thing that is wrong with the arguments of a call: where (`path`, dotted, `""` for the whole), what was expected and
 * received, how to fix it.
 *
 * @since 0.1.0
 * @category models
 */
export const Finding = Schema.Struct({
  path: Schema.String,
  expected: Schema.String,
  received: Schema.String,
  fix: Schema.String
})

/**
 * One thing that is wrong with the arguments of a call.
 *
 * @since 0.1.0
 * @category models
 */
export type Finding = typeof Finding.Type

/**
 * A finding as one line for a model.
 *
 * @since 0.1.0
 * @category combinators
 */
export const toLine = (finding: Finding): string =>
  `- ${
    finding.path === "" ? "arguments" : finding.path
  }: expected ${finding.expected}, received ${finding.received}. ${finding.fix}`
