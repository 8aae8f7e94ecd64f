/** Parameters of tools as OpenAI's wires take them, and their arguments on the way back. */
import type { JsonSchema } from "@capstan/core/JsonSchema"
import type { ToolDefinition } from "@capstan/core/ModelProvider"
import type { ToolCall } from "@capstan/core/ToolCall"

export interface WireTools {
  readonly parameters: (tool: ToolDefinition) => {
    readonly description: string
    readonly parameters: { [key: string]: unknown }
    readonly strict: boolean
  }
  readonly read: (call: ToolCall) => ToolCall
}

/** Schemas as they are, nothing to take back. */
export const loose: WireTools = {
  parameters: (tool) => ({ description: tool.description, parameters: toObject(tool.parameters), strict: false }),
  read: (call) => call
}

const toObject = (parameters: JsonSchema): { [key: string]: unknown } => ({
  properties: {},
  ...parameters,
  type: "object"
})
