/** What the tools that run commands have in common. */
import type { Assessment } from "@capstan/core/Assessment"
import type { CallContext } from "@capstan/core/CallContext"
import { byteLength } from "@capstan/core/OutputLimit"
import type { ProcessError, ProcessResult, ProcessRunner } from "@capstan/core/ProcessRunner"
import * as ToolFailure from "@capstan/core/ToolFailure"
import type { Workspace } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Judgement } from "../CommandPolicy.js"
import * as CommandOutput from "./commandOutput.js"
import { asFailure } from "./fileProblem.js"

export const defaultSeconds = 30
const maxSeconds = 300
/** Of each stream at least this much is kept while a command runs. */
const leastKept = 1_024
/** Both streams are kept while a command runs, and that must not take more than 32 MB. */
const mostKept = 4 * 1_024 * 1_024

export const command = Schema.String.pipe(Schema.minLength(1)).annotations({
  description: "Command line for bash.",
  examples: ["npm test"]
})

export const timeoutSeconds = Schema.optionalWith(
  Schema.Int.pipe(Schema.between(1, maxSeconds)).annotations({
    description: `Seconds until it is ended. Default ${defaultSeconds}, at most ${maxSeconds}.`,
    examples: [120]
  }),
  { exact: true }
)

export const description = Schema.optionalWith(
  Schema.String.annotations({
    description: "What it is for, in a few words, for the user who is asked.",
    examples: ["Run the tests"]
  }),
  { exact: true }
)

export const summary = (command: string, description: string | undefined): string =>
  description === undefined ? `Run ${command}` : `Run ${command} (${description})`

/** What is kept of what a command prints: more than the model gets to see, since the rest can be read again. */
export const keepBytes = ({ capacity, limits }: CallContext): number =>
  Math.max(leastKept, capacity, Math.min(mostKept, limits.maxStoredOutputBytes))

/** The folder to run in, absolute and decided. */
export const folderOf = (files: Workspace["Type"], path: string) =>
  Effect.gen(function*() {
    const { canonical, kind } = yield* asFailure(files)(files.stat({ path }))
    return kind === "dir"
      ? canonical
      : yield* Effect.fail(ToolFailure.execution(`"${path}" is a file, not a folder. Name the folder to run in.`))
  })

/** How a command is asked about that does more than read. */
export const asked = (judgement: Judgement, { enforcement }: ProcessRunner["Type"]): Assessment => ({
  risk: "high",
  approval: judgement.class === "dangerous" ? "always" : "unless-allowed",
  warnings: [...judgement.reasons, ...enforcement.weakened]
})

/** Why a command did not run, for the model. */
export const explain = (error: ProcessError): ToolFailure.ToolFailure =>
  error.reason === "disabled"
    ? {
      _tag: "Disabled",
      message: error.message,
      suggestedFix: "Do without commands, or tell the user what you would have run.",
      details: {}
    }
    : ToolFailure.execution(error.message)

const remarks = ({ notes, stderr, stdout, survivors }: ProcessResult): string =>
  [
    ...(stdout.droppedBytes + stderr.droppedBytes > 0
      ? [`[it printed ${stdout.totalBytes + stderr.totalBytes} bytes; what is between beginning and end was not kept]`]
      : []),
    ...notes.map((note) => `[${note}]`),
    ...(survivors.length > 0 ? [`[still running, because it could not be ended: ${survivors.join(", ")}]`] : [])
  ].join("\n")

const advice = (command: string, result: ProcessResult): string | null => {
  const code = result.exit._tag === "Exited" ? result.exit.code : undefined
  if (code === 127) return "A program in it is not there. Check the name, or use another one."
  return code === 1 && /^\s*(?:grep|egrep|fgrep|rg)\s/.test(command) && result.stderr.totalBytes === 0
    ? "For grep that means that no line matched."
    : null
}

/** What is said of a command that ran: a failure unless it ended with 0. */
export const report = (command: string, result: ProcessResult, call: CallContext) => {
  const { exit } = result
  const failed = exit._tag === "Signalled"
    ? `The command was ended by the signal ${exit.signal}.`
    : exit.code === 0
    ? undefined
    : `The command failed with exit code ${exit.code}.`
  const said = remarks(result)
  const fix = failed === undefined ? null : advice(command, result)
  const around = byteLength(`${failed ?? ""}\n\n${said}\n${fix ?? ""}`)
  const output = CommandOutput.render(result, keepBytes(call) - around)
  const text =
    [failed, output === "" ? "[it printed nothing]" : output, said].filter((part) => part !== undefined && part !== "")
      .reduce((done, part) => done === undefined ? part : `${done}${done.endsWith("\n") ? "" : "\n"}${part}`) ?? ""
  return failed === undefined
    ? Effect.succeed(output === "" ? text.replace("[it printed nothing]", "[exit code 0; it printed nothing]") : text)
    : Effect.fail(ToolFailure.execution(text, fix))
}
