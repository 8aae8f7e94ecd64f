/**
 * The one error that leaves a command: what to print, and the exit code.
 *
 * @since 0.1.0
 */
import type { FileError } from "@capstan/core/FileError"
import type { RunError, UnfinishedError } from "@capstan/core/RunError"
import type { RegistryError } from "@capstan/core/ToolRegistry"
import * as Schema from "effect/Schema"
import * as ExitCode from "./ExitCode.js"

/**
 * A command ended with an exit code other than 0. `message` is one line for stderr that says what to do next; empty where
 * everything was said already. `tag` names what failed, for `--json`.
 *
 * @since 0.1.0
 * @category errors
 */
export class CommandError extends Schema.TaggedError<CommandError>("@capstan/cli/CommandError")("CommandError", {
  code: Schema.Literal(0, 1, 2, 3, 4, 130),
  tag: Schema.String,
  message: Schema.String,
  cause: Schema.optionalWith(Schema.Defect, { exact: true })
}) {}

/**
 * The command line or the configuration asks for something that cannot be.
 *
 * @since 0.1.0
 * @category constructors
 */
export const usage = (message: string): CommandError => new CommandError({ code: 2, tag: "UsageError", message })

/**
 * An exit code with nothing more to say.
 *
 * @since 0.1.0
 * @category constructors
 */
export const ended = (code: ExitCode.ExitCode, tag: string): CommandError =>
  new CommandError({ code, tag, message: "" })

/**
 * What stopped a run, with the commands that go on from there.
 *
 * @since 0.1.0
 * @category constructors
 */
export const ofRunError = (error: RunError): CommandError =>
  new CommandError({
    code: ExitCode.ofRunError(error),
    tag: error._tag,
    message: error._tag === "UnfinishedError" ? unfinished(error) : oneLine(error.message),
    cause: error
  })

const unfinished = (error: UnfinishedError): string =>
  error.reason === "awaiting" ? oneLine(error.message) : oneLine(
    `${crashFacts(error)} Keep the results that are there with "capstan resume ${error.session} --partial", `
      + `or count all as failed with "capstan resume ${error.session} --discard".`
  )

/**
 * What a crash left of a session, in one line.
 *
 * @since 0.1.0
 * @category combinators
 */
export const crashFacts = (error: UnfinishedError): string => {
  const parts = [
    ["finished", error.finished],
    ["started, outcome unknown", error.unknown],
    ["never started", error.neverStarted],
    ["still running and ended now", error.ended]
  ] as const
  const facts = parts.flatMap(([name, calls]) => calls.length === 0 ? [] : [`${name}: ${calls.join(", ")}`])
  return `Session ${error.session} was cut off in the middle of its calls (${facts.join("; ")}).`
}

/**
 * A folder or file that the sandbox cannot be made of.
 *
 * @since 0.1.0
 * @category constructors
 */
export const ofFileError = (error: FileError): CommandError =>
  new CommandError({ code: 2, tag: error._tag, message: oneLine(error.message), cause: error })

/**
 * Tools that cannot stand together.
 *
 * @since 0.1.0
 * @category constructors
 */
export const ofRegistryError = (error: RegistryError): CommandError =>
  new CommandError({ code: 2, tag: error._tag, message: oneLine(error.message), cause: error })

/**
 * A text as one line.
 *
 * @since 0.1.0
 * @category combinators
 */
export const oneLine = (text: string): string => text.replace(/\s*[\r\n]+\s*/g, " ").trim()
