/**
 * One turn on a screen: driven, shown, and cancelled by Ctrl-C.
 *
 * @since 0.1.0
 */
import { Event } from "@capstan/core/Event"
import { Journal, type JournalRow } from "@capstan/core/Journal"
import * as Replay from "@capstan/core/Replay"
import type { RunError } from "@capstan/core/RunError"
import * as ToolLoop from "@capstan/core/ToolLoop"
import * as Turn from "@capstan/core/Turn"
import type { TurnResult } from "@capstan/core/TurnResult"
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
  shown(ToolLoop.stream(options), options.session, renderer)

/**
 * Goes on with a turn that waits, and shows it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const supply = (
  options: ToolLoop.SupplyOptions,
  renderer: Renderer
): Effect.Effect<TurnResult, RunError, ToolLoop.ToolLoop | Journal | Signals> =>
  shown(ToolLoop.supplyStream(options), options.session, renderer)

const shown = (
  events: Stream.Stream<Event, RunError, ToolLoop.ToolLoop>,
  session: string,
  renderer: Renderer
) =>
  Effect.gen(function*() {
    const signals = yield* Signals
    const driven = events.pipe(
      Stream.runFoldEffect(Option.none<TurnResult>(), (result, event) =>
        event._tag === "Final"
          ? Effect.succeedSome(event.result)
          : Effect.as(renderer.show(event), result))
    )
    const result = Option.flatten(yield* signals.cancellable(driven))
    const final = Option.isSome(result) ? result.value : yield* cancelled(session)
    yield* renderer.show(Event.Final({ result: final }))
    return final
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
    const state = Replay.state(rows.slice(0, last === -1 ? rows.length : last))
    return Turn.resultOf(state, { session, end: "cancelled", reason: "Cancelled by user", millis: 0 })
  })
