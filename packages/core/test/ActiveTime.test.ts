import { ActiveTime } from "@capstan/core"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, TestClock } from "effect"

/** Runs an effect that sleeps, and moves the clock meanwhile. */
const passing = <A, E>(effect: Effect.Effect<A, E>, time: string & `${number} ${"seconds" | "millis"}`) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.fork(effect)
    yield* TestClock.adjust(time)
    return yield* Fiber.join(fiber)
  })

describe("ActiveTime", () => {
  it.effect("counts what passes, in laps", () =>
    Effect.gen(function*() {
      const active = yield* ActiveTime.make()
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(yield* active.lap, 3_000)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* active.sinceLap, 2_000)
      assert.strictEqual(yield* active.sinceLap, 2_000)
      assert.strictEqual(yield* active.lap, 2_000)
      assert.strictEqual(yield* active.sinceLap, 0)
      assert.strictEqual(yield* active.millis, 5_000)
    }))

  it.effect("stands still as long as anybody waits", () =>
    Effect.gen(function*() {
      const active = yield* ActiveTime.make()
      const waits = yield* Effect.fork(Effect.all([
        active.excluding(Effect.sleep("2 seconds")),
        active.excluding(Effect.sleep("5 seconds"))
      ], { concurrency: "unbounded" }))
      yield* TestClock.adjust("4 seconds")
      assert.strictEqual(yield* active.millis, 0)
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(waits)
      assert.strictEqual(yield* active.millis, 2_000)
    }))

  it.effect("goes on when a wait fails or is interrupted", () =>
    Effect.gen(function*() {
      const active = yield* ActiveTime.make()
      yield* Effect.flip(active.excluding(Effect.fail("no")))
      const fiber = yield* Effect.fork(active.excluding(Effect.never))
      yield* TestClock.adjust("1 seconds")
      yield* Fiber.interrupt(fiber)
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual(yield* active.millis, 1_000)
    }))

  it.effect("stands still with the turn that it runs for, not the other way round", () =>
    Effect.gen(function*() {
      const parent = yield* ActiveTime.make()
      const child = yield* ActiveTime.make(parent)
      yield* passing(child.excluding(Effect.sleep("3 seconds")), "3 seconds")
      assert.deepStrictEqual([yield* parent.millis, yield* child.millis], [0, 0])
      yield* passing(parent.excluding(Effect.sleep("2 seconds")), "2 seconds")
      assert.deepStrictEqual([yield* parent.millis, yield* child.millis], [0, 2_000])
    }))

  it.effect("ends what takes longer, and waits until it has ended", () =>
    Effect.gen(function*() {
      const active = yield* ActiveTime.make()
      const ended = yield* Deferred.make<number>()
      const slow = Effect.onInterrupt(
        Effect.never,
        () =>
          Effect.sleep("1 seconds").pipe(
            Effect.zipRight(active.millis),
            Effect.flatMap((at) => Deferred.succeed(ended, at))
          )
      )
      const fiber = yield* Effect.fork(active.within(slow, { millis: 5_000, onTimeout: () => "over" }))
      yield* TestClock.adjust("5 seconds")
      assert.isNull(yield* Effect.map(fiber.status, () => null))
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual(yield* Fiber.join(fiber), "over")
      assert.strictEqual(yield* Deferred.await(ended), 6_000)
    }))

  it.effect("when it is interrupted, what runs in it has ended before anything else goes on", () =>
    Effect.gen(function*() {
      const active = yield* ActiveTime.make()
      const said: Array<string> = []
      const say = (word: string) => Effect.sync(() => said.push(word))
      const slow = Effect.onInterrupt(Effect.never, () => Effect.zipRight(Effect.sleep("1 seconds"), say("ended")))
      const fiber = yield* Effect.fork(
        Effect.onExit(active.within(slow, { millis: 5_000, onTimeout: () => "over" }), () => say("went on"))
      )
      yield* TestClock.adjust("2 seconds")
      const interrupting = yield* Effect.fork(Fiber.interrupt(fiber))
      yield* TestClock.adjust("1 seconds")
      yield* Fiber.join(interrupting)
      assert.deepStrictEqual(said, ["ended", "went on"])
    }))

  it.effect("a limit counts running time only", () =>
    Effect.gen(function*() {
      const active = yield* ActiveTime.make()
      const work = Effect.sleep("4 seconds").pipe(
        Effect.zipRight(active.excluding(Effect.sleep("100 seconds"))),
        Effect.zipRight(Effect.sleep("4 seconds")),
        Effect.as("done")
      )
      const within = (millis: number) => active.within(work, { millis, onTimeout: () => "over" })
      assert.strictEqual(yield* passing(within(9_000), "108 seconds"), "done")
      assert.strictEqual(yield* passing(within(7_000), "108 seconds"), "over")
    }))

  it.effect("passes failures and interruption on", () =>
    Effect.gen(function*() {
      const active = yield* ActiveTime.make()
      assert.strictEqual(
        yield* Effect.flip(active.within(Effect.fail("no"), { millis: 10, onTimeout: () => undefined })),
        "no"
      )
      const begun = yield* Deferred.make<void>()
      const interrupted = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(active.within(
        Deferred.succeed(begun, undefined).pipe(
          Effect.zipRight(Effect.never),
          Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined))
        ),
        { millis: 10, onTimeout: () => undefined }
      ))
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(yield* Deferred.isDone(interrupted))
    }))
})
