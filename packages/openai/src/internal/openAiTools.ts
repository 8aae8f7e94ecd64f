/** Parameters of tools as OpenAI's wires take them, and their arguments on the way back. */
import type { JsonSchema } from "@capstan/core/JsonSchema"
import type { ToolDefinition } from "@capstan/core/ModelProvider"
import type { ToolCall } from "@capstan/core/ToolCall"
import * as ToolSchema from "@capstan/dialect/ToolSchema"

export interface WireTools {
  readonly parameters: (tool: ToolDefinition) => {
    readonly description: string
    readonly parameters: { [key: string]: unknown }
    readonly strict: boolean
  }
  /** The arguments of a call as the tool's own schema means them. */
  readonly read: (call: ToolCall) => ToolCall
  /** The tools that could not be made strict, and why. */
  readonly loosened: ReadonlyArray<{ readonly tool: string; readonly reason: string }>
}

/** Nothing is enforced, so nothing has to be taken back. */
export const loose: WireTools = {
  parameters: (tool) => ({
    description: tool.description,
    parameters: toObject(ToolSchema.compatible(tool.parameters)),
    strict: false
  }),
  read: (call) => call,
  loosened: []
}

/** Enforced where the schema allows it: then parameters that were left out come as nulls, which are taken out again. */
export const strict = (tools: ReadonlyArray<ToolDefinition>): WireTools => {
  const wire = new Map(tools.map((tool) => [tool.name, ToolSchema.openAiStrict(tool.parameters)]))
  const strictTools = new Map(
    tools.flatMap((tool) => wire.get(tool.name)?.strict === true ? [[tool.name, tool.parameters] as const] : [])
  )
  return {
    parameters: (tool) => {
      const schema = wire.get(tool.name) ?? ToolSchema.openAiStrict(tool.parameters)
      return { description: tool.description, parameters: toObject(schema.parameters), strict: schema.strict }
    },
    read: (call) => {
      const parameters = strictTools.get(call.name)
      return parameters === undefined || call.arguments === null
        ? call
        : { ...call, arguments: { ...ToolSchema.removeNulls(call.arguments, parameters) } }
    },
    loosened: [...wire].flatMap(([tool, { reason }]) => reason === undefined ? [] : [{ tool, reason }])
  }
}

const toObject = (parameters: JsonSchema): { [key: string]: unknown } => ({
  properties: {},
  ...parameters,
  type: "object"
})
