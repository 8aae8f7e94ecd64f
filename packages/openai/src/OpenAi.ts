/**
 * OpenAI's models, by the Responses API or by Chat Completions.
 *
 * @since 0.1.0
 */
import { ModelProvider } from "@capstan/core/ModelProvider"
import type * as ModelRetry from "@capstan/core/ModelRetry"
import type * as ModelTimeouts from "@capstan/core/ModelTimeouts"
import type * as ModelCapability from "@capstan/dialect/ModelCapability"
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type { Scope } from "effect/Scope"
import * as openAiProvider from "./internal/openAiProvider.js"

/**
 * How much a reasoning model shall think, and whether it shows a summary of it (some accounts have to be verified for
 * that; Responses only). Left out: the model's own default, and no summary.
 *
 * @since 0.1.0
 * @category models
 */
export interface Reasoning {
  readonly effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh"
  readonly summary?: "auto" | "concise" | "detailed"
}

/**
 * Settings of the provider.
 *
 * - `model` answers requests that name none; `maxOutputTokens` caps answers that have no cap of their own (default: the
 *   service's).
 * - `apiKey` is sent to `baseUrl`, whatever that is: give a host only the key that is its own.
 * - `strict` (default true) has arguments enforced by the schemas of the tools, where they and the model allow it; a tool
 *   that does not is named in the log.
 * - `rescue` (default false) reads calls that a model wrote as text.
 * - `capabilities` is what you know better of the models than the catalogue does.
 *
 * @since 0.1.0
 * @category models
 */
export interface OpenAiOptions {
  readonly apiKey: Redacted.Redacted
  readonly model: string
  readonly baseUrl?: string
  readonly organization?: string
  readonly project?: string
  readonly maxOutputTokens?: number
  readonly capabilities?: Partial<ModelCapability.Abilities>
  readonly strict?: boolean
  readonly rescue?: boolean
  readonly reasoning?: Reasoning
  readonly retry?: Partial<ModelRetry.RetryPolicy>
  readonly timeouts?: Partial<ModelTimeouts.ModelTimeouts>
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * The settings as configuration. Without `apiKey` the key is `OPENAI_API_KEY`, and only for the vendor's own host: another
 * `baseUrl` needs a key of its own.
 *
 * @since 0.1.0
 * @category models
 */
export type OpenAiConfig =
  & { readonly model: Config.Config<string> }
  & { readonly apiKey?: Config.Config<Redacted.Redacted>; readonly baseUrl?: Config.Config<string> }
  & Omit<OpenAiOptions, "apiKey" | "model" | "baseUrl">

/**
 * The provider's id, in errors, reasoning parts and what is known of its models.
 *
 * @since 0.1.0
 * @category constructors
 */
export const provider = "openai"

/**
 * The vendor's own address.
 *
 * @since 0.1.0
 * @category constructors
 */
export const defaultBaseUrl = "https://api.openai.com/v1"

/**
 * The provider by the Responses API, as a value for routers; its connections live as long as the scope. Nothing is stored at
 * the service: reasoning goes back encrypted.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeResponses = (
  options: OpenAiOptions
): Effect.Effect<Context.Tag.Service<ModelProvider>, never, Scope> =>
  openAiProvider.makeResponses(settingsOf(options)).pipe(Effect.withSpan("OpenAi.makeResponses"))

/**
 * The provider by Chat Completions, as a value for routers; its connections live as long as the scope.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeChat = (options: OpenAiOptions): Effect.Effect<Context.Tag.Service<ModelProvider>, never, Scope> =>
  openAiProvider.makeChat(settingsOf(options), {
    maxTokensField: "max_completion_tokens",
    files: true,
    lenient: false
  }).pipe(Effect.withSpan("OpenAi.makeChat"))

/**
 * The provider by the Responses API.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerResponses = (options: OpenAiOptions): Layer.Layer<ModelProvider> =>
  Layer.scoped(ModelProvider, makeResponses(options))

/**
 * The provider by Chat Completions.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerChat = (options: OpenAiOptions): Layer.Layer<ModelProvider> =>
  Layer.scoped(ModelProvider, makeChat(options))

/**
 * The provider by the Responses API, from configuration.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerResponsesConfig = (config: OpenAiConfig): Layer.Layer<ModelProvider, ConfigError.ConfigError> =>
  Layer.scoped(ModelProvider, Effect.flatMap(load(config), makeResponses))

/**
 * The provider by Chat Completions, from configuration.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerChatConfig = (config: OpenAiConfig): Layer.Layer<ModelProvider, ConfigError.ConfigError> =>
  Layer.scoped(ModelProvider, Effect.flatMap(load(config), makeChat))

const load = (config: OpenAiConfig): Effect.Effect<OpenAiOptions, ConfigError.ConfigError> =>
  Effect.gen(function*() {
    const { apiKey, baseUrl, model, ...rest } = config
    const url = yield* baseUrl ?? Config.succeed(defaultBaseUrl)
    if (apiKey === undefined && !isVendor(url)) {
      return yield* Effect.fail(ConfigError.Unsupported(
        ["apiKey"],
        `OPENAI_API_KEY belongs to ${
          new URL(defaultBaseUrl).origin
        } and is not sent to ${url}: give that host a key of its own.`
      ))
    }
    return {
      ...rest,
      model: yield* model,
      baseUrl: url,
      apiKey: yield* apiKey ?? Config.redacted("OPENAI_API_KEY")
    }
  })

const isVendor = (url: string): boolean => URL.canParse(url) && new URL(url).origin === new URL(defaultBaseUrl).origin

const settingsOf = (options: OpenAiOptions): openAiProvider.Settings => ({
  ...options,
  provider,
  baseUrl: options.baseUrl ?? defaultBaseUrl,
  vendor: true,
  strict: options.strict ?? true,
  dialect: { rescue: options.rescue ?? false }
})
