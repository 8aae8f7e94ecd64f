/**
 * One turn on a screen: driven, shown, and cancelled by Ctrl-C.
 *
 * @since 0.1.0
 */
import { Event } from "@capstan/core/Event"
import { Journal, type JournalRow } from "@capstan/core/Journal"
import type { RunError } from "@capstan/core/RunError"
import * as SessionState from "@capstan/core/SessionState"
import * as ToolLoop from "@capstan/core/ToolLoop"
import type { TurnResult } from "@capstan/core/TurnResult"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Renderer } from "./Renderer.js"
import { Signals } from "./Signals.js"

/**
 * Runs a turn and shows it. A signal cancels it: then the result is what the journal says, with the end `cancelled`, and
 * everything that the turn started is gone.
 *
 * @since 0.1.0
 * @category constructors
 */
export const run = (
  options: ToolLoop.RunOptions,
  renderer: Renderer
): Effect.Effect<TurnResult, RunError, ToolLoop.ToolLoop | Journal | Signals> =>
  Effect.gen(function*() {
    const signals = yield* Signals
    const driven = ToolLoop.stream(options).pipe(
      Stream.runFoldEffect(Option.none<TurnResult>(), (result, event) =>
        event._tag === "Final"
          ? Effect.succeedSome(event.result)
          : Effect.as(renderer.show(event), result))
    )
    const result = Option.flatten(yield* signals.cancellable(driven))
    const shown = Option.isSome(result) ? result.value : yield* cancelled(options.session)
    yield* renderer.show(Event.Final({ result: shown }))
    return shown
  })

/** The turn as it stood when it was cancelled, with the results that its calls got then. */
const cancelled = (session: string): Effect.Effect<TurnResult, RunError, Journal> =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const rows = yield* Effect.catchIf(
      journal.read({ session }),
      (error) => error.reason === "not-found",
      () => Effect.succeed<ReadonlyArray<JournalRow>>([])
    )
    const last = rows.findLastIndex(({ record }) => record._tag === "TurnEnded")
    const state = rows.slice(0, last === -1 ? rows.length : last)
      .reduce((state, { record }) => SessionState.step(state, record), SessionState.empty)
    return {
      session,
      turn: Math.max(0, state.turns - 1),
      text: state.open?.text ?? "",
      calls: Chunk.toReadonlyArray(state.open?.calls ?? Chunk.empty()),
      pending: [],
      usage: state.open?.spent.usage ?? { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
      cost: state.open?.spent.cost ?? null,
      end: "cancelled",
      reason: "Cancelled by user"
    }
  })
