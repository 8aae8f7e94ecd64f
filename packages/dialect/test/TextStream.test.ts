import { TextStream } from "@capstan/dialect"
import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"

const tools: TextStream.Options["tools"] = [
  { name: "read_file", parameters: { type: "object", properties: { path: { type: "string" } } } },
  { name: "run", aliases: ["bash"] }
]

const fragments = [
  "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}",
  "{\"name\": \"none\", \"arguments\": {}}",
  "[{\"name\": \"run\", \"arguments\": {}}]",
  "```json\n",
  "```",
  "\n```\n",
  "`",
  "\n",
  " ",
  ", ",
  "; ",
  "<tool_call>",
  "</tool_call>",
  "<think>",
  "</think>",
  "<read_file><path>a</path></read_file>",
  "<function=run>",
  "<parameter=x>",
  "</parameter>",
  "</function>",
  "[TOOL_CALLS]",
  "[ARGS]",
  "read_file(path='a')",
  "[run(a=1), run(b=\"x\")]",
  "read_file\n{\"path\": \"b\"}",
  "<|python_tag|>",
  "<｜tool▁calls▁begin｜>",
  "<｜tool▁call▁begin｜>",
  "<｜tool▁sep｜>",
  "<｜tool▁call▁end｜>",
  "run",
  "{",
  "}",
  "[",
  "]",
  "(",
  ")",
  "\"",
  "'",
  "\\",
  ":",
  "Hello there.",
  "for example ",
  "### Instruction",
  "é😀",
  "{\"a\": \"b\"}",
  "/* x",
  "# y",
  "\"\"\"",
  "<",
  ">",
  "</s>",
  "name",
  "arguments",
  "=",
  "1"
]

const answers = FastCheck.array(
  FastCheck.oneof({ weight: 6, arbitrary: FastCheck.constantFrom(...fragments) }, FastCheck.string({ maxLength: 6 })),
  { maxLength: 20 }
).map((parts) => parts.join(""))

const joined = (pieces: ReadonlyArray<TextStream.Piece>) => {
  const result: Array<TextStream.Piece> = []
  for (const piece of pieces) {
    const last = result.at(-1)
    if (last !== undefined && last._tag === piece._tag && (last._tag === "Text" || last._tag === "Reasoning")) {
      result[result.length - 1] = last._tag === "Text"
        ? { _tag: "Text", raw: last.raw + piece.raw }
        : {
          _tag: "Reasoning",
          raw: last.raw + piece.raw,
          text: last.text + (piece._tag === "Reasoning" ? piece.text : "")
        }
    } else result.push(piece)
  }
  return result
}

const whole = (text: string) => {
  const machine = TextStream.make({ tools })
  return joined([...machine.push(text), ...machine.end()])
}

const split = (text: string, cuts: ReadonlyArray<number>) => {
  const machine = TextStream.make({ tools })
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((left, right) => left - right)
  const pieces = [0, ...places].flatMap((from, index) => machine.push(text.slice(from, places[index] ?? text.length)))
  return joined([...pieces, ...machine.end()])
}

describe("TextStream", () => {
  it.prop("gives the same however the text is split, and loses no character", [
    answers,
    FastCheck.array(FastCheck.nat(), { maxLength: 12 })
  ], ([text, cuts]) => {
    const expected = whole(text)
    expect(expected.map((piece) => piece.raw).join("")).toBe(text)
    expect(split(text, cuts)).toEqual(expected)
  }, { fastCheck: { numRuns: 1_000 } })

  it.prop("gives the same one unit at a time", [answers], ([text]) => {
    expect(split(text, Array.from({ length: text.length }, (_, index) => index))).toEqual(whole(text))
  }, { fastCheck: { numRuns: 300 } })

  it("holds back only what could still become a call", () => {
    const machine = TextStream.make({ tools })
    const text = (piece: string) => machine.push(piece).map(({ raw }) => raw).join("")
    expect(text("Hello wor")).toBe("Hello wor")
    expect(text("ld <")).toBe("ld ")
    expect(text("b>bold")).toBe("<b>bold")
    expect(text("</b> and {")).toBe("</b> and ")
    expect(text("x; y")).toBe("{x; y")
    expect(text("\nrun")).toBe("\n")
    expect(text("ning on")).toBe("running on")
    expect(text("\n```ts\nconst ")).toBe("\n```ts\nconst ")
    expect(text("x = 1\n```\n{\"name\": \"run\", ")).toBe("x = 1\n```\n")
    expect(text("\"arguments\": {}")).toBe("")
    expect(machine.push("}")).toMatchObject([])
    expect(machine.push(" ok ")).toMatchObject([{ _tag: "Call", call: { tool: "run" } }, { _tag: "Text", raw: " ok " }])
    expect(machine.end()).toEqual([])
  })

  it("streams reasoning as it comes", () => {
    const machine = TextStream.make({ tools })
    expect(machine.push("<think>so")).toEqual([{ _tag: "Reasoning", raw: "<think>so", text: "so" }])
    expect(machine.push(" it is</th")).toEqual([{ _tag: "Reasoning", raw: " it is", text: " it is" }])
    expect(machine.push("ink>Yes ")).toEqual([{ _tag: "Reasoning", raw: "</think>", text: "" }, {
      _tag: "Text",
      raw: "Yes "
    }])
  })

  const size = 1_000_000
  const names = [
    "braces {",
    "objects {\"a\":",
    "quotes \"",
    "fences ```",
    "open fences ```json\n",
    "fenced braces ```json\n{",
    "tags <tool_call>",
    "half tags <tool_",
    "brackets [",
    "parentheses read_file(",
    "calls read_file(a=",
    "lists [read_file(a='",
    "names read_file\n",
    "elements <read_file><path>",
    "functions <function=run><parameter=x>",
    "closers <function=run><parameter=x></parameter>x",
    "markers [TOOL_CALLS]",
    "tokens <｜tool▁call▁begin｜>",
    "think <think>",
    "code `",
    "spaces  ",
    "lines \n",
    "strings {\"a\": \"b",
    "escapes {\"a\": \"\\",
    "quoted words {\"a\": \" \"b",
    "comments {/*",
    "words hello ",
    "tags in tags <tool_call>{\"a",
    "calls {\"name\": \"run\", \"arguments\": {}}",
    "unknown {\"name\": \"x\", \"arguments\": {}}"
  ]
  it.each(names.map((entry) => [entry.slice(0, entry.indexOf(" ")), entry.slice(entry.indexOf(" ") + 1)] as const))(
    "reads a megabyte of %s within a second of work",
    (_, unit) => {
      const text = unit.repeat(Math.ceil(size / unit.length))
      const machine = TextStream.make({ tools })
      const started = process.cpuUsage()
      const raw = [...machine.push(text), ...machine.end()].map((piece) => piece.raw).join("")
      const used = process.cpuUsage(started)
      expect(raw.length).toBe(text.length)
      expect(used.user / 1_000).toBeLessThan(1_000)
    }
  )

  it("reads a megabyte in small pieces in linear time", () => {
    const machine = TextStream.make({ tools })
    const text = `{"name": "run", "arguments": {"x": "${"y".repeat(size)}"}}`
    const started = process.cpuUsage()
    const pieces = Array.from(
      { length: Math.ceil(text.length / 4) },
      (_, index) => machine.push(text.slice(index * 4, index * 4 + 4))
    ).flat()
    const all = [...pieces, ...machine.end()]
    expect(all).toHaveLength(1)
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(1_500)
  })
})
