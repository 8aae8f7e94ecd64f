/** The Chat Completions wire form of a request: pure data in, pure data out. */
import * as Content from "@capstan/core/Content"
import type { AssistantPart, Message, ReasoningPart, ToolResultPart } from "@capstan/core/Message"
import type { ModelRequest, ToolChoice } from "@capstan/core/ModelProvider"
import type { WireNames } from "@capstan/dialect/ToolNames"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type Sdk from "openai"
import { dataUrl, textOfFile } from "./media.js"
import type { WireTools } from "./openAiTools.js"

type Param = Sdk.Chat.Completions.ChatCompletionMessageParam

export interface EncodeOptions {
  readonly request: ModelRequest
  readonly provider: string
  readonly model: string
  readonly maxTokens: number | undefined
  /** The vendor's own word, and the one that compatible servers know. */
  readonly maxTokensField: "max_completion_tokens" | "max_tokens"
  readonly files: boolean
  readonly names: WireNames
  readonly tools: WireTools
  readonly reasoningEffort: Sdk.ReasoningEffort | undefined
}

export const encode = (options: EncodeOptions): Sdk.Chat.Completions.ChatCompletionCreateParamsStreaming => {
  const { maxTokens, names, request } = options
  return {
    model: options.model,
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      ...(request.instructions.trim() === "" ? [] : [{ role: "system", content: request.instructions } as const]),
      ...request.messages.flatMap((message) => toParams(message, options))
    ],
    ...(maxTokens === undefined ? {} : { [options.maxTokensField]: maxTokens }),
    ...(options.reasoningEffort === undefined ? {} : { reasoning_effort: options.reasoningEffort }),
    ...(request.tools.length === 0 ? {} : {
      tools: request.tools.map((tool) => {
        const { description, parameters, strict } = options.tools.parameters(tool)
        return {
          type: "function",
          function: { name: names.toWire(tool.name), description, parameters, ...(strict ? { strict } : {}) }
        }
      }),
      ...toToolChoice(request.toolChoice, names)
    })
  }
}

/** What is the default anyway is not said: some servers refuse the word. */
const toToolChoice = (
  choice: ToolChoice,
  names: WireNames
): { readonly tool_choice?: Sdk.Chat.Completions.ChatCompletionToolChoiceOption } =>
  choice === "auto"
    ? {}
    : {
      tool_choice: typeof choice === "string"
        ? choice
        : { type: "function", function: { name: names.toWire(choice.tool) } }
    }

const toParams = (message: Message, options: EncodeOptions): ReadonlyArray<Param> => {
  switch (message.role) {
    case "user":
      return toUser(message.content, options)
    case "assistant":
      return toAssistant(message.content, options)
    case "tool":
      return [
        ...message.results.map((result): Param => ({
          role: "tool",
          tool_call_id: result.id,
          content: Content.toText(result.content)
        })),
        ...toUser(message.results.flatMap(shownApart), options)
      ]
  }
}

/** Results are text on this wire: their images and files follow as the user's, after all results. */
const shownApart = (result: ToolResultPart): ReadonlyArray<Content.ContentPart> => {
  const media = result.content.filter((part) => part.type !== "text")
  return media.length === 0 ? [] : [Content.text(`From the result of ${result.name} (${result.id}):`), ...media]
}

const toUser = (content: ReadonlyArray<Content.ContentPart>, options: EncodeOptions): ReadonlyArray<Param> => {
  const parts = content.flatMap((part) => toPart(part, options))
  if (parts.length === 0) {
    return []
  }
  const texts = parts.flatMap((part) => part.type === "text" ? [part.text] : [])
  return [{ role: "user", content: texts.length === parts.length ? texts.join("\n") : parts }]
}

const toPart = (
  part: Content.ContentPart,
  options: EncodeOptions
): ReadonlyArray<Sdk.Chat.Completions.ChatCompletionContentPart> => {
  switch (part.type) {
    case "text":
      return part.text === "" ? [] : [{ type: "text", text: part.text }]
    case "image":
      return [{ type: "image_url", image_url: { url: dataUrl(part) } }]
    case "file":
      return options.files && part.mediaType === "application/pdf"
        ? [{ type: "file", file: { filename: part.name, file_data: dataUrl(part) } }]
        : [{ type: "text", text: textOfFile(part) }]
  }
}

const toAssistant = (parts: ReadonlyArray<AssistantPart>, options: EncodeOptions): ReadonlyArray<Param> => {
  const text = parts.flatMap((part) => part.type === "text" && part.text !== "" ? [part.text] : []).join("\n")
  const calls = parts.flatMap((part) =>
    part.type === "tool-call"
      ? [{
        id: part.id,
        type: "function" as const,
        function: { name: options.names.toWire(part.name), arguments: part.arguments }
      }]
      : []
  )
  if (text === "" && calls.length === 0) {
    return []
  }
  return [{
    role: "assistant",
    content: text === "" ? null : text,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...reasoningOf(parts, options.provider)
  }]
}

/** Reasoning as text, under the name by which its server sent it. */
const ReasoningData = Schema.parseJson(Schema.Struct({
  field: Schema.Literal("reasoning_content", "reasoning"),
  text: Schema.String
}))

const decodeReasoning = Schema.decodeUnknownEither(ReasoningData)

export const encodeReasoning = Schema.encodeSync(ReasoningData)

const reasoningOf = (parts: ReadonlyArray<AssistantPart>, provider: string): { readonly [field: string]: string } => {
  const own = parts.filter((part): part is ReasoningPart => part.type === "reasoning" && part.provider === provider)
  const read = own.flatMap((part) =>
    Either.match(decodeReasoning(part.data), { onLeft: () => [], onRight: (data) => [data] })
  )
  const first = read[0]
  return first === undefined ? {} : { [first.field]: read.map((data) => data.text).join("") }
}
