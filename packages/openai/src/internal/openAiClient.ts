/** The SDK's client, closed against everything that it would read from the environment. */
import * as ModelFailure from "@capstan/core/ModelFailure"
import type { ModelError } from "@capstan/core/ModelProvider"
import * as ModelTimeouts from "@capstan/core/ModelTimeouts"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Scope } from "effect/Scope"
import Sdk, { APIConnectionError, APIConnectionTimeoutError, APIError } from "openai"
import { Agent } from "undici"

export interface ClientOptions {
  /** Undefined: a server that asks for no key, and gets no `Authorization`. */
  readonly apiKey: Redacted.Redacted | undefined
  readonly baseUrl: string
  readonly organization: string | undefined
  readonly project: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly timeouts: ModelTimeouts.ModelTimeouts
}

/** The SDK drops the body of an error that is not of the vendor's form. */
class Client extends Sdk {
  protected override makeStatusError(...args: Parameters<Sdk["makeStatusError"]>): APIError {
    const [code, body, message, headers] = args
    return super.makeStatusError(
      code,
      isForeign(body) ? { error: { ...body, message: wordsOf(body) } } : body,
      message,
      headers
    )
  }
}

const isForeign = (body: unknown): body is object => typeof body === "object" && body !== null && !("error" in body)

const wordsOf = (body: object): string => {
  const words = "message" in body ? body.message : "detail" in body ? body.detail : body
  return typeof words === "string" ? words : JSON.stringify(words)
}

export const make = (options: ClientOptions): Effect.Effect<Sdk, never, Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() =>
        new Agent({ connect: { timeout: options.timeouts.connectMillis }, headersTimeout: 0, bodyTimeout: 0 })
      ),
      (agent) => Effect.promise(() => agent.destroy())
    ),
    (dispatcher) =>
      new Client({
        apiKey: options.apiKey === undefined ? "none" : Redacted.value(options.apiKey),
        organization: options.organization ?? null,
        project: options.project ?? null,
        webhookSecret: null,
        baseURL: options.baseUrl,
        defaultHeaders: { ...(options.apiKey === undefined ? { authorization: null } : {}), ...options.headers },
        fetchOptions: { dispatcher, redirect: "error" },
        maxRetries: 0,
        timeout: sdkTimeout(options.timeouts),
        logLevel: "off"
      })
  )

/** Our own limits come first. */
const sdkTimeout = (timeouts: ModelTimeouts.ModelTimeouts): number =>
  Math.min(2_147_483_647, timeouts.connectMillis + timeouts.firstTokenMillis + 60_000)

export const failure =
  (target: ModelFailure.Target, offeredTools: boolean) => (cause: unknown, now: number): ModelError => {
    if (cause instanceof APIConnectionTimeoutError) {
      return ModelTimeouts.connectError({ ...target, cause })
    }
    if (cause instanceof APIConnectionError) {
      return ModelFailure.fromConnection(target, cause)
    }
    if (cause instanceof APIError) {
      return ModelFailure.fromReported(target, {
        status: cause.status,
        code: wordOf(cause.code) ?? wordOf(cause.type),
        message: messageOf(cause.error) ?? cause.message,
        retryAfterMillis: ModelFailure.retryAfterMillis((name) => cause.headers?.get(name), now),
        offeredTools,
        cause
      })
    }
    return cause instanceof SyntaxError
      ? ModelFailure.unreadable(target, cause.message, cause)
      : ModelFailure.fromConnection(target, cause)
  }

/** Some servers put the number of the status there. */
const wordOf = (code: unknown): string | undefined => typeof code === "string" && code !== "" ? code : undefined

const messageOf = (error: unknown): string | undefined =>
  typeof error === "string"
    ? error
    : typeof error === "object" && error !== null && "message" in error && typeof error.message === "string"
    ? error.message
    : undefined
