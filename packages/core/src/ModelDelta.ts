/**
 * What a model's answer is made of while it streams. Native tool calls, calls rescued from text and emulated ones look
 * alike here.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import type { ReasoningPart } from "./Message.js"
import type { ToolCall } from "./ToolCall.js"
import type { Usage } from "./Usage.js"

/**
 * Why a model stopped: it was done (`stop`), it waits for results (`tool-calls`), its answer was cut (`length`), it or its
 * service refused (`refusal`), or something else that the provider named.
 *
 * @since 0.1.0
 * @category models
 */
export type FinishReason = "stop" | "tool-calls" | "length" | "refusal" | "other"

/**
 * A piece of a model's answer. Every stream that ends without an error ends with exactly one `Finish`. Calls are kept apart
 * by `index` (their position in the response); `ToolCallEnd` carries the whole call, once, when its block is closed.
 * `Reasoning` is a finished reasoning part, to be kept. `Retry` says that the request is sent again after `delayMillis`; nothing
 * of the failed try was emitted before it.
 *
 * @since 0.1.0
 * @category models
 */
export type ModelDelta = Data.TaggedEnum<{
  TextDelta: { readonly text: string }
  ThinkingDelta: { readonly text: string }
  Reasoning: { readonly part: ReasoningPart }
  ToolCallStart: { readonly index: number; readonly id: string; readonly name: string }
  ToolCallDelta: { readonly index: number; readonly text: string }
  ToolCallEnd: { readonly index: number; readonly call: ToolCall }
  Retry: { readonly attempt: number; readonly delayMillis: number; readonly reason: string }
  Finish: { readonly reason: FinishReason; readonly usage: Usage | null; readonly model: string }
}>

/**
 * Constructors and matchers of {@link ModelDelta}.
 *
 * @since 0.1.0
 * @category constructors
 */
export const ModelDelta = Data.taggedEnum<ModelDelta>()
