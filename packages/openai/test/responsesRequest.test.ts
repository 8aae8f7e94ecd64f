import type { Message } from "@capstan/core/Message"
import type { ModelRequest } from "@capstan/core/ModelProvider"
import * as ToolNames from "@capstan/dialect/ToolNames"
import * as HistoryValidator from "@capstan/testing/HistoryValidator"
import { requests } from "@capstan/testing/RequestArbitrary"
import { describe, expect, it } from "@effect/vitest"
import { loose } from "../src/internal/openAiTools.js"
import { encode, type EncodeOptions } from "../src/internal/responsesRequest.js"

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
    provider: "openai",
    model: "o4-mini",
    maxTokens: undefined,
    names: ToolNames.make(whole.tools.map((tool) => tool.name)),
    tools: loose,
    reasons: true,
    reasoning: { effort: "low" },
    ...options
  })
}

const reasoning =
  `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"ZW5j","status":null}`

const history = (part: { readonly provider: string; readonly data: string }): ReadonlyArray<Message> => [
  {
    role: "user",
    content: [{ type: "text", text: "weather?" }, { type: "image", mediaType: "image/png", data: "aGk=" }]
  },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "hm", ...part },
      { type: "text", text: "Let me see." },
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

describe("responsesRequest", () => {
  it("stores nothing, asks for encrypted reasoning and sends it back as it came", () => {
    const body = encoded({
      instructions: "Be brief.",
      messages: history({ provider: "openai", data: reasoning }),
      tools: [weather],
      toolChoice: { tool: "get.weather" }
    })
    expect(body).toEqual({
      model: "o4-mini",
      stream: true,
      store: false,
      include: ["reasoning.encrypted_content"],
      reasoning: { effort: "low" },
      instructions: "Be brief.",
      input: [
        {
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "weather?" },
            { type: "input_image", detail: "auto", image_url: "data:image/png;base64,aGk=" }
          ]
        },
        JSON.parse(reasoning),
        { type: "message", role: "assistant", content: "Let me see." },
        { type: "function_call", call_id: "a", name: "get_weather", arguments: `{"city": "Oslo"}` },
        {
          type: "function_call_output",
          call_id: "a",
          output: [
            { type: "input_text", text: "see" },
            { type: "input_image", image_url: "data:image/png;base64,aGk=" }
          ]
        }
      ],
      tools: [{
        type: "function",
        name: "get_weather",
        description: "Weather",
        parameters: { type: "object", properties: {}, additionalProperties: false },
        strict: false
      }],
      tool_choice: { type: "function", name: "get_weather" }
    })
  })

  it("leaves out reasoning of another provider, of unreadable data, and for a model that does not reason", () => {
    const kinds = (body: ReturnType<typeof encoded>) =>
      typeof body.input === "string" ? [] : body.input?.map((item) => item.type)
    const without = ["message", "message", "function_call", "function_call_output"]
    expect(kinds(encoded({ messages: history({ provider: "local", data: reasoning }) }))).toEqual(without)
    expect(kinds(encoded({ messages: history({ provider: "openai", data: "{}" }) }))).toEqual(without)
    const plain = encoded({ messages: history({ provider: "openai", data: reasoning }) }, { reasons: false })
    expect(kinds(plain)).toEqual(without)
    expect(plain.include).toBeUndefined()
  })

  it("asks for no fewer tokens than the service gives", () => {
    expect(encoded({}, { maxTokens: 3 }).max_output_tokens).toBe(16)
  })

  it.prop("is valid for every history that core can hold", [requests], ([request]) => {
    expect(HistoryValidator.toText(HistoryValidator.validateOpenAiResponses(encoded(request)))).toBe("")
  }, { fastCheck: { numRuns: 200 } })
})
