/**
 * `run_command`: a shell command in the sandbox.
 *
 * @since 0.1.0
 */
import type { Assessment } from "@capstan/core/Assessment"
import type { CallContext } from "@capstan/core/CallContext"
import { byteLength } from "@capstan/core/OutputLimit"
import type { ProcessError, ProcessResult } from "@capstan/core/ProcessRunner"
import * as Sandbox from "@capstan/core/Sandbox"
import * as Tool from "@capstan/core/Tool"
import * as ToolFailure from "@capstan/core/ToolFailure"
import type { Workspace } from "@capstan/core/Workspace"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as CommandPolicy from "./CommandPolicy.js"
import * as CommandOutput from "./internal/commandOutput.js"
import { asFailure } from "./internal/fileProblem.js"

const defaultSeconds = 30
const maxSeconds = 300
/** Of each stream at least this much is kept while a command runs. */
const leastKept = 1_024

const Parameters = Schema.Struct({
  command: Schema.String.pipe(Schema.minLength(1)).annotations({
    description: "Command line for bash.",
    examples: ["npm test"]
  }),
  cwd: Schema.optionalWith(
    Schema.String.annotations({
      description: "Folder to run in, relative to the working directory. Default: the working directory.",
      examples: ["packages/core"]
    }),
    { exact: true }
  ),
  timeout_seconds: Schema.optionalWith(
    Schema.Int.pipe(Schema.between(1, maxSeconds)).annotations({
      description: `Seconds until it is ended. Default ${defaultSeconds}, at most ${maxSeconds}.`,
      examples: [120]
    }),
    { exact: true }
  ),
  description: Schema.optionalWith(
    Schema.String.annotations({
      description: "What it is for, in a few words, for the user who is asked.",
      examples: ["Run the tests"]
    }),
    { exact: true }
  )
})

type Arguments = typeof Parameters.Type

/** The folder to run in, absolute and decided. */
const folderOf = (files: Workspace["Type"], cwd: string | undefined) =>
  Effect.gen(function*() {
    if (cwd === undefined) return files.workingDirectory
    const { canonical, kind } = yield* asFailure(files)(files.stat({ path: cwd }))
    return kind === "dir"
      ? canonical
      : yield* Effect.fail(ToolFailure.execution(`"${cwd}" is a file, not a folder. Name the folder to run in.`))
  })

/** Whether everything that a reading command names may be read, and is what it seems to be. */
const mayRead = (files: Workspace["Type"], folder: string, { access, path }: Tool.PathUse) =>
  Effect.gen(function*() {
    const decision = yield* files.decide({ path: path.startsWith("/") ? path : `${folder}/${path}`, access })
    if (decision._tag === "Refused" || access !== "read") return decision._tag === "Allowed"
    const { kind } = yield* files.stat({ path: decision.canonical })
    return kind === "file"
  }).pipe(Effect.orElseSucceed(() => false))

const assess = ({ command, cwd }: Arguments): Effect.Effect<Assessment, never, Sandbox.Sandbox> =>
  Effect.gen(function*() {
    const { files, processes } = yield* Sandbox.Sandbox
    const judgement = CommandPolicy.judge(command)
    const warnings = [...judgement.reasons, ...processes.enforcement.weakened]
    if (judgement.class === "dangerous") return { risk: "high", approval: "always", warnings }
    const ask: Assessment = { risk: "high", approval: "unless-allowed", warnings }
    if (judgement.class !== "read-only" || !processes.enforcement.filesystem) return ask
    const folder = yield* Effect.option(folderOf(files, cwd))
    if (folder._tag === "None") return ask
    const allowed = yield* Effect.forEach(judgement.operands, (use) => mayRead(files, folder.value, use))
    return allowed.every((one) => one) ? { risk: "low", approval: "never", warnings } : ask
  })

const explain = (error: ProcessError): ToolFailure.ToolFailure =>
  error.reason === "disabled"
    ? {
      _tag: "Disabled",
      message: error.message,
      suggestedFix: "Do without commands, or tell the user what you would have run.",
      details: {}
    }
    : ToolFailure.execution(error.message)

const remarks = ({ notes, survivors }: ProcessResult): string =>
  [
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

const report = (command: string, result: ProcessResult, capacity: number) => {
  const { exit } = result
  const failed = exit._tag === "Signalled"
    ? `The command was ended by the signal ${exit.signal}.`
    : exit.code === 0
    ? undefined
    : `The command failed with exit code ${exit.code}.`
  const said = remarks(result)
  const fix = failed === undefined ? null : advice(command, result)
  const around = byteLength(`${failed ?? ""}\n\n${said}\n${fix ?? ""}`)
  const output = CommandOutput.render(result, capacity - around)
  const text =
    [failed, output === "" ? "[it printed nothing]" : output, said].filter((part) => part !== undefined && part !== "")
      .reduce((done, part) => done === undefined ? part : `${done}${done.endsWith("\n") ? "" : "\n"}${part}`) ?? ""
  return failed === undefined
    ? Effect.succeed(output === "" ? text.replace("[it printed nothing]", "[exit code 0; it printed nothing]") : text)
    : Effect.fail(ToolFailure.execution(text, fix))
}

const handler = ({ command, cwd }: Arguments, call: CallContext) =>
  Effect.gen(function*() {
    const { files, processes } = yield* Sandbox.Sandbox
    const folder = yield* folderOf(files, cwd)
    const result = yield* processes.run({
      command,
      cwd: folder,
      keepBytes: Math.max(leastKept, call.capacity),
      onStart: call.processStarted,
      onOutput: call.emit
    }).pipe(Effect.mapError(explain))
    return yield* report(command, result, call.capacity)
  })

/**
 * Runs a command line. Dangerous ones always ask; ones that only read what may be read do not; the others ask unless an
 * allow entry covers them (see `CommandPolicy`).
 *
 * @since 0.1.0
 * @category tools
 */
export const tool: Tool.Tool<Sandbox.Sandbox> = Tool.make("run_command", {
  description: "Runs one bash command line and returns what it prints. " +
    "Example: {\"command\":\"npm test\"} or {\"command\":\"python3 app.py\",\"timeout_seconds\":120}. " +
    "Each call is a new shell: cd and variables do not last, use cwd for the folder. There is no input: programs that ask or wait " +
    "for keys fail, and servers are ended by the time limit. A non-zero exit code is an error that shows the output. " +
    "Long output is cut in the middle. " +
    "Not for reading, writing, editing, listing or searching files: read_file, write_file, edit_file, list_directory and search_files " +
    "do that better.",
  aliases: ["bash", "shell", "terminal", "execute_command"],
  parameters: Parameters,
  safety: "privileged",
  outputCut: "head-and-tail",
  timeout: ({ timeout_seconds }) => Duration.seconds(timeout_seconds ?? defaultSeconds),
  paths: ({ cwd }) => cwd === undefined ? [] : [{ path: cwd, access: "list" }],
  summary: ({ command, description }) =>
    description === undefined ? `Run ${command}` : `Run ${command} (${description})`,
  detail: ({ command, cwd }) => cwd === undefined ? command : `${command}\n[in ${cwd}]`,
  assess,
  allowedBy: ({ command }, pattern) => CommandPolicy.covers(command, pattern),
  deniedBy: ({ command }, pattern) => CommandPolicy.touches(command, pattern),
  handler
})
