/**
 * Models behind servers that speak Chat Completions like OpenAI does, more or less: Ollama, llama.cpp, vLLM, LM Studio, and
 * services on the net.
 *
 * @since 0.1.0
 */
import { ModelProvider } from "@capstan/core/ModelProvider"
import type * as ModelRetry from "@capstan/core/ModelRetry"
import type * as ModelTimeouts from "@capstan/core/ModelTimeouts"
import type * as ModelCapability from "@capstan/dialect/ModelCapability"
import type * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type { Scope } from "effect/Scope"
import * as openAiProvider from "./internal/openAiProvider.js"

/**
 * Settings of the provider.
 *
 * - `baseUrl` ends before `/chat/completions`, for instance `http://127.0.0.1:11434/v1`. Without `apiKey` no
 *   `Authorization` is sent.
 * - `provider` is the id that errors, reasoning and usage go by, and under which the catalogue is asked for prices and
 *   limits (default `openai-compatible`, which it does not know): give each server its own.
 * - `rescue` (default true) reads calls that a model wrote as text; `emulation` (default `when-refused`) describes tools in
 *   the prompt, once the server has said that the model takes none.
 * - `strict` (default false) has the server enforce arguments by the schemas of the tools.
 * - `maxTokensField` is what the server calls the cap on an answer (default `max_tokens`).
 * - `capabilities` is what you know of the model: above all the `contextWindow` that the server was started with.
 *
 * @since 0.1.0
 * @category models
 */
export interface OpenAiCompatibleOptions {
  readonly baseUrl: string
  readonly model: string
  readonly apiKey?: Redacted.Redacted
  readonly provider?: string
  readonly capabilities?: Partial<ModelCapability.Abilities>
  readonly rescue?: boolean
  readonly emulation?: "never" | "when-refused" | "always"
  readonly strict?: boolean
  readonly maxOutputTokens?: number
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens"
  readonly retry?: Partial<ModelRetry.RetryPolicy>
  readonly timeouts?: Partial<ModelTimeouts.ModelTimeouts>
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * The provider as a value, for routers; its connections live as long as the scope.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: OpenAiCompatibleOptions
): Effect.Effect<Context.Tag.Service<ModelProvider>, never, Scope> =>
  openAiProvider.makeChat({
    ...options,
    apiKey: options.apiKey,
    provider: options.provider ?? "openai-compatible",
    vendor: false,
    strict: options.strict ?? false,
    dialect: { rescue: options.rescue ?? true, emulation: options.emulation ?? "when-refused" }
  }, {
    maxTokensField: options.maxTokensField ?? "max_tokens",
    files: false,
    lenient: true
  }).pipe(Effect.withSpan("OpenAiCompatible.make"))

/**
 * The provider as a layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: OpenAiCompatibleOptions): Layer.Layer<ModelProvider> =>
  Layer.scoped(ModelProvider, make(options))

/**
 * The provider from configuration. A key is sent only if `apiKey` names one: no vendor's variable is read.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = (
  config:
    & { readonly baseUrl: Config.Config<string>; readonly model: Config.Config<string> }
    & { readonly apiKey?: Config.Config<Redacted.Redacted> }
    & Omit<OpenAiCompatibleOptions, "apiKey" | "model" | "baseUrl">
): Layer.Layer<ModelProvider, ConfigError.ConfigError> =>
  Layer.scoped(
    ModelProvider,
    Effect.gen(function*() {
      const { apiKey, baseUrl, model, ...rest } = config
      return yield* make({
        ...rest,
        baseUrl: yield* baseUrl,
        model: yield* model,
        ...(apiKey === undefined ? {} : { apiKey: yield* apiKey })
      })
    })
  )
