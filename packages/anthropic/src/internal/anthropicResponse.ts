/** Reads the Messages API's events: pure, one event at a time. */
import * as CallAssembly from "@capstan/core/CallAssembly"
import { type FinishReason, ModelDelta } from "@capstan/core/ModelDelta"
import * as ModelFailure from "@capstan/core/ModelFailure"
import type { Decoder, Step } from "@capstan/core/ModelStream"
import type { Wait } from "@capstan/core/ModelTimeouts"
import type { Usage } from "@capstan/core/Usage"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { encodeThinking } from "./anthropicRequest.js"

const maybe = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

const WireUsage = Schema.Struct({
  input_tokens: maybe(Schema.Number),
  output_tokens: maybe(Schema.Number),
  cache_creation_input_tokens: maybe(Schema.Number),
  cache_read_input_tokens: maybe(Schema.Number),
  output_tokens_details: maybe(Schema.Struct({ thinking_tokens: maybe(Schema.Number) }))
})

type WireUsage = typeof WireUsage.Type

const Known = Schema.Union(
  Schema.Struct({
    type: Schema.Literal("message_start"),
    message: Schema.Struct({ model: maybe(Schema.String), usage: maybe(WireUsage) })
  }),
  Schema.Struct({
    type: Schema.Literal("content_block_start"),
    index: Schema.Number,
    content_block: Schema.Struct({
      type: Schema.String,
      id: maybe(Schema.String),
      name: maybe(Schema.String),
      input: Schema.optional(Schema.Unknown),
      text: maybe(Schema.String),
      thinking: maybe(Schema.String),
      signature: maybe(Schema.String),
      data: maybe(Schema.String)
    })
  }),
  Schema.Struct({
    type: Schema.Literal("content_block_delta"),
    index: Schema.Number,
    delta: Schema.Struct({
      type: Schema.String,
      text: maybe(Schema.String),
      thinking: maybe(Schema.String),
      signature: maybe(Schema.String),
      partial_json: maybe(Schema.String)
    })
  }),
  Schema.Struct({ type: Schema.Literal("content_block_stop"), index: Schema.Number }),
  Schema.Struct({
    type: Schema.Literal("message_delta"),
    delta: Schema.Struct({
      stop_reason: maybe(Schema.String),
      stop_details: maybe(Schema.Struct({ explanation: maybe(Schema.String) }))
    }),
    usage: maybe(WireUsage)
  }),
  Schema.Struct({ type: Schema.Literal("message_stop") })
)

type Known = typeof Known.Type

const knownTypes: ReadonlySet<unknown> = new Set(Known.members.map((member) => member.fields.type.literals[0]))

const decodeKnown = Schema.decodeUnknownEither(Known)

interface Block {
  readonly type: string
  readonly thinking: string
  readonly signature: string
  readonly data: string
  readonly input: unknown
  readonly wrote: boolean
}

export interface State {
  readonly model: string
  readonly usage: WireUsage | null
  readonly blocks: ReadonlyMap<number, Block>
  readonly calls: CallAssembly.CallAssembly
  readonly stopReason: string | null
  readonly explanation: string
  readonly began: boolean
  readonly finished: boolean
}

/** After the start of thinking nothing may come for long: it need not be shown. */
export const waitsFor = (event: unknown): Wait | "nothing" => {
  const type = typeOf(event)
  if (type === "message_stop") {
    return "nothing"
  }
  return type === "message_start" || blockType(event).endsWith("thinking") ? "first-token" : "token"
}

const typeOf = (event: unknown): unknown =>
  typeof event === "object" && event !== null && "type" in event ? event.type : undefined

const blockType = (event: unknown): string =>
  typeof event === "object" && event !== null && "content_block" in event ? String(typeOf(event.content_block)) : ""

export const decoder = (target: ModelFailure.Target): Decoder<unknown, State> => ({
  initial: {
    model: target.model,
    usage: null,
    blocks: new Map(),
    calls: CallAssembly.empty,
    stopReason: null,
    explanation: "",
    began: false,
    finished: false
  },
  step: (state, event) => {
    if (!knownTypes.has(typeOf(event))) {
      return Either.right([state, []])
    }
    return Either.flatMap(
      Either.mapLeft(decodeKnown(event), (error) => ModelFailure.unreadable(target, error.message, error)),
      (known) => read(target, state, known)
    )
  },
  end: (state) => {
    if (state.finished) {
      return Either.right([])
    }
    if (state.stopReason !== null) {
      return Either.right(finish(state))
    }
    return Either.left(
      state.began
        ? ModelFailure.brokenOff(target)
        : ModelFailure.unreadable(target, "it held no events of this protocol")
    )
  }
})

