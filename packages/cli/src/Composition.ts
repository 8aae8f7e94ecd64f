/**
 * Puts a run together: the one place where providers, tools, sandbox, journal and approvals meet.
 *
 * @since 0.1.0
 */
import type { Approval } from "@capstan/core/Approval"
import type { ApprovalStore } from "@capstan/core/ApprovalStore"
import type { Budget } from "@capstan/core/Budget"
import * as Glob from "@capstan/core/Glob"
import type { Journal } from "@capstan/core/Journal"
import * as Limits from "@capstan/core/Limits"
import type { ModelProvider } from "@capstan/core/ModelProvider"
import * as Redaction from "@capstan/core/Redaction"
import { Sandbox } from "@capstan/core/Sandbox"
import type { Tool } from "@capstan/core/Tool"
import * as ToolLoop from "@capstan/core/ToolLoop"
import * as ToolRegistry from "@capstan/core/ToolRegistry"
import * as FileOutputStore from "@capstan/node/FileOutputStore"
import * as NodeSandbox from "@capstan/node/NodeSandbox"
import * as SqliteFile from "@capstan/sql/SqliteFile"
import * as SqlJournal from "@capstan/sql/SqlJournal"
import * as CommandTools from "@capstan/tools/CommandTools"
import * as FileTools from "@capstan/tools/FileTools"
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as path from "node:path"
import * as Approvals from "./Approvals.js"
import * as CommandError from "./CommandError.js"
import * as CommandLine from "./CommandLine.js"
import * as DryRun from "./DryRun.js"
import type { SessionFlags } from "./Flags.js"
import { Host } from "./Host.js"
import * as Instructions from "./Instructions.js"
import type * as Places from "./Places.js"
import { Signals } from "./Signals.js"

/**
 * The built-in tools.
 *
 * @since 0.1.0
 * @category models
 */
export const builtIn = [...FileTools.all, ...CommandTools.all]

/**
 * What is stored in a place.
 *
 * @since 0.1.0
 * @category models
 */
export type Stored = ApprovalStore | Journal | SqlClient

/**
 * The database of a place: the journal, and the answers and permissions beside it.
 *
 * @since 0.1.0
 * @category layers
 */
export const stored = (places: Places.Places): Layer.Layer<Stored, CommandError.CommandError> =>
  SqlJournal.layer.pipe(
    Layer.provideMerge(SqliteFile.layer({ filename: places.database })),
    Layer.mapError((error) =>
      new CommandError.CommandError({
        code: 1,
        tag: error._tag,
        message: CommandError.oneLine(
          `${error.message} It is ${places.database}; XDG_DATA_HOME chooses another place.`
        ),
        cause: error
      })
    )
  )

/**
 * The machine as tools see it: the project, the folders of `--add-dir`, and nothing of the program's own data.
 *
 * @since 0.1.0
 * @category layers
 */
export const sandbox = (options: {
  readonly places: Places.Places
  readonly addDir: ReadonlyArray<string>
}): Layer.Layer<Sandbox, CommandError.CommandError, Host | Signals> =>
  Layer.unwrapEffect(Effect.gen(function*() {
    const { environment } = yield* Host
    const { hurry } = yield* Signals
    const { places } = options
    return Layer.mapError(
      NodeSandbox.layer({
        mounts: { workspace: { path: places.root, access: "rw" }, ...added(options.addDir, places.cwd) },
        workingDirectory: places.cwd,
        privateFolders: [places.data],
        undoFolder: path.join(places.data, "undo"),
        osSandbox: "preferred",
        environment,
        hurry
      }),
      CommandError.ofFileError
    )
  }))

const added = (folders: ReadonlyArray<string>, cwd: string) => {
  const mounts: Record<string, { readonly path: string; readonly access: "ro" | "rw" }> = {}
  for (const written of folders) {
    const mode = /:(ro|rw)$/.exec(written)?.[1]
    const folder = path.resolve(cwd, mode === undefined ? written : written.slice(0, -3))
    const base = path.basename(folder) === "workspace" || folder === "/" ? "folder" : path.basename(folder)
    let name = base
    for (let n = 2; name in mounts; n++) name = `${base}-${n}`
    mounts[name] = { path: folder, access: mode === "ro" ? "ro" : "rw" }
  }
  return mounts
}

/** Names of variables whose values are secrets. Whole families (`GITHUB_*`) would hide paths and names that are none. */
const sensitive = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL/i

/**
 * The redactor that knows the values of the environment's secrets.
 *
 * @since 0.1.0
 * @category constructors
 */
