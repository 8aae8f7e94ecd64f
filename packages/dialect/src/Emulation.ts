/**
 * Tools for models that know none: described in the prompt, called in text, answered in text.
 *
 * @since 0.1.0
 */
import type { ContentPart } from "@capstan/core/Content"
import type { AssistantPart, Message } from "@capstan/core/Message"
import type { ModelRequest, ToolDefinition } from "@capstan/core/ModelProvider"
import { isObject } from "./internal/jsonObject.js"

/**
 * How a model is asked to write a call: a JSON object on its own, one in `tool_call` tags, or one in a code fence.
 *
 * @since 0.1.0
 * @category models
 */
export type Style = "json" | "xml" | "markdown"

/**
 * `style` defaults to `json`; `compact` (default false) names tools and parameters only, for small context windows;
 * `several` (default true) allows more than one call in an answer.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly style?: Style
  readonly compact?: boolean
  readonly several?: boolean
}

/**
 * The prompt that describes tools and how to call them.
 *
 * @since 0.1.0
 * @category constructors
 */
export const prompt = (tools: ReadonlyArray<ToolDefinition>, options: Options = {}): string =>
  [
    "You can use tools. To use one, write a call in exactly this form:",
    call({ name: "tool_name", arguments: "{\"parameter\": \"value\"}" }, options),
    options.several ?? true
      ? "Several calls may follow each other. Write nothing behind the last call: you get the results in the next message."
      : "Write one call at a time and nothing behind it: you get its result in the next message.",
    "When no tool is needed, or when you have all that you need, answer in plain words. Use only the tools of this list and their parameters:",
    tools.map((tool) => describe(tool, options.compact ?? false)).join("\n")
  ].join("\n\n")

/**
 * The same request for a model without tools: the prompt stands in the instructions, calls and results of the
 * conversation stand in its text.
 *
 * @since 0.1.0
 * @category combinators
 */
export const encode = (request: ModelRequest, options: Options = {}): ModelRequest => {
  if (request.tools.length === 0 && !request.messages.some((message) => message.role === "tool")) return request
  const choice = request.toolChoice
  const offered = choice === "none"
    ? []
    : typeof choice === "object"
    ? request.tools.filter((tool) => tool.name === choice.tool)
    : request.tools
  const wish = choice === "none"
    ? "Answer in plain words now, without calling a tool."
    : choice === "auto"
    ? ""
    : "Call a tool now."
  const parts = [request.instructions, offered.length === 0 ? "" : prompt(offered, options), wish]
  return {
    ...request,
    instructions: parts.filter((part) => part !== "").join("\n\n"),
    messages: merged(request.messages.map((message) => encodeMessage(message, options))),
    tools: [],
    toolChoice: "auto"
  }
}

type Plain = Extract<Message, { readonly role: "user" | "assistant" }>

const encodeMessage = (message: Message, options: Options): Plain => {
  switch (message.role) {
    case "user":
      return message
    case "assistant":
      return {
        role: "assistant",
        content: message.content.map((part): AssistantPart =>
          part.type === "tool-call" ? { type: "text", text: call(part, options) } : part
        )
      }
    case "tool":
      return {
        role: "user",
        content: message.results.flatMap((result): ReadonlyArray<ContentPart> => [
          { type: "text", text: `${result.isError ? "Error of" : "Result of"} ${result.name}:` },
          ...result.content
        ])
      }
  }
}

/** Two messages of one side in a row are one: results and what the user says next. */
const merged = (messages: ReadonlyArray<Plain>): ReadonlyArray<Plain> => {
  const result: Array<Plain> = []
  for (const message of messages) {
    const last = result.at(-1)
    if (last?.role === "user" && message.role === "user") {
      result[result.length - 1] = { role: "user", content: [...last.content, ...message.content] }
    } else if (last?.role === "assistant" && message.role === "assistant") {
      result[result.length - 1] = { role: "assistant", content: [...last.content, ...message.content] }
    } else result.push(message)
  }
  return result
}

const call = (part: { readonly name: string; readonly arguments: string }, options: Options): string => {
  const json = `{"name": ${JSON.stringify(part.name)}, "arguments": ${part.arguments}}`
  switch (options.style ?? "json") {
    case "json":
      return json
    case "xml":
      return `<tool_call>\n${json}\n</tool_call>`
    case "markdown":
      return `\`\`\`json\n${json}\n\`\`\``
  }
}

const describe = (tool: ToolDefinition, compact: boolean): string => {
  if (!compact) return JSON.stringify({ name: tool.name, description: tool.description, parameters: tool.parameters })
  const properties = isObject(tool.parameters["properties"]) ? tool.parameters["properties"] : {}
  const required = Array.isArray(tool.parameters["required"]) ? tool.parameters["required"] : []
  const names = Object.entries(properties).map(([name, schema]) =>
    `${name}${required.includes(name) ? "" : "?"}: ${kindOf(schema)}`
  )
  return `- ${tool.name}(${names.join(", ")}): ${firstSentence(tool.description)}`
}

const kindOf = (schema: unknown): string => {
  if (!isObject(schema)) return "any"
  if (Array.isArray(schema["enum"])) return schema["enum"].map((value) => JSON.stringify(value)).join(" | ")
  return typeof schema["type"] === "string" ? schema["type"] : "any"
}

const firstSentence = (text: string): string => {
  const end = text.search(/[.\n](\s|$)/)
  return (end < 0 ? text : text.slice(0, end + 1)).slice(0, 200).trim()
}
