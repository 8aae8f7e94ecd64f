/** The SDK's client, closed against everything that it would read from the environment. */
import Sdk, { APIConnectionError, APIConnectionTimeoutError, APIError } from "@anthropic-ai/sdk"
import * as ModelFailure from "@capstan/core/ModelFailure"
import type { ModelError } from "@capstan/core/ModelProvider"
import * as ModelTimeouts from "@capstan/core/ModelTimeouts"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Scope } from "effect/Scope"
import { Agent } from "undici"

export interface ClientOptions {
  readonly apiKey: Redacted.Redacted
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeouts: ModelTimeouts.ModelTimeouts
}

/**
 * ANTHROPIC_CUSTOM_HEADERS would be sent to any host, and could replace the key: only the SDK's own headers and those that
 * were given leave.
 */
class Client extends Sdk {
  readonly #own: Readonly<Record<string, string>>

  constructor(options: ClientOptions, dispatcher: Agent) {
    super({
      apiKey: Redacted.value(options.apiKey),
      authToken: null,
      webhookKey: null,
      baseURL: options.baseUrl,
      fetchOptions: { dispatcher, redirect: "error" },
      maxRetries: 0,
      timeout: sdkTimeout(options.timeouts),
      logLevel: "off",
      openTelemetry: false
    })
    this.#own = { "x-api-key": Redacted.value(options.apiKey), ...options.headers }
  }

  protected override async prepareRequest(...args: Parameters<Sdk["prepareRequest"]>): Promise<void> {
    const [request] = args
    const sdk = [...new Headers(request.headers)].filter(([name]) => sdkHeader.test(name))
    request.headers = { ...Object.fromEntries(sdk), ...this.#own }
    return super.prepareRequest(...args)
  }
}

const sdkHeader = /^(accept|content-type|user-agent|anthropic-version|x-stainless-.*)$/

export const make = (options: ClientOptions): Effect.Effect<Sdk, never, Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() =>
        new Agent({ connect: { timeout: options.timeouts.connectMillis }, headersTimeout: 0, bodyTimeout: 0 })
      ),
      (agent) => Effect.promise(() => agent.destroy())
    ),
    (dispatcher) => new Client(options, dispatcher)
  )

/** As `messages.create`, which prints its warnings of old models to the console. */
export const open =
  (client: Sdk, body: Sdk.Messages.MessageCreateParamsStreaming) =>
  (signal: AbortSignal): Promise<AsyncIterable<unknown>> =>
    client.post<AsyncIterable<unknown>>("/v1/messages", { body, stream: true, signal })

/** Our own limits come first. */
const sdkTimeout = (timeouts: ModelTimeouts.ModelTimeouts): number =>
  Math.min(2_147_483_647, timeouts.connectMillis + timeouts.firstTokenMillis + 60_000)

export const failure = (target: ModelFailure.Target) => (cause: unknown, now: number): ModelError => {
  if (cause instanceof APIConnectionTimeoutError) {
    return ModelTimeouts.connectError({ ...target, cause })
  }
  if (cause instanceof APIConnectionError) {
    return ModelFailure.fromConnection(target, cause)
  }
  if (cause instanceof APIError) {
    const { code, message } = bodyOf(cause.error)
    return ModelFailure.fromReported(target, {
      status: cause.status,
      code,
      message: message ?? cause.message,
      retryAfterMillis: ModelFailure.retryAfterMillis((name) => cause.headers?.get(name), now),
      cause
    })
  }
  return cause instanceof SyntaxError
    ? ModelFailure.unreadable(target, cause.message, cause)
    : ModelFailure.fromConnection(target, cause)
}

const bodyOf = (body: unknown): { readonly code: string | undefined; readonly message: string | undefined } => {
  const error = typeof body === "object" && body !== null && "error" in body ? body.error : body
  return typeof error === "object" && error !== null
    ? { code: stringAt(error, "type"), message: stringAt(error, "message") }
    : { code: undefined, message: undefined }
}

const stringAt = (value: object, key: string): string | undefined => {
  const found: unknown = Reflect.get(value, key)
  return typeof found === "string" ? found : undefined
}
