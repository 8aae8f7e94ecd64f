/** Parameters of tools as the Messages API takes them. */
import type Sdk from "@anthropic-ai/sdk"
import type { JsonSchema } from "@capstan/core/JsonSchema"
import * as ToolSchema from "@capstan/dialect/ToolSchema"

export const toInputSchema = (parameters: JsonSchema): Sdk.Messages.Tool.InputSchema => ({
  ...ToolSchema.anthropic(parameters),
  type: "object"
})
