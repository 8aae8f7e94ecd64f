import { ModelCapability } from "@capstan/dialect"
import { describe, expect, it } from "@effect/vitest"

describe("ModelCapability.of", () => {
  it("takes limits and prices from the catalogue, with its date", () => {
    const capability = ModelCapability.of("claude-3-5-sonnet-20241022")
    expect(capability).toMatchObject({
      nativeTools: true,
      parallelTools: true,
      contextWindow: 200_000,
      maxOutput: 8_192,
      toolResultInUserMessage: true,
      emulation: "xml",
      prices: { input: 3, output: 15, source: ModelCapability.catalogueSource }
    })
    expect(capability.sources).toMatchObject({
      contextWindow: "catalogue",
      nativeTools: "catalogue",
      parallelTools: "family",
      jsonMode: "family"
    })
    expect(ModelCapability.catalogueSource).toMatch(/^models\.dev \d{4}-\d{2}-\d{2}$/)
  })

  it.each<[string, string | undefined]>([
    ["claude-3.5-sonnet", undefined],
    ["gpt-4o-2024-08-06", undefined],
    ["openai/gpt-4o", undefined],
    ["anthropic/claude-sonnet-4.5", "openrouter"],
    ["gpt-oss:20b", "ollama-cloud"],
    ["mistral-large-2411", undefined],
    ["gemini-2.5-flash", undefined]
  ])("finds %s in the catalogue", (id, provider) => {
    expect(ModelCapability.of(id, provider === undefined ? {} : { provider }).sources.contextWindow).toBe("catalogue")
  })

  it("says the same of a model by provider, not by id alone", () => {
    expect(ModelCapability.of("gpt-4o", { provider: "no-such-service" }).sources.nativeTools).toBe("family")
    expect(ModelCapability.of("gpt-4o", { provider: "constructor" }).sources.nativeTools).toBe("family")
  })

  it.each<[string, Partial<ModelCapability.Abilities>]>([
    ["llama2:7b", { nativeTools: false }],
    ["llama3:8b", { nativeTools: false }],
    ["llama3:70b", { nativeTools: true, parallelTools: false }],
    ["llama3.1:8b", { nativeTools: true, parallelTools: false }],
    ["llama3.3:70b", { nativeTools: true, parallelTools: false }],
    ["mycompany/llama3.1-ft-v2", { nativeTools: true, parallelTools: false }],
    ["mycompany/llama3-8b-ft", { nativeTools: false }],
    ["o3-mini", { nativeTools: true, toolChoiceRequired: false, reasoning: true }],
    ["gpt-4o", { strictSchema: true, toolChoiceRequired: true, parallelTools: true }],
    ["gpt-4o-2024-05-13", { strictSchema: false }],
    ["ft:gpt-4o-mini-2024-07-18:acme::abc", { nativeTools: true, strictSchema: true }],
    ["qwen2.5-coder:1.5b", { nativeTools: true, emulation: "xml" }],
    ["deepseek-r1-distill-qwen-7b", { nativeTools: false, reasoning: true }],
    ["gemma2:9b", { nativeTools: false, emulation: "markdown" }],
    ["mixtral:8x7b", { nativeTools: false }],
    ["mixtral:8x22b", { nativeTools: true }],
    ["mistral:7b-instruct-v0.3", { nativeTools: true }]
  ])("knows the family of %s", (id, expected) => {
    expect(ModelCapability.of(id)).toMatchObject(expected)
  })

  it("is careful with models that nothing is known of", () => {
    expect(ModelCapability.of("mystery-1")).toMatchObject({
      nativeTools: false,
      strictSchema: false,
      contextWindow: null,
      emulation: "json",
      sources: { nativeTools: "default" }
    })
    expect(ModelCapability.of("mystery-1", { compatible: true })).toMatchObject({
      nativeTools: true,
      strictSchema: false,
      emulation: "json"
    })
  })

  it("lets the user have the last word", () => {
    const capability = ModelCapability.of("gpt-4o", { override: { nativeTools: false, contextWindow: 1_000 } })
    expect(capability).toMatchObject({
      nativeTools: false,
      contextWindow: 1_000,
      sources: { nativeTools: "override", contextWindow: "override", maxOutput: "catalogue" }
    })
  })
})
