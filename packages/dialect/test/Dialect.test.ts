import { type Message, ModelDelta, ModelProvider } from "@capstan/core"
import { Dialect } from "@capstan/dialect"
import { describe, expect, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

const { ModelDelta: Delta } = ModelDelta

const readFile = {
  name: "read_file",
  description: "Reads a file. It has to exist.",
  parameters: {
    type: "object",
    properties: { path: { type: "string" }, kind: { enum: ["a", "b"] } },
    required: ["path"]
  }
}

const user = (text: string): Message.Message => ({ role: "user", content: [{ type: "text", text }] })
const called = (id: string, name: string): ReadonlyArray<Message.Message> => [
  { role: "assistant", content: [{ type: "tool-call", id, name, arguments: "{\"path\":\"a\"}" }] },
  {
    role: "tool",
    results: [{ type: "tool-result", id, name, content: [{ type: "text", text: "contents" }], isError: false }]
  }
]

const request = (changes: Partial<ModelProvider.ModelRequest> = {}): ModelProvider.ModelRequest => ({
  model: "m",
  instructions: "Be brief.",
  messages: [user("hello")],
  tools: [readFile],
  toolChoice: "auto",
  maxOutputTokens: undefined,
  ...changes
})

const finish = (reason: ModelDelta.FinishReason = "stop") => Delta.Finish({ reason, usage: null, model: "m" })
const text = (...pieces: ReadonlyArray<string>) => pieces.map((piece) => Delta.TextDelta({ text: piece }))
const nativeCall = (raw: string, parsed: Readonly<Record<string, unknown>> | null, malformed?: string) => [
  Delta.ToolCallStart({ index: 0, id: "x", name: "read_file" }),
  Delta.ToolCallEnd({
    index: 0,
    call: {
      id: "x",
      name: "read_file",
      raw,
      arguments: parsed,
      ...(malformed === undefined ? {} : { malformed }),
      repairs: []
    }
  })
]

const answering = (...answers: ReadonlyArray<ReadonlyArray<ModelDelta.ModelDelta> | ModelProvider.ModelError>) => {
  const requests: Array<ModelProvider.ModelRequest> = []
  return {
    requests,
    provider: {
      model: () => Effect.succeed({ provider: "p", id: "m", contextWindow: null, maxOutput: null, prices: null }),
      stream: (sent: ModelProvider.ModelRequest) => {
        const answer = answers[Math.min(requests.length, answers.length - 1)] ?? []
        requests.push(sent)
        return answer instanceof ModelProvider.ModelError ? Stream.fail(answer) : Stream.fromIterable(answer)
      }
    }
  }
}

const ask = (
  answer: ReadonlyArray<ModelDelta.ModelDelta>,
  options: { readonly rescue?: boolean; readonly request?: Partial<ModelProvider.ModelRequest> } = {}
) =>
  Dialect.decorate(answering(answer).provider, { rescue: options.rescue ?? true }).stream(request(options.request))
    .pipe(
      Stream.runCollect,
      Effect.map((deltas) => {
        const list = Chunk.toReadonlyArray(deltas)
        return {
          list,
          tags: list.map((delta) => delta._tag),
          text: list.map((delta) => delta._tag === "TextDelta" ? delta.text : "").join(""),
          thinking: list.map((delta) => delta._tag === "ThinkingDelta" ? delta.text : "").join(""),
          calls: list.flatMap((delta) => delta._tag === "ToolCallEnd" ? [delta.call] : []),
          reason: list.flatMap((delta) => delta._tag === "Finish" ? [delta.reason] : [])[0]
        }
      })
    )

const json = "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}"
const invented = "{\"name\": \"run_tests\", \"arguments\": {}}"

describe("Dialect.decorate repairs native calls", () => {
  it.effect("whose arguments are not JSON", () =>
    Effect.gen(function*() {
      const { calls } = yield* ask([...nativeCall("{'path': 'a',}", null, "not JSON"), finish("tool-calls")], {
        rescue: false
      })
      expect(calls).toEqual([{
        id: "x",
        name: "read_file",
        raw: "{'path': 'a',}",
        arguments: { path: "a" },
        repairs: [
          expect.objectContaining({ kind: "single-quotes" }),
          expect.objectContaining({ kind: "trailing-comma" })
        ]
      }])
    }))

  it.effect("whose arguments stand in a wrapper", () =>
    Effect.gen(function*() {
      const { calls } = yield* ask([
        ...nativeCall("{\"arguments\":{\"path\":\"a\"}}", { arguments: { path: "a" } }),
        finish("tool-calls")
      ])
      expect(calls).toMatchObject([{ arguments: { path: "a" }, repairs: [{ kind: "wrapped-twice" }] }])
    }))

  it.effect("and says why when it cannot", () =>
    Effect.gen(function*() {
      const { calls } = yield* ask([...nativeCall("{path = a}", null, "not JSON"), finish("tool-calls")])
      expect(calls[0]).toMatchObject({ arguments: null, malformed: expect.stringContaining("not JSON") })
    }))

  it.effect("which say null for what they leave out", () =>
    Effect.gen(function*() {
      const args = { path: "a", kind: null }
      const { calls } = yield* ask([...nativeCall(JSON.stringify(args), args), finish("tool-calls")])
      expect(calls[0]).toMatchObject({ arguments: { path: "a" }, repairs: [{ kind: "null-dropped" }] })
      expect(calls[0]?.arguments).not.toHaveProperty("kind")
      const required = { path: null }
      const kept = yield* ask([...nativeCall(JSON.stringify(required), required), finish("tool-calls")])
      expect(kept.calls[0]).toMatchObject({ arguments: { path: null }, repairs: [] })
    }))

  it.effect("but never one that was cut off", () =>
    Effect.gen(function*() {
      const { calls } = yield* ask([...nativeCall("{\"path\": \"a", null, "cut off: the limit"), finish("length")])
      expect(calls[0]).toMatchObject({ arguments: null, malformed: "cut off: the limit" })
    }))
})

describe("Dialect.decorate with rescue", () => {
  it.effect("makes deltas of a call in text, and keeps the text before it streaming", () =>
    Effect.gen(function*() {
      const { calls, list, reason, tags, text: rest } = yield* ask([
        ...text("I lo", "ok. ", json.slice(0, 20), json.slice(20), "\n"),
        finish()
      ])
      expect(tags).toEqual(["TextDelta", "TextDelta", "ToolCallStart", "ToolCallDelta", "ToolCallEnd", "Finish"])
      expect(list[0]).toEqual(Delta.TextDelta({ text: "I lo" }))
      expect(rest).toBe("I look. ")
      expect(calls).toEqual([{
        id: "",
        name: "read_file",
        raw: "{\"path\":\"a\"}",
        arguments: { path: "a" },
        repairs: [{ kind: "rescued", detail: expect.stringContaining(json) }]
      }])
      expect(reason).toBe("tool-calls")
    }))

  it.effect("numbers several calls and keeps text behind them", () =>
    Effect.gen(function*() {
      const { list, text: rest } = yield* ask([...text(json, json, " That is all."), finish()])
      expect(list.flatMap((delta) => delta._tag === "ToolCallEnd" ? [delta.index] : [])).toEqual([0, 1])
      expect(rest).toBe(" That is all.")
    }))

  it.effect("leaves text alone when a native call comes", () =>
    Effect.gen(function*() {
      const { calls, text: rest } = yield* ask([
        ...text(`Like ${json} or {`),
        ...nativeCall("{\"path\":\"b\"}", { path: "b" }),
        ...text(json),
        finish("tool-calls")
      ])
      expect(rest).toBe(`Like ${json} or {${json}`)
      expect(calls).toHaveLength(1)
      expect(calls[0]?.id).toBe("x")
    }))

  it.effect("does nothing to text without rescue", () =>
    Effect.gen(function*() {
      const { calls, text: rest } = yield* ask([...text(json), finish()], { rescue: false })
      expect(rest).toBe(json)
      expect(calls).toEqual([])
    }))

  it.effect("calls nothing when no call was wanted or the model refused", () =>
    Effect.gen(function*() {
      expect(yield* ask([...text(json), finish()], { request: { toolChoice: "none" } })).toMatchObject({
        text: json,
        calls: []
      })
      expect(yield* ask([...text(json), finish("refusal")])).toMatchObject({ text: json, calls: [], reason: "refusal" })
    }))

  it.effect("turns reasoning in text into thinking", () =>
    Effect.gen(function*() {
      const answer = yield* ask([...text("<thi", `nk>${json} ...`, "</think>\nYes."), finish()])
      expect(answer).toMatchObject({ thinking: `${json} ...`, text: "\nYes.", calls: [], reason: "stop" })
    }))

  it.effect("never completes a call that the limit of the answer cut off", () =>
    Effect.gen(function*() {
      const { calls, reason } = yield* ask([...text(json, "\n", json.slice(0, -5)), finish("length")])
      expect(calls).toMatchObject([{ arguments: { path: "a" } }, {
        arguments: null,
        malformed: expect.stringContaining("cut off")
      }])
      expect(reason).toBe("length")
    }))

  it.effect("gives out an answer that is nothing but an invented call, twice in a turn", () =>
    Effect.gen(function*() {
      const answer = [...text(invented), finish()]
      expect((yield* ask(answer)).calls).toMatchObject([{ name: "run_tests", arguments: {} }])
      const once = { messages: [user("x"), ...called("1", "run_tests")] }
      expect((yield* ask(answer, { request: once })).calls).toHaveLength(1)
      const twice = { messages: [user("x"), ...called("1", "run_tests"), ...called("2", "run_it")] }
      expect(yield* ask(answer, { request: twice })).toMatchObject({ calls: [], text: invented, reason: "stop" })
      const before = { messages: [user("x"), ...called("1", "run_tests"), ...called("2", "run_it"), user("y")] }
      expect((yield* ask(answer, { request: before })).calls).toHaveLength(1)
    }))

  it.effect("passes text on when no tools were offered", () =>
    Effect.gen(function*() {
      expect(yield* ask([...text(invented), finish()], { request: { tools: [] } })).toMatchObject({
        calls: [],
        text: invented
      })
    }))
})

describe("Dialect.decorate with emulation", () => {
  const conversation = request({ messages: [user("hello"), ...called("1", "read_file"), user("go on")] })

  it.effect("describes tools in the prompt and reads calls from text", () =>
    Effect.gen(function*() {
      const { provider, requests } = answering([...text(json), finish()])
      const deltas = yield* Stream.runCollect(
        Dialect.decorate(provider, { rescue: false, emulation: "always", prompt: { style: "xml" } }).stream(
          conversation
        )
      )
      expect(Chunk.toReadonlyArray(deltas).flatMap((delta) => delta._tag === "ToolCallEnd" ? [delta.call] : []))
        .toMatchObject([{ name: "read_file", repairs: [{ kind: "emulated" }] }])
      const [sent] = requests
      expect(sent?.tools).toEqual([])
      expect(sent?.instructions).toMatch(/^Be brief\.\n\n[\s\S]*<tool_call>[\s\S]*Reads a file/)
      expect(sent?.messages).toEqual([
        user("hello"),
        {
          role: "assistant",
          content: [{
            type: "text",
            text: "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\":\"a\"}}\n</tool_call>"
          }]
        },
        {
          role: "user",
          content: [{ type: "text", text: "Result of read_file:" }, { type: "text", text: "contents" }, {
            type: "text",
            text: "go on"
          }]
        }
      ])
    }))

  it.effect("begins when the service refuses tools, and remembers it", () =>
    Effect.gen(function*() {
      const refusal = new ModelProvider.ModelError({ reason: "unsupported", provider: "p", message: "no tools" })
      const { provider, requests } = answering(refusal, [...text("Hi."), finish()])
      const decorated = Dialect.decorate(provider, { rescue: true, emulation: "when-refused" })
      yield* Stream.runDrain(decorated.stream(request()))
      yield* Stream.runDrain(decorated.stream(request()))
      expect(requests.map((sent) => sent.tools.length)).toEqual([1, 0, 0])
    }))

  it.effect("leaves other errors alone", () =>
    Effect.gen(function*() {
      const broken = new ModelProvider.ModelError({ reason: "server", provider: "p", message: "down" })
      const { provider, requests } = answering(broken)
      const error = yield* Effect.flip(
        Stream.runDrain(Dialect.decorate(provider, { rescue: true, emulation: "when-refused" }).stream(request()))
      )
      expect(error.reason).toBe("server")
      expect(requests).toHaveLength(1)
    }))
})

describe("Dialect.layer", () => {
  it.effect("decorates the provider of a layer", () =>
    Effect.gen(function*() {
      const provider = yield* ModelProvider.ModelProvider
      const deltas = yield* Stream.runCollect(provider.stream(request()))
      expect(Chunk.toReadonlyArray(deltas).some((delta) => delta._tag === "ToolCallEnd")).toBe(true)
      expect(yield* provider.model(undefined)).toMatchObject({ id: "m" })
    }).pipe(
      Effect.provide(Dialect.layer({ rescue: true })),
      Effect.provideService(ModelProvider.ModelProvider, answering([...text(json), finish()]).provider)
    ))
})
