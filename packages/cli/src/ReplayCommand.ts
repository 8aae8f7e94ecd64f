/**
 * `capstan replay`: a recorded session as its viewer saw it, with no model, no tool and no network.
 *
 * @since 0.1.0
 */
import * as Content from "@capstan/core/Content"
import type { Event } from "@capstan/core/Event"
import * as Replay from "@capstan/core/Replay"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as CommandError from "./CommandError.js"
import * as Composition from "./Composition.js"
import * as Decisions from "./Decisions.js"
import { Host } from "./Host.js"
import * as JsonOutput from "./JsonOutput.js"
import * as Places from "./Places.js"
import * as Reading from "./Reading.js"
import * as Screen from "./Screen.js"
import * as Tty from "./Tty.js"

/**
 * Shows a session again. With `json` it prints one object that holds every event.
 *
 * @since 0.1.0
 * @category constructors
 */
export const replay = (
  flags: Reading.ReadFlags & { readonly id: Option.Option<string>; readonly verbose: boolean }
): Effect.Effect<void, CommandError.CommandError, Host> =>
  Reading.from(flags, ({ root }) =>
    Effect.gen(function*() {
      const host = yield* Host
      const { id } = yield* Places.session({ id: Option.getOrUndefined(flags.id), root })
      const rows = yield* Reading.rows(id)
      const turns = Replay.turns({ session: id, rows })
      if (flags.json) {
        const shown = turns.map((turn) => ({ ...turn, events: turn.events.map(JsonOutput.event) }))
        return yield* host.write(
          JsonOutput.line({ type: "Replay", version: JsonOutput.version, session: id, turns: shown })
        )
      }
      yield* Effect.provide(
        Effect.forEach(turns, show, { discard: true }),
        Layer.provideMerge(
          Screen.layer({
            live: host.terminal,
            stream: true,
            quiet: false,
            verbose: flags.verbose,
            redactor: Composition.redactor(host.environment)
          }),
          Tty.layer
        )
      )
    }))

const show = (turn: Replay.ReplayedTurn) =>
  Effect.gen(function*() {
    const screen = yield* Screen.Screen
    const said = Reading.clean(Content.toText(turn.message)).split("\n")
    yield* Effect.forEach(said, (line, index) => screen.note(`${index === 0 ? "›" : " "} ${line}`))
    for (const event of turn.events) {
      yield* screen.showAt({ event: withoutAsker(event), at: turn.at + workedUntil(event) })
      if (event._tag === "ApprovalAnswered") yield* screen.note(`→ ${event.by}: ${Decisions.toText(event.decision)}`)
    }
    if (turn.events.at(-1)?._tag !== "Final") yield* screen.note("✗ The program was cut off here.")
  })

/** The diff that a person was shown with the question is shown with the call instead. */
const withoutAsker = (event: Event): Event => event._tag === "ApprovalAnswered" ? { ...event, by: "recorded" } : event

/** The time that the turn was at work, so that the figures are those of then. */
const workedUntil = (event: Event): number => event._tag === "Final" ? event.result.spent.millis : 0
