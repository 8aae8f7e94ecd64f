/**
 * The conversation as every provider package gets it: provider-neutral, already valid (each call has its result directly
 * after it, ids are legal and unique).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ContentPart, TextPart } from "./Content.js"

/**
 * A model's reasoning, kept byte for byte. It goes back only to the provider that made it: `provider` is that provider's
 * id, `data` what it needs to see again, as JSON text (signature, encrypted content); `text` is for eyes.
 *
 * @since 0.1.0
 * @category models
 */
export const ReasoningPart = Schema.Struct({
  type: Schema.Literal("reasoning"),
  provider: Schema.String,
  text: Schema.String,
  data: Schema.String
})

/**
 * A model's reasoning, kept byte for byte.
 *
 * @since 0.1.0
 * @category models
 */
export type ReasoningPart = typeof ReasoningPart.Type

/**
 * A tool call in history. `id` is the unique wire id (`^[a-zA-Z0-9_-]{1,40}$`), `name` what the model wrote, `arguments`
 * the JSON text of an object (the model's own bytes where they are one, else what was read from them).
 *
 * @since 0.1.0
 * @category models
 */
export const ToolCallPart = Schema.Struct({
  type: Schema.Literal("tool-call"),
  id: Schema.String,
  name: Schema.String,
  arguments: Schema.String
})

/**
 * A tool call in history.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolCallPart = typeof ToolCallPart.Type

/**
 * The result of a call, under the wire id of its call.
 *
 * @since 0.1.0
 * @category models
 */
export const ToolResultPart = Schema.Struct({
  type: Schema.Literal("tool-result"),
  id: Schema.String,
  name: Schema.String,
  content: Schema.Array(ContentPart),
  isError: Schema.Boolean
})

/**
 * The result of a call.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolResultPart = typeof ToolResultPart.Type

/**
 * What an assistant message holds, in the order in which the model wrote it.
 *
 * @since 0.1.0
 * @category models
 */
export const AssistantPart = Schema.Union(TextPart, ReasoningPart, ToolCallPart)

/**
 * What an assistant message holds.
 *
 * @since 0.1.0
 * @category models
 */
export type AssistantPart = typeof AssistantPart.Type

/**
 * A message of the conversation.
 *
 * @since 0.1.0
 * @category models
 */
export const Message = Schema.Union(
  Schema.Struct({ role: Schema.Literal("user"), content: Schema.Array(ContentPart) }),
  Schema.Struct({ role: Schema.Literal("assistant"), content: Schema.Array(AssistantPart) }),
  Schema.Struct({ role: Schema.Literal("tool"), results: Schema.Array(ToolResultPart) })
)

/**
 * A message of the conversation.
 *
 * @since 0.1.0
 * @category models
 */
export type Message = typeof Message.Type
