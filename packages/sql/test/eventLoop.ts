import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import { Worker } from "node:worker_threads"

/** A thread that does nothing but tick: what it misses is the machine's doing. */
const idle = `
  const { parentPort } = require("node:worker_threads")
  let longest = 0, before = performance.now()
  setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - before)
    before = now
  }, 10)
  parentPort.on("message", () => parentPort.postMessage(longest))
`

const idleThread = Effect.acquireRelease(
  Effect.sync(() => new Worker(idle, { eval: true })),
  (worker) => Effect.promise(() => worker.terminate())
)

const longestOf = (worker: Worker) =>
  Effect.async<number>((resume) => {
    worker.once("message", (longest: number) => resume(Effect.succeed(longest)))
    worker.postMessage("how long?")
  })

/**
 * The longest time (milliseconds) for which a timer of 10 ms did not tick while `effect` ran, beyond what it would have
 * missed on this machine anyway.
 */
export const responsiveness = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const worker = yield* idleThread
    yield* longestOf(worker)
    let longest = 0
    let before = performance.now()
    const tick = yield* Effect.sync(() => {
      const now = performance.now()
      longest = Math.max(longest, now - before)
      before = now
    }).pipe(Effect.repeat(Schedule.spaced("10 millis")), Effect.fork)
    yield* effect
    yield* Fiber.interrupt(tick)
    return longest - (yield* longestOf(worker))
  }).pipe(Effect.scoped)
