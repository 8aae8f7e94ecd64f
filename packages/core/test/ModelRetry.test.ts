import { ModelDelta } from "@capstan/core/ModelDelta"
import { ModelError, type ModelErrorReason } from "@capstan/core/ModelProvider"
import * as ModelRetry from "@capstan/core/ModelRetry"
import { describe, expect, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"

const failure = (
  reason: ModelErrorReason,
  more: { readonly status?: number; readonly retryAfterMillis?: number } = {}
) => new ModelError({ reason, provider: "test", message: "No.", ...more })

const word = ModelDelta.TextDelta({ text: "hi" })

const policy = { attempts: 4, baseMillis: 100, maxDelayMillis: 250, maxRetryAfterMillis: 5_000 }

type Attempt = ReadonlyArray<ModelDelta | ModelError>

/** Plays one attempt after the other and gives what came, the error, and how often it was tried. */
const play = (attempts: ReadonlyArray<Attempt>, override: Partial<ModelRetry.RetryPolicy> = {}) =>
  Effect.gen(function*() {
    const tries = yield* Ref.make(0)
    const seen = yield* Ref.make<ReadonlyArray<ModelDelta>>([])
    const attempt = Stream.unwrap(Effect.map(
      Ref.getAndUpdate(tries, (count) => count + 1),
      (count) =>
        Stream.fromIterable(attempts[Math.min(count, attempts.length - 1)] ?? []).pipe(
          Stream.mapEffect((item) => item._tag === "ModelError" ? Effect.fail(item) : Effect.succeed(item))
        )
    ))
    const fiber = yield* attempt.pipe(
      ModelRetry.retry({ policy: { ...policy, ...override } }),
      Stream.runForEach((delta) => Ref.update(seen, (before) => [...before, delta])),
      Effect.either,
      Effect.fork
    )
    yield* TestClock.adjust(Duration.hours(1))
    const result = yield* Fiber.join(fiber)
    return { deltas: yield* Ref.get(seen), error: Either.getLeft(result), tries: yield* Ref.get(tries) }
  })

describe("ModelRetry", () => {
  it.effect("tries again until the first delta, announcing each try", () =>
    Effect.gen(function*() {
      const { deltas, error, tries } = yield* play([[failure("overloaded")], [failure("unreachable")], [word]])
      expect(tries).toBe(3)
      expect(error._tag).toBe("None")
      expect(deltas.map((delta) => delta._tag)).toEqual(["Retry", "Retry", "TextDelta"])
      expect(deltas[0]).toMatchObject({ attempt: 1, reason: "No." })
      expect(deltas[1]).toMatchObject({ attempt: 2 })
    }))

  it.effect("gives up with the last error, which says how often it was tried", () =>
    Effect.gen(function*() {
      const { deltas, error, tries } = yield* play([[failure("server", { status: 500 })]])
      expect(tries).toBe(4)
      expect(deltas).toHaveLength(3)
      expect(error).toMatchObject({
        _tag: "Some",
        value: { reason: "server", status: 500, attempts: 4, message: "No. Gave up after 4 attempts." }
      })
    }))

  it.effect("doubles the pauses up to a cap, with jitter", () =>
    Effect.gen(function*() {
      const { deltas } = yield* play([[failure("overloaded")]])
      const delays = deltas.flatMap((delta) => delta._tag === "Retry" ? [delta.delayMillis] : [])
      for (const [position, base] of [100, 200, 250].entries()) {
        expect(delays[position]).toBeGreaterThanOrEqual(Math.floor(base * 0.8))
        expect(delays[position]).toBeLessThanOrEqual(Math.ceil(base * 1.2))
      }
    }))

  it.effect("waits as long as the service asks", () =>
    Effect.gen(function*() {
      const { deltas, tries } = yield* play([[failure("rate-limit", { retryAfterMillis: 3_000 })], [word]])
      expect(tries).toBe(2)
      expect(deltas[0]).toMatchObject({ _tag: "Retry", delayMillis: 3_000 })
    }))

  it.effect("does not wait where the service asks for too much", () =>
    Effect.gen(function*() {
      const { deltas, error, tries } = yield* play([[failure("rate-limit", { retryAfterMillis: 6_000 })]])
      expect(tries).toBe(1)
      expect(deltas).toEqual([])
      expect(error).toMatchObject({ value: { reason: "rate-limit", retryAfterMillis: 6_000, attempts: 1 } })
    }))

  it.effect("sends nothing again after the first delta", () =>
    Effect.gen(function*() {
      const { deltas, error, tries } = yield* play([[word, failure("unreachable")]])
      expect(tries).toBe(1)
      expect(deltas).toEqual([word])
      expect(error).toMatchObject({ value: { reason: "broken", attempts: 1 } })
    }))

  it.effect("keeps a timeout and a bad response in the middle what they are", () =>
    Effect.gen(function*() {
      for (const reason of ["timeout", "bad-response"] as const) {
        const { error } = yield* play([[word, failure(reason)]])
        expect(error).toMatchObject({ value: { reason } })
      }
    }))

  it.effect("sends what cannot be helped once, and HTTP 408 and 409 again", () =>
    Effect.gen(function*() {
      for (const reason of ["authentication", "permission", "bad-request", "context-length", "unsupported"] as const) {
        expect((yield* play([[failure(reason)]])).tries).toBe(1)
      }
      expect((yield* play([[failure("timeout", { status: 408 })], [word]])).tries).toBe(2)
      expect((yield* play([[failure("bad-request", { status: 409 })], [word]])).tries).toBe(2)
    }))

  it.effect("counts only tries of its own: an interrupted pause ends at once", () =>
    Effect.gen(function*() {
      const fiber = yield* Stream.fail(failure("overloaded")).pipe(
        ModelRetry.retry({ policy: { ...policy, baseMillis: 60_000, maxDelayMillis: 60_000 } }),
        Stream.runDrain,
        Effect.fork
      )
      yield* TestClock.adjust(Duration.seconds(1))
      const exit = yield* Fiber.interrupt(fiber)
      expect(exit._tag).toBe("Failure")
    }))

  it.effect.prop(
    "tries at most as often as the policy says",
    [FastCheck.integer({ min: 1, max: 6 }), FastCheck.array(FastCheck.boolean(), { minLength: 1, maxLength: 8 })],
    ([attempts, fails]) =>
      Effect.gen(function*() {
        const { tries } = yield* play(fails.map((fail) => fail ? [failure("server")] : [word]), { attempts })
        const firstGood = fails.indexOf(false)
        expect(tries).toBe(firstGood === -1 ? attempts : Math.min(attempts, firstGood + 1))
      }),
    { fastCheck: { numRuns: 30 } }
  )

  it("has chunks of one, so that a reader sees a word when it comes", () =>
    Effect.runPromise(
      Stream.make(word).pipe(
        ModelRetry.retry({ policy }),
        Stream.runCollect,
        Effect.map(Chunk.size),
        Effect.map((size) => expect(size).toBe(1))
      )
    ))
})
