/** The loop that the crash tests kill and reopen: real journal, real side effects, a scripted model. */
import * as Approval from "@capstan/core/Approval"
import type { Sandbox } from "@capstan/core/Sandbox"
import * as Tool from "@capstan/core/Tool"
import * as ToolLoop from "@capstan/core/ToolLoop"
import * as ToolRegistry from "@capstan/core/ToolRegistry"
import * as NodeSandbox from "@capstan/node/NodeSandbox"
import * as SqlJournal from "@capstan/sql/SqlJournal"
import * as CrashPoint from "@capstan/testing/CrashPoint"
import * as FakeSandbox from "@capstan/testing/FakeSandbox"
import * as ScriptedModel from "@capstan/testing/ScriptedModel"
import * as RunCommand from "@capstan/tools/RunCommand"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as path from "node:path"

export const session = "crashed"

/** `parallel`: two read-only calls together, then one with an effect. `sequential`: three with effects, one by one. */
export type Shape = "parallel" | "sequential" | "command"

export const shapes: ReadonlyArray<Exclude<Shape, "command">> = ["parallel", "sequential"]

export const names = ["a", "b", "c"]

const toolsOf: Record<Exclude<Shape, "command">, ReadonlyArray<string>> = {
  parallel: ["look", "look", "change"],
  sequential: ["change", "change", "change"]
}

const batch = (shape: Shape): ScriptedModel.Step =>
  shape === "command"
    ? ScriptedModel.call("run_command", { command: "echo ready >> side.txt; sleep 600" })
    : ScriptedModel.calls(
      toolsOf[shape].map((name, i) => ({ name, arguments: { name: names[i] } })),
      { text: "Three calls." }
    )

/** Sends the batch once, and words when it has results; `before` happens before each answer. */
export const script = (
  shape: Shape,
  before: Effect.Effect<void> = Effect.void
): ScriptedModel.Script =>
(request) =>
  Effect.as(
    before,
    request.messages.some(({ role }) => role === "tool") ? ScriptedModel.text("Done.") : batch(shape)
  )

/** Where handlers leave a line each time they run. */
export const sideFile = (folder: string) => path.join(folder, "side.txt")

const databaseFile = (folder: string) => path.join(folder, "journal.db")

const parameters = Schema.Struct({ name: Schema.String })

const note = (folder: string, line: string) => Effect.sync(() => fs.appendFileSync(sideFile(folder), `${line}\n`))

const tools = (folder: string) => [
  Tool.make("look", {
    description: "Looks.",
    parameters,
    safety: "read-only",
    // The first ends last, so that results come in another order than calls.
    handler: ({ name }) =>
      note(folder, name).pipe(
        Effect.zipRight(name === "a" ? Effect.sleep("20 millis") : Effect.void),
        Effect.as(`saw ${name}`)
      )
  }),
  Tool.make("change", {
    description: "Changes.",
    parameters,
    handler: ({ name }) => Effect.as(note(folder, name), `changed ${name}`)
  }),
  RunCommand.tool
]

/** `machine: "node"`: commands really run, with nothing that would end them with this process. */
export const layer = (options: {
  readonly folder: string
  readonly script: ScriptedModel.Script
  readonly points?: ReadonlyArray<CrashPoint.CrashPoint>
  readonly machine?: "fake" | "node"
}) => {
  const { folder } = options
  const machine: Layer.Layer<Sandbox> = options.machine === "node"
    ? Layer.orDie(NodeSandbox.layer({ mounts: { workspace: folder }, osSandbox: "off" }))
    : FakeSandbox.layer()
  const journal = CrashPoint.layer(options.points ?? []).pipe(
    Layer.provideMerge(SqlJournal.layerSqlite({ filename: databaseFile(folder) }))
  )
  return ToolLoop.layer.pipe(
    Layer.provideMerge(ScriptedModel.layer(options.script)),
    Layer.provide(Layer.orDie(ToolRegistry.layer(tools(folder)))),
    Layer.provide(
      Approval.layerCallback({
        policy: { denylist: [], trust: "shell" },
        ask: () => Effect.succeed({ _tag: "ApproveAll" })
      })
    ),
    Layer.provideMerge(journal),
    Layer.provide(machine)
  )
}
