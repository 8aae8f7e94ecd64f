import { HistoryValidator } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"

type Body = Readonly<Record<string, unknown>>

const rules = (
  violations: ReadonlyArray<HistoryValidator.Violation>
) => [...new Set(violations.map(({ rule }) => rule))]

const user = { role: "user", content: "hello" }

describe("HistoryValidator.validateOpenAiChat", () => {
  const call = (id: string, name = "read_file", args = "{\"path\":\"a\"}") => ({
    id,
    type: "function",
    function: { name, arguments: args }
  })
  const tool = { type: "function", function: { name: "read_file", parameters: { type: "object" } } }
  const history = [
    { role: "developer", content: "be brief" },
    user,
    { role: "assistant", content: null, tool_calls: [call("call_0_a"), call("call_0_b")] },
    { role: "tool", tool_call_id: "call_0_a", content: "1" },
    { role: "tool", tool_call_id: "call_0_b", content: "" }
  ]
  const of = (messages: ReadonlyArray<unknown>, more: Body = { tools: [tool] }) =>
    rules(HistoryValidator.validateOpenAiChat({ model: "m", messages, ...more }))
  const [system, , calls, first, second] = history

  it("passes a valid body", () => {
    expect(of(history)).toEqual([])
    expect(of([...history, { role: "assistant", content: "done" }, user], { tools: [tool], tool_choice: "none" }))
      .toEqual([])
  })

  it.each<[HistoryValidator.Rule, ReadonlyArray<unknown>, Body?]>([
    ["first-user", [system, { role: "assistant", content: "hi" }, user]],
    ["last-input", [user, { role: "assistant", content: "hi" }]],
    ["call-unanswered", [user, calls, first, user]],
    ["result-order", [user, calls, second, first]],
    ["result-duplicate", [user, calls, first, first, second]],
    ["result-orphan", [user, calls, first, second, { role: "tool", tool_call_id: "x", content: "1" }]],
    ["result-misplaced", [user, calls, first, user, second]],
    ["id-legal", [user, { role: "assistant", tool_calls: [call("x".repeat(41))] }]],
    ["id-unique", [...history, calls, first, second]],
    ["name-legal", [user, { role: "assistant", tool_calls: [call("a", "read file")] }]],
    ["arguments-object", [user, { role: "assistant", tool_calls: [call("a", "read_file", "")] }]],
    ["empty-message", [user, { role: "assistant", content: null }, user]],
    ["empty-text", [{ role: "user", content: "" }]],
    ["empty-text", [{ role: "user", content: [{ type: "text", text: "" }] }]],
    ["shape", [user, { role: "assistant", content: "x", tool_calls: [] }, user]],
    ["shape", [user, { role: "function", content: "x" }]],
    ["shape", [user, system]],
    ["shape", ["hello"]],
    ["tool-definition", [user], { tools: [tool, tool] }],
    ["tool-definition", [user], {
      tools: [{ type: "function", function: { name: "a.b", parameters: { type: "object" } } }]
    }],
    ["tool-definition", [user], {
      tools: [{ type: "function", function: { name: "a", parameters: { type: "string" } } }]
    }],
    ["tool-choice", [user], { tools: [tool], tool_choice: { type: "function", function: { name: "x" } } }],
    ["tool-choice", [user], { tool_choice: "auto" }],
    ["tools-missing", [user], { parallel_tool_calls: true }],
    ["shape", [user], { tools: [] }]
  ])("finds %s", (rule, messages, more) => {
    expect(of(messages, more)).toContain(rule)
  })

  it("finds a body without messages", () => {
    expect(rules(HistoryValidator.validateOpenAiChat("nothing"))).toEqual(["shape", "first-user"])
  })
})

describe("HistoryValidator.validateOpenAiResponses", () => {
  const call = (id: string) => ({ type: "function_call", call_id: id, name: "read_file", arguments: "{}" })
  const output = (id: string) => ({ type: "function_call_output", call_id: id, output: "1" })
  const answer = { type: "message", role: "assistant", content: [{ type: "output_text", text: "hi" }] }
  const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x" }
  const tool = { type: "function", name: "read_file", parameters: { type: "object" } }
  const of = (input: unknown, more: Body = {}) =>
    rules(HistoryValidator.validateOpenAiResponses({ model: "m", store: false, input, tools: [tool], ...more }))

  it("passes valid bodies", () => {
    expect(of("hello")).toEqual([])
    expect(of([user, reasoning, answer, call("a"), call("b"), output("a"), output("b"), answer, user])).toEqual([])
  })

  it.each<[HistoryValidator.Rule, unknown, Body?]>([
    ["first-user", [answer, user]],
    ["last-input", [user, answer]],
    ["call-unanswered", [user, call("a"), call("b"), output("a")]],
    ["result-order", [user, call("a"), call("b"), output("b"), output("a")]],
    ["result-duplicate", [user, call("a"), output("a"), output("a")]],
    ["result-orphan", [user, output("a")]],
    ["result-misplaced", [user, call("a"), user, output("a")]],
    ["id-legal", [user, call("")]],
    ["id-legal", [user, call("x".repeat(65))]],
    ["id-legal", [user, { ...call("a"), id: "call_1" }, output("a")]],
    ["id-unique", [user, call("a"), output("a"), call("a"), output("a")]],
    ["name-legal", [user, { ...call("a"), name: "a b" }, output("a")]],
    ["arguments-object", [user, { ...call("a"), arguments: "null" }, output("a")]],
    ["empty-text", [{ role: "user", content: [{ type: "input_text", text: "" }] }]],
    ["reasoning-last", [user, reasoning, user]],
    ["shape", [user, { ...reasoning, encrypted_content: null }, answer, user]],
    ["shape", [{ role: "user", content: [{ type: "text", text: "x" }] }]],
    ["shape", [user, { type: "nothing" }]],
    ["shape", [user, { type: "function_call" }]],
    ["tool-definition", [user], { tools: [tool, tool] }],
    ["tool-choice", [user], { tool_choice: { type: "function", name: "x" } }],
    ["tool-choice", [user], { tools: [], tool_choice: "required" }]
  ])("finds %s", (rule, input, more) => {
    expect(of(input, more)).toContain(rule)
  })

  it("finds reasoning of somebody else", () => {
    const body = { input: [user, reasoning, answer, user] }
    expect(rules(HistoryValidator.validateOpenAiResponses(body, { made: (item) => item["id"] === "rs_2" }))).toEqual([
      "reasoning-foreign"
    ])
  })
})

