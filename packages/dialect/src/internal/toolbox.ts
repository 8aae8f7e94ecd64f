import type * as JsonSchema from "@capstan/core/JsonSchema"
import type * as ToolCall from "@capstan/core/ToolCall"
import * as ToolName from "@capstan/core/ToolName"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as JsonArguments from "../JsonArguments.js"
import type { OfferedTool, TextCall } from "../TextCall.js"
import { isObject, type JsonObject } from "./jsonObject.js"
import type { PythonCall } from "./python.js"

const note = (kind: string, detail: string): ToolCall.Repair => ({ kind, detail })

/**
 * The tools that were offered, prepared for reading an answer.
 */
export class Toolbox {
  private readonly index: ToolName.NameIndex
  private readonly schemas: ReadonlyMap<string, JsonSchema.JsonSchema | undefined>

  constructor(tools: ReadonlyArray<OfferedTool>) {
    this.index = ToolName.index(tools)
    this.schemas = new Map(tools.map((tool) => [tool.name, tool.parameters]))
  }

  /** The registered name that `written` means, if any. */
  resolve(written: string): string | undefined {
    const plain = plainName(written)
    return Option.getOrUndefined(Option.map(ToolName.resolve(this.index, plain), (found) => found.name))
  }

  /** The declared schema of a tool's parameter, or undefined when it declares no such parameter or nothing at all. */
  property(tool: string | undefined, key: string): JsonSchema.JsonSchema | undefined {
    const schema = this.properties(tool)?.[key]
    return isObject(schema) ? schema : undefined
  }

  properties(tool: string | undefined): JsonObject | undefined {
    const properties = tool === undefined ? undefined : this.schemas.get(tool)?.["properties"]
    return isObject(properties) ? properties : undefined
  }

  /** A call whose arguments stand in the text as JSON, as they are. */
  call(written: string, value: unknown, repairs: ReadonlyArray<ToolCall.Repair>): TextCall {
    const name = plainName(written)
    const tool = this.resolve(written)
    const parameters = tool === undefined ? undefined : this.schemas.get(tool)
    const parsed = JsonArguments.fromValue({ value, repairs }, parameters === undefined ? {} : { parameters })
    return Either.match(parsed, {
      onLeft: (error) => ({
        name,
        tool,
        raw: typeof value === "string" ? value : JSON.stringify(value) ?? "",
        arguments: null,
        malformed: error.message,
        repairs
      }),
      onRight: (read) => ({
        name,
        tool,
        raw: typeof value === "string" ? value : JSON.stringify(read.arguments),
        arguments: read.arguments,
        repairs: read.repairs
      })
    })
  }

  pythonCall(call: PythonCall): TextCall | undefined {
    const method = call.name.endsWith(".call") ? call.name.slice(0, -5) : call.name
    const tool = this.resolve(method)
    const named = Object.fromEntries(call.named)
    if (call.positional.length === 0) return this.call(method, named, call.repairs)
    const [only] = call.positional
    if (call.positional.length === 1 && isObject(only) && call.named.length === 0) {
      return this.call(method, only, call.repairs)
    }
    const free = Object.keys(this.properties(tool) ?? {}).filter((key) => !(key in named))
    if (free.length < call.positional.length) return undefined
    const placed = Object.fromEntries(call.positional.map((value, position) => [free[position] ?? "", value]))
    return this.call(method, { ...placed, ...named }, [
      ...call.repairs,
      note("positional", "arguments without names were given the parameters' names in their order")
    ])
  }

  /** A call whose arguments stand in the text as elements; their texts become what the schema says. */
  elementCall(written: string, entries: ReadonlyArray<readonly [string, string]>): TextCall {
    const tool = this.resolve(written)
    return this.call(written, Object.fromEntries(entries.map(([key, text]) => [key, this.coerce(tool, key, text)])), [])
  }

  private coerce(tool: string | undefined, key: string, text: string): unknown {
    const inner = text.startsWith("<![CDATA[") && text.endsWith("]]>")
      ? text.slice(9, -3)
      : text.replace(/^\r?\n/, "").replace(/\r?\n[ \t]*$/, "")
    const schema = this.property(tool, key)
    if (schema === undefined || allowsText(schema)) return inner
    return Either.match(JsonArguments.parseValue(inner), { onLeft: () => inner, onRight: ({ value }) => value })
  }

