/**
 * `capstan resume`: goes on with a session that a crash, or a day, has cut off.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as CommandError from "./CommandError.js"
import type { Host } from "./Host.js"
import * as RunCommand from "./RunCommand.js"
import type { Signals } from "./Signals.js"

/**
 * The flags of `resume`.
 *
 * @since 0.1.0
 * @category models
 */
export interface ResumeFlags extends Omit<RunCommand.RunFlags, "task"> {
  readonly id: Option.Option<string>
  readonly partial: boolean
  readonly discard: boolean
}

/**
 * Closes what a crash left open, as the flags or the user say, and lets the model go on.
 *
 * @since 0.1.0
 * @category constructors
 */
export const resume = (flags: ResumeFlags): Effect.Effect<void, CommandError.CommandError, Host | Signals> => {
  if (flags.partial && flags.discard) {
    return CommandError.usage("--partial and --discard exclude each other: leave one out.")
  }
  if (Option.isSome(flags.id) && Option.isSome(flags.resume)) {
    return CommandError.usage("Give the session once: capstan resume ID.")
  }
  const session = Option.orElse(flags.id, () => flags.resume)
  return RunCommand.drive(
    { ...flags, resume: Option.some(Option.getOrElse(session, () => "last")) },
    flags.partial ? { choice: "partial" } : flags.discard ? { choice: "discard" } : {}
  )
}
