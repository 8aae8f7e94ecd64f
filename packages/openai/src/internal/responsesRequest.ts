/** The Responses API's wire form of a request: pure data in, pure data out. */
import * as Content from "@capstan/core/Content"
import type { AssistantPart, Message, ReasoningPart } from "@capstan/core/Message"
import type { ModelRequest, ToolChoice } from "@capstan/core/ModelProvider"
import type { WireNames } from "@capstan/dialect/ToolNames"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type Sdk from "openai"
import { dataUrl, textOfFile } from "./media.js"
import type { WireTools } from "./openAiTools.js"

type Item = Sdk.Responses.ResponseInputItem
type InputContent = Sdk.Responses.ResponseFunctionCallOutputItem

export interface EncodeOptions {
  readonly request: ModelRequest
  readonly provider: string
  readonly model: string
  readonly maxTokens: number | undefined
  readonly names: WireNames
  readonly tools: WireTools
  /** Whether the model reasons: then its reasoning is asked for, encrypted, since nothing is stored. */
  readonly reasons: boolean
  readonly reasoning:
    | { readonly effort?: Sdk.ReasoningEffort; readonly summary?: "auto" | "concise" | "detailed" }
    | undefined
}

export const encode = (options: EncodeOptions): Sdk.Responses.ResponseCreateParamsStreaming => {
  const { names, request } = options
  return {
    model: options.model,
    stream: true,
    store: false,
    input: request.messages.flatMap((message) => toItems(message, options)),
    ...(request.instructions.trim() === "" ? {} : { instructions: request.instructions }),
    ...(options.maxTokens === undefined ? {} : { max_output_tokens: Math.max(leastOutput, options.maxTokens) }),
    ...(options.reasons ? { include: ["reasoning.encrypted_content"] } : {}),
    ...(options.reasons && options.reasoning !== undefined ? { reasoning: options.reasoning } : {}),
    ...(request.tools.length === 0 ? {} : {
      tools: request.tools.map((tool) => ({
        type: "function",
        name: names.toWire(tool.name),
        ...options.tools.parameters(tool)
      })),
      tool_choice: toToolChoice(request.toolChoice, names)
    })
  }
}

/** The service refuses less. */
const leastOutput = 16

const toToolChoice = (
  choice: ToolChoice,
  names: WireNames
): Sdk.Responses.ToolChoiceOptions | Sdk.Responses.ToolChoiceFunction =>
  typeof choice === "string" ? choice : { type: "function", name: names.toWire(choice.tool) }

const toItems = (message: Message, options: EncodeOptions): ReadonlyArray<Item> => {
  switch (message.role) {
    case "user": {
      const content = message.content.flatMap(toContent)
      return content.length === 0 ? [] : [{ type: "message", role: "user", content: content.map(detailed) }]
    }
    case "assistant":
      return message.content.flatMap((part, position) =>
        toAssistantItems(part, message.content.slice(position + 1), options)
      )
    case "tool":
      return message.results.map((result) => {
        const texts = result.content.every((part) => part.type === "text")
        return {
          type: "function_call_output",
          call_id: result.id,
          output: texts ? Content.toText(result.content) : result.content.flatMap(toContent)
        }
      })
  }
}

const toAssistantItems = (
  part: AssistantPart,
  following: ReadonlyArray<AssistantPart>,
  options: EncodeOptions
): ReadonlyArray<Item> => {
  switch (part.type) {
    case "text":
      return part.text === "" ? [] : [{ type: "message", role: "assistant", content: part.text }]
    case "reasoning":
      return part.provider === options.provider && options.reasons && following.some(isItem) ? toReasoning(part) : []
    case "tool-call":
      return [{
        type: "function_call",
        call_id: part.id,
        name: options.names.toWire(part.name),
        arguments: part.arguments
      }]
  }
}

/** Reasoning that is followed by nothing is refused. */
const isItem = (part: AssistantPart): boolean => part.type === "tool-call" || (part.type === "text" && part.text !== "")

const ReasoningData = Schema.parseJson(Schema.Struct({
  type: Schema.Literal("reasoning"),
  id: Schema.String,
  encrypted_content: Schema.String,
  summary: Schema.mutable(Schema.Array(Schema.Struct({ type: Schema.Literal("summary_text"), text: Schema.String })))
}))

const decodeReasoning = Schema.decodeUnknownEither(ReasoningData, { onExcessProperty: "preserve" })

const toReasoning = (part: ReasoningPart): ReadonlyArray<Item> =>
  Either.match(decodeReasoning(part.data), { onLeft: () => [], onRight: (item) => [item] })

const toContent = (part: Content.ContentPart): ReadonlyArray<InputContent> => {
  switch (part.type) {
    case "text":
      return part.text === "" ? [] : [{ type: "input_text", text: part.text }]
    case "image":
      return [{ type: "input_image", image_url: dataUrl(part) }]
    case "file":
      return part.mediaType === "application/pdf"
        ? [{ type: "input_file", filename: part.name, file_data: dataUrl(part) }]
        : [{ type: "input_text", text: textOfFile(part) }]
  }
}

/** The same content as in a result, but a message has to say the detail of its images. */
const detailed = (content: InputContent): Sdk.Responses.ResponseInputContent => {
  switch (content.type) {
    case "input_text":
      return { type: "input_text", text: content.text }
    case "input_image":
      return { type: "input_image", detail: "auto", image_url: content.image_url ?? null }
    case "input_file":
      return { type: "input_file", filename: content.filename ?? "file", file_data: content.file_data ?? "" }
  }
}
