// @ts-check
import { Chunk, Effect, Fiber, Stream } from "effect"

const answer = Stream.fromChunk(Chunk.make(1, 2, 3))

/** The parts of Effect that a turn cannot do without: a stream pulled to its end, a fiber, a timeout. */
const parts = Effect.scoped(Effect.flatMap(Stream.toPull(answer), (pull) => Effect.zipRight(pull, Effect.ignore(pull))))
  .pipe(
    Effect.zipRight(
      Effect.fork(
        Effect.timeoutTo(Effect.void, { duration: "30 seconds", onSuccess: () => true, onTimeout: () => false })
      )
    ),
    Effect.flatMap(Fiber.join)
  )

/** Milliseconds that those parts take by themselves, a turn. */
export const floor = async (/** @type {number} */ turns) => {
  await Effect.runPromise(Effect.repeatN(parts, 500))
  const begin = process.hrtime.bigint()
  await Effect.runPromise(Effect.repeatN(parts, turns - 1))
  return Number(process.hrtime.bigint() - begin) / 1e6 / turns
}
