import type { AssistantPart, Message, ToolCallPart } from "@capstan/core/Message"
import type { ModelRequest } from "@capstan/core/ModelProvider"
import { HistoryValidator } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"

type Batch = ReadonlyArray<{ readonly name: string; readonly value: string; readonly isError: boolean }>

const batches: FastCheck.Arbitrary<ReadonlyArray<ReadonlyArray<Batch>>> = FastCheck.array(
  FastCheck.array(
    FastCheck.array(
      FastCheck.record({
        name: FastCheck.constantFrom("read_file", "write_file", "no such tool!"),
        value: FastCheck.string(),
        isError: FastCheck.boolean()
      }),
      { minLength: 1, maxLength: 4 }
    ),
    { maxLength: 3 }
  ),
  { minLength: 1, maxLength: 4 }
)

const render = (turns: ReadonlyArray<ReadonlyArray<Batch>>, withReasoning = true): ReadonlyArray<Message> =>
  turns.flatMap((turn, turnIndex): ReadonlyArray<Message> => [
    { role: "user", content: [{ type: "text", text: `question ${turnIndex}` }] },
    ...turn.flatMap((batch, iteration): ReadonlyArray<Message> => {
      const id = (position: number) => `c_${turnIndex}-${iteration}-${position}`
      const calls = batch.map(({ name, value }, position): AssistantPart => ({
        type: "tool-call",
        id: id(position),
        name,
        arguments: JSON.stringify({ value })
      }))
      return [
        {
          role: "assistant",
          content: [
            ...(withReasoning ? [{ type: "reasoning" as const, provider: "p", text: "…", data: "{}" }] : []),
            { type: "text", text: "I will look." },
            ...calls
          ]
        },
        {
          role: "tool",
          results: batch.map(({ isError, name, value }, position) => ({
            type: "tool-result" as const,
            id: id(position),
            name,
            content: value === "" ? [] : [{ type: "text" as const, text: value }],
            isError
          }))
        }
      ]
    }),
    { role: "assistant", content: [{ type: "text", text: "done" }] }
  ])

const rulesOf = (messages: ReadonlyArray<Message>, dialect: HistoryValidator.Dialect, provider?: string) =>
  new Set(HistoryValidator.validate(messages, dialect, { provider }).map(({ rule }) => rule))

const replace = (messages: ReadonlyArray<Message>, index: number, ...by: ReadonlyArray<Message>) => [
  ...messages.slice(0, index),
  ...by,
  ...messages.slice(index + 1)
]

/** The index of a message with calls, and the message, with a change of its calls. */
const changeCalls = (
  messages: ReadonlyArray<Message>,
  change: (calls: ReadonlyArray<ToolCallPart>) => ReadonlyArray<AssistantPart>
): ReadonlyArray<Message> =>
  messages.map((message) =>
    message.role === "assistant" && message.content.some((part) => part.type === "tool-call")
      ? { role: "assistant", content: change(message.content.filter((part) => part.type === "tool-call")) }
      : message
  )

const toolIndex = (messages: ReadonlyArray<Message>) => messages.findIndex((message) => message.role === "tool")

const resultsAt = (messages: ReadonlyArray<Message>, index: number) => {
  const message = messages[index]
  return message?.role === "tool" ? message.results : []
}

const text = (value: string) => ({ type: "text" as const, text: value })

/** Each plants one violation into a history that has at least one batch of two calls. */
const plants: Readonly<
  Partial<Record<HistoryValidator.Rule, (messages: ReadonlyArray<Message>) => ReadonlyArray<Message>>>
