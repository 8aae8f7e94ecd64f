import { ModelProvider } from "@capstan/core/ModelProvider"
import * as OpenAiCompatible from "@capstan/openai/OpenAiCompatible"
import { serve, status, stream } from "@capstan/testing/LoopbackServer"
import { describe, expect, it } from "@effect/vitest"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { calls, collect, failed, request, textOf } from "./asking.js"

type Options = Partial<OpenAiCompatible.OpenAiCompatibleOptions>

const layer = (url: string, options: Options = {}) =>
  OpenAiCompatible.layer({
    model: "local",
    baseUrl: `${url}/v1`,
    retry: { attempts: 1 },
    ...options
  })

const chunk = (delta: unknown, finish_reason: string | null = null) => ({
  object: "chat.completion.chunk",
  model: "local-1",
  choices: [{ index: 0, delta, finish_reason }]
})
const call = (piece: object) => chunk({ tool_calls: [piece] })
const fn = (name: string, args: unknown) => ({ type: "function", function: { name, arguments: args } })

const streamed = (...events: ReadonlyArray<unknown>) =>
  Effect.flatMap(serve(stream(...events)), (server) => collect(layer(server.url)))

const oslo = `{"city":"Oslo"}`
const rome = `{"city":"Rome"}`

describe("OpenAiCompatible", () => {
  it.scopedLive("sends no key that was not given, schemas as they are, and the cap by its common name", () =>
    Effect.gen(function*() {
      const server = yield* serve(stream(chunk({ content: "Hi." }, "stop")))
      yield* collect(layer(server.url))
      yield* collect(layer(server.url, { apiKey: Redacted.make("own"), maxTokensField: "max_completion_tokens" }))
      expect(server.received[0]?.headers["authorization"]).toBeUndefined()
      expect(server.received[0]?.body).toMatchObject({
        model: "local",
        max_tokens: 200,
        tools: [{ function: { name: "get_weather", parameters: request.tools[0]?.parameters } }]
      })
      expect(JSON.stringify(server.received[0]?.body)).not.toMatch(/strict|tool_choice|max_completion_tokens/)
      expect(server.received[1]?.headers["authorization"]).toBe("Bearer own")
      expect(server.received[1]?.body).toMatchObject({ max_completion_tokens: 200 })
    }))

  it.scopedLive("takes calls whose arguments come whole, as text or as an object, and ids that are missing", () =>
    Effect.gen(function*() {
      const deltas = yield* streamed(
        call({ index: 0, ...fn("get_weather", oslo) }),
        call({ index: 1, id: "", ...fn("get_weather", { city: "Rome" }) }),
        chunk({}, "tool_calls")
      )
      expect(calls(deltas)).toEqual([
        { id: "", name: "get.weather", raw: oslo, arguments: { city: "Oslo" }, repairs: [] },
        { id: "", name: "get.weather", raw: rome, arguments: { city: "Rome" }, repairs: [] }
      ])
    }))

  it.scopedLive("tells calls apart that all have the index 0", () =>
    Effect.gen(function*() {
      const deltas = yield* streamed(
        call({ index: 0, id: "a", ...fn("get_weather", oslo) }),
        call({ index: 0, id: "b", ...fn("get_weather", rome) }),
        chunk({}, "stop")
      )
      expect(calls(deltas)).toMatchObject([{ id: "a", raw: oslo }, { id: "b", raw: rome }])
      expect(deltas.at(-1)).toMatchObject({ _tag: "Finish", reason: "tool-calls", usage: null })
    }))

  it.scopedLive("tells calls apart that all have the same id, or no index at all", () =>
    Effect.gen(function*() {
      const same = yield* streamed(
        call({ index: 0, id: "call_0", ...fn("get_weather", oslo) }),
        call({ index: 0, id: "call_0", ...fn("get_weather", rome) }),
        chunk({}, "tool_calls")
      )
      expect(calls(same)).toMatchObject([{ id: "call_0", raw: oslo }, { id: "call_0", raw: rome }])
      const bare = yield* streamed(
        chunk({ tool_calls: [fn("get_weather", oslo), fn("get_weather", rome)] }),
        chunk({}, "tool_calls")
      )
      expect(calls(bare)).toMatchObject([{ raw: oslo }, { raw: rome }])
      const interleaved = yield* streamed(
        call({ id: "a", ...fn("get_weather", "") }),
        call({ id: "b", ...fn("get_weather", "") }),
        call({ id: "a", function: { arguments: oslo } }),
        call({ id: "b", function: { arguments: rome } }),
        chunk({}, "tool_calls")
      )
      expect(calls(interleaved)).toMatchObject([{ id: "a", raw: oslo }, { id: "b", raw: rome }])
    }))

  it.scopedLive("takes a name that is repeated with every piece for one call", () =>
    Effect.gen(function*() {
      const deltas = yield* streamed(
        call({ index: 0, id: "a", ...fn("get_weather", "{\"city\":") }),
        call({ index: 0, id: "a", ...fn("get_weather", "\"Oslo\"}") }),
        chunk({}, "tool_calls")
      )
      expect(calls(deltas)).toMatchObject([{ id: "a", raw: oslo }])
    }))

  it.scopedLive("believes an answer without a finish reason, unless a call is not whole", () =>
    Effect.gen(function*() {
      const deltas = yield* streamed(call({ index: 0, id: "a", ...fn("get_weather", oslo) }))
      expect(deltas.at(-1)).toMatchObject({ _tag: "Finish", reason: "tool-calls", usage: null, model: "local-1" })
      const half = yield* serve(stream(call({ index: 0, id: "a", ...fn("get_weather", "{\"ci") })))
      expect(yield* failed(layer(half.url))).toMatchObject({ reason: "broken" })
    }))

  it.scopedLive("shows reasoning and keeps it under the name by which it came", () =>
    Effect.gen(function*() {
      for (const field of ["reasoning_content", "reasoning"]) {
        const deltas = yield* streamed(
          chunk({ [field]: "Hm" }),
          chunk({ [field]: "…" }),
          chunk({ content: "Hi." }),
          chunk({}, "stop")
        )
        expect(deltas).toMatchObject([
          { _tag: "ThinkingDelta", text: "Hm" },
          { _tag: "ThinkingDelta", text: "…" },
          {
            _tag: "Reasoning",
            part: { provider: "openai-compatible", text: "Hm…", data: JSON.stringify({ field, text: "Hm…" }) }
          },
          { _tag: "TextDelta", text: "Hi." },
          { _tag: "Finish", reason: "stop" }
        ])
      }
    }))

  it.scopedLive("reads content in parts, chunks with nulls and whole messages", () =>
    Effect.gen(function*() {
      const deltas = yield* streamed(
        { object: "chat.completion.chunk", choices: [], usage: null },
        { choices: [{ index: 0, delta: { content: null, tool_calls: null }, finish_reason: null }], usage: null },
        chunk({ content: [{ type: "text", text: "Hi" }, { type: "other" }] }),
        { choices: [{ index: 0, message: { content: " there." }, finish_reason: "stop" }] }
      )
      expect(textOf(deltas)).toBe("Hi there.")
    }))

  it.scopedLive("types a server that takes no tools", () =>
    Effect.gen(function*() {
      const server = yield* serve(status(400, { error: { message: "m does not support tools", code: 400 } }))
      expect(yield* failed(layer(server.url, { emulation: "never" }))).toMatchObject({
        reason: "unsupported",
        status: 400,
        message: expect.stringContaining("emulation")
      })
      expect(yield* failed(layer(server.url), { ...request, tools: [] })).toMatchObject({ reason: "bad-request" })
    }))

  it.scopedLive("describes the tools in the prompt from the moment a server refuses them", () =>
    Effect.gen(function*() {
      const said = "```json\n{\"name\": \"get.weather\", \"arguments\": {\"city\": \"Oslo\"}}\n```"
      const server = yield* serve(
        status(400, { error: { message: "m does not support tools" } }),
        stream(chunk({ content: said }, "stop"))
      )
      const twice = Effect.gen(function*() {
        const model = yield* ModelProvider
        return [yield* Stream.runCollect(model.stream(request)), yield* Stream.runCollect(model.stream(request))]
      })
      for (const deltas of yield* Effect.provide(twice, layer(server.url))) {
        expect(calls([...deltas])).toMatchObject([
          { name: "get.weather", arguments: { city: "Oslo" }, repairs: [{ kind: "emulated" }] }
        ])
      }
      expect(server.received.map(({ body }) => JSON.stringify(body).includes("\"tools\""))).toEqual([
        true,
        false,
        false
      ])
    }))

  it.scopedLive("reads calls that stand in the text, unless told otherwise", () =>
    Effect.gen(function*() {
      const said = "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n```"
      const server = yield* serve(
        stream(chunk({ content: said.slice(0, 20) }), chunk({ content: said.slice(20) }, "stop"))
      )
      const deltas = yield* collect(layer(server.url))
      expect(calls(deltas)).toMatchObject([{ id: "", name: "get_weather", arguments: { city: "Oslo" } }])
      expect(textOf(deltas)).toBe("")
      expect(deltas.at(-1)).toMatchObject({ _tag: "Finish", reason: "tool-calls" })
      expect(textOf(yield* collect(layer(server.url, { rescue: false })))).toBe(said)
    }))

  it.scopedLive.each(
    [
      [400, {
        error: { message: "the request exceeds the available context size", type: "exceed_context_size_error" }
      }],
      [400, { object: "error", message: "This model's maximum context length is 4096 tokens." }],
      [500, { error: "context length exceeded" }]
    ] as const
  )("types a full context: HTTP %s %j", ([code, body]) =>
    Effect.gen(function*() {
      const server = yield* serve(status(code, body))
      expect(yield* failed(layer(server.url))).toMatchObject({ reason: "context-length", status: code })
    }))

  it.scopedLive("reads an error in the form of a chunk", () =>
    Effect.gen(function*() {
      const server = yield* serve(stream({ object: "error", message: "out of memory" }))
      expect(yield* failed(layer(server.url))).toMatchObject({
        reason: "server",
        message: expect.stringContaining("out of memory")
      })
    }))

  it.effect("knows no prices of a server of one's own, and what its user says of it", () =>
    Effect.gen(function*() {
      const options = { baseUrl: "http://127.0.0.1:1/v1", model: "qwen3:8b" }
      const plain = yield* Effect.scoped(OpenAiCompatible.make(options))
      expect(yield* plain.model(undefined)).toMatchObject({
        provider: "openai-compatible",
        id: "qwen3:8b",
        prices: null
      })
      const told = yield* Effect.scoped(OpenAiCompatible.make({ ...options, capabilities: { contextWindow: 16_384 } }))
      expect(yield* told.model(undefined)).toMatchObject({ contextWindow: 16_384 })
    }))

  it.scopedLive("goes by the id that it was given, and by configuration", () =>
    Effect.gen(function*() {
      const server = yield* serve(status(401, { error: { message: "who?" } }))
      const configured = OpenAiCompatible.layerConfig({
        provider: "lab",
        baseUrl: Config.string("URL"),
        model: Config.string("MODEL"),
        apiKey: Config.redacted("LAB_KEY")
      })
      const error = yield* collect(configured).pipe(
        Effect.withConfigProvider(ConfigProvider.fromMap(
          new Map([["URL", `${server.url}/v1`], ["MODEL", "m"], ["LAB_KEY", "lab-key"]])
        )),
        Effect.flip
      )
      expect(error).toMatchObject({ reason: "authentication", provider: "lab" })
      expect(server.received[0]?.headers["authorization"]).toBe("Bearer lab-key")
    }))
})
