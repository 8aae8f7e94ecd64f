import * as CallAssembly from "@capstan/core/CallAssembly"
import type { ModelDelta } from "@capstan/core/ModelDelta"
import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"

type Piece = Parameters<typeof CallAssembly.put>[1]

const run = (pieces: ReadonlyArray<Piece>, cut?: string): ReadonlyArray<ModelDelta> => {
  const [assembly, deltas] = pieces.reduce<CallAssembly.Assembled>(([state, deltas], piece) => {
    const [next, more] = CallAssembly.put(state, piece)
    return [next, [...deltas, ...more]]
  }, [CallAssembly.empty, []])
  return [...deltas, ...CallAssembly.finish(assembly, cut)]
}

const ends = (deltas: ReadonlyArray<ModelDelta>) =>
  deltas.flatMap((delta) => delta._tag === "ToolCallEnd" ? [delta.call] : [])

describe("CallAssembly", () => {
  it("keeps interleaved calls apart and numbers them by their beginning", () => {
    expect(run([
      { key: "0", id: "a", name: "read" },
      { key: "1", id: "b", name: "list", text: "{\"d\"" },
      { key: "0", text: "{\"p\":1}" },
      { key: "1", text: ":2}" }
    ])).toMatchObject([
      { _tag: "ToolCallStart", index: 0, id: "a", name: "read" },
      { _tag: "ToolCallStart", index: 1, id: "b", name: "list" },
      { _tag: "ToolCallDelta", index: 1, text: "{\"d\"" },
      { _tag: "ToolCallDelta", index: 0, text: "{\"p\":1}" },
      { _tag: "ToolCallDelta", index: 1, text: ":2}" },
      { _tag: "ToolCallEnd", index: 0, call: { id: "a", name: "read", raw: "{\"p\":1}", arguments: { p: 1 } } },
      { _tag: "ToolCallEnd", index: 1, call: { id: "b", name: "list", raw: "{\"d\":2}", arguments: { d: 2 } } }
    ])
  })

  it("holds a closed call back until the answer goes on", () => {
    const [first] = CallAssembly.put(CallAssembly.empty, { key: "0", id: "a", name: "read", text: "{}" })
    const [open, nothing] = CallAssembly.settle(first)
    expect(nothing).toEqual([])
    const [settled, deltas] = CallAssembly.settle(CallAssembly.close(open, "0"))
    expect(deltas).toMatchObject([{ _tag: "ToolCallEnd", index: 0 }])
    expect(CallAssembly.finish(settled, undefined)).toEqual([])
  })

  it("waits for a name before it starts a call, and emits one without a name all the same", () => {
    expect(run([{ key: "0", id: "a", text: "{}" }, { key: "0", name: "read" }]).map((delta) => delta._tag))
      .toEqual(["ToolCallStart", "ToolCallDelta", "ToolCallEnd"])
    expect(run([{ key: "0", text: "{}" }])).toMatchObject([
      { _tag: "ToolCallStart", id: "", name: "" },
      { _tag: "ToolCallDelta", text: "{}" },
      { _tag: "ToolCallEnd", call: { id: "", name: "", arguments: {} } }
    ])
  })

  it("reads no text as no arguments", () => {
    expect(ends(run([{ key: "0", id: "a", name: "now" }]))).toMatchObject([{ raw: "", arguments: {} }])
  })

  it("marks arguments that are not an object", () => {
    expect(ends(run([{ key: "0", id: "a", name: "read", text: "[1]" }]))).toMatchObject([
      { arguments: null, malformed: "the arguments are JSON, but not an object" }
    ])
  })

  it("marks the last call of a cut answer even where it looks whole, and keeps the ones before it", () => {
    expect(ends(run([
      { key: "0", id: "a", name: "read", text: "{}" },
      { key: "1", id: "b", name: "write", text: "{\"half" },
      { key: "2", id: "c", name: "write", text: "{}" }
    ], CallAssembly.cutByLength))).toMatchObject([
      { id: "a", arguments: {} },
      { id: "b", arguments: null, malformed: expect.stringMatching(/^cut off: /) },
      { id: "c", arguments: null, raw: "{}", malformed: expect.stringMatching(/^cut off: .*smaller$/) }
    ])
  })

  it("gives names and arguments back as the program knows them", () => {
    const mapped = run([{ key: "0", id: "a", name: "read_file", text: "{}" }]).map(CallAssembly.mapCalls({
      name: (name) => name.replace("_", "."),
      read: (call) => ({ ...call, arguments: { by: call.name } })
    }))
    expect(mapped).toMatchObject([
      { _tag: "ToolCallStart", name: "read.file" },
      { _tag: "ToolCallDelta" },
      { _tag: "ToolCallEnd", call: { name: "read.file", arguments: { by: "read.file" } } }
    ])
  })

  it.prop(
    "loses and doubles no character however the arguments are split",
    [
      FastCheck.dictionary(FastCheck.string(), FastCheck.string()),
      FastCheck.array(FastCheck.nat(40), { maxLength: 8 })
    ],
    ([args, cuts]) => {
      const text = JSON.stringify(args)
      const marks = [...cuts.map((cut) => Math.min(cut, text.length)), text.length].sort((a, b) => a - b)
      const pieces = marks.map((mark, position) => text.slice(marks[position - 1] ?? 0, mark))
      const deltas = run(pieces.map((text) => ({ key: "0", id: "a", name: "n", text })))
      expect(deltas.flatMap((delta) => delta._tag === "ToolCallDelta" ? [delta.text] : []).join("")).toBe(text)
      expect(ends(deltas)).toEqual([{ id: "a", name: "n", raw: text, arguments: JSON.parse(text), repairs: [] }])
    },
    { fastCheck: { numRuns: 100 } }
  )
})