> = {
  "first-user": (messages) => messages.slice(1),
  "empty-message": (messages) => [...messages, { role: "user", content: [] }],
  "empty-text": (messages) => [...messages, { role: "user", content: [text("")] }],
  "id-legal": (messages) => changeCalls(messages, (calls) => calls.map((call) => ({ ...call, id: `${call.id} ` }))),
  "id-unique": (messages) => [...messages, ...messages],
  "arguments-object": (messages) =>
    changeCalls(messages, (calls) => calls.map((call) => ({ ...call, arguments: "[1]" }))),
  "name-agrees": (messages) => changeCalls(messages, (calls) => calls.map((call) => ({ ...call, name: "other" }))),
  "call-unanswered": (messages) => replace(messages, toolIndex(messages)),
  "result-orphan": (messages) => changeCalls(messages, () => [text("no call")]),
  "result-duplicate": (messages) => {
    const index = toolIndex(messages)
    const results = resultsAt(messages, index)
    return replace(messages, index, { role: "tool", results: [...results, ...results.slice(0, 1)] })
  },
  "result-order": (messages) => {
    const index = toolIndex(messages)
    return replace(messages, index, { role: "tool", results: [...resultsAt(messages, index)].reverse() })
  },
  "result-misplaced": (messages) => {
    const index = toolIndex(messages)
    return replace(messages, index, { role: "user", content: [text("wait")] }, {
      role: "tool",
      results: resultsAt(messages, index)
    })
  }
}

const twoCalls: Batch = [
  { name: "read_file", value: "a", isError: false },
  { name: "read_file", value: "b", isError: false }
]

describe("HistoryValidator", () => {
  it.prop("passes generated histories in every dialect", [batches], ([turns]) => {
    for (const dialect of HistoryValidator.dialects) {
      expect(HistoryValidator.validate(render(turns), dialect, { provider: "p" })).toEqual([])
    }
  }, { fastCheck: { numRuns: 60 } })

  for (const [rule, plant] of Object.entries(plants)) {
    it.prop(`finds a planted violation of ${rule}`, [batches], ([turns]) => {
      const valid = render([[twoCalls, ...(turns[0] ?? [])], ...turns.slice(1)], false)
      for (const dialect of HistoryValidator.dialects) {
        expect(rulesOf(plant(valid), dialect)).toContain(rule)
      }
    }, { fastCheck: { numRuns: 30 } })
  }

  it("wants alternating roles for Anthropic only, and lets neighbours on the user's side stand", () => {
    const history = render([[]])
    const twice = [...history, ...history.slice(1)]
    expect(rulesOf(twice, "anthropic")).toEqual(new Set(["roles-alternate"]))
    expect(rulesOf(twice, "openai-chat")).toEqual(new Set())
    expect(rulesOf([...history.slice(0, 1), ...history], "anthropic")).toEqual(new Set())
  })

  it("gives reasoning to its maker only", () => {
    expect(rulesOf(render([[twoCalls]]), "anthropic", "q")).toEqual(new Set(["reasoning-foreign"]))
    expect(rulesOf(render([[twoCalls]]), "anthropic")).toEqual(new Set())
  })

  it("says in one line what is wrong and where", () => {
    const lines = HistoryValidator.toText(HistoryValidator.validate(render([[twoCalls]]).slice(0, 2), "anthropic"))
    expect(lines.split("\n")).toEqual([
      "call-unanswered at messages[1].content[2]: The call \"c_0-0-0\" has no result.",
      "call-unanswered at messages[1].content[3]: The call \"c_0-0-1\" has no result."
    ])
  })

  it("passes a history of twenty thousand messages", () => {
    const long = render(Array.from({ length: 5_000 }, () => [twoCalls]))
    expect(HistoryValidator.validate(long, "anthropic")).toEqual([])
  })

  describe("of requests", () => {
    const request: ModelRequest = {
      model: undefined,
      instructions: "",
      messages: render([[]]).slice(0, 1),
      tools: [{ name: "a", description: "", parameters: { type: "object" } }],
      toolChoice: { tool: "a" },
      maxOutputTokens: undefined
    }
    const rules = (change: Partial<ModelRequest>) =>
      HistoryValidator.validateRequest({ ...request, ...change }, "openai-chat").map(({ rule }) => rule)

    it("looks at the end, the tools and the choice", () => {
      expect(rules({})).toEqual([])
      expect(rules({ messages: render([[]]) })).toEqual(["last-input"])
      expect(rules({ toolChoice: { tool: "b" } })).toEqual(["tool-choice"])
      expect(rules({ tools: [], toolChoice: "required" })).toEqual(["tool-choice"])
      expect(rules({ tools: [...request.tools, ...request.tools] })).toEqual(["tool-definition"])
    })
  })
})
