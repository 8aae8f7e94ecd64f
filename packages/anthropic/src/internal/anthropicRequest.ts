/** The Messages API's wire form of a request: pure data in, pure data out. */
import type Sdk from "@anthropic-ai/sdk"
import type { ContentPart } from "@capstan/core/Content"
import type { AssistantPart, Message, ReasoningPart, ToolResultPart } from "@capstan/core/Message"
import type { ModelRequest, ToolChoice } from "@capstan/core/ModelProvider"
import type { WireNames } from "@capstan/dialect/ToolNames"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Schema from "effect/Schema"
import { toInputSchema } from "./anthropicTools.js"

export interface EncodeOptions {
  readonly request: ModelRequest
  readonly provider: string
  readonly model: string
  readonly maxTokens: number
  readonly thinking: Sdk.Messages.ThinkingConfigParam | undefined
  readonly names: WireNames
}

type Block = Sdk.Messages.ContentBlockParam
type Turn = { readonly role: "user" | "assistant"; readonly content: ReadonlyArray<Block> }

const ephemeral = { cache_control: { type: "ephemeral" } } as const

export const encode = (options: EncodeOptions): Sdk.Messages.MessageCreateParamsStreaming => {
  const { request } = options
  const turns = toTurns(options)
  const thinks = options.thinking !== undefined && mayThink(options.thinking, request.toolChoice, turns)
  return {
    model: options.model,
    max_tokens: options.maxTokens,
    stream: true,
    messages: withCacheMarks(turns),
    ...(request.instructions.trim() === ""
      ? {}
      : { system: [{ type: "text", text: request.instructions, ...ephemeral }] }),
    ...toTools(options),
    ...(thinks ? { thinking: options.thinking } : {})
  }
}

/** A history with calls is refused without definitions: then the names alone are given, and none may be called. */
const toTools = (options: EncodeOptions): Pick<Sdk.Messages.MessageCreateParamsStreaming, "tools" | "tool_choice"> => {
  const { names, request } = options
  const called = new Set(request.messages.flatMap((message) =>
    message.role === "assistant"
      ? message.content.flatMap((part) => part.type === "tool-call" ? [names.toWire(part.name)] : [])
      : []
  ))
  const tools: ReadonlyArray<Sdk.Messages.Tool> = request.tools.length === 0
    ? [...called].map((name) => ({ name, input_schema: { type: "object" } }))
    : request.tools.map((tool) => ({
      name: names.toWire(tool.name),
      ...(tool.description === "" ? {} : { description: tool.description }),
      input_schema: toInputSchema(tool.parameters)
    }))
  return tools.length === 0 ? {} : {
    tools: tools.map((tool, position) => position === tools.length - 1 ? { ...tool, ...ephemeral } : tool),
    tool_choice: request.tools.length === 0 ? { type: "none" } : toToolChoice(request.toolChoice, names)
  }
}

const toToolChoice = (choice: ToolChoice, names: WireNames): Sdk.Messages.ToolChoice => {
  switch (choice) {
    case "auto":
    case "none":
      return { type: choice }
    case "required":
      return { type: "any" }
    default:
      return { type: "tool", name: names.toWire(choice.tool) }
  }
}

/**
 * User and assistant take turns: what follows on the same side is one message, results of tools first in it, in call order.
 * The first turn is the user's.
 */
const toTurns = (options: EncodeOptions): ReadonlyArray<Turn> => {
  const turns: Array<Turn> = []
  for (const message of options.request.messages) {
    const content = toBlocks(message, options)
    const last = turns.at(-1)
    const role = message.role === "assistant" ? "assistant" : "user"
    if (content.length === 0) {
      continue
    }
    if (last?.role === role) {
      turns[turns.length - 1] = { role, content: resultsFirst([...last.content, ...content]) }
    } else {
      turns.push({ role, content })
    }
  }
  return turns[0]?.role === "assistant"
    ? [{ role: "user", content: [{ type: "text", text: "(continued)" }] }, ...turns]
    : turns
}

const resultsFirst = (blocks: ReadonlyArray<Block>): ReadonlyArray<Block> => [
  ...blocks.filter((block) => block.type === "tool_result"),
  ...blocks.filter((block) => block.type !== "tool_result")
]

const toBlocks = (message: Message, options: EncodeOptions): ReadonlyArray<Block> => {
  switch (message.role) {
    case "user":
      return message.content.flatMap(toContent)
    case "assistant":
      return withoutLastThinking(message.content.flatMap((part) => toAssistantBlocks(part, options)))
    case "tool":
      return message.results.map(toResult)
  }
}

