/**
 * `run_command`: a shell command in the sandbox.
 *
 * @since 0.1.0
 */
import type { Assessment } from "@capstan/core/Assessment"
import type { CallContext } from "@capstan/core/CallContext"
import * as Sandbox from "@capstan/core/Sandbox"
import * as Tool from "@capstan/core/Tool"
import type { Workspace } from "@capstan/core/Workspace"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as CommandPolicy from "./CommandPolicy.js"
import * as CommandCall from "./internal/commandCall.js"

const Parameters = Schema.Struct({
  command: CommandCall.command,
  cwd: Schema.optionalWith(
    Schema.String.annotations({
      description: "Folder to run in, relative to the working directory. Default: the working directory.",
      examples: ["packages/core"]
    }),
    { exact: true }
  ),
  timeout_seconds: CommandCall.timeoutSeconds,
  description: CommandCall.description
})

type Arguments = typeof Parameters.Type

const folderOf = (files: Workspace["Type"], cwd: string | undefined) =>
  cwd === undefined ? Effect.succeed(files.workingDirectory) : CommandCall.folderOf(files, cwd)

/** Whether everything that a reading command names may be read, and is what it seems to be. */
const mayRead = (files: Workspace["Type"], folder: string, { access, path }: Tool.PathUse) =>
  Effect.gen(function*() {
    const decision = yield* files.decide({ path: path.startsWith("/") ? path : `${folder}/${path}`, access })
    if (decision._tag === "Refused" || access !== "read") return decision._tag === "Allowed"
    const { kind } = yield* files.stat({ path: decision.canonical })
    return kind === "file"
  }).pipe(Effect.orElseSucceed(() => false))

/** Where an OS sandbox was preferred and is not there, everything asks; whoever chose to do without has chosen. */
const assess = ({ command, cwd }: Arguments): Effect.Effect<Assessment, never, Sandbox.Sandbox> =>
  Effect.gen(function*() {
    const { files, processes } = yield* Sandbox.Sandbox
    const { enforcement } = processes
    const judgement = CommandPolicy.judge(command, { shell: enforcement.shell })
    const ask = CommandCall.asked(judgement, processes)
    if (judgement.class !== "read-only" || enforcement.fallback !== null) return ask
    const folder = yield* Effect.option(folderOf(files, cwd))
    if (folder._tag === "None") return ask
    const allowed = yield* Effect.forEach(judgement.operands, (use) => mayRead(files, folder.value, use))
    return allowed.every((one) => one) ? { ...ask, risk: "low", approval: "never" } : ask
  })

const handler = ({ command, cwd }: Arguments, call: CallContext) =>
  Effect.gen(function*() {
    const { files, processes } = yield* Sandbox.Sandbox
    const folder = yield* folderOf(files, cwd)
    const result = yield* processes.run({
      command,
      cwd: folder,
      keepBytes: CommandCall.keepBytes(call),
      onStart: call.processStarted,
      onOutput: call.emit
    }).pipe(Effect.mapError(CommandCall.explain))
    return yield* CommandCall.report(command, result, call)
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
    "If it prints too much, the middle is left out. If a program or folder is missing, it fails. " +
    "Not for reading, writing, editing, listing or searching files: read_file, write_file, edit_file, list_directory and search_files " +
    "do that better.",
  aliases: ["bash", "shell", "terminal", "execute_command"],
  parameters: Parameters,
  safety: "privileged",
  outputCut: "head-and-tail",
  timeout: ({ timeout_seconds }) => Duration.seconds(timeout_seconds ?? CommandCall.defaultSeconds),
  paths: ({ cwd }) => cwd === undefined ? [] : [{ path: cwd, access: "list" }],
  summary: ({ command, description }) => CommandCall.summary(command, description),
  detail: ({ command, cwd }) => cwd === undefined ? command : `${command}\n[in ${cwd}]`,
  assess,
  allowedBy: ({ command }, pattern) => CommandPolicy.covers(command, pattern),
  allowedTogether: ({ command }, patterns) => CommandPolicy.covers(command, ...patterns),
  deniedBy: ({ command }, pattern) => CommandPolicy.touches(command, pattern),
  handler
})