  /** The calls that a JSON value describes, or none. `explicit`: it stands where only a call can stand. */
  read(value: unknown, repairs: ReadonlyArray<ToolCall.Repair>, explicit: boolean): ReadonlyArray<TextCall> {
    if (Array.isArray(value)) {
      const calls = value.map((item) => this.read(item, repairs, explicit))
      return calls.every((found) => found.length > 0) ? calls.flat() : []
    }
    if (!isObject(value)) return []
    for (const key of listKeys) {
      const list = value[key]
      if (Array.isArray(list) && list.length > 0) return this.read(list, repairs, true)
    }
    const call = this.single(value, repairs, explicit)
    return call === undefined ? [] : [call]
  }

  private single(value: JsonObject, repairs: ReadonlyArray<ToolCall.Repair>, explicit: boolean): TextCall | undefined {
    const nested = value["function"]
    if (isObject(nested)) return this.single(nested, repairs, explicit)
    const key = nameKeys.find((candidate) => typeof value[candidate] === "string" && value[candidate] !== "")
    const name = key === undefined ? undefined : value[key]
    if (key === undefined || typeof name !== "string") return this.byName(value, repairs)
    const holder = argumentKeys.find((candidate) => candidate in value)
    if (holder === undefined) return this.flat(name, key, value, repairs, explicit)
    const written = value[holder]
    if (isDefinition(value, written)) return undefined
    const others = Object.keys(value).filter((candidate) => candidate !== key && candidate !== holder)
    if (!explicit && !others.every((candidate) => companionKeys.includes(candidate))) return undefined
    if (!isObject(written) && typeof written !== "string" && written !== null) return undefined
    if (typeof written === "string" && !/^\s*([{"']|$)/.test(written)) return undefined
    return this.call(name, written, repairs)
  }

  /** `{"read_file": {"path": "a"}}` */
  private byName(value: JsonObject, repairs: ReadonlyArray<ToolCall.Repair>): TextCall | undefined {
    const [key, ...others] = Object.keys(value)
    const inner = key === undefined ? undefined : value[key]
    if (key === undefined || others.length > 0 || !isObject(inner) || this.resolve(key) === undefined) return undefined
    return this.call(key, inner, [
      ...repairs,
      note("reshaped", "an object with the tool's name as its key was read as a call")
    ])
  }

  /** `{"tool": "read_file", "path": "a"}`, and calls that need no arguments. */
  private flat(
    name: string,
    key: string,
    value: JsonObject,
    repairs: ReadonlyArray<ToolCall.Repair>,
    explicit: boolean
  ): TextCall | undefined {
    const { [key]: _, ...rest } = value
    const names = Object.keys(rest).filter((candidate) => !companionKeys.includes(candidate))
    if (names.length === 0) {
      return explicit || key !== "name"
        ? this.call(name, {}, [...repairs, note("empty", "no arguments were written")])
        : undefined
    }
    const declared = this.properties(this.resolve(name))
    if (declared === undefined || key in declared || !names.every((candidate) => candidate in declared)) {
      return undefined
    }
    return this.call(name, Object.fromEntries(names.map((candidate) => [candidate, rest[candidate]])), [
      ...repairs,
      note("reshaped", "arguments beside the tool's name were taken as its arguments")
    ])
  }
}

export const nameKeys = [
  "name",
  "tool",
  "tool_name",
  "function",
  "function_name",
  "toolName",
  "action",
  "recipient_name",
  "tool_call",
  "command_name"
]
export const argumentKeys = [
  "arguments",
  "args",
  "parameters",
  "params",
  "input",
  "tool_input",
  "action_input",
  "tool_args",
  "tool_arguments",
  "toolInput",
  "kwargs"
]
const listKeys = ["tool_calls", "function_calls", "calls", "tool_uses"]
const companionKeys = [
  "id",
  "type",
  "call_id",
  "tool_call_id",
  "index",
  "thought",
  "reasoning",
  "tool",
  "name",
  "function"
]

/** Models at times repeat the description of a tool instead of calling it. */
const isDefinition = (value: JsonObject, parameters: unknown): boolean =>
  "description" in value ||
  (isObject(parameters) && parameters["type"] === "object" && isObject(parameters["properties"]))

const plainName = (written: string): string => written.replaceAll("\\", "").replace(/:\d+$/, "").trim()

const allowsText = (schema: JsonSchema.JsonSchema): boolean => {
  const type = schema["type"]
  if (typeof type === "string") return type === "string"
  if (Array.isArray(type)) return type.includes("string")
  const alternatives = schema["anyOf"] ?? schema["oneOf"]
  if (Array.isArray(alternatives)) return alternatives.some((part) => isObject(part) && allowsText(part))
  const values = schema["enum"]
  return Array.isArray(values) && values.every((value) => typeof value === "string")
}
