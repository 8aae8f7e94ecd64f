import type { Message } from "@capstan/core/Message"
import type { ModelRequest } from "@capstan/core/ModelProvider"
import * as ToolNames from "@capstan/dialect/ToolNames"
import * as HistoryValidator from "@capstan/testing/HistoryValidator"
import { requests } from "@capstan/testing/RequestArbitrary"
import { describe, expect, it } from "@effect/vitest"
import { encode } from "../src/internal/anthropicRequest.js"

const empty: ModelRequest = {
  model: undefined,
  instructions: "",
  messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
  tools: [],
  toolChoice: "auto",
  maxOutputTokens: undefined
}

const weather = { name: "get.weather", description: "Weather", parameters: { properties: {} } }

const encoded = (request: Partial<ModelRequest>, thinking?: Parameters<typeof encode>[0]["thinking"]) => {
  const whole = { ...empty, ...request }
  return encode({
    request: whole,
    provider: "anthropic",
    model: "claude",
    maxTokens: 100,
    thinking,
    names: ToolNames.make(whole.tools.map((tool) => tool.name))
  })
}

const mark = { cache_control: { type: "ephemeral" } }

const toolLoop = (data: string | undefined): ReadonlyArray<Message> => [
  { role: "user", content: [{ type: "text", text: "weather?" }] },
  {
    role: "assistant",
    content: [
      ...(data === undefined ? [] : [{ type: "reasoning", provider: "anthropic", text: "hm", data } as const]),
      { type: "text", text: "Let me see." },
      { type: "tool-call", id: "a", name: "get.weather", arguments: `{"city":"Oslo"}` },
      { type: "tool-call", id: "b", name: "get.weather", arguments: `{"city":"Rome"}` }
    ]
  },
  {
    role: "tool",
    results: [
      { type: "tool-result", id: "a", name: "get.weather", content: [{ type: "text", text: "rain" }], isError: false },
      { type: "tool-result", id: "b", name: "get.weather", content: [], isError: true }
    ]
  }
]

describe("anthropicRequest", () => {
  it("writes results first, in order, in one user message, with what the user says next after them", () => {
    const body = encoded({
      messages: [...toolLoop(undefined), { role: "user", content: [{ type: "text", text: "and?" }] }],
      tools: [weather]
    })
    expect(body.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "weather?", ...mark }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Let me see." },
          { type: "tool_use", id: "a", name: "get_weather", input: { city: "Oslo" } },
          { type: "tool_use", id: "b", name: "get_weather", input: { city: "Rome" } }
        ]
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "rain" }] },
          { type: "tool_result", tool_use_id: "b", is_error: true },
          { type: "text", text: "and?", ...mark }
        ]
      }
    ])
    expect(body.tools).toEqual([
      {
        name: "get_weather",
        description: "Weather",
        input_schema: { type: "object", properties: {}, additionalProperties: false },
        ...mark
      }
    ])
  })

  it("marks the end of the instructions for the cache", () => {
    expect(encoded({ instructions: "Be brief." }).system).toEqual([{ type: "text", text: "Be brief.", ...mark }])
  })

  it.each(
    [
      ["auto", { type: "auto" }],
      ["none", { type: "none" }],
      ["required", { type: "any" }],
      [{ tool: "get.weather" }, { type: "tool", name: "get_weather" }]
    ] as const
  )("maps the tool choice %j", (toolChoice, wire) => {
    expect(encoded({ tools: [weather], toolChoice }).tool_choice).toEqual(wire)
  })

  it("sends its own reasoning back byte for byte and leaves out another's", () => {
    const data = `{"type":"thinking","thinking":"é \\u00e9 \\n","signature":"c2ln+/="}`
    const thinking = { type: "enabled", budget_tokens: 1024 } as const
    const body = encoded({ messages: toolLoop(data), tools: [weather] }, thinking)
    expect(body.messages[1]?.content[0]).toEqual({ type: "thinking", thinking: "é é \n", signature: "c2ln+/=" })
    expect(body.thinking).toEqual(thinking)

    const foreign = toolLoop(data).map((message): Message =>
      message.role === "assistant"
        ? {
          role: "assistant",
          content: message.content.map((part) => part.type === "reasoning" ? { ...part, provider: "openai" } : part)
        }
        : message
    )
    const without = encoded({ messages: foreign, tools: [weather] }, thinking)
    expect(without.messages[1]?.content[0]).toEqual({ type: "text", text: "Let me see." })
    expect(without.thinking).toBeUndefined()
  })

  it("does not think where the service would refuse it", () => {
    const thinking = { type: "enabled", budget_tokens: 1024 } as const
    expect(encoded({ tools: [weather], toolChoice: "required" }, thinking).thinking).toBeUndefined()
    expect(encoded({ messages: toolLoop("not json"), tools: [weather] }, thinking).thinking).toBeUndefined()
    expect(encoded({ tools: [weather] }, thinking).thinking).toEqual(thinking)
    const adaptive = { type: "adaptive" } as const
    expect(encoded({ messages: toolLoop(undefined), tools: [weather] }, adaptive).thinking).toEqual(adaptive)
    expect(encoded({ tools: [weather], toolChoice: { tool: "get.weather" } }, adaptive).thinking).toBeUndefined()
    expect(encoded({ tools: [weather], toolChoice: "required" }, { type: "disabled" }).thinking).toEqual({
      type: "disabled"
    })
  })

  it("gives names alone where the history has calls and no tool is offered", () => {
    const body = encoded({ messages: toolLoop(undefined), toolChoice: "required" })
    expect(body.tools).toEqual([{ name: "get_weather", input_schema: { type: "object" }, ...mark }])
    expect(body.tool_choice).toEqual({ type: "none" })
  })

  it("shows images, documents and text files, and names what cannot be shown", () => {
    const file = { type: "file", name: "n", data: "aGk=" } as const
    const body = encoded({
      messages: [{
        role: "user",
        content: [
          { type: "image", mediaType: "image/png", data: "aGk=" },
          { type: "image", mediaType: "image/tiff", data: "aGk=" },
          { ...file, mediaType: "application/pdf" },
          { ...file, mediaType: "text/markdown" },
          { ...file, mediaType: "application/zip" }
        ]
      }]
    })
    expect(body.messages[0]?.content).toEqual([
      { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } },
      { type: "text", text: "[image image/tiff: this kind of image cannot be shown]" },
      {
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: "aGk=" },
        title: "n"
      },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "hi" }, title: "n" },
      { type: "text", text: "[file n application/zip: this kind of file cannot be shown]", ...mark }
    ])
  })

  it.prop("is valid for every history that core can hold", [requests], ([request]) => {
    const body = encoded(request, { type: "adaptive" })
    expect(HistoryValidator.toText(HistoryValidator.validateAnthropic(body))).toBe("")
    const marks = JSON.stringify(body).split("cache_control").length - 1
    expect(marks).toBeLessThanOrEqual(4)
  }, { fastCheck: { numRuns: 200 } })
})
