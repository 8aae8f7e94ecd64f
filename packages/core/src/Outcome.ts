/**
 * How a tool call ended.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ContentPart } from "./Content.js"
import { ToolFailure } from "./ToolFailure.js"

const failed = <Tag extends string>(tag: Tag) => Schema.TaggedStruct(tag, { failure: ToolFailure })

/**
 * How a tool call ended: it ran and `Succeeded`, `Failed`, `TimedOut` or was `Cancelled` while it ran; it never ran because
 * it was `Refused` by a check or `Denied` by a person or policy (`reason`: their words); or it started before a crash and
 * its effect is `Unknown`.
 *
 * @since 0.1.0
 * @category models
 */
export const Outcome = Schema.Union(
  Schema.TaggedStruct("Succeeded", {
    content: Schema.Array(ContentPart),
    structured: Schema.optionalWith(Schema.Unknown, { exact: true })
  }),
  failed("Failed"),
  failed("Refused"),
  Schema.TaggedStruct("Denied", { failure: ToolFailure, reason: Schema.NullOr(Schema.String) }),
  failed("Cancelled"),
  failed("TimedOut"),
  failed("Unknown")
)

/**
 * How a tool call ended.
 *
 * @since 0.1.0
 * @category models
 */
export type Outcome = typeof Outcome.Type
