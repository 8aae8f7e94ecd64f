/**
 * Running time: what passes on the clock while nobody waits for a person or for a slow consumer.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

/**
 * The running time of one turn, in milliseconds.
 *
 * @since 0.1.0
 * @category models
 */
export interface ActiveTime {
  /** Since it was made. */
  readonly millis: Effect.Effect<number>
  /** Since the last `lap`. */
  readonly sinceLap: Effect.Effect<number>
  /** The same, and begins a new lap. */
  readonly lap: Effect.Effect<number>
  /** Stands still while the effect runs, here and for the turns on whose behalf this one runs. */
  readonly excluding: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /**
   * Interrupts the effect after so many milliseconds of running time and gives `onTimeout` instead, when the effect has
   * ended.
   */
  readonly within: <A, E, R>(effect: Effect.Effect<A, E, R>, options: {
    readonly millis: number
    readonly onTimeout: () => A
  }) => Effect.Effect<A, E, R>
}

/**
 * Begins to count. `parent`: the running time of the turn on whose behalf this one runs, which stands still with it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (parent?: ActiveTime): Effect.Effect<ActiveTime> =>
  Effect.map(Clock.currentTimeMillis, (began) => {
    const running = Effect.unsafeMakeLatch(true)
    let pauses = 0
    let pausedAt = 0
    let excluded = 0
    let lapBegan = 0

    const at = (now: number) => now - began - excluded - (pauses > 0 ? now - pausedAt : 0)
    const millis = Effect.map(Clock.currentTimeMillis, at)
    const pause = Effect.map(Clock.currentTimeMillis, (now) => {
      if (pauses === 0) {
        pausedAt = now
        running.unsafeClose()
      }
      pauses += 1
    })
    const resume = Effect.map(Clock.currentTimeMillis, (now) => {
      pauses -= 1
      if (pauses === 0) {
        excluded += now - pausedAt
        running.unsafeOpen()
      }
    })
    const excludingHere = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.acquireUseRelease(pause, () => effect, () => resume)
    const excluding = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      parent === undefined ? excludingHere(effect) : parent.excluding(excludingHere(effect))

    const until = (deadline: number): Effect.Effect<void> =>
      Effect.flatMap(millis, (now) => {
        if (now >= deadline) return Effect.void
        return running.await.pipe(
          Effect.zipRight(Effect.sleep(deadline - now)),
          Effect.zipRight(Effect.suspend(() => until(deadline)))
        )
      })

    return {
      millis,
      sinceLap: Effect.map(millis, (now) => now - lapBegan),
      lap: Effect.map(millis, (now) => {
        const lap = now - lapBegan
        lapBegan = now
        return lap
      }),
      excluding,
      within: (effect, { millis: limit, onTimeout }) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function*() {
            const deadline = (yield* millis) + limit
            const fiber = yield* Effect.fork(restore(effect))
            // What ends at once needs no timer.
            yield* Effect.yieldNow()
            if (fiber.unsafePoll() !== null) return yield* Fiber.join(fiber)
            let over = false
            const timer = yield* Effect.fork(Effect.flatMap(Effect.interruptible(until(deadline)), () => {
              over = fiber.unsafePoll() === null
              return Fiber.interrupt(fiber)
            }))
            const exit = yield* restore(Fiber.await(fiber)).pipe(
              Effect.onInterrupt(() => Fiber.interrupt(fiber)),
              Effect.ensuring(Fiber.interrupt(timer))
            )
            return over ? onTimeout() : yield* Effect.zipLeft(exit, fiber.inheritAll)
          })
        )
    }
  })
