/**
 * `capstan run`: one task.
 *
 * @since 0.1.0
 */
import type { RecoveryOptions } from "@capstan/core/Recovery"
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
import * as Pending from "./Pending.js"
import * as Renderer from "./Renderer.js"
import { Screen } from "./Screen.js"
import * as Session from "./Session.js"
import type { Signals } from "./Signals.js"
import * as Turns from "./Turns.js"
import * as Waiting from "./Waiting.js"

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

/**
 * Refuses flags that cannot stand together, or hold values that cannot be.
 *
 * @since 0.1.0
 * @category combinators
 */
export const checkFlags = (
  flags: SessionFlags & { readonly json?: boolean; readonly streamJson?: boolean }
): Effect.Effect<void, CommandError.CommandError> => {
  const pairs = [
    ["--json", flags.json === true, "--stream-json", flags.streamJson === true],
    ["--stream", flags.stream, "--no-stream", flags.noStream],
    ["--no-tools", flags.noTools, "--tools", Option.isSome(flags.tools)],
    ["--wait", Option.isSome(flags.wait), "--approval-timeout", Option.isSome(flags.approvalTimeout)],
    ["--dry-run", flags.dryRun, "--yes", flags.yes],
    ["--dry-run", flags.dryRun, "--ask", Option.isSome(flags.ask)]
  ] as const
  const clash = pairs.find(([, a, , b]) => a && b)
  if (clash !== undefined) return CommandError.usage(`${clash[0]} and ${clash[2]} exclude each other: leave one out.`)
  if (Option.isSome(flags.wait) && !Option.contains(flags.ask, "queue")) {
    return CommandError.usage("--wait is for --ask queue: add that, or leave --wait out.")
  }
  const numbers = [
    ["--max-iterations", flags.maxIterations, 1],
    ["--approval-timeout", flags.approvalTimeout, 1],
    ["--wait", flags.wait, 0],
    ["--budget-tokens", flags.budgetTokens, 1],
    ["--budget-calls", flags.budgetCalls, 0],
    ["--budget-time", flags.budgetTime, 1]
  ] as const
  const small = numbers.find(([, value, least]) => Option.exists(value, (n) => n < least))
  if (small !== undefined) return CommandError.usage(`${small[0]} takes a whole number from ${small[2]} on.`)
  return Option.exists(flags.budgetCost, (dollars) => dollars <= 0)
    ? CommandError.usage("--budget-cost takes an amount of dollars above 0.")
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
  turn: {
    readonly message?: string
    readonly recovery?: RecoveryOptions | undefined
    readonly results?: ReadonlyArray<Waiting.Given>
  }
): Effect.Effect<void, CommandError.CommandError, Host | Signals> =>
  Effect.gen(function*() {
    const host = yield* Host
    const isJson = flags.json || flags.streamJson
    let session: string | null = null
    let isTold = false
    const told = (error: CommandError.CommandError) =>
      isJson && !isTold && error.message !== ""
        ? host.write(JsonOutput.line(JsonOutput.failure(error, session)))
        : Effect.void

    yield* Effect.gen(function*() {
      const { ask, id, layer, places } = yield* Session.make({ flags, silent: isJson })
      session = id
      yield* Effect.provide(
        Effect.gen(function*() {
          const workspace = places.root
          const renderer = flags.streamJson
            ? JsonOutput.events(host)
            : flags.json
            ? JsonOutput.silent
            : Renderer.withoutLastWords(yield* Screen)
          const message = turn.message === undefined ? {} : { message: turn.message }
          const driven = Turns.run({ session: id, workspace, ...message }, renderer).pipe(
            Effect.catchTag("ConfigurationError", (error) => nothingToDo(error, turn.message === undefined, id))
          )
          const goOn = (error: UnfinishedError) =>
            Effect.gen(function*() {
              if (error.reason === "crashed") {
                yield* recover(error, { recovery: turn.recovery, ask, workspace })
                return yield* driven
              }
              const { results = [] } = turn
              const result = yield* Waiting.goOn({ session: id, workspace, ask, yes: flags.yes, results, renderer })
              return turn.message === undefined ? result : yield* driven
            })
          const result = yield* driven.pipe(
            Effect.catchTag("UnfinishedError", goOn),
            Effect.mapError((error) => error._tag === "CommandError" ? error : CommandError.ofRunError(error))
          )
          const code = flags.dryRun ? 0 : ExitCode.ofTurn(result, { attended: ask !== "nobody" })
          if (isJson) yield* host.write(JsonOutput.line(JsonOutput.result(result, code)))
          isTold = isJson
          if (result.end === "awaiting") return yield* awaiting(id, code)
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

/** What was said already with `--json`, and what to do about it. */
const awaiting = (session: string, code: ExitCode.ExitCode) =>
  Effect.flatMap(Pending.of(session), (pending) => {
    const message = pending === undefined
      ? ""
      : pending.questions.length > 0
      ? Waiting.howToAnswer(session, pending.questions.length)
      : Waiting.howToSupply(session, pending.calls.map(({ ref }) => ref.position))
    return new CommandError.CommandError({ code, tag: "awaiting", message })
  })

/** Closes the batch that a crash cut off, as it was said before or is said now. */
const recover = (error: UnfinishedError, options: {
  readonly recovery: RecoveryOptions | undefined
  readonly ask: Session.Session["ask"]
  readonly workspace: string
}) =>
  Effect.gen(function*() {
    const host = yield* Host
    const { ask, recovery, workspace } = options
    const choice = recovery?.choice ?? (ask === "terminal" ? yield* askedChoice(error) : undefined)
    if (choice === undefined) return yield* error
    const rerun = recovery?.rerun ?? false
    const { ended } = yield* ToolLoop.recover({ session: error.session, choice, rerun, workspace })
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