const read = (target: ModelFailure.Target, state: State, event: Known): Step<State> => {
  switch (event.type) {
    case "message_start":
      return Either.right([
        { ...state, began: true, model: event.message.model ?? target.model, usage: event.message.usage ?? null },
        []
      ])
    case "content_block_start": {
      const start = event.content_block
      const [settled, ended] = CallAssembly.settle(state.calls)
      const [calls, started] = start.type === "tool_use"
        ? CallAssembly.put(settled, { key: String(event.index), id: start.id ?? "", name: start.name ?? "" })
        : [settled, []]
      const block: Block = {
        type: start.type,
        thinking: start.thinking ?? "",
        signature: start.signature ?? "",
        data: start.data ?? "",
        input: start.input,
        wrote: false
      }
      return Either.right([
        { ...state, began: true, calls, blocks: new Map(state.blocks).set(event.index, block) },
        [...ended, ...started, ...shown(start.text, start.thinking)]
      ])
    }
    case "content_block_delta": {
      const block = state.blocks.get(event.index)
      if (block === undefined) {
        return Either.left(ModelFailure.unreadable(target, `a piece of block ${event.index}, which never began`))
      }
      const { delta } = event
      const text = delta.partial_json ?? ""
      const [calls, pieces] = block.type === "tool_use" && text !== ""
        ? CallAssembly.put(state.calls, { key: String(event.index), text })
        : [state.calls, []]
      const after: Block = {
        ...block,
        thinking: block.thinking + (delta.thinking ?? ""),
        signature: block.signature + (delta.signature ?? ""),
        wrote: block.wrote || text !== ""
      }
      return Either.right([
        { ...state, calls, blocks: new Map(state.blocks).set(event.index, after) },
        [...pieces, ...shown(delta.text, delta.thinking)]
      ])
    }
    case "content_block_stop": {
      const block = state.blocks.get(event.index)
      if (block === undefined) {
        return Either.right([state, []])
      }
      const [calls, pieces] = block.type === "tool_use" && !block.wrote && isFilled(block.input)
        ? CallAssembly.put(state.calls, { key: String(event.index), text: JSON.stringify(block.input) })
        : [state.calls, []]
      return Either.right([
        { ...state, calls: CallAssembly.close(calls, String(event.index)) },
        [...pieces, ...reasoningOf(target, block)]
      ])
    }
    case "message_delta":
      return Either.right([{
        ...state,
        began: true,
        stopReason: event.delta.stop_reason ?? state.stopReason,
        explanation: event.delta.stop_details?.explanation ?? "",
        usage: event.usage === undefined || event.usage === null ? state.usage : merged(state.usage, event.usage)
      }, []])
    case "message_stop":
      return state.finished
        ? Either.right([state, []])
        : Either.right([{ ...state, finished: true }, finish(state)])
  }
}

/** A block of input that came whole with its start, as some compatible servers send it. */
const isFilled = (input: unknown): boolean =>
  typeof input === "object" && input !== null && Object.keys(input).length > 0

const shown = (
  text: string | null | undefined,
  thinking: string | null | undefined
): ReadonlyArray<ModelDelta> => [
  ...(text === undefined || text === null || text === "" ? [] : [ModelDelta.TextDelta({ text })]),
  ...(thinking === undefined || thinking === null || thinking === ""
    ? []
    : [ModelDelta.ThinkingDelta({ text: thinking })])
]

const reasoningOf = (target: ModelFailure.Target, block: Block): ReadonlyArray<ModelDelta> => {
  const part = { type: "reasoning", provider: target.provider, text: block.thinking } as const
  if (block.type === "redacted_thinking") {
    const data = encodeThinking({ type: "redacted_thinking", data: block.data })
    return [ModelDelta.Reasoning({ part: { ...part, data } })]
  }
  if (block.type === "thinking" && block.signature !== "") {
    const data = encodeThinking({ type: "thinking", thinking: block.thinking, signature: block.signature })
    return [ModelDelta.Reasoning({ part: { ...part, data } })]
  }
  return []
}

const merged = (before: WireUsage | null, after: WireUsage): WireUsage => ({
  input_tokens: after.input_tokens ?? before?.input_tokens,
  output_tokens: after.output_tokens ?? before?.output_tokens,
  cache_creation_input_tokens: after.cache_creation_input_tokens ?? before?.cache_creation_input_tokens,
  cache_read_input_tokens: after.cache_read_input_tokens ?? before?.cache_read_input_tokens,
  output_tokens_details: after.output_tokens_details ?? before?.output_tokens_details
})

/** The service counts cached tokens apart; ours count as part of the input. */
const toUsage = (usage: WireUsage | null): Usage | null => {
  if (usage === null) {
    return null
  }
  const cacheRead = usage.cache_read_input_tokens ?? 0
  const cacheWrite = usage.cache_creation_input_tokens ?? 0
  return {
    input: (usage.input_tokens ?? 0) + cacheRead + cacheWrite,
    output: usage.output_tokens ?? 0,
    cacheRead,
    cacheWrite,
    reasoning: usage.output_tokens_details?.thinking_tokens ?? 0
  }
}

const finish = (state: State): ReadonlyArray<ModelDelta> => {
  const reason = reasonOf(state)
  return [
    ...CallAssembly.finish(state.calls, cutOf(reason)),
    ...(reason === "refusal" ? shown(state.explanation, undefined) : []),
    ModelDelta.Finish({ reason, usage: toUsage(state.usage), model: state.model })
  ]
}

const cutOf = (reason: FinishReason): string | undefined => {
  switch (reason) {
    case "length":
      return CallAssembly.cutByLength
    case "refusal":
      return "the service refused to go on"
    default:
      return undefined
  }
}

const reasonOf = (state: State): FinishReason => {
  switch (state.stopReason) {
    case null:
    case "end_turn":
    case "stop_sequence":
      return state.calls.count > 0 ? "tool-calls" : "stop"
    case "tool_use":
      return "tool-calls"
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length"
    case "refusal":
      return "refusal"
    default:
      return "other"
  }
}
