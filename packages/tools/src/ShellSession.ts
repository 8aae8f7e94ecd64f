/**
 * `shell_session`: shell commands that go on where the last one ended.
 *
 * @since 0.1.0
 */
import type { Assessment } from "@capstan/core/Assessment"
import type { CallContext } from "@capstan/core/CallContext"
import type { ProcessResult } from "@capstan/core/ProcessRunner"
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
  reset: Schema.optionalWith(
    Schema.Boolean.annotations({
      description: "Forgets folder and variables first. Default: false.",
      examples: [true]
    }),
    { exact: true }
  ),
  timeout_seconds: CommandCall.timeoutSeconds,
  description: CommandCall.description
})

type Arguments = typeof Parameters.Type

/** Never runs unasked as a reading command would: what a word means depends on what is set. */
const assess = ({ command }: Arguments): Effect.Effect<Assessment, never, Sandbox.Sandbox> =>
  Effect.map(
    Sandbox.Sandbox,
    ({ processes }) =>
      CommandCall.asked(CommandPolicy.judge(command, { shell: processes.enforcement.shell }), processes)
  )

const shown = (files: Workspace["Type"], folder: string): string =>
  folder.startsWith(`${files.workingDirectory}/`) ? folder.slice(files.workingDirectory.length + 1) : folder

/** Where the last command ended, if the path rules still let a command start there. */
const start = (files: Workspace["Type"], before: string | undefined) =>
  before === undefined
    ? Effect.succeed({ folder: files.workingDirectory, note: [] })
    : CommandCall.folderOf(files, before).pipe(
      Effect.map((folder) => ({ folder, note: [] })),
      Effect.orElseSucceed(() => ({
        folder: files.workingDirectory,
        note: [`started in the working directory: ${shown(files, before)} is gone, or commands may not start there`]
      }))
    )

const withNotes = (result: ProcessResult, notes: ReadonlyArray<string>): ProcessResult => ({
  ...result,
  notes: [...notes, ...result.notes]
})

const handler = ({ command, reset }: Arguments, call: CallContext) =>
  Effect.gen(function*() {
    const { files, processes } = yield* Sandbox.Sandbox
    const { session } = call
    if (reset === true) yield* processes.sessions.forget(session)
    const { folder, note } = yield* start(files, yield* processes.sessions.directory(session))
    const result = yield* processes.run({
      command,
      cwd: folder,
      session,
      keepBytes: CommandCall.keepBytes(call),
      onStart: call.processStarted,
      onOutput: call.emit
    }).pipe(Effect.mapError(CommandCall.explain))
    const now = yield* processes.sessions.directory(session)
    const moved = now === undefined || now === folder ? [] : [`now in ${shown(files, now)}`]
    return yield* CommandCall.report(command, withNotes(result, [...note, ...moved]), call)
  })

/**
 * Runs a command line in a shell of its own that begins in the folder and with the variables of the last one of the session.
 * It asks like `run_command`, and also for commands that only read.
 *
 * @since 0.1.0
 * @category tools
 */
export const tool: Tool.Tool<Sandbox.Sandbox> = Tool.make("shell_session", {
  description:
    "Runs bash command lines that go on from each other: the folder (cd) and the variables of the last call are there. " +
    "Example: {\"command\":\"cd packages/core && PORT=8080\"}, then {\"command\":\"echo $PORT; ls\"}. " +
    "If the session was resumed since, both are missing: set them again. " +
    "Functions, aliases, options, and variables like PATH do not last. Background jobs end with the call; there is no input. A non-zero exit code is an error that shows the output. " +
    "If it prints too much, the middle is left out. If its folder is missing by then, it starts in the working directory. " +
    "Not for single commands: run_command does that. Not for reading, writing or searching files: use the file tools.",
  parameters: Parameters,
  safety: "privileged",
  outputCut: "head-and-tail",
  timeout: ({ timeout_seconds }) => Duration.seconds(timeout_seconds ?? CommandCall.defaultSeconds),
  summary: ({ command, description }) => CommandCall.summary(command, description),
  detail: ({ command, reset }) => `${command}\n[in the shell of this session${reset === true ? ", started over" : ""}]`,
  assess,
  allowedBy: ({ command }, pattern) => CommandPolicy.covers(command, pattern),
  allowedTogether: ({ command }, patterns) => CommandPolicy.covers(command, ...patterns),
  deniedBy: ({ command }, pattern) => CommandPolicy.touches(command, pattern),
  handler
})
