/** A loop with tools of each kind, and what a test of approvals asks it. */
import { Journal, Tool, ToolLoop } from "@capstan/core"
import type { JournalRecord } from "@capstan/core/JournalRecord"
import { ScriptedApproval, ScriptedModel, TestLoop } from "@capstan/testing"
import { assert } from "@effect/vitest"
import { Effect, Layer, Logger, LogLevel, Schema } from "effect"

export const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"

export const ran: Array<string> = []

const body = (what: string) => Effect.sync(() => (ran.push(what), `did ${what}`))

const put = Tool.make("put", {
  description: "Puts a line into a file.",
  parameters: Schema.Struct({ path: Schema.String, line: Schema.optional(Schema.String) }),
  paths: ({ path }) => [{ path, access: "write" }],
  writes: ({ line }) => line?.length ?? 0,
  summary: ({ line, path }) => `Put ${line ?? "nothing"} into ${path}`,
  detail: ({ line, path }) => `${path}: ${line ?? ""}`,
  preview: ({ line }) => Effect.succeed(`+${line ?? ""}`),
  handler: ({ line, path }, call) => Effect.zipRight(call.reserveWrite(line?.length ?? 0), body(`put ${path}`))
})

const look = Tool.make("look", {
  description: "Reads.",
  parameters: Schema.Struct({}),
  safety: "read-only",
  handler: () => body("look")
})

const shell = Tool.make("shell", {
  description: "Runs a command.",
  parameters: Schema.Struct({ command: Schema.String }),
  safety: "privileged",
  allowedBy: ({ command }, pattern) => command === pattern,
  assess: ({ command }) =>
    Effect.succeed({
      risk: "high",
      approval: command.startsWith("rm") ? "always" : "unless-allowed",
      warnings: command.startsWith("rm") ? [`it deletes with ${secret}`] : []
    }),
  handler: ({ command }) => body(command)
})

/** Where a tool can break before it runs. */
export const places = [
  "paths",
  "writes",
  "summary",
  "detail",
  "timeout",
  "allowedBy",
  "deniedBy",
  "assess",
  "assess dies",
  "preview",
  "preview dies",
  "preview hangs"
] as const

function broken(): never {
  throw new Error("a bug of the tool")
}

const at = <A>(where: string, place: (typeof places)[number], otherwise: A): A => where === place ? broken() : otherwise

const breaking = Tool.make("breaking", {
  description: "Breaks where it is told to.",
  parameters: Schema.Struct({ where: Schema.String }),
  aliases: ["fragile"],
  paths: ({ where }) => at(where, "paths", []),
  writes: ({ where }) => at(where, "writes", 0),
  summary: ({ where }) => at(where, "summary", "s"),
  detail: ({ where }) => at(where, "detail", "d"),
  timeout: ({ where }) => at(where, "timeout", "1 second"),
  allowedBy: ({ where }) => at(where, "allowedBy", false),
  deniedBy: ({ where }) => at(where, "deniedBy", false),
  assess: ({ where }) =>
    at(
      where,
      "assess",
      where === "assess dies"
        ? Effect.die("assess")
        : Effect.succeed({ risk: "low", approval: "unless-allowed", warnings: [] })
    ),
  preview: ({ where }) =>
    at(
      where,
      "preview",
      where === "preview dies"
        ? Effect.die("preview")
        : where === "preview hangs"
        ? Effect.never
        : Effect.succeed(undefined)
    ),
  handler: () => body("breaking")
})

const send = Tool.make("send", {
  description: "Sends a sub-session.",
  parameters: Schema.Struct({}),
  safety: "read-only",
  handler: (_, call) => Effect.map(call.delegate({ session: "child", message: "go" }), ({ text }) => text)
})

export const session = "s"

export const calls = (...all: ReadonlyArray<readonly [string, Readonly<Record<string, unknown>>]>) =>
  ScriptedModel.calls(all.map(([name, args]) => ({ name, arguments: args })))

export const done = ScriptedModel.text("done")

export const run = (id = session, more: Partial<ToolLoop.RunOptions> = {}) =>
  Effect.suspend(() => {
    ran.length = 0
    return ToolLoop.run({ session: id, message: "go", ...more })
  })

export const records = Effect.map(
  Effect.flatMap(Journal.Journal, (journal) => journal.read({ session })),
  (rows) => rows.map(({ record }) => record)
)

export const recordOf = <Tag extends JournalRecord["_tag"]>(tag: Tag) =>
  Effect.map(
    records,
    (all) =>
      all.flatMap((record) => record._tag === tag ? [record] : []).flatMap((record) =>
        isTagged(record, tag) ? [record] : []
      )
  )

const isTagged = <Tag extends JournalRecord["_tag"]>(
  record: JournalRecord,
  tag: Tag
): record is Extract<JournalRecord, { readonly _tag: Tag }> => record._tag === tag

export const world = (options: Omit<TestLoop.Options, "tools">) =>
  TestLoop.layer({
    ...options,
    policy: { denylist: [], trust: "full", ...options.policy },
    tools: [put, look, shell, breaking, send]
  }).pipe(Layer.provide(Logger.minimumLogLevel(LogLevel.None)))

export const tags = (result: Effect.Effect.Success<ReturnType<typeof run>>) =>
  result.calls.map(({ outcome }) => outcome._tag)

export const question = Effect.map(ScriptedApproval.requests, (requests) => {
  const one = requests[0]?.questions[0]
  assert(one !== undefined)
  return one
})
