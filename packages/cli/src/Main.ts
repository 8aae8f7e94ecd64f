/**
 * The whole command line as one program that ends with an exit code.
 *
 * @since 0.1.0
 */
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as ValidationError from "@effect/cli/ValidationError"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as CommandError from "./CommandError.js"
import * as CommandLine from "./CommandLine.js"
import * as Commands from "./Commands.js"
import type { ExitCode } from "./ExitCode.js"
import * as HelpText from "./HelpText.js"
import * as Host from "./Host.js"
import * as Signals from "./Signals.js"

/**
 * A command line without node and script.
 *
 * @since 0.1.0
 * @category models
 */
export interface MainOptions {
  readonly argv: ReadonlyArray<string>
  readonly version: string
}

/**
 * The words of every command, for what is made of all of them.
 *
 * @since 0.1.0
 * @category models
 */
export const commands: ReadonlyArray<ReadonlyArray<string>> = CommandLine.paths(Commands.shape)

const cliLayer = Layer.mergeAll(
  NodeFileSystem.layer,
  NodePath.layer,
  NodeTerminal.layer,
  CliConfig.layer({ isCaseSensitive: true, showAllNames: false, showTypes: true })
)

const escapes = new RegExp(`${String.fromCharCode(0x1b)}\\[[0-9;]*m`, "g")

/**
 * `@effect/cli` prints help in colours whoever reads it, with half of the command in its usage, and mistakes in several
 * lines, which become one of ours.
 */
const quietly =
  (host: Host.Host["Type"], words: ReadonlyArray<string>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Console.consoleWith((console) =>
      Effect.withConsole(effect, {
        ...console,
        log: (...args) => {
          const text = args.map(String).join(" ").replace(escapes, "")
          return host.write(`${HelpText.compact(text, words)}\n`)
        },
        error: () => Effect.void
      })
    )

const dispatch = (options: MainOptions) =>
  Effect.gen(function*() {
    const host = yield* Host.Host
    const signals = yield* Signals.Signals
    const { argv, version } = options
    const args = yield* Either.mapLeft(CommandLine.normalise(Commands.shape, argv), CommandError.usage)
    const cli = Command.run(Commands.root, { name: "capstan", version, executable: "capstan" })
    const command = cli(["", "", ...(args.length === 0 ? ["--help"] : args)]).pipe(
      Effect.catchIf(ValidationError.isValidationError, (error) => CommandError.usage(mistake(error, args))),
      quietly(host, wordsOf(args))
    )
    yield* Effect.raceFirst(command, Effect.zipRight(signals.ended, CommandError.ended(130, "Interrupted")))
  })

/** The command that is meant, as it is typed. */
const wordsOf = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const end = args.findIndex((word) => word.startsWith("-"))
  return ["capstan", ...args.slice(0, end === -1 ? args.length : end)]
}

const mistake = (error: ValidationError.ValidationError, args: ReadonlyArray<string>): string => {
  const said = CommandError.oneLine(HelpDoc.toAnsiText(error.error).replace(escapes, "")).replace(/[.:]?$/, "")
  return `${said}. See "${wordsOf(args).join(" ")} --help".`
}

const report = (cause: Cause.Cause<CommandError.CommandError>, verbose: boolean) =>
  Effect.gen(function*() {
    const host = yield* Host.Host
    const failure = Cause.failureOption(cause)
    if (Option.isSome(failure)) {
      const { code, message } = failure.value
      if (message !== "") yield* host.warn(`capstan: ${message}\n`)
      if (verbose && message !== "") yield* host.warn(`${Cause.pretty(cause, { renderErrorCause: true })}\n`)
      return code
    }
    if (Cause.isInterruptedOnly(cause)) return 130
    const [defect] = Cause.defects(cause)
    const said = CommandError.oneLine(defect instanceof Error ? defect.message : String(defect))
    yield* host.warn(`capstan: internal error: ${said}. Run it again with --verbose and report what it prints.\n`)
    if (verbose) yield* host.warn(`${Cause.pretty(cause, { renderErrorCause: true })}\n`)
    return 1
  })

/** What the library logs is for whoever asked for it, and never on stdout, where the answer goes. */
const logs = (verbose: boolean) =>
  Logger.replace(
    Logger.defaultLogger,
    verbose ? Logger.map(Logger.logfmtLogger, (line) => void process.stderr.write(`${line}\n`)) : Logger.none
  )

/**
 * Runs a command line and says what the process should exit with. Mistakes and failures are one
 * line on stderr; `--verbose` adds where they come from.
 *
 * @since 0.1.0
 * @category constructors
 */
export const main = (options: MainOptions): Promise<ExitCode> =>
  dispatch(options).pipe(
    Effect.exit,
    Effect.flatMap(Exit.match({
      onSuccess: () => Effect.succeed<ExitCode>(0),
      onFailure: (cause) => report(cause, options.argv.includes("--verbose"))
    })),
    Effect.provide(Layer.merge(Host.layer, Signals.layer)),
    Effect.provide(cliLayer),
    Effect.provide(logs(options.argv.includes("--verbose"))),
    Effect.runPromise
  )
