/**
 * A provider that understands more: arguments repaired, calls in text read, tools for models that have none.
 *
 * @since 0.1.0
 */
import type { ModelDelta } from "@capstan/core/ModelDelta"
import { type ModelError, ModelProvider, type ModelRequest } from "@capstan/core/ModelProvider"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type * as Emulation from "./Emulation.js"
import { encode } from "./Emulation.js"
import { Answer } from "./internal/answer.js"

/**
 * What is done for a provider. Arguments are always repaired.
 *
 * - `rescue`: when an answer has no native call, calls that stand in its text are read; text in reasoning tags
 *   becomes thinking.
 * - `emulation` (default `never`): whether tools are described in the prompt instead of offered natively: `always`,
 *   or `when-refused` from the moment at which the service says that the model takes no tools.
 * - `prompt`: how that is done.
 * - `aliases`: further names of tools, by tool.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly rescue: boolean
  readonly emulation?: "never" | "when-refused" | "always"
  readonly prompt?: Emulation.Options
  readonly aliases?: Readonly<Record<string, ReadonlyArray<string>>>
}

/**
 * The same provider, with its answers read as `options` say. A rescued or emulated call looks like a native one
 * without an id, with a repair `rescued` or `emulated`. An answer that is nothing but one call to a tool that does
 * not exist is given out as a call too, at most twice in a user turn, so that its result can say which tools there
 * are.
 *
 * @since 0.1.0
 * @category combinators
 */
export const decorate = (
  provider: Context.Tag.Service<ModelProvider>,
  options: Options
): Context.Tag.Service<ModelProvider> => {
  /** Models whose service said that they take no tools: it is asked once. */
  const refused = new Set<string | undefined>()

  const read = (request: ModelRequest, emulated: boolean): Stream.Stream<ModelDelta, ModelError> =>
    Stream.suspend(() => {
      const tools = request.tools.map((tool) => ({ ...tool, aliases: options.aliases?.[tool.name] ?? [] }))
      const answer = new Answer(request, tools, {
        readsText: options.rescue || emulated,
        kind: emulated ? "emulated" : "rescued"
      })
      return Stream.mapConcat(
        provider.stream(emulated ? encode(request, options.prompt) : request),
        (delta) => answer.next(delta)
      )
    })

  const stream = (request: ModelRequest): Stream.Stream<ModelDelta, ModelError> => {
    if (options.emulation === "always" || refused.has(request.model)) return read(request, true)
    if (options.emulation !== "when-refused" || request.tools.length === 0) return read(request, false)
    return Stream.catchAll(read(request, false), (error) => {
      if (error.reason !== "unsupported") return Stream.fail(error)
      refused.add(request.model)
      return read(request, true)
    })
  }

  return { model: provider.model, stream }
}

/**
 * Decorates the provider of a layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<ModelProvider, never, ModelProvider> =>
  Layer.effect(ModelProvider, Effect.map(ModelProvider, (provider) => decorate(provider, options)))
