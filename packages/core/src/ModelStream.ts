/**
 * From the events of an SDK to the deltas of an answer: an abortable source, its time limits, and a pure decoder.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import type { ModelDelta } from "./ModelDelta.js"
import type { ModelError } from "./ModelProvider.js"
import * as ModelTimeouts from "./ModelTimeouts.js"

/**
 * What a decoder makes of one event: its next state and the deltas so far, or why the answer cannot be read.
 *
 * @since 0.1.0
 * @category models
 */
export type Step<State> = Either.Either<readonly [State, ReadonlyArray<ModelDelta>], ModelError>

/**
 * A pure reader of a service's events. `end` is asked when the service closed the stream without an error.
 *
 * @since 0.1.0
 * @category models
 */
export interface Decoder<Event, State> {
  readonly initial: State
  readonly step: (state: State, event: Event) => Step<State>
  readonly end: (state: State) => Either.Either<ReadonlyArray<ModelDelta>, ModelError>
}

/**
 * The events of a request as a stream. Leaving it aborts the request first and waits for nothing: an SDK's iterator would
 * wait behind a pending read. `waitsFor` says what the service owes after an event: after the last one (`nothing`) only the
 * end is waited for, briefly, so that the connection can be used again. `failure` makes an SDK's error a typed one (`now` is
 * the time in milliseconds).
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromSdk = <Event>(options: {
  readonly provider: string
  readonly timeouts: ModelTimeouts.ModelTimeouts
  readonly open: (signal: AbortSignal) => Promise<AsyncIterable<Event>>
  readonly failure: (cause: unknown, now: number) => ModelError
  readonly waitsFor: (event: Event) => ModelTimeouts.Wait | "nothing"
}): Stream.Stream<Event, ModelError> =>
  Stream.unwrapScoped(Effect.gen(function*() {
    const controller = yield* Effect.acquireRelease(
      Effect.sync(() => new AbortController()),
      (controller) => Effect.sync(() => controller.abort())
    )
    const waiting = yield* Ref.make<Waiting>({ wait: "first-token", millis: options.timeouts.firstTokenMillis })

    const call = <A>(run: () => Promise<A>): Effect.Effect<A, ModelError> =>
      Effect.gen(function*() {
        const { millis, wait } = yield* Ref.get(waiting)
        const start = yield* Clock.currentTimeMillis
        const result = yield* Effect.tryPromise({ try: run, catch: (cause) => cause }).pipe(
          Effect.catchAll((cause) =>
            Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.fail(options.failure(cause, now)))
          ),
          wait === "nothing"
            ? identity
            : ModelTimeouts.within({ provider: options.provider, timeouts: options.timeouts, wait, millis })
        )
        const end = yield* Clock.currentTimeMillis
        yield* Ref.set(waiting, { wait, millis: millis - (end - start) })
        return result
      })

    const iterable = yield* call(() => options.open(controller.signal))
    const iterator = iterable[Symbol.asyncIterator]()

    const closing = Effect.tryPromise(() => iterator.next()).pipe(
      Effect.timeout(ModelTimeouts.closingMillis),
      Effect.ignore,
      Effect.zipRight(Effect.fail(Option.none<ModelError>()))
    )

    return Stream.repeatEffectOption(Effect.gen(function*() {
      if ((yield* Ref.get(waiting)).wait === "nothing") {
        return yield* closing
      }
      const result = yield* Effect.mapError(call(() => iterator.next()), Option.some)
      if (result.done === true) {
        return yield* Effect.fail(Option.none())
      }
      const wait = options.waitsFor(result.value)
      yield* Ref.update(waiting, (before) =>
        wait === "first-token" && before.wait === wait
          ? before
          : { wait, millis: wait === "nothing" ? 0 : ModelTimeouts.limitOf(options.timeouts, wait) })
      return result.value
    }))
  }))

interface Waiting {
  readonly wait: ModelTimeouts.Wait | "nothing"
  readonly millis: number
}

/**
 * Runs a decoder over a stream of events.
 *
 * @since 0.1.0
 * @category combinators
 */
export const decode =
  <Event, State>(decoder: Decoder<Event, State>) =>
  <R>(self: Stream.Stream<Event, ModelError, R>): Stream.Stream<ModelDelta, ModelError, R> =>
    self.pipe(
      Stream.map(Option.some),
      Stream.concat(Stream.succeed(Option.none<Event>())),
      Stream.mapAccumEffect(decoder.initial, (state, event) =>
        Option.match(event, {
          onNone: () => Either.map(decoder.end(state), (deltas) => [state, deltas] as const),
          onSome: (event) => decoder.step(state, event)
        })),
      Stream.mapConcat((deltas) => deltas)
    )
