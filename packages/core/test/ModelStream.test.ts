import { ModelDelta } from "@capstan/core/ModelDelta"
import { ModelError } from "@capstan/core/ModelProvider"
import * as ModelStream from "@capstan/core/ModelStream"
import * as ModelTimeouts from "@capstan/core/ModelTimeouts"
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"

type Event = "created" | "token" | "last"

/** An SDK's stream by hand: events are pushed, reads wait, and `return` waits behind a pending read for ever. */
class Source implements AsyncIterable<Event> {
  signal: AbortSignal | undefined
  readonly #queue: Array<IteratorResult<Event, undefined>> = []
  readonly #waiting: Array<(result: IteratorResult<Event, undefined>) => void> = []

  push(...events: ReadonlyArray<Event>) {
    for (const value of events) this.#give({ done: false, value })
  }

  end() {
    this.#give({ done: true, value: undefined })
  }

  #give(result: IteratorResult<Event, undefined>) {
    const waiting = this.#waiting.shift()
    if (waiting === undefined) this.#queue.push(result)
    else waiting(result)
  }

  [Symbol.asyncIterator](): AsyncIterator<Event, undefined> {
    return {
      next: () => {
        const ready = this.#queue.shift()
        return ready === undefined
          ? new Promise((resolve) => this.#waiting.push(resolve))
          : Promise.resolve(ready)
      },
      return: () => new Promise(() => undefined)
    }
  }
}

const timeouts = { connectMillis: 1_000, firstTokenMillis: 10_000, silenceMillis: 2_000 }

const events = (source: Source) =>
  ModelStream.fromSdk<Event>({
    provider: "test",
    timeouts,
    open: (signal) => {
      source.signal = signal
      return Promise.resolve(source)
    },
    failure: (cause) => new ModelError({ reason: "server", provider: "test", message: String(cause) }),
    waitsFor: (event) => event === "created" ? "first-token" : event === "last" ? "nothing" : "token"
  })

/** Lets promises settle: they are not under the test clock. */
const settle = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

const after = (duration: Duration.DurationInput) =>
  settle.pipe(Effect.zipRight(TestClock.adjust(duration)), Effect.zipRight(settle))

describe("ModelStream", () => {
  it.effect("aborts the request when it is interrupted, without waiting for a pending read", () =>
    Effect.gen(function*() {
      const source = new Source()
      source.push("token")
      const first = yield* Deferred.make<void>()
      const fiber = yield* events(source).pipe(
        Stream.runForEach(() => Deferred.succeed(first, undefined)),
        Effect.fork
      )
      yield* Deferred.await(first)
      expect(source.signal?.aborted).toBe(false)
      yield* Fiber.interrupt(fiber)
      expect(source.signal?.aborted).toBe(true)
    }))

  it.effect("aborts the request when its reader has enough", () =>
    Effect.gen(function*() {
      const source = new Source()
      source.push("token", "token")
      yield* events(source).pipe(Stream.take(1), Stream.runDrain)
      expect(source.signal?.aborted).toBe(true)
    }))

  it.effect("waits for the first token as long as its limit, whatever else comes before", () =>
    Effect.gen(function*() {
      const source = new Source()
      const fiber = yield* events(source).pipe(Stream.runDrain, Effect.flip, Effect.fork)
      yield* after("6 seconds")
      source.push("created")
      yield* after("3900 millis")
      expect(fiber.unsafePoll()).toBeNull()
      yield* after("100 millis")
      expect(yield* Fiber.join(fiber)).toMatchObject({
        reason: "timeout",
        message: expect.stringContaining("Waited 10 s for the first token")
      })
      expect(source.signal?.aborted).toBe(true)
    }))

  it.effect("takes silence between tokens for its limit only", () =>
    Effect.gen(function*() {
      const source = new Source()
      source.push("token")
      const fiber = yield* events(source).pipe(Stream.runDrain, Effect.flip, Effect.fork)
      yield* after("1500 millis")
      source.push("token")
      yield* after("1999 millis")
      expect(fiber.unsafePoll()).toBeNull()
      yield* after("1 millis")
      expect(yield* Fiber.join(fiber)).toMatchObject({
        reason: "timeout",
        message: expect.stringContaining("fell silent for 2 s")
      })
    }))

  it.effect("does not count the reader's time", () =>
    Effect.gen(function*() {
      const source = new Source()
      source.push("token", "token")
      source.end()
      const fiber = yield* events(source).pipe(
        Stream.runForEach(() => Effect.sleep("1 minute")),
        Effect.fork
      )
      yield* after("1 minute")
      yield* after("1 minute")
      expect(yield* Fiber.join(fiber)).toBeUndefined()
    }))

  it.effect("ends soon after the last event, also when the service keeps the connection", () =>
    Effect.gen(function*() {
      const source = new Source()
      source.push("token", "last")
      const fiber = yield* events(source).pipe(Stream.runCollect, Effect.fork)
      yield* after(ModelTimeouts.closingMillis)
      expect([...(yield* Fiber.join(fiber))]).toEqual(["token", "last"])
    }))

  it.effect("makes an SDK's rejection a typed error", () =>
    Effect.gen(function*() {
      const error = yield* ModelStream.fromSdk<Event>({
        provider: "test",
        timeouts,
        open: () => Promise.reject(new Error("boom")),
        failure: (cause, now) =>
          new ModelError({ reason: "server", provider: "test", message: `${String(cause)} ${now}` }),
        waitsFor: () => "token"
      }).pipe(Stream.runDrain, Effect.flip)
      expect(error.message).toBe("Error: boom 0")
    }))

  it.effect("decodes with state, asks at the end, and stops at what cannot be read", () =>
    Effect.gen(function*() {
      const decoder: ModelStream.Decoder<number, number> = {
        initial: 0,
        step: (sum, event) =>
          event < 0
            ? Either.left(new ModelError({ reason: "bad-response", provider: "test", message: "negative" }))
            : Either.right([sum + event, event === 0 ? [] : [ModelDelta.TextDelta({ text: String(event) })]]),
        end: (sum) => Either.right([ModelDelta.TextDelta({ text: `sum ${sum}` })])
      }
      const texts = (events: ReadonlyArray<number>) =>
        Stream.fromIterable(events).pipe(
          ModelStream.decode(decoder),
          Stream.map((delta) => delta._tag === "TextDelta" ? delta.text : ""),
          Stream.runCollect,
          Effect.map((chunk) => [...chunk])
        )
      expect(yield* texts([1, 0, 2])).toEqual(["1", "2", "sum 3"])
      expect(yield* Effect.flip(texts([1, -1]))).toMatchObject({ reason: "bad-response" })
    }))
})
