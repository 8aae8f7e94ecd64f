/**
 * The model's provider, loaded only when it is used.
 *
 * @since 0.1.0
 */
import type { ModelProvider } from "@capstan/core/ModelProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Ask from "./Ask.js"
import * as CommandError from "./CommandError.js"
import type { ModelFlags } from "./Flags.js"
import { Host } from "./Host.js"
import * as LocalServers from "./LocalServers.js"
import * as ModelChoice from "./ModelChoice.js"

/**
 * A provider that is ready to be used: `provider` and `model` for people, `layer` for the loop.
 *
 * @since 0.1.0
 * @category models
 */
export interface ChosenProvider {
  readonly provider: string
  readonly model: string
  readonly layer: Layer.Layer<ModelProvider, CommandError.CommandError>
}

/**
 * Chooses by flags, keys and local servers (see `ModelChoice`). A local server that was found is asked about once, in a
 * terminal; `data` is the folder where the answer is kept.
 *
 * @since 0.1.0
 * @category constructors
 */
export const choose = (options: {
  readonly flags: ModelFlags
  readonly data: string
}): Effect.Effect<ChosenProvider, CommandError.CommandError, Host> =>
  Effect.gen(function*() {
    const host = yield* Host
    const choice = yield* Either.mapLeft(ModelChoice.make(options.flags, host.environment), CommandError.usage)
    switch (choice._tag) {
      case "Vendor":
        return vendor(choice)
      case "Compatible":
        return yield* compatible(choice)
      case "Scripted":
        return scripted(path.resolve(host.cwd, choice.file))
      case "Search":
        return yield* local({ model: choice.model, data: options.data })
    }
  })

/**
 * The flags, or where they choose no model, those that name the one which is given: so a session goes on with its own.
 *
 * @since 0.1.0
 * @category combinators
 */
export const orRecorded = <Flags extends ModelFlags>(
  flags: Flags,
  recorded: { readonly provider: string; readonly model: string } | undefined
): ModelFlags => {
  const isChosen = [flags.model, flags.provider, flags.baseUrl].some(Option.isSome)
  if (isChosen || recorded === undefined) return flags
  const { model, provider } = recorded
  return URL.canParse(provider)
    ? { ...flags, baseUrl: Option.some(provider), model: Option.some(`compatible/${model}`) }
    : { ...flags, model: Option.some(`${provider}/${model}`) }
}

const vendor = (choice: Extract<ModelChoice.ModelChoice, { readonly _tag: "Vendor" }>): ChosenProvider => {
  const { baseUrl, key, model, provider } = choice
  const settings = { model, apiKey: Redacted.make(key), ...(baseUrl === undefined ? {} : { baseUrl }) }
  const layer = provider === "anthropic"
    ? Effect.map(Effect.promise(() => import("@capstan/anthropic/Anthropic")), (Anthropic) => Anthropic.layer(settings))
    : Effect.map(Effect.promise(() => import("@capstan/openai/OpenAi")), (OpenAi) => OpenAi.layerResponses(settings))
  return { provider, model, layer: Layer.unwrapEffect(layer) }
}

const compatible = (
  choice: { readonly baseUrl: string; readonly model: string | undefined; readonly key: string | undefined }
): Effect.Effect<ChosenProvider, CommandError.CommandError> =>
  Effect.gen(function*() {
    const { baseUrl, key } = choice
    const model = choice.model ?? (yield* firstModel(baseUrl, key))
    // The address is what a resumed session has to know of its provider.
    const settings = {
      baseUrl,
      model,
      provider: withoutUser(baseUrl),
      ...(key === undefined ? {} : { apiKey: Redacted.make(key) })
    }
    const layer = Effect.map(
      Effect.promise(() => import("@capstan/openai/OpenAiCompatible")),
      (OpenAiCompatible) => OpenAiCompatible.layer(settings)
    )
    return { provider: "compatible", model, layer: Layer.unwrapEffect(layer) }
  })

const withoutUser = (address: string): string => {
  const url = new URL(address)
  url.username = ""
  url.password = ""
  return url.href
}

const firstModel = (baseUrl: string, key: string | undefined): Effect.Effect<string, CommandError.CommandError> =>
  LocalServers.models({ baseUrl, key, timeout: "10 seconds" }).pipe(
    Effect.mapError(({ message }) =>
      new CommandError.CommandError({
        code: 4,
        tag: "ModelError",
        message:
          `The server at ${baseUrl} did not list its models (${message}). Start it, or correct --base-url, or name a model with --model compatible/id.`
      })
    ),
    Effect.flatMap(([first]) =>
      first === undefined
        ? CommandError.usage(
          `The server at ${baseUrl} lists no model. Load one there, or name it with --model compatible/id.`
        )
        : Effect.succeed(first)
    )
  )

const scripted = (file: string): ChosenProvider => ({
  provider: "scripted",
  model: path.basename(file),
  layer: Layer.unwrapEffect(
    Effect.flatMap(Effect.promise(() => import("./ScriptFile.js")), (ScriptFile) => ScriptFile.layer(file))
  )
})

const local = (options: {
  readonly model: string | undefined
  readonly data: string
}): Effect.Effect<ChosenProvider, CommandError.CommandError, Host> =>
  Effect.gen(function*() {
    const found = yield* LocalServers.search
    const server = options.model === undefined
      ? found[0]
      : found.find(({ models }) => models.includes(options.model ?? "")) ?? found[0]
    if (server === undefined) return yield* CommandError.usage(ModelChoice.waysOn)
    const model = options.model ?? server.models[0] ?? ""
    yield* allowed(server, model, options.data)
    return yield* compatible({ baseUrl: server.baseUrl, model, key: undefined })
  })

const allowed = (server: LocalServers.LocalServer, model: string, data: string) =>
  Effect.gen(function*() {
    const file = path.join(data, "local-servers")
    const known = yield* Effect.sync(() => fs.existsSync(file) ? fs.readFileSync(file, "utf8").split("\n") : [])
    if (known.includes(server.baseUrl)) return
    const answer = yield* Ask.choose({
      question: `Use the local server ${server.name} at ${server.baseUrl} with ${model}?`,
      answers: ["yes", "no"]
    })
    if (answer !== "yes") {
      return yield* CommandError.usage(
        `${server.name} answers at ${server.baseUrl}, but was never used before: allow it with --base-url ${server.baseUrl}. ${ModelChoice.waysOn}`
      )
    }
    yield* Effect.sync(() => fs.appendFileSync(file, `${server.baseUrl}\n`, { mode: 0o600 }))
  })
