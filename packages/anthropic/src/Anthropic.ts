/**
 * Anthropic's models by the Messages API.
 *
 * @since 0.1.0
 */
import type Sdk from "@anthropic-ai/sdk"
import * as CallAssembly from "@capstan/core/CallAssembly"
import type * as ModelFailure from "@capstan/core/ModelFailure"
import { type Model, ModelProvider, type ModelRequest } from "@capstan/core/ModelProvider"
import * as ModelRetry from "@capstan/core/ModelRetry"
import * as ModelStream from "@capstan/core/ModelStream"
import * as ModelTimeouts from "@capstan/core/ModelTimeouts"
import * as Dialect from "@capstan/dialect/Dialect"
import * as ModelCapability from "@capstan/dialect/ModelCapability"
import * as ToolNames from "@capstan/dialect/ToolNames"
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type { Scope } from "effect/Scope"
import * as Stream from "effect/Stream"
import * as anthropicClient from "./internal/anthropicClient.js"
import * as anthropicRequest from "./internal/anthropicRequest.js"
import * as anthropicResponse from "./internal/anthropicResponse.js"

/**
 * How a model thinks before it answers: as it does by default, not at all, as much as it sees fit, or up to a number of
 * tokens (at least 1024 and less than the answer's cap). Which of them a model takes is the service's affair.
 *
 * @since 0.1.0
 * @category models
 */
export type Thinking = "default" | "off" | "adaptive" | { readonly budgetTokens: number }

/**
 * Settings of the provider.
 *
 * - `model` answers requests that name none; `maxOutputTokens` caps answers that have no cap of their own (default: what is
 *   known of the model, else 8192).
 * - `apiKey` is sent to `baseUrl`, whatever that is: give a host only the key that is its own.
 * - `rescue` (default false) reads calls that a model wrote as text.
 * - `capabilities` is what you know better of the models than the catalogue does.
 *
 * @since 0.1.0
 * @category models
 */
export interface AnthropicOptions {
  readonly apiKey: Redacted.Redacted
  readonly model: string
  readonly baseUrl?: string
  readonly maxOutputTokens?: number
  readonly capabilities?: Partial<ModelCapability.Abilities>
  readonly thinking?: Thinking
  readonly rescue?: boolean
  readonly retry?: Partial<ModelRetry.RetryPolicy>
  readonly timeouts?: Partial<ModelTimeouts.ModelTimeouts>
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * The provider's id, in errors, reasoning parts and {@link Model}.
 *
 * @since 0.1.0
 * @category constructors
 */
export const provider = "anthropic"

/**
 * The vendor's own address.
 *
 * @since 0.1.0
 * @category constructors
 */
export const defaultBaseUrl = "https://api.anthropic.com"

/**
 * The provider as a value, for routers; its connections live as long as the scope.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = Effect.fn("Anthropic.make")(function*(
  options: AnthropicOptions
): Effect.fn.Return<Context.Tag.Service<ModelProvider>, never, Scope> {
  const timeouts = { ...ModelTimeouts.defaults, ...options.timeouts }
  const policy = { ...ModelRetry.defaults, ...options.retry }
  const baseUrl = options.baseUrl ?? defaultBaseUrl
  const client = yield* anthropicClient.make({
    apiKey: options.apiKey,
    baseUrl,
    headers: options.headers ?? {},
    timeouts
  })

  const model = (id: string = options.model): Model => {
    const { contextWindow, maxOutput, prices } = ModelCapability.of(id, {
      provider,
      override: options.capabilities ?? {}
    })
    return { provider, id, contextWindow, maxOutput, prices }
  }

  const stream = (request: ModelRequest) =>
    Stream.suspend(() => {
      const known = model(request.model)
      const target: ModelFailure.Target = { provider, url: baseUrl, model: known.id, timeouts }
      const names = ToolNames.make(request.tools.map((tool) => tool.name))
      const maxTokens = request.maxOutputTokens ?? options.maxOutputTokens ?? known.maxOutput ?? 8192
      const params = anthropicRequest.encode({
        request,
        provider,
        model: known.id,
        maxTokens,
        thinking: toThinking(options.thinking ?? "default", maxTokens),
        names
      })
      return ModelStream.fromSdk<unknown>({
        provider,
        timeouts,
        open: anthropicClient.open(client, params),
        failure: anthropicClient.failure(target),
        waitsFor: anthropicResponse.waitsFor
      }).pipe(
        ModelStream.decode(anthropicResponse.decoder(target)),
        Stream.map(CallAssembly.mapCalls({ name: names.fromWire })),
        ModelRetry.retry({ policy })
      )
    })

  return Dialect.decorate(
    { model: (id) => Effect.succeed(model(id)), stream },
    { rescue: options.rescue ?? false }
  )
})

/**
 * The provider as a layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: AnthropicOptions): Layer.Layer<ModelProvider> =>
  Layer.scoped(ModelProvider, make(options))

/**
 * The provider from configuration. Without `apiKey` the key is `ANTHROPIC_API_KEY`, and only for the vendor's own host:
 * another `baseUrl` needs a key of its own, or this fails with a `ConfigError`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = (
  options:
    & { readonly model: Config.Config<string> }
    & { readonly apiKey?: Config.Config<Redacted.Redacted>; readonly baseUrl?: Config.Config<string> }
    & Omit<AnthropicOptions, "apiKey" | "model" | "baseUrl">
): Layer.Layer<ModelProvider, ConfigError.ConfigError> =>
  Layer.scoped(
    ModelProvider,
    Effect.gen(function*() {
      const { apiKey, baseUrl, model, ...rest } = options
      const url = yield* baseUrl ?? Config.succeed(defaultBaseUrl)
      if (apiKey === undefined && !isVendor(url)) {
        return yield* Effect.fail(ConfigError.Unsupported(
          ["apiKey"],
          `ANTHROPIC_API_KEY belongs to ${defaultBaseUrl} and is not sent to ${url}: give that host a key of its own.`
        ))
      }
      return yield* make({
        ...rest,
        model: yield* model,
        baseUrl: url,
        apiKey: yield* apiKey ?? Config.redacted("ANTHROPIC_API_KEY")
      })
    })
  )

const isVendor = (url: string): boolean => URL.canParse(url) && new URL(url).origin === defaultBaseUrl

const toThinking = (thinking: Thinking, maxTokens: number): Sdk.Messages.ThinkingConfigParam | undefined => {
  switch (thinking) {
    case "default":
      return undefined
    case "off":
      return { type: "disabled" }
    case "adaptive":
      return { type: "adaptive" }
  }
  const budget = Math.min(thinking.budgetTokens, maxTokens - 1)
  return budget < 1024 ? undefined : { type: "enabled", budget_tokens: budget }
}
