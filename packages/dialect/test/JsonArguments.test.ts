import { JsonArguments } from "@capstan/dialect"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"

const read = (text: string, options?: JsonArguments.Options) => {
  const result = JsonArguments.parse(text, options)
  if (Either.isLeft(result)) throw result.left
  return { value: result.right.arguments, kinds: result.right.repairs.map((repair) => repair.kind) }
}

const refuse = (text: string, options?: JsonArguments.Options) => {
  const result = JsonArguments.parse(text, options)
  if (Either.isRight(result)) throw new Error(`was read: ${JSON.stringify(result.right)}`)
  return result.left
}

describe("JsonArguments.parse", () => {
  it.prop("gives valid objects back unchanged, without repairs", [
    FastCheck.dictionary(FastCheck.string(), FastCheck.jsonValue({ maxDepth: 3 }))
  ], ([object]) => {
    FastCheck.pre(
      !Object.keys(object).some((key) => ["arguments", "args", "parameters", "params", "kwargs"].includes(key))
    )
    const text = JSON.stringify(object)
    expect(read(text)).toEqual({ value: JSON.parse(text), kinds: [] })
  })

  it.each<[string, string, unknown, ReadonlyArray<string>]>([
    ["trailing comma", "{\"a\": [1, 2,],}", { a: [1, 2] }, ["trailing-comma"]],
    ["single quotes", "{'a': 'it\\'s'}", { a: "it's" }, ["single-quotes"]],
    ["typographic quotes", "{“a”: “b”}", { a: "b" }, ["single-quotes"]],
    ["unquoted keys", "{a: 1, b_c: 2}", { a: 1, b_c: 2 }, ["unquoted-key"]],
    ["unquoted value", "{\"a\": hello world, \"b\": 1}", { a: "hello world", b: 1 }, ["unquoted-value"]],
    ["Python literals", "{\"a\": True, \"b\": None, \"c\": False}", { a: true, b: null, c: false }, ["literal"]],
    ["JavaScript literals", "{\"a\": undefined, \"b\": NaN}", { a: null, b: null }, ["literal"]],
    ["comments", "{/* x */ \"a\": 1, // y\n \"b\": 2 # z\n}", { a: 1, b: 2 }, ["comment"]],
    ["raw line ends", "{\"a\": \"one\ntwo\tthree\"}", { a: "one\ntwo\tthree" }, ["raw-newline"]],
    ["cut off after a value", "{\"a\": {\"b\": [1, 2", { a: { b: [1, 2] } }, ["cut-off"]],
    ["cut off in text", "{\"a\": \"hel", { a: "hel" }, ["cut-off-text", "cut-off"]],
    ["cut off after a comma", "{\"a\": 1,", { a: 1 }, ["cut-off"]],
    ["cut off after a key", "{\"a\"", { a: null }, ["cut-off"]],
    ["cut off after a colon", "{\"a\":", { a: null }, ["cut-off"]],
    ["missing comma", "{\"a\": 1 \"b\": \"x\" \"c\": 2}", { a: 1, b: "x", c: 2 }, ["missing-comma"]],
    ["quotes inside text", "{\"command\": \"echo \"hi\" there\"}", { command: "echo \"hi\" there" }, [
      "unescaped-quote"
    ]],
    ["bad escape", "{\"re\": \"\\d+\"}", { re: "\\d+" }, ["bad-escape"]],
    ["wrong closing bracket", "{\"a\": [1, 2}", { a: [1, 2] }, ["mismatched-bracket"]],
    ["one bracket too many", "{\"a\": 1}}", { a: 1 }, ["mismatched-bracket"]],
    ["numbers of other kinds", "{\"a\": .5, \"b\": 0x10, \"c\": +1}", { a: 0.5, b: 16, c: 1 }, ["number"]],
    ["a fence", "```json\n{\"a\": 1}\n```", { a: 1 }, ["fence"]],
    ["JSON in a text", "\"{\\\"a\\\": 1}\"", { a: 1 }, ["encoded-twice"]],
    ["JSON in a text, twice", JSON.stringify(JSON.stringify("{'a': 1}")), { a: 1 }, [
      "encoded-twice",
      "encoded-twice",
      "single-quotes"
    ]],
    ["a wrapper", "{\"arguments\": {\"a\": 1}}", { a: 1 }, ["wrapped-twice"]],
    ["a wrapper with a name", "{\"name\": \"f\", \"parameters\": \"{\\\"a\\\": 1}\"}", { a: 1 }, [
      "wrapped-twice",
      "encoded-twice"
    ]],
    ["nothing", "", {}, ["empty"]],
    ["white space", " \n", {}, ["empty"]],
    ["null", "null", {}, ["empty"]],
    ["an empty text", "\"\"", {}, ["empty"]]
  ])("reads %s", (_, text, value, kinds) => {
    expect(read(text)).toEqual({ value, kinds })
  })

  it("does not take a declared parameter for a wrapper", () => {
    const parameters = { type: "object", properties: { arguments: { type: "object" } } }
    expect(read("{\"arguments\": {\"a\": 1}}", { parameters }).value).toEqual({ arguments: { a: 1 } })
    expect(read("{\"input\": {\"a\": 1}}").value).toEqual({ input: { a: 1 } })
    expect(read("{\"input\": {\"a\": 1}}", { parameters: { type: "object", properties: { a: {} } } }).value).toEqual({
      a: 1
    })
  })

  it("keeps what looks like markup inside text", () => {
    const content = "# Title\n```json\n{\"name\": \"x\"}\n```\n// not a comment, 'quoted' [1, 2,]"
    expect(read(`{content: ${JSON.stringify(content)},}`).value).toEqual({ content })
  })

  it("says where text stops being JSON", () => {
    const error = refuse("{\"a\": 1, = 2}")
    expect(error).toMatchObject({ _tag: "ArgumentsError", reason: "not-json", position: 9, found: "= 2}" })
    expect(error.message).toContain("character 9")
  })

  it.each(["[1]", "7", "true", "\"hello\""])("refuses %s, which is no object", (text) => {
    expect(["not-an-object", "not-json"]).toContain(refuse(text).reason)
  })

  it("refuses what is too long or too deep", () => {
    expect(refuse("{}", { maxLength: 1 }).reason).toBe("too-long")
    expect(refuse(`{"a": ${"[".repeat(300)}${"]".repeat(300)}}`).reason).toBe("too-deep")
    expect(refuse(`{a: ${"[".repeat(300)}${"]".repeat(300)}}`).reason).toBe("too-deep")
    expect(read(`{"a": "${"[{(".repeat(300)}"}`).kinds).toEqual([])
  })

  const size = 1_000_000
  it.each<[string, string]>([
    ["open braces", "{".repeat(size)],
    ["nested objects", "{\"a\":".repeat(size / 5)],
    ["valid deep arrays", `{"a":${"[".repeat(size / 2)}${"]".repeat(size / 2)}}`],
    ["quotes", `{"a": "${"\"".repeat(size)}`],
    ["spaced quotes", `{"a": "${"\" ".repeat(size / 2)}`],
    ["quotes and much space", `{"a": "${`"${" ".repeat(1000)}x`.repeat(size / 1000)}`],
    ["apostrophes", `{'a': '${"' x".repeat(size / 3)}`],
    ["commas", `{${",".repeat(size)}}`],
    ["pairs without commas", `{${"\"a\":1 ".repeat(size / 6)}}`],
    ["texts without commas", `[${"\"a\" ".repeat(size / 4)}]`],
    ["words", `{a: ${"x y ".repeat(size / 4)}}`],
    ["word soup", "{" + "a: b c\n".repeat(size / 7)],
    ["comments", `{${"/**/".repeat(size / 4)}}`],
    ["comment beginnings", `{${"/*".repeat(size / 2)}`],
    ["backslashes", `{"a": "${"\\".repeat(size)}`],
    ["escaped JSON in JSON", JSON.stringify(JSON.stringify(JSON.stringify({ a: "\"".repeat(size / 32) })))],
    ["closing brackets", `{${"]".repeat(size)}`],
    ["slashes", "{" + "/a".repeat(size / 2)],
    ["numbers", `{a:${"1".repeat(size)}`]
  ])("is done with a megabyte of %s within a second", (_, text) => {
    const started = process.cpuUsage()
    JsonArguments.parse(text)
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(1_000)
  })
})
