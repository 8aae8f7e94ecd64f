/**
 * `capstan run`: one task.
 *
 * @since 0.1.0
 */
import type { RecoveryChoice } from "@capstan/core/Recovery"
import type { ConfigurationError, UnfinishedError } from "@capstan/core/RunError"
import * as ToolLoop from "@capstan/core/ToolLoop"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Ask from "./Ask.js"
import * as CommandError from "./CommandError.js"
import * as ExitCode from "./ExitCode.js"
import type { SessionFlags } from "./Flags.js"
import { Host } from "./Host.js"
import * as JsonOutput from "./JsonOutput.js"
import * as Renderer from "./Renderer.js"
import { Screen } from "./Screen.js"
import * as Session from "./Session.js"
import type { Signals } from "./Signals.js"
import * as Turns from "./Turns.js"

/**
 * The flags of `run` beyond those of a session.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunFlags extends SessionFlags {
  readonly task: string
  readonly json: boolean
  readonly streamJson: boolean
}

/**
 * Runs the task in a new session, or with `--resume` in one that is there. Fails with the exit code where it is not 0.
 *
 * @since 0.1.0
 * @category constructors
 */
export const run = (flags: RunFlags): Effect.Effect<void, CommandError.CommandError, Host | Signals> =>
  Effect.gen(function*() {
    const host = yield* Host
    yield* checkFlags(flags)
    const task = flags.task === "-" ? yield* host.input : flags.task
    if (task.trim() === "") {
      return yield* CommandError.usage("The task is empty. Write for instance: capstan run \"fix the failing test\"")
    }
    yield* drive(flags, { message: task })
  })

const checkFlags = (flags: RunFlags) => {
  const pairs = [
    ["--json", flags.json, "--stream-json", flags.streamJson],
    ["--stream", flags.stream, "--no-stream", flags.noStream],
    ["--no-tools", flags.noTools, "--tools", Option.isSome(flags.tools)]
  ] as const
  const clash = pairs.find(([, a, , b]) => a && b)
  if (clash !== undefined) return CommandError.usage(`${clash[0]} and ${clash[2]} exclude each other: leave one out.`)
  return Option.exists(flags.maxIterations, (n) => n < 1)
    ? CommandError.usage("--max-iterations takes a whole number from 1 on.")
    : Effect.void
}

/**
 * A turn of a session with the output that the flags ask for. Without `message` the session goes on where it stopped.
 *
 * @since 0.1.0
 * @category constructors
 */
export const drive = (
  flags: Omit<RunFlags, "task">,
  turn: { readonly message?: string; readonly choice?: RecoveryChoice }
): Effect.Effect<void, CommandError.CommandError, Host | Signals> =>
  Effect.gen(function*() {
    const host = yield* Host
    const isJson = flags.json || flags.streamJson
    let session: string | null = null
    const told = (error: CommandError.CommandError) =>
      isJson && error.message !== "" ? host.write(JsonOutput.line(JsonOutput.failure(error, session))) : Effect.void

    yield* Effect.gen(function*() {
      const { attended, id, layer, places } = yield* Session.make({ flags, silent: isJson })
      session = id
      yield* Effect.provide(
        Effect.gen(function*() {
          const { choice, ...message } = turn
          const renderer = flags.streamJson
            ? JsonOutput.events(host)
            : flags.json
            ? JsonOutput.silent
            : Renderer.withoutLastWords(yield* Screen)
          const driven = Turns.run({ session: id, workspace: places.root, ...message }, renderer)
          const result = yield* driven.pipe(
            Effect.catchTag("UnfinishedError", (error) =>
              Effect.zipRight(recover(error, { choice, attended, workspace: places.root }), driven)),
            Effect.catchTag("ConfigurationError", (error) =>
              nothingToDo(error, turn.message === undefined, id)),
            Effect.mapError((error) => error._tag === "CommandError" ? error : CommandError.ofRunError(error))
          )
          const code = ExitCode.ofTurn(result, { attended })
          if (isJson) yield* host.write(JsonOutput.line(JsonOutput.result(result, code)))
          if (code !== 0) return yield* CommandError.ended(code, result.end)
        }),
        layer
      )
    }).pipe(Effect.tapError(told))
  })

const nothingToDo = (
  error: ConfigurationError,
  withoutMessage: boolean,
  id: string
): Effect.Effect<never, CommandError.CommandError | ConfigurationError> =>
  withoutMessage
    ? CommandError.usage(`Session ${id} has nothing to go on with. Say what to do: capstan run --resume ${id} "…"`)
    : error

/** Closes the batch that a crash cut off, as it was said before or is said now. */
const recover = (error: UnfinishedError, options: {
  readonly choice: RecoveryChoice | undefined
  readonly attended: boolean
  readonly workspace: string
}) =>
  Effect.gen(function*() {
    const host = yield* Host
    if (error.reason === "awaiting") return yield* error
    const choice = options.choice ?? (options.attended ? yield* askedChoice(error) : undefined)
    if (choice === undefined) return yield* error
    const { ended } = yield* ToolLoop.recover({ session: error.session, choice, workspace: options.workspace })
    const left = [...new Set([...error.ended, ...ended])]
    yield* Effect.forEach(left, (line) => host.warn(`Ended what the crash had left running: ${line}\n`))
  })

const askedChoice = (error: UnfinishedError) =>
  Effect.gen(function*() {
    const host = yield* Host
    yield* host.warn(`${CommandError.crashFacts(error)}\n`)
    return yield* Ask.choose({
      question: "Keep the results that are there (partial), or count all calls of the batch as failed (discard)?",
      answers: ["partial", "discard"]
    })
  })
