/**
 * A language model behind some service: what it can do, and its answer to a request as a stream.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { JsonSchema } from "./JsonSchema.js"
import type { Message } from "./Message.js"
import type { ModelDelta } from "./ModelDelta.js"
import { Prices } from "./Usage.js"

/**
 * A tool as a model is told of it. `parameters` is a JSON Schema object.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema
}

/**
 * Which tool a model shall call: as it likes, none (definitions stay, so that history stays valid), at least one, or the
 * one named.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string }

/**
 * A request for one answer. `model` is the provider's model id (undefined: the provider's default), `maxOutputTokens` the
 * cap on the answer.
 *
 * @since 0.1.0
 * @category models
 */
export interface ModelRequest {
  readonly model: string | undefined
  readonly instructions: string
  readonly messages: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<ToolDefinition>
  readonly toolChoice: ToolChoice
  readonly maxOutputTokens: number | undefined
}

/**
 * What is known of a model: token limits (null: unknown), prices with their source.
 *
 * @since 0.1.0
 * @category models
 */
export const Model = Schema.Struct({
  provider: Schema.String,
  id: Schema.String,
  contextWindow: Schema.NullOr(Schema.Number),
  maxOutput: Schema.NullOr(Schema.Number),
  prices: Schema.NullOr(Prices)
})

/**
 * What is known of a model.
 *
 * @since 0.1.0
 * @category models
 */
export type Model = typeof Model.Type

/**
 * What went wrong with a model's service. `broken` is a stream that ended after its first token, `timeout` says in
 * `message` what was waited for, `bad-response` is an answer that cannot be read.
 *
 * @since 0.1.0
 * @category models
 */
export const ModelErrorReason = Schema.Literal(
  "unreachable",
  "authentication",
  "permission",
  "not-found",
  "rate-limit",
  "overloaded",
  "server",
  "bad-request",
  "context-length",
  "timeout",
  "broken",
  "bad-response",
  "unsupported"
)

/**
 * What went wrong with a model's service.
 *
 * @since 0.1.0
 * @category models
 */
export type ModelErrorReason = typeof ModelErrorReason.Type

/**
 * A model could not answer, after the provider's own retries. `message` says what to do next; `status` is HTTP's,
 * `retryAfterMillis` what the service asked for, `attempts` how often it was tried.
 *
 * @since 0.1.0
 * @category errors
 */
export class ModelError extends Schema.TaggedError<ModelError>("@capstan/core/ModelError")("ModelError", {
  reason: ModelErrorReason,
  provider: Schema.String,
  message: Schema.String,
  status: Schema.optionalWith(Schema.Number, { exact: true }),
  retryAfterMillis: Schema.optionalWith(Schema.Number, { exact: true }),
  attempts: Schema.optionalWith(Schema.Number, { exact: true }),
  cause: Schema.optionalWith(Schema.Defect, { exact: true })
}) {}

/**
 * A language model behind some service. Interrupting the stream aborts the request at once; retries before the first token
 * are the provider's own affair and show as `Retry` deltas.
 *
 * @since 0.1.0
 * @category services
 */
export class ModelProvider extends Context.Tag("@capstan/core/ModelProvider")<ModelProvider, {
  /** What is known of a model (undefined: the default one). Asks nobody; unknown facts are null. */
  readonly model: (id: string | undefined) => Effect.Effect<Model, ModelError>
  readonly stream: (request: ModelRequest) => Stream.Stream<ModelDelta, ModelError>
}>() {}
