/**
 * The commands as they are typed: names, flags and help. What they do is loaded when one of them runs.
 *
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import type { CommandShape } from "./CommandLine.js"
import * as Flags from "./Flags.js"

const id = (description: string) => Args.text({ name: "id" }).pipe(Args.withDescription(description))

const all = Options.boolean("all").pipe(Options.withDescription("Those of every project, not only of this one."))

const json = Options.boolean("json").pipe(Options.withDescription("Print one JSON object at the end, nothing else."))

const streamJson = Options.boolean("stream-json").pipe(
  Options.withDescription("Print one JSON object per line: every event as it comes, the result last.")
)

const runOptions = { ...Flags.session, json, streamJson }

const run = Command.make(
  "run",
  { ...runOptions, task: Args.text({ name: "task" }).pipe(Args.withDescription("What to do; - reads it from stdin.")) },
  (flags) => Effect.flatMap(Effect.promise(() => import("./RunCommand.js")), ({ run }) => run(flags))
).pipe(Command.withDescription("Does one task in the current folder and ends."))

const chat = Command.make(
  "chat",
  Flags.session,
  (flags) => Effect.flatMap(Effect.promise(() => import("./ChatCommand.js")), ({ chat }) => chat(flags))
).pipe(Command.withDescription("Talks with a model that has tools, until you leave."))

const resumeOptions = {
  ...runOptions,
  partial: Options.boolean("partial").pipe(
    Options.withDescription("After a crash: keep the results that are there, unfinished calls count as failed.")
  ),
  discard: Options.boolean("discard").pipe(
    Options.withDescription("After a crash: count every call of the last batch as failed.")
  ),
  rerun: Options.boolean("rerun").pipe(
    Options.withDescription("After a crash: like --partial, and run calls again that had started and may be repeated.")
  ),
  result: Options.text("result").pipe(
    Options.withPseudoName("position=text"),
    Options.withDescription("The result of a call that was handed to you (@file: what is in it). Repeatable."),
    Options.repeated
  )
}

const resume = Command.make(
  "resume",
  { ...resumeOptions, id: id("A session id, a prefix of one, or last (default).").pipe(Args.optional) },
  (flags) => Effect.flatMap(Effect.promise(() => import("./ResumeCommand.js")), ({ resume }) => resume(flags))
).pipe(Command.withDescription("Goes on with a session that was cut off, or that waits for approvals or results."))

const sessionsOptions = { all, json, cwd: Flags.cwd, verbose: Flags.verbose }

const sessions = Command.make(
  "sessions",
  sessionsOptions,
  (flags) => Effect.flatMap(Effect.promise(() => import("./SessionsCommand.js")), ({ sessions }) => sessions(flags))
).pipe(
  Command.withDescription("Lists the sessions of this project, the latest first.")
)

const showOptions = { json, cwd: Flags.cwd, verbose: Flags.verbose }

const show = Command.make(
  "show",
  { ...showOptions, id: id("A session id, a prefix of one, or last (default).").pipe(Args.optional) },
  (flags) => Effect.flatMap(Effect.promise(() => import("./SessionsCommand.js")), ({ show }) => show(flags))
).pipe(Command.withDescription("Shows what happened in a session."))

const approvalsOptions = { all, json, cwd: Flags.cwd, verbose: Flags.verbose }

const loadApprovals = Effect.promise(() => import("./ApprovalsCommand.js"))

const answerOptions = { json, cwd: Flags.cwd, verbose: Flags.verbose }

const answerArguments = {
  session: Args.text({ name: "session" }).pipe(Args.withDescription("A session id, or a prefix of one.")),
  positions: Args.text({ name: "position" }).pipe(
    Args.withDescription("Which of its questions (default: all that have no answer)."),
    Args.repeated
  )
}

const denyOptions = {
  reason: Options.text("reason").pipe(
    Options.withPseudoName("words"),
    Options.withDescription("Why not; the model reads it."),
    Options.optional
  ),
  ...answerOptions
}

const approvals = Command.make(
  "approvals",
  approvalsOptions,
  (flags) => Effect.flatMap(loadApprovals, ({ list }) => list(flags))
).pipe(
  Command.withDescription("Lists the questions that sessions of this project wait for."),
  Command.withSubcommands([
    Command.make(
      "approve",
      { ...answerOptions, ...answerArguments },
      (flags) => Effect.flatMap(loadApprovals, ({ approve }) => approve(flags))
    ).pipe(Command.withDescription("Answers questions of a session with yes.")),
    Command.make(
      "deny",
      { ...denyOptions, ...answerArguments },
      (flags) => Effect.flatMap(loadApprovals, ({ deny }) => deny(flags))
    ).pipe(Command.withDescription("Answers questions of a session with no.")),
    Command.make(
      "permissions",
      approvalsOptions,
      (flags) => Effect.flatMap(loadApprovals, ({ permissions }) => permissions(flags))
    ).pipe(Command.withDescription("Lists what was allowed for good in this project.")),
    Command.make(
      "revoke",
      {
        ...answerOptions,
        id: Args.text({ name: "id" }).pipe(Args.withDescription("A permission, as \"approvals permissions\" lists it."))
      },
      (flags) => Effect.flatMap(loadApprovals, ({ revoke }) => revoke(flags))
    ).pipe(Command.withDescription("Takes a permission back."))
  ])
)

const auditOptions = {
  all,
  session: Options.text("session").pipe(
    Options.withPseudoName("id"),
    Options.withDescription("Only this session (an id, a prefix of one, or last)."),
    Options.optional
  ),
  json,
  cwd: Flags.cwd,
  verbose: Flags.verbose
}

const loadAudit = Effect.promise(() => import("./AuditCommand.js"))

const exportOptions = {
  output: Options.text("output").pipe(
    Options.withPseudoName("file"),
    Options.withDescription("Write to this new file, readable by you only (default: print)."),
    Options.optional
  ),
  ...auditOptions
}

const audit = Command.make(
  "audit",
  auditOptions,
  (flags) => Effect.flatMap(loadAudit, ({ list }) => list(flags))
).pipe(
  Command.withDescription("Lists every call with who decided about it and what came of it."),
  Command.withSubcommands([
    Command.make(
      "export",
      exportOptions,
      (flags) => Effect.flatMap(loadAudit, ({ exported }) => exported(flags))
    ).pipe(Command.withDescription("Writes the calls as JSONL, without contents.")),
    Command.make(
      "verify",
      {
        ...auditOptions,
        file: Args.text({ name: "file" }).pipe(
          Args.withDescription("An export (default: the sessions themselves)."),
          Args.optional
        )
      },
      (flags) => Effect.flatMap(loadAudit, ({ verify }) => verify(flags))
    ).pipe(Command.withDescription("Checks that nothing that was recorded has been changed."))
  ])
)

const replay = Command.make(
  "replay",
  { ...showOptions, id: id("A session id, a prefix of one, or last (default).").pipe(Args.optional) },
  (flags) => Effect.flatMap(Effect.promise(() => import("./ReplayCommand.js")), ({ replay }) => replay(flags))
).pipe(Command.withDescription("Plays a recorded session again, offline."))

const doctorOptions = { ...Flags.model, json, cwd: Flags.cwd, verbose: Flags.verbose }

const doctor = Command.make(
  "doctor",
  doctorOptions,
  (flags) => Effect.flatMap(Effect.promise(() => import("./DoctorCommand.js")), ({ doctor }) => doctor(flags))
).pipe(
  Command.withDescription("Says what is found on this machine, what is protected, and what would ask or run.")
)

const toolsListOptions = { json, verbose: Flags.verbose }

const toolsList = Command.make(
  "list",
  toolsListOptions,
  (flags) => Effect.flatMap(Effect.promise(() => import("./ToolsCommand.js")), ({ list }) => list(flags))
).pipe(
  Command.withDescription("Lists the tools.")
)

const toolsShow = Command.make(
  "show",
  { ...toolsListOptions, name: Args.text({ name: "name" }).pipe(Args.withDescription("The name of a tool.")) },
  (flags) => Effect.flatMap(Effect.promise(() => import("./ToolsCommand.js")), ({ show }) => show(flags))
).pipe(Command.withDescription("Shows a tool as a model is told of it."))

const toolsAudit = Command.make(
  "audit",
  toolsListOptions,
  (flags) => Effect.flatMap(Effect.promise(() => import("./ToolsCommand.js")), ({ audit }) => audit(flags))
).pipe(Command.withDescription("Says how well each tool is described to a model, the worst first."))

const demoOptions = { verbose: Flags.verbose }

const demo = Command.make(
  "demo",
  demoOptions,
  () => Effect.flatMap(Effect.promise(() => import("./DemoCommand.js")), ({ demo }) => demo)
).pipe(
  Command.withDescription("Shows all of it on a small project, with no key and no network: the model is scripted.")
)

const tools = Command.make("tools").pipe(
  Command.withDescription("What a model is told of its tools."),
  Command.withSubcommands([toolsList, toolsShow, toolsAudit])
)

/**
 * The command line as `@effect/cli` reads it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const root = Command.make("capstan").pipe(
  Command.withDescription("Lets a language model use tools on this machine, asking before it changes anything."),
  Command.withSubcommands([run, demo, chat, resume, sessions, show, replay, approvals, audit, doctor, tools])
)

const leaf = (
  name: string,
  options: Readonly<Record<string, Options.Options<unknown>>>,
  maxArguments: number,
  subcommands: ReadonlyArray<CommandShape> = []
): CommandShape => ({ name, options: Object.values(options), maxArguments, subcommands })

/**
 * The same for the strict reading before it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const shape: CommandShape = {
  name: "capstan",
  options: [],
  maxArguments: 0,
  subcommands: [
    leaf("run", runOptions, 1),
    leaf("demo", demoOptions, 0),
    leaf("chat", Flags.session, 0),
    leaf("resume", resumeOptions, 1),
    leaf("sessions", sessionsOptions, 0),
    leaf("show", showOptions, 1),
    leaf("replay", showOptions, 1),
    leaf("approvals", approvalsOptions, 0, [
      leaf("approve", answerOptions, Infinity),
      leaf("deny", denyOptions, Infinity),
      leaf("permissions", approvalsOptions, 0),
      leaf("revoke", answerOptions, 1)
    ]),
    leaf("audit", auditOptions, 0, [leaf("export", exportOptions, 0), leaf("verify", auditOptions, 1)]),
    leaf("doctor", doctorOptions, 0),
    leaf("tools", {}, 0, [
      leaf("list", toolsListOptions, 0),
      leaf("show", toolsListOptions, 1),
      leaf("audit", toolsListOptions, 0)
    ])
  ]
}
