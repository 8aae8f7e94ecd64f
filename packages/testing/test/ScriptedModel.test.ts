import { ModelDelta } from "@capstan/core/ModelDelta"
import { ModelError, ModelProvider, type ModelRequest } from "@capstan/core/ModelProvider"
import { ScriptedModel } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"

const request: ModelRequest = {
  model: undefined,
  instructions: "",
  messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
  tools: [],
  toolChoice: "auto",
  maxOutputTokens: undefined
}

const ask = (asked: ModelRequest = request) =>
  Effect.flatMap(
    ModelProvider,
    (provider) => Effect.map(Stream.runCollect(provider.stream(asked)), Chunk.toReadonlyArray)
  )

const defectOf = <A, E>(exit: Exit.Exit<A, E>): string =>
  Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "it succeeded"

const lost = new ModelError({ reason: "overloaded", provider: "scripted", message: "later" })

describe("ScriptedModel", () => {
  it.effect("streams text and calls in several deltas", () =>
    Effect.gen(function*() {
      const deltas = yield* ask()
      expect(deltas).toEqual([
        ModelDelta.TextDelta({ text: "I will" }),
        ModelDelta.TextDelta({ text: " look" }),
        ModelDelta.ToolCallStart({ index: 0, id: "call_0_0", name: "read" }),
        ModelDelta.ToolCallDelta({ index: 0, text: "{\"path" }),
        ModelDelta.ToolCallDelta({ index: 0, text: "\":\"a\"}" }),
        ModelDelta.ToolCallEnd({
          index: 0,
          call: { id: "call_0_0", name: "read", raw: "{\"path\":\"a\"}", arguments: { path: "a" }, repairs: [] }
        }),
        ModelDelta.Finish({ reason: "tool-calls", usage: null, model: "scripted-model" })
      ])
    }).pipe(
      Effect.provide(
        ScriptedModel.layer([ScriptedModel.call("read", { path: "a" }, { text: "I will look" })], { chunkSize: 6 })
      )
    ))

  it.prop(
    "loses and doubles no character whatever the chunk size",
    [FastCheck.string({ unit: "grapheme" }), FastCheck.object(), FastCheck.integer({ min: 1, max: 20 })],
    ([text, value, chunkSize]) => {
      const raw = JSON.stringify({ value })
      const deltas = ScriptedModel.deltasOf({ text, thinking: text, calls: [{ name: "a", raw }, { name: "b", raw }] }, {
        chunkSize
      })
      const joined = (tag: "TextDelta" | "ThinkingDelta") =>
        deltas.map((delta) => delta._tag === tag ? delta.text : "").join("")
      expect(joined("TextDelta")).toBe(text)
      expect(joined("ThinkingDelta")).toBe(text)
      for (const index of [0, 1]) {
        expect(
          deltas.map((delta) => delta._tag === "ToolCallDelta" && delta.index === index ? delta.text : "").join("")
        ).toBe(raw)
      }
      expect(deltas.filter((delta) => delta._tag === "ToolCallEnd").map((delta) => delta.call.raw)).toEqual([raw, raw])
    },
    { fastCheck: { numRuns: 50 } }
  )

  it("writes raw calls as they are, and cuts the last one off at the limit", () => {
    const ends = (reply: ScriptedModel.Reply) =>
      ScriptedModel.deltasOf(reply).flatMap((delta) => delta._tag === "ToolCallEnd" ? [delta.call] : [])
    expect(ends({ calls: [{ id: "", name: "x y", raw: "{bad" }] })[0]).toMatchObject({
      id: "",
      name: "x y",
      raw: "{bad",
      arguments: null
    })
    const cut = ends({ calls: [{ name: "a", raw: "{}" }, { name: "b", raw: "{}" }], finish: "length" })
    expect(cut.map((call) => call.malformed?.slice(0, 7))).toEqual([undefined, "cut off"])
  })

  it.effect("goes through the script in order and keeps the requests", () =>
    Effect.gen(function*() {
      yield* ask()
      const usage = { input: 5, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 }
      expect((yield* ask({ ...request, model: "m" })).at(-1)).toEqual(
        ModelDelta.Finish({ reason: "refusal", usage, model: "m" })
      )
      expect((yield* ask())[0]).toEqual(ModelDelta.TextDelta({ text: "third 2" }))
      expect(yield* ask()).toEqual([])
      expect((yield* ScriptedModel.requests).map(({ model }) => model)).toEqual([undefined, "m", undefined, undefined])
      const { count } = yield* ScriptedModel.ScriptedModel
      expect(yield* count).toBe(4)
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.text("first"),
      ScriptedModel.raw({
        text: "second",
        finish: "refusal",
        usage: { input: 5, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 }
      }),
      ScriptedModel.respond((_, n) => Effect.succeed(ScriptedModel.text(`third ${n}`))),
      ScriptedModel.deltas([])
    ]))))

  it.effect("fails before and after the first token", () =>
    Effect.gen(function*() {
      const provider = yield* ModelProvider
      const seen: Array<string> = []
      const watch = Stream.runForEach(provider.stream(request), (delta) => Effect.sync(() => seen.push(delta._tag)))
      expect(yield* Effect.flip(watch)).toBe(lost)
      expect((yield* Effect.flip(watch)).reason).toBe("broken")
      expect(seen).toEqual(["TextDelta"])
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.fail(lost),
      ScriptedModel.broken([ModelDelta.TextDelta({ text: "so" })])
    ]))))

  it.effect("hangs until it is interrupted", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(ask())
      yield* Effect.yieldNow()
      expect(yield* Fiber.poll(fiber)).toMatchObject({ _tag: "None" })
      expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.hang]))))

  it.effect("says which request came when the script is over", () =>
    Effect.gen(function*() {
      yield* ask()
      expect(defectOf(yield* Effect.exit(ask()))).toContain(
        "The script has 1 response, and request 2 came (after a message of user)."
      )
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.text("only")]))))

  it.effect("makes a failed expectation a defect", () =>
    Effect.gen(function*() {
      yield* ask()
      expect(defectOf(yield* Effect.exit(ask()))).toContain("not that")
      expect(defectOf(yield* Effect.exit(ask()))).toContain("nor that")
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.expecting(ScriptedModel.text("a"), ({ tools }) => expect(tools).toEqual([])),
      ScriptedModel.expecting(ScriptedModel.text("b"), () => {
        throw new Error("not that")
      }),
      ScriptedModel.expecting(ScriptedModel.text("c"), () => Effect.fail("nor that"))
    ]))))

  const invalid: ModelRequest = { ...request, messages: [...request.messages, { role: "assistant", content: [] }] }

  it.effect("makes an invalid request a defect that names the rules", () =>
    Effect.gen(function*() {
      const defect = defectOf(yield* Effect.exit(ask(invalid)))
      expect(defect).toContain("Request 1 to the scripted model breaks rules")
      expect(defect).toContain("empty-message at messages[1]")
      expect(defect).toContain("last-input at messages[1]")
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.text("a")]))))

  it.effect("checks and keeps nothing where time is measured, and answers from a function", () =>
    Effect.gen(function*() {
      expect((yield* ask(invalid))[0]).toEqual(ModelDelta.TextDelta({ text: "0" }))
      expect((yield* ask(invalid))[0]).toEqual(ModelDelta.TextDelta({ text: "1" }))
      expect(yield* ScriptedModel.requests).toEqual([])
    }).pipe(Effect.provide(ScriptedModel.layerUnchecked((_, n) => ScriptedModel.text(String(n))))))

  it.effect("is the model that the options describe", () =>
    Effect.gen(function*() {
      const provider = yield* ModelProvider
      expect(yield* provider.model(undefined)).toMatchObject({
        provider: "p",
        id: "scripted-model",
        contextWindow: 10,
        prices: null
      })
      expect(yield* provider.model("m")).toMatchObject({ id: "m" })
    }).pipe(Effect.provide(ScriptedModel.layer([], { provider: "p", model: { contextWindow: 10 } }))))
})