/** An answer may not end with thinking: one that was cut off there led to nothing. */
const withoutLastThinking = (blocks: ReadonlyArray<Block>): ReadonlyArray<Block> =>
  blocks.slice(0, blocks.findLastIndex((block) => !isThinking(block)) + 1)

const isThinking = (block: Block | undefined): boolean =>
  block?.type === "thinking" || block?.type === "redacted_thinking"

const toAssistantBlocks = (part: AssistantPart, options: EncodeOptions): ReadonlyArray<Block> => {
  switch (part.type) {
    case "text":
      return toText(part.text)
    case "reasoning":
      return part.provider === options.provider ? toThinking(part) : []
    case "tool-call":
      return [{
        type: "tool_use",
        id: part.id,
        name: options.names.toWire(part.name),
        input: parseJson(part.arguments) ?? {}
      }]
  }
}

const ThinkingData = Schema.parseJson(Schema.Union(
  Schema.Struct({ type: Schema.Literal("thinking"), thinking: Schema.String, signature: Schema.String }),
  Schema.Struct({ type: Schema.Literal("redacted_thinking"), data: Schema.String })
))

const decodeThinking = Schema.decodeUnknownEither(ThinkingData)

/** The data of a reasoning part: what the service has to see again, byte for byte. */
export const encodeThinking = Schema.encodeSync(ThinkingData)

const toThinking = (part: ReasoningPart): ReadonlyArray<Block> =>
  Either.match(decodeThinking(part.data), { onLeft: () => [], onRight: (block) => [block] })

const toResult = (result: ToolResultPart): Block => {
  const content = result.content.flatMap(toContent)
  return {
    type: "tool_result",
    tool_use_id: result.id,
    ...(content.length === 0 ? {} : { content }),
    ...(result.isError ? { is_error: true } : {})
  }
}

type Content = Sdk.Messages.TextBlockParam | Sdk.Messages.ImageBlockParam | Sdk.Messages.DocumentBlockParam

const toContent = (part: ContentPart): ReadonlyArray<Content> => {
  switch (part.type) {
    case "text":
      return toText(part.text)
    case "image":
      return isImageType(part.mediaType)
        ? [{ type: "image", source: { type: "base64", media_type: part.mediaType, data: part.data } }]
        : toText(`[image ${part.mediaType}: this kind of image cannot be shown]`)
    case "file":
      return toFile(part)
  }
}

const toFile = (part: Extract<ContentPart, { readonly type: "file" }>): ReadonlyArray<Content> => {
  if (part.mediaType === "application/pdf") {
    return [{
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: part.data },
      title: part.name
    }]
  }
  const text = part.mediaType.startsWith("text/") || part.mediaType === "application/json"
    ? Either.getOrElse(Encoding.decodeBase64String(part.data), () => "")
    : ""
  return text === ""
    ? toText(`[file ${part.name} ${part.mediaType}: this kind of file cannot be shown]`)
    : [{ type: "document", source: { type: "text", media_type: "text/plain", data: text }, title: part.name }]
}

/** Blocks without text are refused. */
const toText = (text: string): ReadonlyArray<Sdk.Messages.TextBlockParam> =>
  text.trim() === "" ? [] : [{ type: "text", text }]

const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const

const isImageType = (mediaType: string): mediaType is typeof imageTypes[number] =>
  imageTypes.some((known) => known === mediaType)

/**
 * A forced call rules thinking out. So does, for thinking with a budget, a tool loop whose turn that called the tools did not
 * begin with thinking.
 */
const mayThink = (
  thinking: Sdk.Messages.ThinkingConfigParam,
  choice: ToolChoice,
  turns: ReadonlyArray<Turn>
): boolean => {
  if (thinking.type === "disabled") {
    return true
  }
  if (choice === "required" || typeof choice === "object") {
    return false
  }
  const last = turns.at(-1)
  const loops = last?.role === "user" && last.content.some((block) => block.type === "tool_result")
  return thinking.type !== "enabled" || !loops || isThinking(turns.at(-2)?.content[0])
}

/**
 * The stable prefix ends at tools, instructions and the last message. A second mark on the user message before lets the
 * service find the prefix that it stored then: it looks back over 20 blocks only.
 */
const withCacheMarks = (turns: ReadonlyArray<Turn>): Array<Sdk.Messages.MessageParam> => {
  const marked = new Set(turns.flatMap((turn, position) => turn.role === "user" ? [position] : []).slice(-2))
  return turns.map((turn, position) => ({
    role: turn.role,
    content: turn.content.map((block, place) =>
      marked.has(position) && place === turn.content.length - 1 ? withCacheMark(block) : block
    )
  }))
}

const withCacheMark = (block: Block): Block =>
  block.type === "text" || block.type === "image" || block.type === "document" || block.type === "tool_result"
    ? { ...block, ...ephemeral }
    : block

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
