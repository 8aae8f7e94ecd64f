/**
 * Which model a command line means. Pure: flags and environment in, a choice or a sentence out.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { ModelFlags } from "./Flags.js"

/**
 * A choice. `Vendor`: one of the two services, with its key. `Compatible`: a server by address; without `model` it is asked
 * for one. `Scripted`: answers from a file. `Search`: nothing chooses, so a local server is looked for.
 *
 * @since 0.1.0
 * @category models
 */
export type ModelChoice =
  | {
    readonly _tag: "Vendor"
    readonly provider: Vendor
    readonly model: string
    readonly key: string
    readonly baseUrl: string | undefined
  }
  | {
    readonly _tag: "Compatible"
    readonly baseUrl: string
    readonly model: string | undefined
    readonly key: string | undefined
  }
  | { readonly _tag: "Scripted"; readonly file: string }
  | { readonly _tag: "Search"; readonly model: string | undefined }

/**
 * A service that has a key variable of its own.
 *
 * @since 0.1.0
 * @category models
 */
export type Vendor = "anthropic" | "openai"

type Provider = Vendor | "compatible" | "scripted"

/**
 * The vendors: variable of the key, address, and the model if only the vendor is named.
 *
 * @since 0.1.0
 * @category models
 */
export const vendors: {
  readonly [V in Vendor]: { readonly keyName: string; readonly origin: string; readonly model: string }
} = {
  anthropic: { keyName: "ANTHROPIC_API_KEY", origin: "https://api.anthropic.com", model: "claude-sonnet-4-5" },
  openai: { keyName: "OPENAI_API_KEY", origin: "https://api.openai.com", model: "gpt-5.1" }
}

const vendorNames: ReadonlyArray<Vendor> = ["anthropic", "openai"]

/**
 * The ways to go on when there is no model.
 *
 * @since 0.1.0
 * @category constructors
 */
export const waysOn =
  "No model to talk to. Set ANTHROPIC_API_KEY or OPENAI_API_KEY; or start a local server (Ollama, llama.cpp, LM Studio); "
  + "or name a compatible server with --base-url URL. To see everything work without any of them: capstan demo"

type Environment = Readonly<Record<string, string | undefined>>

const valueOf = (environment: Environment, name: string): string | undefined => {
  const value = environment[name]?.trim() ?? ""
  return value === "" ? undefined : value
}

/**
 * The vendors whose key is set.
 *
 * @since 0.1.0
 * @category combinators
 */
export const keysFound = (environment: Environment): ReadonlyArray<Vendor> =>
  vendorNames.filter((vendor) => valueOf(environment, vendors[vendor].keyName) !== undefined)

const isProvider = (text: string): text is Provider =>
  text === "anthropic" || text === "openai" || text === "compatible" || text === "scripted"

/** `provider/id`; an id of a compatible server may have slashes itself. */
const split = (
  model: string | undefined
): { readonly provider: Provider | undefined; readonly id: string | undefined } => {
  const slash = model?.indexOf("/") ?? -1
  const head = model?.slice(0, Math.max(0, slash)) ?? ""
  return model !== undefined && isProvider(head)
    ? { provider: head, id: model.slice(slash + 1) }
    : { provider: undefined, id: model }
}

/**
 * Decides, in this order: `--model provider/id`, `--provider`, `--base-url`, the one key that is set; else a search.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (flags: ModelFlags, environment: Environment): Either.Either<ModelChoice, string> =>
  Either.gen(function*() {
    const named = split(Option.getOrUndefined(flags.model))
    const asked = Option.getOrUndefined(flags.provider)
    const baseUrl = Option.getOrUndefined(flags.baseUrl)
    const keyName = Option.getOrUndefined(flags.apiKeyEnv)
    // With a provider of its own, a prefix in --model is part of the id: compatible servers have ids like openai/gpt-oss.
    const provider = asked ?? named.provider ?? (baseUrl === undefined ? undefined : "compatible")
    const id = asked === undefined || named.provider === asked ? named.id : Option.getOrUndefined(flags.model)
    if (baseUrl !== undefined) yield* checkUrl(baseUrl)
    const otherKey = yield* keyFor(environment, keyName)
    switch (provider) {
      case "anthropic":
      case "openai":
        return yield* vendor({ provider, id, baseUrl, otherKey, environment })
      case "compatible":
        return baseUrl === undefined
          ? { _tag: "Search", model: id }
          : { _tag: "Compatible", baseUrl: baseUrl.replace(/\/+$/, ""), model: id, key: otherKey }
      case "scripted":
        return id === undefined
          ? yield* Either.left("The scripted provider reads its answers from a file: --model scripted/replies.json")
          : { _tag: "Scripted", file: id }
      case undefined:
        return yield* byKey(id, environment)
    }
  })

const checkUrl = (url: string): Either.Either<void, string> =>
  URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
    ? Either.void
    : Either.left(`--base-url "${url}" is not an http or https address; write for instance http://127.0.0.1:11434/v1.`)

const keyFor = (environment: Environment, keyName: string | undefined): Either.Either<string | undefined, string> => {
  const value = valueOf(environment, keyName ?? "CAPSTAN_API_KEY")
  return keyName !== undefined && value === undefined
    ? Either.left(`The environment variable ${keyName} (from --api-key-env) is not set.`)
    : Either.right(value)
}

const vendor = (options: {
  readonly provider: Vendor
  readonly id: string | undefined
  readonly baseUrl: string | undefined
  readonly otherKey: string | undefined
  readonly environment: Environment
}): Either.Either<ModelChoice, string> => {
  const { baseUrl, environment, id, otherKey, provider } = options
  const { keyName, model, origin } = vendors[provider]
  const isOwnHost = baseUrl === undefined || new URL(baseUrl).origin === origin
  const key = isOwnHost ? valueOf(environment, keyName) : otherKey
  if (key !== undefined) return Either.right({ _tag: "Vendor", provider, model: id ?? model, key, baseUrl })
  return Either.left(
    isOwnHost
      ? `${keyName} is not set: set it, or choose another provider with --model provider/id. Without any key: capstan demo`
      : `${keyName} is for ${origin} only and is not sent to ${baseUrl}: give that host a key of its own with --api-key-env NAME or CAPSTAN_API_KEY.`
  )
}

const byKey = (id: string | undefined, environment: Environment): Either.Either<ModelChoice, string> => {
  const [only, ...others] = keysFound(environment)
  if (only === undefined) return Either.right({ _tag: "Search", model: id })
  if (others.length === 0) {
    return vendor({ provider: only, id, baseUrl: undefined, otherKey: undefined, environment })
  }
  const found = [only, ...others]
  return Either.left(
    `${found.map((name) => vendors[name].keyName).join(" and ")} are both set; choose with ${
      found.map((name) => `--model ${name}/${id ?? vendors[name].model}`).join(" or ")
    }`
  )
}
