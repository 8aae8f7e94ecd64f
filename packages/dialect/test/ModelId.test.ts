import { ModelId } from "@capstan/dialect"
import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"

describe("ModelId.parse", () => {
  it.each<[string, Partial<ModelId.ModelId>]>([
    ["gpt-4o-2024-08-06", { family: "gpt", version: [4], variant: "o", date: "2024-08-06", custom: false }],
    ["gpt-5.1-codex", { family: "gpt", version: [5, 1], variant: "codex" }],
    ["gpt-3.5-turbo-0125", { family: "gpt", version: [3, 5], variant: "turbo", date: "0125" }],
    ["gpt-4-32k", { family: "gpt", version: [4] }],
    ["o3-mini", { family: "o", version: [3], variant: "mini" }],
    ["ft:gpt-4o-mini-2024-07-18:acme::abc", {
      family: "gpt",
      version: [4],
      variant: "o-mini",
      provider: "openai",
      organisation: "acme",
      date: "2024-07-18",
      custom: true
    }],
    ["claude-3.5-sonnet", { family: "claude", version: [3, 5], variant: "sonnet", custom: false }],
    ["claude-3-5-sonnet-20241022", { family: "claude", version: [3, 5], variant: "sonnet", date: "20241022" }],
    ["claude-sonnet-4-20250514", { family: "claude", version: [4], variant: "sonnet", date: "20250514" }],
    ["claude-opus-4-5", { family: "claude", version: [4, 5], variant: "opus" }],
    ["anthropic.claude-3-5-sonnet-20241022-v2:0", {
      family: "claude",
      version: [3, 5],
      variant: "sonnet",
      provider: "bedrock",
      organisation: "anthropic",
      date: "20241022"
    }],
    ["us.meta.llama3-3-70b-instruct-v1:0", {
      family: "llama",
      version: [3, 3],
      size: 70e9,
      provider: "bedrock",
      organisation: "meta"
    }],
    ["claude-3-5-sonnet@20240620", { family: "claude", version: [3, 5], variant: "sonnet", date: "20240620" }],
    ["llama3.3:70b", { family: "llama", version: [3, 3], size: 70e9, provider: "ollama" }],
    ["ollama/llama3.1:8b-instruct-q4_K_M", {
      family: "llama",
      version: [3, 1],
      variant: "instruct",
      size: 8e9,
      provider: "ollama",
      custom: false
    }],
    ["meta-llama/Llama-3.3-70B-Instruct", {
      family: "llama",
      version: [3, 3],
      variant: "instruct",
      size: 70e9,
      organisation: "meta-llama",
      custom: false
    }],
    ["Meta-Llama-3-8B-Instruct", { family: "llama", version: [3], variant: "instruct", size: 8e9, custom: false }],
    ["mixtral-8x7b", { family: "mixtral", size: 56e9 }],
    ["qwen3:32b", { family: "qwen", version: [3], size: 32e9 }],
    ["qwen3-235b-a22b", { family: "qwen", version: [3], size: 235e9 }],
    ["Qwen/Qwen2.5-Coder-1.5B-Instruct", {
      family: "qwen",
      version: [2, 5],
      variant: "coder-instruct",
      size: 1.5e9,
      organisation: "Qwen"
    }],
    ["deepseek-r1-distill-qwen-7b", { family: "deepseek", variant: "r1-distill-qwen", size: 7e9 }],
    ["deepseek-v3.1:671b", { family: "deepseek", version: [3, 1], size: 671e9 }],
    ["gemini-2.5-flash", { family: "gemini", version: [2, 5], variant: "flash" }],
    ["gpt-oss:20b", { family: "gpt-oss", version: [], size: 20e9, custom: false }],
    ["mycompany/llama3-ft-v2", { family: "llama", version: [3], organisation: "mycompany", custom: true }],
    ["/models/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", {
      family: "qwen",
      version: [2, 5],
      variant: "coder-instruct",
      size: 1.5e9,
      provider: "local",
      custom: false
    }],
    ["C:\\models\\Llama-3.2-3B-Instruct-Q8_0.gguf", { family: "llama", version: [3, 2], size: 3e9, provider: "local" }],
    ["openrouter/anthropic/claude-3.7-sonnet:thinking", {
      family: "claude",
      version: [3, 7],
      provider: "openrouter",
      organisation: "anthropic"
    }],
    ["accounts/fireworks/models/glm-5p1", { family: "glm", version: [5, 1], provider: "fireworks" }],
    ["mistral-large-2411", { family: "mistral", variant: "large", date: "2411" }],
    ["command-r-plus-08-2024", { family: "command-r", variant: "plus", date: "08-2024" }],
    ["dracarys-llama-3.1-70b", { family: "llama", version: [3, 1], custom: true }],
    ["some-model", { family: "some", custom: true }],
    ["", { family: "unknown", custom: true }]
  ])("reads %s", (id, expected) => {
    expect(ModelId.parse(id)).toMatchObject({ ...expected, id })
  })

  it.prop(
    "never fails",
    [FastCheck.oneof(FastCheck.string(), FastCheck.stringMatching(/^[a-z0-9./:@_-]{0,40}$/))],
    ([id]) => {
      const parsed = ModelId.parse(id)
      expect(parsed.family.length).toBeGreaterThan(0)
      expect(parsed.version.every(Number.isFinite)).toBe(true)
    }
  )

  it("is quick about absurd ids", () => {
    for (const id of ["-".repeat(1e6), "ft:".repeat(1e5), "1.".repeat(1e5), "a/".repeat(1e5)]) {
      expect(ModelId.parse(id).id).toBe(id)
    }
  })
})

describe("ModelId.compareVersions", () => {
  it.each<[ReadonlyArray<number>, ReadonlyArray<number>, number]>([[[3, 5], [3, 10], -1], [[4], [3, 7], 1], [[4], [
    4,
    0
  ], 0], [[], [1], -1]])("of %j and %j is %i", (left, right, order) => {
    expect(ModelId.compareVersions(left, right)).toBe(order)
  })
})
