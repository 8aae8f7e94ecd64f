/**
 * How long a model may take: to be connected to, to say its first word, and to be silent in between.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { ModelError } from "./ModelProvider.js"

/**
 * Time limits of a request, in milliseconds. `connectMillis` is for the connection, `firstTokenMillis` for the whole wait
 * until the first token (thinking that is not shown included), `silenceMillis` for each pause between tokens. Time that the
 * reader of a stream takes counts toward none.
 *
 * @since 0.1.0
 * @category models
 */
export interface ModelTimeouts {
  readonly connectMillis: number
  readonly firstTokenMillis: number
  readonly silenceMillis: number
}

/**
 * What a request is waiting for, once it was sent.
 *
 * @since 0.1.0
 * @category models
 */
export type Wait = "first-token" | "token"

/**
 * How long a finished answer may take to close its connection, in milliseconds. One that takes longer is cut off.
 *
 * @since 0.1.0
 * @category constructors
 */
export const closingMillis = 250

/**
 * 10 s to connect, 300 s to the first token, 60 s of silence.
 *
 * @since 0.1.0
 * @category constructors
 */
export const defaults: ModelTimeouts = { connectMillis: 10_000, firstTokenMillis: 300_000, silenceMillis: 60_000 }

/**
 * The limit of a wait, in milliseconds.
 *
 * @since 0.1.0
 * @category combinators
 */
export const limitOf = (timeouts: ModelTimeouts, wait: Wait): number =>
  wait === "first-token" ? timeouts.firstTokenMillis : timeouts.silenceMillis

/**
 * The error of a connection that took too long.
 *
 * @since 0.1.0
 * @category errors
 */
export const connectError = (options: {
  readonly provider: string
  readonly url: string
  readonly timeouts: ModelTimeouts
  readonly cause?: unknown
}): ModelError =>
  new ModelError({
    reason: "timeout",
    provider: options.provider,
    message: `Waited ${seconds(options.timeouts.connectMillis)} for a connection to ${options.url}. ` +
      "Check the network and the address, or raise the connect limit.",
    ...(options.cause === undefined ? {} : { cause: options.cause })
  })

/**
 * Fails with a `timeout` that says what was waited for when an effect takes longer than `millis`. `wait` picks the words and
 * the configured limit that they name.
 *
 * @since 0.1.0
 * @category combinators
 */
export const within = (options: {
  readonly provider: string
  readonly wait: Wait
  readonly millis: number
  readonly timeouts: ModelTimeouts
}) =>
<A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | ModelError, R> =>
  Effect.timeoutFail(self, {
    duration: Duration.millis(Math.max(0, options.millis)),
    onTimeout: () =>
      new ModelError({
        reason: "timeout",
        provider: options.provider,
        message: waitMessage(options.wait, options.timeouts)
      })
  })

const waitMessage = (wait: Wait, timeouts: ModelTimeouts): string => {
  const limit = seconds(limitOf(timeouts, wait))
  return wait === "first-token"
    ? `Waited ${limit} for the first token of the answer. Try again, ask for less, or raise the first-token limit.`
    : `The answer fell silent for ${limit} in the middle. Try again, or raise the silence limit.`
}

const seconds = (millis: number): string => millis < 1000 ? `${millis} ms` : `${Math.round(millis / 100) / 10} s`
