/**
 * `capstan demo`: the whole loop with no key and no network.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { CommandError } from "./CommandError.js"
import * as Part from "./demo/Part.js"
import { Host } from "./Host.js"
import type { Signals } from "./Signals.js"

const opening = `capstan demo: the model is scripted, so it needs no key and no network.
What it says was written beforehand. All else is real: the files, the commands,
the questions, the journal, and a crash in the middle.

`

/**
 * Shows what Capstan does and proves it. Exit code 1 if a claim does not hold, 3 if the user denied a call.
 *
 * @since 0.1.0
 * @category constructors
 */
export const demo: Effect.Effect<void, CommandError, Host | Signals> = Effect.gen(function*() {
  const { environment, write } = yield* Host
  const part = environment[Part.variable]
  if (part !== undefined) {
    const worker = yield* Effect.promise(() => import("./demo/Worker.js"))
    return yield* worker.run(part)
  }
  yield* write(opening)
  const { show } = yield* Effect.promise(() => import("./demo/Demonstration.js"))
  yield* show
})
