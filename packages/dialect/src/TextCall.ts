/**
 * Tool calls as they stand in a model's text.
 *
 * @since 0.1.0
 */
import type * as JsonSchema from "@capstan/core/JsonSchema"
import type * as ToolCall from "@capstan/core/ToolCall"

/**
 * A tool that was offered to the model. With `parameters` (a JSON Schema) texts in XML forms get their types and
 * arguments without a name their names.
 *
 * @since 0.1.0
 * @category models
 */
export interface OfferedTool {
  readonly name: string
  readonly aliases?: ReadonlyArray<string>
  readonly parameters?: JsonSchema.JsonSchema
}

/**
 * A call that stands in text. `name` is what the model wrote, `tool` the registered tool that it means (undefined:
 * none), `raw` the text of its arguments, `arguments` those read from it, or null with the reason in `malformed`. It
 * has no id: its position in the answer is what identifies it.
 *
 * @since 0.1.0
 * @category models
 */
export interface TextCall {
  readonly name: string
  readonly tool: string | undefined
  readonly raw: string
  readonly arguments: Readonly<Record<string, unknown>> | null
  readonly malformed?: string
  readonly repairs: ReadonlyArray<ToolCall.Repair>
}
