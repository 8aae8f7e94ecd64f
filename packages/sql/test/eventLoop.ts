import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import { Worker } from "node:worker_threads"

/** A thread that does nothing but tick: what it misses is the machine's doing. */
const idle = `
  const { workerData } = require("node:worker_threads")
  let before = performance.now()
  setInterval(() => {
    const now = performance.now()
    workerData[0] = Math.max(workerData[0], now - before)
    before = now
  }, 10)
`

/** The longest time that an idle thread has missed so far. */
const idleThread = Effect.acquireRelease(
  Effect.sync(() => {
    const longest = new Float64Array(new SharedArrayBuffer(8))
    return { longest, worker: new Worker(idle, { eval: true, workerData: longest }) }
  }),
  ({ worker }) => Effect.promise(() => worker.terminate())
)

/**
 * The longest time (milliseconds) for which a timer of 10 ms did not tick while `effect` ran, beyond what it would have
 * missed on this machine anyway.
 */
export const responsiveness = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const { longest: missed } = yield* idleThread
    let longest = 0
    let before = performance.now()
    const tick = yield* Effect.sync(() => {
      const now = performance.now()
      longest = Math.max(longest, now - before)
      before = now
    }).pipe(Effect.repeat(Schedule.spaced("10 millis")), Effect.fork)
    yield* effect
    yield* Fiber.interrupt(tick)
    return longest - (missed[0] ?? 0)
  }).pipe(Effect.scoped)
