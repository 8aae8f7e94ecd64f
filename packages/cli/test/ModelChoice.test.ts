import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as ModelChoice from "../src/ModelChoice.js"
import * as Providers from "../src/Providers.js"

interface Given {
  readonly model?: string
  readonly provider?: "anthropic" | "openai" | "compatible" | "scripted"
  readonly baseUrl?: string
  readonly apiKeyEnv?: string
}

const flagsOf = ({ apiKeyEnv, baseUrl, model, provider }: Given) => ({
  model: Option.fromNullable(model),
  provider: Option.fromNullable(provider),
  baseUrl: Option.fromNullable(baseUrl),
  apiKeyEnv: Option.fromNullable(apiKeyEnv)
})

const choose = (given: Given, environment: Readonly<Record<string, string>> = {}) =>
  Either.merge(ModelChoice.make(flagsOf(given), environment))

const both = { ANTHROPIC_API_KEY: "a-key", OPENAI_API_KEY: "o-key" }

describe("ModelChoice", () => {
  it("takes provider and id from --model", () => {
    expect(choose({ model: "anthropic/claude-x" }, both)).toMatchObject({
      _tag: "Vendor",
      provider: "anthropic",
      model: "claude-x",
      key: "a-key"
    })
    expect(choose({ model: "scripted//tmp/s.json" })).toEqual({ _tag: "Scripted", file: "/tmp/s.json" })
  })

  it("takes the one key that is set", () => {
    expect(choose({}, { OPENAI_API_KEY: "o-key" })).toMatchObject({ _tag: "Vendor", provider: "openai", key: "o-key" })
    expect(choose({ model: "gpt-x" }, { OPENAI_API_KEY: "o-key" })).toMatchObject({ model: "gpt-x" })
  })

  it("shows the --model to write when several keys are set", () => {
    expect(choose({}, both)).toBe(
      "ANTHROPIC_API_KEY and OPENAI_API_KEY are both set; choose with --model anthropic/claude-sonnet-4-5 or --model openai/gpt-5.1"
    )
  })

  it("looks for a local server when nothing chooses; an empty key is none", () => {
    expect(choose({}, { OPENAI_API_KEY: " " })).toEqual({ _tag: "Search", model: undefined })
    expect(choose({ model: "compatible/qwen" })).toEqual({ _tag: "Search", model: "qwen" })
  })

  it("reads --base-url as a compatible server, whose ids may have slashes", () => {
    expect(choose({ baseUrl: "http://127.0.0.1:1/v1/", model: "meta/llama" }, both)).toEqual({
      _tag: "Compatible",
      baseUrl: "http://127.0.0.1:1/v1",
      model: "meta/llama",
      key: undefined
    })
    expect(choose({ baseUrl: "http://x/v1", provider: "compatible", model: "openai/gpt-oss" }, both)).toMatchObject({
      _tag: "Compatible",
      model: "openai/gpt-oss"
    })
  })

  it("gives compatible servers a key of their own", () => {
    const environment = { ...both, CAPSTAN_API_KEY: "mine", OTHER: "other" }
    expect(choose({ baseUrl: "http://x/v1" }, environment)).toMatchObject({ key: "mine" })
    expect(choose({ baseUrl: "http://x/v1", apiKeyEnv: "OTHER" }, environment)).toMatchObject({ key: "other" })
    expect(choose({ baseUrl: "http://x/v1", apiKeyEnv: "NONE" }, environment)).toContain(
      "NONE (from --api-key-env) is not set"
    )
  })

  it("says what is missing", () => {
    expect(choose({ model: "openai/x" })).toContain("OPENAI_API_KEY is not set")
    expect(choose({ provider: "scripted" })).toContain("--model scripted/replies.json")
    expect(choose({ baseUrl: "ftp://x" })).toContain("is not an http or https address")
    expect(choose({ model: "openai/x", baseUrl: "https://elsewhere.example/v1" }, both)).toContain(
      "OPENAI_API_KEY is for https://api.openai.com only and is not sent to https://elsewhere.example/v1"
    )
  })

  it("never sends a vendor's key to another host", () => {
    const given = FastCheck.record({
      model: FastCheck.constantFrom("x", "openai/x", "anthropic/x", "compatible/x"),
      baseUrl: FastCheck.webUrl(),
      provider: FastCheck.constantFrom("openai" as const, "anthropic" as const, "compatible" as const)
    }, { requiredKeys: ["baseUrl"] })
    FastCheck.assert(FastCheck.property(given, (given) => {
      const choice = choose(given, both)
      if (typeof choice === "string" || !("key" in choice)) return
      expect(["a-key", "o-key"]).not.toContain(choice.key)
    }))
  })

  it("goes on with the model of a session, unless another is chosen", () => {
    const none = flagsOf({})
    const at = (provider: string) =>
      Either.merge(ModelChoice.make(Providers.orRecorded(none, { provider, model: "m" }), both))
    expect(at("anthropic")).toMatchObject({ _tag: "Vendor", provider: "anthropic", model: "m" })
    expect(at("http://127.0.0.1:5/v1")).toMatchObject({
      _tag: "Compatible",
      baseUrl: "http://127.0.0.1:5/v1",
      model: "m"
    })
    const chosen = flagsOf({ model: "openai/y" })
    expect(Providers.orRecorded(chosen, { provider: "anthropic", model: "m" })).toBe(chosen)
    expect(Providers.orRecorded(none, undefined)).toBe(none)
  })
})