export const redactor = (environment: Host["Type"]["environment"]): Redaction.Redactor =>
  Redaction.make({
    secrets: Object.entries(environment).flatMap(([name, value]) =>
      value !== undefined && sensitive.test(name) ? [value] : []
    )
  })

const chosenTools = <R>(
  all: ReadonlyArray<Tool<R>>,
  flags: SessionFlags
): Effect.Effect<ReadonlyArray<Tool<R>>, CommandError.CommandError> =>
  Effect.gen(function*() {
    if (Option.isNone(flags.tools)) return all
    const patterns = flags.tools.value.split(",").map((name) => name.trim()).filter((name) => name !== "")
    const names = all.map((tool) => tool.definition.name)
    const unknown = patterns.find((pattern) => !names.some((name) => Glob.matches(pattern, name)))
    if (unknown !== undefined) {
      const nearest = CommandLine.nearest(unknown, names)
      return yield* CommandError.usage(
        `No tool is called "${unknown}" (from --tools).${
          nearest === undefined ? "" : ` Did you mean "${nearest}"?`
        } The tools: ${names.join(", ")}.`
      )
    }
    return all.filter((tool) => patterns.some((pattern) => Glob.matches(pattern, tool.definition.name)))
  })

/**
 * What `Limits` holds for some flags.
 *
 * @since 0.1.0
 * @category constructors
 */
export const limits = (flags: SessionFlags): Limits.Values => {
  const base = Option.contains(flags.limits, "strict") ? Limits.strict : Limits.agent
  return Option.match(flags.maxIterations, {
    onNone: () => base,
    onSome: (maxToolIterationsPerUserTurn) => ({ ...base, maxToolIterationsPerUserTurn })
  })
}

/**
 * What one message may spend.
 *
 * @since 0.1.0
 * @category constructors
 */
export const budget = (flags: SessionFlags): Budget => ({
  ...Option.match(flags.budgetTokens, { onNone: () => ({}), onSome: (tokens) => ({ tokens }) }),
  ...Option.match(flags.budgetCost, { onNone: () => ({}), onSome: (cost) => ({ cost }) }),
  ...Option.match(flags.budgetCalls, { onNone: () => ({}), onSome: (calls) => ({ calls }) }),
  ...Option.match(flags.budgetTime, { onNone: () => ({}), onSome: (time) => ({ time: Duration.seconds(time) }) })
})

/**
 * How tool calls are treated.
 *
 * @since 0.1.0
 * @category constructors
 */
export const mode = (flags: SessionFlags) =>
  flags.noTools ? "disabled" as const : Option.getOrElse(flags.mode, () => "enabled" as const)

/**
 * Everything that a run provides to what drives it.
 *
 * @since 0.1.0
 * @category models
 */
export type Run = Approval | ToolLoop.ToolLoop | Stored | Sandbox | ToolRegistry.ToolRegistry

/**
 * A run: the loop with its instructions, and the services that commands look at besides. `tools` are offered in addition to
 * the built-in ones.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: {
  readonly places: Places.Places
  readonly flags: SessionFlags
  readonly provider: Layer.Layer<ModelProvider, CommandError.CommandError>
  readonly asked: Approvals.Asked
}): Layer.Layer<Run, CommandError.CommandError, Host | Signals> => {
  const { flags, places } = options
  const approval = Approvals.layer({ flags, asked: options.asked })
  const offered = Layer.unwrapEffect(
    Effect.map(
      chosenTools(builtIn, flags),
      (tools) => Layer.mapError(ToolRegistry.layer(tools), CommandError.ofRegistryError)
    )
  )
  const registry = flags.dryRun ? DryRun.over(Approvals.policy(flags))(offered) : offered
  const loop = Layer.unwrapEffect(Effect.gen(function*() {
    const { files } = yield* Sandbox
    const { environment } = yield* Host
    const instructions = yield* Instructions.make({ files, root: places.root, tools: mode(flags) !== "disabled" })
    return ToolLoop.layerOptions({ mode: mode(flags), instructions, budgets: { turn: budget(flags) } }).pipe(
      Layer.provide(Layer.succeed(Limits.Limits, limits(flags))),
      Layer.provide(Layer.succeed(Redaction.Redaction, redactor(environment)))
    )
  }))
  return loop.pipe(
    Layer.provide(Layer.merge(options.provider, FileOutputStore.layer({ folder: path.join(places.data, "outputs") }))),
    Layer.provideMerge(Layer.merge(approval, registry)),
    Layer.provideMerge(Layer.merge(stored(places), sandbox({ places, addDir: flags.addDir })))
  )
}