describe("HistoryValidator.validateAnthropic", () => {
  const use = (id: string, more: Body = {}) => ({ type: "tool_use", id, name: "read_file", input: {}, ...more })
  const result = (id: string, more: Body = {}) => ({ type: "tool_result", tool_use_id: id, content: "1", ...more })
  const assistant = (...content: ReadonlyArray<unknown>) => ({ role: "assistant", content })
  const asked = (...content: ReadonlyArray<unknown>) => ({ role: "user", content })
  const text = (text: string) => ({ type: "text", text })
  const thinking = { type: "thinking", thinking: "…", signature: "s" }
  const tool = { name: "read_file", input_schema: { type: "object" } }
  const of = (messages: ReadonlyArray<unknown>, more: Body = {}) =>
    rules(HistoryValidator.validateAnthropic({ model: "m", max_tokens: 100, messages, tools: [tool], ...more }))

  it("passes valid bodies", () => {
    expect(of([user], { system: [text("be brief")] })).toEqual([])
    expect(of([
      user,
      assistant(thinking, text("so"), use("a"), use("b")),
      asked(result("a", { content: [] }), result("b", { is_error: true, content: [text("1")] }), text("and?")),
      assistant(text("done")),
      user
    ])).toEqual([])
  })

  it.each<[HistoryValidator.Rule, ReadonlyArray<unknown>, Body?]>([
    ["first-user", [assistant(text("hi")), user]],
    ["last-input", [user, assistant(text("hi"))]],
    ["roles-alternate", [user, user]],
    ["results-first", [user, assistant(use("a")), asked(text("and"), result("a"))]],
    ["call-unanswered", [user, assistant(use("a"), use("b")), asked(result("a"))]],
    ["result-order", [user, assistant(use("a"), use("b")), asked(result("b"), result("a"))]],
    ["result-duplicate", [user, assistant(use("a")), asked(result("a"), result("a"))]],
    ["result-orphan", [asked(result("a"))]],
    ["result-misplaced", [user, assistant(use("a")), user, assistant(text("x")), asked(result("a"))]],
    ["id-legal", [user, assistant(use("a.b")), asked(result("a.b"))]],
    ["id-unique", [user, assistant(use("a"), use("a")), asked(result("a"))]],
    ["name-legal", [user, assistant(use("a", { name: "a.b" })), asked(result("a"))]],
    ["arguments-object", [user, assistant(use("a", { input: "{}" })), asked(result("a"))]],
    ["empty-message", [asked()]],
    ["empty-text", [asked(text(" \n"))]],
    ["empty-text", [user, assistant(use("a")), asked(result("a", { content: [text("")] }))]],
    ["reasoning-last", [user, assistant(text("x"), thinking), user]],
    ["shape", [user, assistant({ type: "thinking", thinking: "" }, text("x")), user]],
    ["shape", [user, assistant(use("a")), asked(result("a", { is_error: "no" }))]],
    ["shape", [{ role: "tool", content: "x" }]],
    ["shape", [user], { max_tokens: 0 }],
    ["shape", [asked({ type: "video" })]],
    ["empty-text", [user], { system: [text("")] }],
    ["tool-definition", [user], { tools: [tool, tool] }],
    ["tool-choice", [user], { tool_choice: { type: "tool", name: "x" } }],
    ["tool-choice", [user], { tool_choice: { type: "required" } }],
    ["tool-choice", [user], { tools: [], tool_choice: { type: "auto" } }],
    ["tools-missing", [user, assistant(use("a")), asked(result("a"))], { tools: [] }]
  ])("finds %s", (rule, messages, more) => {
    expect(of(messages, more)).toContain(rule)
  })

  it("finds thinking of somebody else", () => {
    const body = { max_tokens: 1, messages: [user, assistant(thinking, text("x")), user] }
    expect(rules(HistoryValidator.validateAnthropic(body, { made: () => false }))).toEqual(["reasoning-foreign"])
  })
})
