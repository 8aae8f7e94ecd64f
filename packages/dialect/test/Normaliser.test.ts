import { Normaliser, type TextStream } from "@capstan/dialect"
import { describe, expect, it } from "@effect/vitest"

const tools: TextStream.Options["tools"] = [
  {
    name: "read_file",
    aliases: ["cat"],
    parameters: {
      type: "object",
      properties: { path: { type: "string" }, limit: { type: "integer" }, lines: { type: "array" } }
    }
  },
  {
    name: "write_file",
    parameters: { type: "object", properties: { path: { type: "string" }, content: { type: "string" } } }
  },
  { name: "git_status", parameters: { type: "object", properties: {} } },
  { name: "weather.today" }
]

const read = (text: string) => Normaliser.read(text, { tools })
const calls = (text: string) => read(text).calls.map((call) => [call.tool, call.arguments])
const readA = [["read_file", { path: "a" }]]
const readAB = [["read_file", { path: "a" }], ["read_file", { path: "b" }]]

describe("Normaliser reads", () => {
  it.each<[string, string, unknown]>([
    ["fenced JSON", "```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n```", readA],
    [
      "several fences",
      "```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n```\nand\n```\n{\"tool\": \"read_file\", \"args\": {\"path\": \"b\"}}\n```",
      readAB
    ],
    [
      "several values in one fence",
      "```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"b\"}}\n```",
      readAB
    ],
    [
      "a fence behind words",
      "I call: ```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n```",
      readA
    ],
    ["a fence without an end", "```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n", readA],
    ["a bare object", "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}", readA],
    [
      "a bare object in a sentence",
      "Let me look: {\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}} and see.",
      readA
    ],
    [
      "objects one after the other",
      "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"b\"}}",
      readAB
    ],
    [
      "a bare array",
      "[{\"function\": \"read_file\", \"parameters\": {\"path\": \"a\"}}, {\"tool_name\": \"read_file\", \"input\": {\"path\": \"b\"}}]",
      readAB
    ],
    [
      "OpenAI's list",
      "{\"tool_calls\": [{\"id\": \"1\", \"type\": \"function\", \"function\": {\"name\": \"read_file\", \"arguments\": \"{\\\"path\\\": \\\"a\\\"}\"}}]}",
      readA
    ],
    ["arguments as text", "{\"name\": \"read_file\", \"arguments\": \"{\\\"path\\\": \\\"a\\\"}\"}", readA],
    ["doubly wrapped arguments", "{\"name\": \"read_file\", \"arguments\": {\"arguments\": {\"path\": \"a\"}}}", readA],
    ["the name as key", "{\"read_file\": {\"path\": \"a\"}}", readA],
    ["arguments beside the name", "{\"tool\": \"read_file\", \"path\": \"a\"}", readA],
    ["no arguments", "{\"tool\": \"git_status\"}", [["git_status", {}]]],
    [
      "Hermes and Qwen tags",
      "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"b\"}}\n</tool_call>",
      readAB
    ],
    [
      "two values in one tag",
      "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"b\"}}</tool_call>",
      readAB
    ],
    ["a tag without an end", "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}", readA],
    [
      "a tag opened twice",
      "<tool_call>\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>",
      readA
    ],
    [
      "a bracket too few in a tag",
      "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}</tool_call> done",
      readA
    ],
    [
      "Granite",
      "<function_call> {\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}} <function_call> {\"name\": \"read_file\", \"arguments\": {\"path\": \"b\"}}",
      readAB
    ],
    [
      "Llama's python_tag with JSON",
      "<|python_tag|>{\"name\": \"read_file\", \"parameters\": {\"path\": \"a\"}}; {\"name\": \"read_file\", \"parameters\": {\"path\": \"b\"}}<|eom_id|>",
      readAB
    ],
    ["Llama's python_tag with Python", "<|python_tag|>read_file.call(path=\"a\")<|eom_id|>", readA],
    ["Llama's function tag", "<function=read_file>{\"path\": \"a\"}</function>", readA],
    [
      "Qwen's XML",
      "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n<parameter=limit>\n3\n</parameter>\n</function>\n</tool_call>",
      [["read_file", { path: "a", limit: 3 }]]
    ],
    [
      "Claude's XML",
      "<function_calls>\n<invoke name=\"read_file\">\n<parameter name=\"path\">a</parameter>\n<parameter name=\"lines\">[1, 2]</parameter>\n</invoke>\n<invoke name=\"read_file\"><parameter name=\"path\">b</parameter></invoke>\n</function_calls>",
      [["read_file", { path: "a", lines: [1, 2] }], ["read_file", { path: "b" }]]
    ],
    ["elements", "<read_file>\n<path>a</path>\n</read_file>", readA],
    [
      "name and arguments as elements",
      "<tool_use><tool_name>read_file</tool_name><parameters><path>a</path></parameters></tool_use>",
      readA
    ],
    [
      "name and JSON as elements",
      "<tool_call><name>read_file</name><arguments>{\"path\": \"a\"}</arguments></tool_call>",
      readA
    ],
    [
      "GLM's keys and values",
      "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n<arg_key>limit</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
      [["read_file", { path: "a", limit: 3 }]]
    ],
    ["GLM's name over JSON", "read_file\n{\"path\": \"a\"}", readA],
    [
      "Mistral's list",
      "[TOOL_CALLS] [{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}, {\"name\": \"read_file\", \"arguments\": {\"path\": \"b\"}}]</s>",
      readAB
    ],
    [
      "Mistral's newer form",
      "[TOOL_CALLS]read_file[ARGS]{\"path\": \"a\"}[TOOL_CALLS]read_file[CALL_ID]abc123def[ARGS]{\"path\": \"b\"}",
      readAB
    ],
    [
      "DeepSeek V3",
      "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n{\"path\": \"a\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n{\"path\": \"b\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
      readAB
    ],
    [
      "DeepSeek V3.1",
      "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{\"path\": \"a\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
      readA
    ],
    [
      "Kimi",
      "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{\"path\": \"a\"}<|tool_call_end|><|tool_call_begin|>functions.read_file:1<|tool_call_argument_begin|>{\"path\": \"b\"}<|tool_call_end|><|tool_calls_section_end|>",
      readAB
    ],
    [
      "Harmony",
      "<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{\"path\": \"a\"}<|call|>",
      readA
    ],
    [
      "Python calls in a list",
      "[read_file(path='a', limit=3), weather.today(city=\"Graz\", days=[1, 2], x={'y': None})]",
      [["read_file", { path: "a", limit: 3 }], ["weather.today", { city: "Graz", days: [1, 2], x: { y: null } }]]
    ],
    ["Python calls in a row", "read_file(path='a'); read_file(path='b');", readAB],
    ["Python calls with escaped underscores", "[read\\_file(path='a')]", readA],
    ["Python calls in quotes", "['read_file(path=\"a\")', 'read_file(path=\"b\")']", readAB],
    ["Python calls in a fence", "```tool_code\nread_file(path='a')\nread_file(path='b')\n```", readAB],
    ["Python arguments without names", "read_file(\"a\", 3)", [["read_file", { path: "a", limit: 3 }]]],
    ["Python text over lines", "write_file(path='a', content='''one\n\"two\"''')", [["write_file", {
      path: "a",
      content: "one\n\"two\""
    }]]],
    ["an alias", "{\"name\": \"cat\", \"arguments\": {\"path\": \"a\"}}", readA],
    ["another case and separator", "{\"name\": \"Read-File\", \"arguments\": {\"path\": \"a\"}}", readA],
    ["a name as it was sent on the wire", "{\"name\": \"weather_today\", \"arguments\": {}}", [["weather.today", {}]]],
    ["broken JSON", "{name: 'read_file', arguments: {path: 'a',},}", readA],
    ["cut-off JSON", "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"", readA]
  ])("%s", (_, text, expected) => {
    expect(calls(text)).toEqual(expected)
  })
})

describe("Normaliser leaves as text", () => {
  const call = "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}"
  it.each<[string, string]>([
    ["JSON that is no call", "{\"users\": [{\"name\": \"read_file\"}], \"n\": 1}"],
    ["people with names", "[{\"name\": \"Ann\", \"input\": {\"x\": 1}}, {\"name\": \"Bob\", \"input\": {}}]"],
    ["a call inside of other JSON", `{"example": ${call}, "note": "x"}`],
    ["a call in inline code", `Write \`${call}\` to read.`],
    ["a call in a reasoning block", `<think>\n${call}\n</think>\nHello`],
    ["a call in an open reasoning block", `<think>\n${call}`],
    ["a call in code of another language", `\`\`\`ts\nconst call = ${call}\n\`\`\``],
    ["a call that is shown as an example", `You write JSON. Here is an example:\n\`\`\`json\n${call}\n\`\`\``],
    [
      "a tool's description",
      "{\"name\": \"read_file\", \"description\": \"reads\", \"parameters\": {\"type\": \"object\", \"properties\": {}}}"
    ],
    ["a fence with more than calls", `\`\`\`python\nx = 1\nread_file(path="a")\n\`\`\``],
    ["a function mentioned in prose", "read_file(path) reads a file, and git_status() tells more."],
    ["a value taken from a call", "[read_file(path='a')][0]"],
    ["an unclosed tag in prose", "Use <tool_call> tags for that."],
    ["HTML", "<p>Hello</p>\n<read_file>"],
    ["braces in code", "if (x) { return { a: 1 }; }"],
    ["Markdown", "- [link](http://x) and [ ] box, `{`\n# {title}\n> [1] \"quoted\""],
    ["a line that begins with a tool's name", "read_file is a tool."]
  ])("%s", (_, text) => {
    expect(read(text)).toEqual({ calls: [], text })
  })

  it("an unregistered name in prose", () => {
    const text = "I would {\"name\": \"delete_all\", \"arguments\": {}} now."
    expect(read(text)).toEqual({ calls: [], text })
  })

  it("calls behind words that somebody else would say", () => {
    const one = `<tool_call>${call}</tool_call>`
    const result = read(`${one}\n### Instruction:\nNow the other.\n${one}`)
    expect(result.calls).toHaveLength(1)
  })
})

describe("Normaliser", () => {
  it("gives the text that remains, unit for unit", () => {
    expect(read("I look.\n```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n```\nDone. {x}").text)
      .toBe("I look.\n\nDone. {x}")
  })

  it("does not cut fences and tags inside a text argument", () => {
    const content = "# T\n```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"x\"}}\n```\n</tool_call>\n"
    const json = JSON.stringify({ name: "write_file", arguments: { path: "a", content } })
    for (const text of [json, `\`\`\`json\n${json}\n\`\`\``, `<tool_call>\n${json}\n</tool_call>`]) {
      expect(calls(text)).toEqual([["write_file", { path: "a", content }]])
    }
    const raw = `<write_file><path>a</path><content>\n<p>\n\`\`\`\n${content}</content></write_file>`
    expect(calls(raw)).toEqual([["write_file", { path: "a", content: `<p>\n\`\`\`\n${content.slice(0, -1)}` }]])
  })

  it("takes a second pair of braces around a call with it, and leaves templates alone", () => {
    const doubled = read("{{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}}\n")
    expect(doubled.calls.map(({ arguments: args, repairs }) => [args, repairs.map(({ kind }) => kind)])).toEqual([
      [{ path: "a" }, ["doubled-braces"]]
    ])
    expect(doubled.text.trim()).toBe("")
    expect(calls("{{\n\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}")).toEqual(readA)
    expect(read("Hello {{ name }}, {{#if x}} y {{/if}}")).toMatchObject({
      calls: [],
      text: "Hello {{ name }}, {{#if x}} y {{/if}}"
    })
  })

  it("gives equal calls twice", () => {
    const one = "<tool_call>{\"name\": \"git_status\", \"arguments\": {}}</tool_call>"
    expect(read(one + one).calls).toHaveLength(2)
  })

  it("records repairs and the name that was written", () => {
    const [call] = read("{name: \"READ_FILE\", \"arguments\": {\"path\": \"a\"}}").calls
    expect(call).toMatchObject({ name: "READ_FILE", tool: "read_file", repairs: [{ kind: "unquoted-key" }] })
  })

  it("hands over arguments that cannot be read", () => {
    const [call] = read("{\"name\": \"read_file\", \"arguments\": \"{path = a}\"}").calls
    expect(call).toMatchObject({ tool: "read_file", raw: "{path = a}", arguments: null })
    expect(call?.malformed).toContain("not JSON")
  })

  it("takes the reasoning of an answer that began inside of it for reasoning", () => {
    const text = "{\"name\": \"read_file\", \"arguments\": {}}</think>\n{\"name\": \"git_status\", \"arguments\": {}}"
    expect(Normaliser.read(text, { tools, inReasoning: true }).calls.map((call) => call.tool)).toEqual(["git_status"])
  })
})

describe("Normaliser sees a near miss", () => {
  it.each([
    "{\"name\": \"run_tests\", \"arguments\": {\"path\": \"a\"}}",
    "\n```json\n{\"name\": \"run_tests\", \"arguments\": {\"path\": \"a\"}}\n```\n",
    "<tool_call>{\"name\": \"run_tests\", \"arguments\": {\"path\": \"a\"}}</tool_call>",
    "<think>run them</think>\n[run_tests(path=\"a\")]"
  ])("in %j", (text) => {
    expect(read(text)).toMatchObject({
      calls: [],
      nearMiss: { name: "run_tests", tool: undefined, arguments: { path: "a" } }
    })
  })

  it.each([
    "{\"name\": \"run_tests\", \"arguments\": {}} is what I would call.",
    "Now: {\"name\": \"run_tests\", \"arguments\": {}}",
    "{\"name\": \"run_tests\", \"arguments\": {}}\n{\"name\": \"run_it\", \"arguments\": {}}",
    "{\"name\": \"Ann\", \"age\": 7}",
    "```python\nrun_tests(path=\"a\")\n```"
  ])("not in %j", (text) => {
    expect(read(text)).toEqual({ calls: [], text })
  })
})
