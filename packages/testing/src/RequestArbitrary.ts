/**
 * Generated requests, for tests of how a provider puts them on the wire.
 *
 * @since 0.1.0
 */
import type { ContentPart } from "@capstan/core/Content"
import type { AssistantPart, Message } from "@capstan/core/Message"
import type { ModelRequest, ToolChoice } from "@capstan/core/ModelProvider"
import * as FastCheck from "effect/FastCheck"

/** What a crash, a change of provider, or a model with its own ideas leaves in a history that core keeps valid. */
const text = FastCheck.constantFrom("", " ", "\n", "hello", "a \"quoted\" word", "ünïcödé", "x".repeat(300))

const content: FastCheck.Arbitrary<ContentPart> = FastCheck.oneof(
  { weight: 4, arbitrary: text.map((text): ContentPart => ({ type: "text", text })) },
  {
    weight: 1,
    arbitrary: FastCheck.constantFrom("image/png", "image/tiff").map((mediaType): ContentPart => ({
      type: "image",
      mediaType,
      data: "aGk="
    }))
  },
  {
    weight: 1,
    arbitrary: FastCheck.constantFrom("application/pdf", "text/plain", "application/zip").map((
      mediaType
    ): ContentPart => ({ type: "file", mediaType, name: "notes", data: "aGk=" }))
  }
)

const reasoning: FastCheck.Arbitrary<AssistantPart> = FastCheck.record({
  provider: FastCheck.constantFrom("anthropic", "openai", "local"),
  data: FastCheck.constantFrom(
    `{"type":"thinking","thinking":"hm","signature":"c2ln"}`,
    `{"type":"redacted_thinking","data":"b3BhcXVl"}`,
    `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"ZW5j"}`,
    `{"field":"reasoning_content","text":"hm"}`,
    "not json"
  )
}).map(({ data, provider }) => ({ type: "reasoning", provider, text: "hm", data }))

const name = FastCheck.constantFrom("read_file", "github.search", "", "drop table; --", "n".repeat(90), "Read File")

const answer = FastCheck.record({
  parts: FastCheck.array(
    FastCheck.oneof(
      reasoning,
      text.map((text): AssistantPart => ({ type: "text", text })),
      name.map((name): AssistantPart => ({
        type: "tool-call",
        id: "",
        name,
        arguments: name === "" ? "{}" : `{"path": "a", "deep": {"n": 1}}`
      }))
    ),
    { maxLength: 5 }
  ),
  result: FastCheck.array(content, { maxLength: 3 }),
  isError: FastCheck.boolean()
})

const turn = FastCheck.record({
  said: FastCheck.array(content, { maxLength: 2 }),
  answers: FastCheck.array(answer, { maxLength: 4 })
})

/**
 * Requests over histories that core keeps valid, with what crashes, changes of provider and models with their own ideas
 * leave in them.
 *
 * @since 0.1.0
 * @category constructors
 */
export const requests: FastCheck.Arbitrary<ModelRequest> = FastCheck.record({
  turns: FastCheck.array(turn, { minLength: 1, maxLength: 4 }),
  instructions: text,
  withTools: FastCheck.boolean(),
  choice: FastCheck.constantFrom<ToolChoice>("auto", "none", "required", { tool: "github.search" })
}).map(({ choice, instructions, turns, withTools }) => {
  let count = 0
  const messages = turns.flatMap(({ answers, said }): ReadonlyArray<Message> => [
    { role: "user", content: [...said, { type: "text", text: "go on" }] },
    ...answers.flatMap((answer): ReadonlyArray<Message> => {
      const parts = answer.parts.map((part) => part.type === "tool-call" ? { ...part, id: `call_${count++}` } : part)
      const calls = parts.flatMap((part) => part.type === "tool-call" ? [part] : [])
      return [
        { role: "assistant", content: parts },
        ...(calls.length === 0 ? [] : [{
          role: "tool" as const,
          results: calls.map((call) => ({
            type: "tool-result" as const,
            id: call.id,
            name: call.name,
            content: answer.result,
            isError: answer.isError
          }))
        }])
      ]
    })
  ])
  return {
    model: undefined,
    instructions,
    messages: messages.at(-1)?.role === "assistant"
      ? [...messages, { role: "user", content: [{ type: "text", text: "and?" }] }]
      : messages,
    tools: withTools
      ? ["read_file", "github.search", "github_search"].map((name) => ({
        name,
        description: "",
        parameters: { type: "object", properties: { path: { type: "string" } } }
      }))
      : [],
    toolChoice: choice,
    maxOutputTokens: undefined
  }
})
