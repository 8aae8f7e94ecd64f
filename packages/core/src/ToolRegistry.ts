/**
 * The tools of a run, by name.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Order from "effect/Order"
import * as Schema from "effect/Schema"
import type { ToolDefinition } from "./ModelProvider.js"
import type { PreparedCall, Tool } from "./Tool.js"
import * as ToolName from "./ToolName.js"

/**
 * Tools that cannot stand together: a name is taken twice (an alias included), or is not a name that models can write
 * (letters, digits, `_`, `-`, `.`, at most 128).
 *
 * @since 0.1.0
 * @category errors
 */
export class RegistryError extends Schema.TaggedError<RegistryError>("@capstan/core/RegistryError")("RegistryError", {
  reason: Schema.Literal("duplicate", "bad-name"),
  name: Schema.String,
  message: Schema.String
}) {}

/**
 * Tools that are ready to run: definitions sorted by name, each tool by its name, and the names that models may mean. A
 * plain value, so that planning stays pure.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolSet {
  readonly definitions: ReadonlyArray<ToolDefinition>
  readonly byName: ReadonlyMap<string, Tool>
  readonly names: ToolName.NameIndex
}

/**
 * The tools of a run. `tools` is read once per iteration.
 *
 * @since 0.1.0
 * @category services
 */
export class ToolRegistry extends Context.Tag("@capstan/core/ToolRegistry")<ToolRegistry, {
  readonly tools: Effect.Effect<ToolSet>
}>() {}

/**
 * A tool set out of tools that need nothing any more.
 *
 * @since 0.1.0
 * @category constructors
 */
export const toolSet = (tools: ReadonlyArray<Tool>): Either.Either<ToolSet, RegistryError> => {
  const sorted = [...tools].sort(Order.mapInput(Order.string, (tool: Tool) => tool.definition.name))
  const seen = new Set<string>()
  for (const tool of sorted) {
    for (const name of [tool.definition.name, ...tool.aliases]) {
      if (!/^[a-zA-Z0-9_.-]{1,128}$/.test(name)) {
        return Either.left(
          new RegistryError({
            reason: "bad-name",
            name,
            message: `"${name}" is no tool name: use letters, digits, "_", "-" and ".", at most 128.`
          })
        )
      }
      if (seen.has(name)) {
        return Either.left(
          new RegistryError({
            reason: "duplicate",
            name,
            message: `Two tools are called "${name}": rename one or leave it out.`
          })
        )
      }
      seen.add(name)
    }
  }
  return Either.right({
    definitions: sorted.map((tool) => tool.definition),
    byName: new Map(sorted.map((tool) => [tool.definition.name, tool])),
    names: ToolName.index(sorted.map((tool) => ({ name: tool.definition.name, aliases: tool.aliases })))
  })
}

/**
 * A fixed set of tools. What their handlers need becomes what the layer needs. Fails with {@link RegistryError}.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <R = never>(tools: ReadonlyArray<Tool<R>>): Layer.Layer<ToolRegistry, RegistryError, R> =>
  Layer.effect(
    ToolRegistry,
    Effect.flatMap(
      Effect.context<R>(),
      (context) =>
        Effect.map(toolSet(tools.map((tool) => provide(tool, context))), (set) => ({ tools: Effect.succeed(set) }))
    )
  )

const provide = <R>(tool: Tool<R>, context: Context.Context<R>): Tool => ({
  ...tool,
  prepare: (args) => Either.map(tool.prepare(args), (call) => provideCall(call, context))
})

const provideCall = <R>(call: PreparedCall<R>, context: Context.Context<R>): PreparedCall => {
  const supply = Effect.mapInputContext((_: Context.Context<never>) => context)
  return {
    ...call,
    assess: supply(call.assess),
    preview: supply(call.preview),
    run: (info) => supply(call.run(info)),
    reconcile: (info) => supply(call.reconcile(info))
  }
}
