/**
 * `capstan resume`: goes on with a session that a crash, or a day, has cut off.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as CommandError from "./CommandError.js"
import { Host } from "./Host.js"
import * as RunCommand from "./RunCommand.js"
import type { Signals } from "./Signals.js"
import type { Given } from "./Waiting.js"

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
  readonly rerun: boolean
  readonly result: ReadonlyArray<string>
}

/**
 * Closes what a crash left open, or gives what the session waits for, as the flags or the user say, and lets the model go on.
 *
 * @since 0.1.0
 * @category constructors
 */
export const resume = (flags: ResumeFlags): Effect.Effect<void, CommandError.CommandError, Host | Signals> =>
  Effect.gen(function*() {
    yield* RunCommand.checkFlags(flags)
    const clash = [
      ["--partial", flags.partial, "--discard", flags.discard],
      ["--rerun", flags.rerun, "--discard", flags.discard]
    ] as const
    const wrong = clash.find(([, a, , b]) => a && b)
    if (wrong !== undefined) {
      return yield* CommandError.usage(`${wrong[0]} and ${wrong[2]} exclude each other: leave one out.`)
    }
    if (Option.isSome(flags.id) && Option.isSome(flags.resume)) {
      return yield* CommandError.usage("Give the session once: capstan resume ID.")
    }
    const results = yield* Effect.forEach(flags.result, given)
    // Whoever gives results runs the calls elsewhere, so those that follow are handed over as well.
    const mode = results.length > 0 ? Option.orElseSome(flags.mode, () => "parse_only" as const) : flags.mode
    const session = Option.orElse(flags.id, () => flags.resume)
    yield* RunCommand.drive({ ...flags, mode, resume: Option.some(Option.getOrElse(session, () => "last")) }, {
      recovery: flags.partial || flags.rerun
        ? { choice: "partial", rerun: flags.rerun }
        : flags.discard
        ? { choice: "discard" }
        : undefined,
      results
    })
  })

/** `position=text`, or `position=@file`; `@@` begins a text with an `@`. */
const given = (written: string): Effect.Effect<Given, CommandError.CommandError, Host> => {
  const at = written.indexOf("=")
  const [call, text] = [written.slice(0, at).trim(), written.slice(at + 1)]
  if (at === -1 || call === "") {
    return CommandError.usage(`--result takes POSITION=TEXT or POSITION=@FILE, not "${written}".`)
  }
  if (text.startsWith("@@")) return Effect.succeed({ call, text: text.slice(1) })
  return text.startsWith("@")
    ? Effect.map(contentOf(text.slice(1)), (text) => ({ call, text }))
    : Effect.succeed({ call, text })
}

const contentOf = (file: string): Effect.Effect<string, CommandError.CommandError, Host> =>
  Effect.flatMap(Host, ({ cwd }) =>
    Effect.tryPromise({
      try: () => fs.readFile(path.resolve(cwd, file), "utf8"),
      catch: (error) =>
        CommandError.usage(
          `The file ${file} of --result cannot be read (${error instanceof Error ? error.message : String(error)}).`
        )
    }))
