/**
 * A run for programs: one JSON object at the end (`--json`), or one line per event (`--stream-json`).
 *
 * @since 0.1.0
 */
import type { Event } from "@capstan/core/Event"
import type { TurnResult } from "@capstan/core/TurnResult"
import * as Effect from "effect/Effect"
import type { CommandError } from "./CommandError.js"
import type { ExitCode } from "./ExitCode.js"
import type { Host } from "./Host.js"
import type { Renderer } from "./Renderer.js"

/**
 * The version of the objects below; it grows when a field changes its meaning or goes.
 *
 * @since 0.1.0
 * @category models
 */
export const version = 1

/**
 * What `--json` prints, and `--stream-json` as its last line.
 *
 * @since 0.1.0
 * @category constructors
 */
export const result = (turn: TurnResult, exitCode: ExitCode) => ({
  type: "Result",
  version,
  session: turn.session,
  turn: turn.turn,
  end: turn.end,
  reason: turn.reason,
  text: turn.text,
  calls: turn.calls,
  pending: turn.pending,
  usage: turn.usage,
  cost: turn.cost,
  exitCode
})

/**
 * What both print instead when the run could not go on. `session` is null where none was opened.
 *
 * @since 0.1.0
 * @category constructors
 */
export const failure = (error: CommandError, session: string | null) => ({
  type: "Error",
  version,
  session,
  error: { tag: error.tag, message: error.message },
  exitCode: error.code
})

/**
 * One line of JSON.
 *
 * @since 0.1.0
 * @category constructors
 */
export const line = (value: object): string => `${JSON.stringify(value)}\n`

/**
 * An event with its `type`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const event = ({ _tag, ...fields }: Event): object => ({ type: _tag, ...fields })

/**
 * Prints every event as a line with its `type`. `Final` is left to {@link result}.
 *
 * @since 0.1.0
 * @category constructors
 */
export const events = (host: Host["Type"]): Renderer => ({
  show: (shown) => shown._tag === "Final" ? Effect.void : host.write(line(event(shown)))
})

/**
 * Prints nothing while the turn runs.
 *
 * @since 0.1.0
 * @category constructors
 */
export const silent: Renderer = { show: () => Effect.void }
