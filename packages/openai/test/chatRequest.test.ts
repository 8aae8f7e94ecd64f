import type { Message } from "@capstan/core/Message"
import type { ModelRequest } from "@capstan/core/ModelProvider"
import * as ToolNames from "@capstan/dialect/ToolNames"
import * as HistoryValidator from "@capstan/testing/HistoryValidator"
import { requests } from "@capstan/testing/RequestArbitrary"
import { describe, expect, it } from "@effect/vitest"
import { encode, type EncodeOptions } from "../src/internal/chatRequest.js"
import { loose } from "../src/internal/openAiTools.js"

const empty: ModelRequest = {
  model: undefined,
  instructions: "",
  messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
  tools: [],
  toolChoice: "auto",
  maxOutputTokens: undefined
}

const weather = { name: "get.weather", description: "Weather", parameters: {} }

const encoded = (request: Partial<ModelRequest>, options: Partial<EncodeOptions> = {}) => {
  const whole = { ...empty, ...request }
  return encode({
    request: whole,
    provider: "local",
    model: "m",
    maxTokens: 7,
    maxTokensField: "max_completion_tokens",
    files: true,
    names: ToolNames.make(whole.tools.map((tool) => tool.name)),
    tools: loose,
    reasoningEffort: undefined,
    ...options
  })
}

const history: ReadonlyArray<Message> = [
  { role: "user", content: [{ type: "text", text: "one" }, { type: "text", text: "two" }] },
  {
    role: "assistant",
    content: [
      { type: "reasoning", provider: "local", text: "hm", data: `{"field":"reasoning_content","text":"hm"}` },
      { type: "tool-call", id: "a", name: "get.weather", arguments: `{"city": "Oslo"}` }
    ]
  },
  {
    role: "tool",
    results: [{
      type: "tool-result",
      id: "a",
      name: "get.weather",
      content: [{ type: "text", text: "see" }, { type: "image", mediaType: "image/png", data: "aGk=" }],
      isError: false
    }]
  }
]

describe("chatRequest", () => {
  it("keeps the model's own argument bytes, and shows a result's image after the results", () => {
    const body = encoded({ instructions: "Be brief.", messages: history, tools: [weather], toolChoice: "required" })
    expect(body).toEqual({
      model: "m",
      stream: true,
      stream_options: { include_usage: true },
      max_completion_tokens: 7,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "one\ntwo" },
        {
          role: "assistant",
          content: null,
          reasoning_content: "hm",
          tool_calls: [{
            id: "a",
            type: "function",
            function: { name: "get_weather", arguments: `{"city": "Oslo"}` }
          }]
        },
        { role: "tool", tool_call_id: "a", content: "see\n[image image/png]" },
        {
          role: "user",
          content: [
            { type: "text", text: "From the result of get.weather (a):" },
            { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } }
          ]
        }
      ],
      tools: [{
        type: "function",
        function: {
          name: "get_weather",
          description: "Weather",
          parameters: { type: "object", properties: {}, additionalProperties: false }
        }
      }],
      tool_choice: "required"
    })
  })

  it("leaves out another provider's reasoning", () => {
    expect(JSON.stringify(encoded({ messages: history }, { provider: "openai" }))).not.toContain("reasoning_content")
  })

  it.each(
    [
      ["auto", undefined],
      ["none", "none"],
      [{ tool: "get.weather" }, { type: "function", function: { name: "get_weather" } }]
    ] as const
  )("maps the tool choice %j", (toolChoice, wire) => {
    expect(encoded({ tools: [weather], toolChoice }).tool_choice).toEqual(wire)
  })

  it("calls the cap what the server calls it, and leaves it out where there is none", () => {
    expect(encoded({}, { maxTokensField: "max_tokens" })).toMatchObject({ max_tokens: 7 })
    expect(Object.keys(encoded({}, { maxTokens: undefined })).join()).not.toContain("max_")
  })

  it("sends documents only to a service that takes them", () => {
    const file = { type: "file", name: "n", data: "aGk=" } as const
    const messages: ReadonlyArray<Message> = [{
      role: "user",
      content: [{ ...file, mediaType: "application/pdf" }, { ...file, mediaType: "text/plain" }]
    }]
    expect(encoded({ messages }).messages[0]?.content).toEqual([
      { type: "file", file: { filename: "n", file_data: "data:application/pdf;base64,aGk=" } },
      { type: "text", text: "n:\nhi" }
    ])
    expect(encoded({ messages }, { files: false }).messages[0]?.content)
      .toBe("[file n application/pdf: this kind of file cannot be shown]\nn:\nhi")
  })

  it.prop("is valid for every history that core can hold", [requests], ([request]) => {
    expect(HistoryValidator.toText(HistoryValidator.validateOpenAiChat(encoded(request)))).toBe("")
  }, { fastCheck: { numRuns: 200 } })
})
