import * as Anthropic from "@capstan/anthropic/Anthropic"
import type { Message } from "@capstan/core/Message"
import type { ModelDelta } from "@capstan/core/ModelDelta"
import { ModelProvider, type ModelRequest } from "@capstan/core/ModelProvider"
import {
  closedPort,
  drop,
  dropAfter,
  events,
  type Handler,
  hang,
  serve,
  status,
  stream
} from "@capstan/testing/LoopbackServer"
import { LLMock } from "@copilotkit/aimock"
import { describe, expect, it, vi } from "@effect/vitest"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"

const request: ModelRequest = {
  model: undefined,
  instructions: "Be brief.",
  messages: [{ role: "user", content: [{ type: "text", text: "weather in Oslo and Rome?" }] }],
  tools: [{
    name: "get.weather",
    description: "Weather",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
  }],
  toolChoice: "auto",
  maxOutputTokens: 200
}

type Options = Partial<Anthropic.AnthropicOptions>

const layerFor = (baseUrl: string, options: Options = {}) =>
  Anthropic.layer({
    apiKey: Redacted.make("secret-key"),
    model: "claude-test",
    baseUrl,
    retry: { baseMillis: 1, maxDelayMillis: 5 },
    ...options
  })

const answer = (request: ModelRequest) => Stream.unwrap(Effect.map(ModelProvider, (model) => model.stream(request)))

const collect = (baseUrl: string, options?: Options, asked: ModelRequest = request) =>
  Stream.runCollect(answer(asked)).pipe(
    Effect.map((chunk) => [...chunk]),
    Effect.provide(layerFor(baseUrl, options))
  )

const failed = (baseUrl: string, options?: Options) => Effect.flip(collect(baseUrl, options))

const calls = (deltas: ReadonlyArray<ModelDelta>) =>
  deltas.flatMap((delta) => delta._tag === "ToolCallEnd" ? [delta.call] : [])

const textOf = (deltas: ReadonlyArray<ModelDelta>) =>
  deltas.map((delta) => delta._tag === "TextDelta" ? delta.text : "").join("")

const start = {
  type: "message_start",
  message: {
    id: "msg_1",
    model: "claude-test-1",
    role: "assistant",
    content: [],
    usage: { input_tokens: 10, cache_read_input_tokens: 5, cache_creation_input_tokens: 3, output_tokens: 1 }
  }
}
const block = (index: number, content_block: unknown) => ({ type: "content_block_start", index, content_block })
const delta = (index: number, delta: unknown) => ({ type: "content_block_delta", index, delta })
const blockEnd = (index: number) => ({ type: "content_block_stop", index })
const text = (index: number, text: string) => [
  block(index, { type: "text", text: "" }),
  delta(index, { type: "text_delta", text }),
  blockEnd(index)
]
const tool = (index: number, id: string, json: string) => [
  block(index, { type: "tool_use", id, name: "get_weather", input: {} }),
  delta(index, { type: "input_json_delta", partial_json: json }),
  blockEnd(index)
]
const stop = (stop_reason: string, more: object = {}) => [
  { type: "message_delta", delta: { stop_reason, ...more }, usage: { output_tokens: 42 } },
  { type: "message_stop" }
]

/**
 * Interrupts an answer once it stands still, and fails unless the server sees the end within 100 ms. A busy machine may need
 * another try; an answer that hangs fails all of them.
 */
const closesAtOnce = (handler: typeof hang, ...events: ReadonlyArray<unknown>) =>
  Effect.gen(function*() {
    const closed = yield* Deferred.make<void>()
    const arrived = yield* Deferred.make<void>()
    const server = yield* serve((response, received) => {
      handler(() => Effect.runSync(Deferred.succeed(closed, undefined)), ...events)(response, received)
      if (events.length === 0) Effect.runSync(Deferred.succeed(arrived, undefined))
    })
    const fiber = yield* answer(request).pipe(
      Stream.runForEach(() => Deferred.succeed(arrived, undefined)),
      Effect.provide(layerFor(server.url)),
      Effect.fork
    )
    yield* Deferred.await(arrived)
    yield* Fiber.interrupt(fiber).pipe(Effect.zipRight(Deferred.await(closed)), Effect.timeout("100 millis"))
  }).pipe(Effect.scoped, Effect.retry({ times: 4 }))

const mocked = Effect.acquireRelease(
  Effect.promise(async () => {
    const mock = new LLMock({ port: 0 })
    await mock.start()
    return mock
  }),
  (mock) => Effect.promise(() => mock.stop())
)

describe("Anthropic", () => {
  it.scopedLive("streams a conversation with two tools", () =>
    Effect.gen(function*() {
      const mock = yield* mocked
      mock.on({ userMessage: /weather/, hasToolResult: false }, {
        content: "Let me see.",
        toolCalls: [
          { id: "toolu_1", name: "get_weather", arguments: `{"city":"Oslo"}` },
          { id: "toolu_2", name: "get_weather", arguments: `{"city":"Rome"}` }
        ]
      })
      mock.on({ hasToolResult: true }, { content: "Rain in Oslo, sun in Rome." })

      const first = yield* collect(mock.url)
      expect(textOf(first)).toBe("Let me see.")
      expect(calls(first)).toEqual([
        { id: "toolu_1", name: "get.weather", raw: `{"city":"Oslo"}`, arguments: { city: "Oslo" }, repairs: [] },
        { id: "toolu_2", name: "get.weather", raw: `{"city":"Rome"}`, arguments: { city: "Rome" }, repairs: [] }
      ])
      expect(first.at(-1)).toMatchObject({ _tag: "Finish", reason: "tool-calls" })

      const results: ReadonlyArray<Message> = [
        {
          role: "assistant",
          content: [
            { type: "text", text: textOf(first) },
            ...calls(first).map((call) => ({
              type: "tool-call" as const,
              id: call.id,
              name: call.name,
              arguments: call.raw
            }))
          ]
        },
        {
          role: "tool",
          results: calls(first).map((call) => ({
            type: "tool-result" as const,
            id: call.id,
            name: call.name,
            content: [{ type: "text" as const, text: "rain" }],
            isError: false
          }))
        }
      ]
      const second = yield* collect(mock.url, {}, { ...request, messages: [...request.messages, ...results] })
      expect(textOf(second)).toBe("Rain in Oslo, sun in Rome.")
      expect(second.at(-1)).toMatchObject({ _tag: "Finish", reason: "stop" })
    }))

  it.scopedLive("waits as long as a 429 asks", () =>
    Effect.gen(function*() {
      const mock = yield* mocked
      mock.on({ userMessage: /weather/, sequenceIndex: 0 }, {
        error: { message: "slow down", type: "rate_limit_error" },
        status: 429,
        retryAfter: 1
      })
      mock.on({ userMessage: /weather/ }, { content: "ok" })
      const deltas = yield* collect(mock.url)
      expect(deltas[0]).toMatchObject({ _tag: "Retry", attempt: 1, delayMillis: 1_000 })
      expect(textOf(deltas)).toBe("ok")
    }))

  it.scopedLive("keeps thinking with its signature, and counts usage", () =>
    Effect.gen(function*() {
      const server = yield* serve(stream(
        start,
        { type: "ping" },
        block(0, { type: "thinking", thinking: "", signature: "" }),
        delta(0, { type: "thinking_delta", thinking: "Hm " }),
        delta(0, { type: "thinking_delta", thinking: "é." }),
        delta(0, { type: "signature_delta", signature: "c2ln" }),
        blockEnd(0),
        block(1, { type: "redacted_thinking", data: "b3BhcXVl" }),
        blockEnd(1),
        ...text(2, "Hi."),
        ...stop("end_turn")
      ))
      const deltas = yield* collect(server.url)
      expect(deltas).toEqual([
        { _tag: "ThinkingDelta", text: "Hm " },
        { _tag: "ThinkingDelta", text: "é." },
        {
          _tag: "Reasoning",
          part: {
            type: "reasoning",
            provider: "anthropic",
            text: "Hm é.",
            data: `{"type":"thinking","thinking":"Hm é.","signature":"c2ln"}`
          }
        },
        {
          _tag: "Reasoning",
          part: {
            type: "reasoning",
            provider: "anthropic",
            text: "",
            data: `{"type":"redacted_thinking","data":"b3BhcXVl"}`
          }
        },
        { _tag: "TextDelta", text: "Hi." },
        {
          _tag: "Finish",
          reason: "stop",
          usage: { input: 18, output: 42, cacheRead: 5, cacheWrite: 3, reasoning: 0 },
          model: "claude-test-1"
        }
      ].map((delta) => expect.objectContaining(delta)))
    }))

  it.scopedLive("marks the call that the limit cut off, not the one before it", () =>
    Effect.gen(function*() {
      const server = yield* serve(stream(
        start,
        ...tool(0, "a", `{"city":"Oslo"}`),
        ...tool(1, "b", `{"city":"Ro`),
        ...stop("max_tokens")
      ))
      const deltas = yield* collect(server.url)
      expect(calls(deltas)).toMatchObject([
        { id: "a", arguments: { city: "Oslo" } },
        { id: "b", raw: `{"city":"Ro`, arguments: null, malformed: expect.stringMatching(/^cut off/) }
      ])
      expect(deltas.at(-1)).toMatchObject({ _tag: "Finish", reason: "length" })
    }))

  it.scopedLive("repairs bad JSON and says so, keeps what cannot be read, and takes no text for no arguments", () =>
    Effect.gen(function*() {
      const server = yield* serve(stream(
        start,
        ...tool(0, "a", `{"city": Oslo}`),
        ...tool(1, "b", ""),
        block(2, { type: "tool_use", id: "c", name: "get_weather", input: { city: "Rome" } }),
        blockEnd(2),
        ...tool(3, "d", "Oslo, please"),
        ...stop("tool_use")
      ))
      expect(calls(yield* collect(server.url))).toMatchObject([
        { id: "a", raw: `{"city": Oslo}`, arguments: { city: "Oslo" }, repairs: [{}] },
        { id: "b", raw: "", arguments: {} },
        { id: "c", raw: `{"city":"Rome"}`, arguments: { city: "Rome" }, repairs: [] },
        { id: "d", raw: "Oslo, please", arguments: null, malformed: expect.any(String) }
      ])
    }))

  it.scopedLive.each([
    ["refusal", "refusal"],
    ["model_context_window_exceeded", "length"],
    ["stop_sequence", "stop"],
    ["pause_turn", "other"]
  ])("reads the stop reason %s", ([stopReason, reason]) =>
    Effect.gen(function*() {
      const server = yield* serve(stream(start, ...text(0, "Hm."), ...stop(stopReason ?? "")))
      expect((yield* collect(server.url)).at(-1)).toMatchObject({ _tag: "Finish", reason })
    }))

  it.scopedLive("says why the service refused", () =>
    Effect.gen(function*() {
      const server = yield* serve(stream(start, ...stop("refusal", { stop_details: { explanation: "Not this." } })))
      expect(textOf(yield* collect(server.url))).toBe("Not this.")
    }))

  it.scopedLive("tries again when the connection drops before the first token", () =>
    Effect.gen(function*() {
      const server = yield* serve(drop, dropAfter(start), stream(start, ...text(0, "Hi."), ...stop("end_turn")))
      const deltas = yield* collect(server.url)
      expect(deltas.map((delta) => delta._tag)).toEqual(["Retry", "Retry", "TextDelta", "Finish"])
      expect(server.received).toHaveLength(3)
    }))

  it.scopedLive("is broken when the connection drops after it", () =>
    Effect.gen(function*() {
      const server = yield* serve(dropAfter(start, ...text(0, "Hi.")))
      expect(yield* failed(server.url)).toMatchObject({ reason: "broken", provider: "anthropic", attempts: 1 })
      expect(server.received).toHaveLength(1)
    }))

  it.scopedLive("is broken when the service ends the answer in the middle, by an error or without a word", () =>
    Effect.gen(function*() {
      const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }
      const server = yield* serve(stream(start, ...text(0, "Hi."), overloaded), stream(start, ...text(0, "Hi.")))
      expect(yield* failed(server.url)).toMatchObject({
        reason: "broken",
        message: expect.stringContaining("Overloaded")
      })
      expect(yield* failed(server.url)).toMatchObject({ reason: "broken" })
    }))

  it.scopedLive("tries again when an error is all that the stream holds", () =>
    Effect.gen(function*() {
      const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }
      const server = yield* serve(stream(overloaded), stream(start, ...text(0, "Hi."), ...stop("end_turn")))
      expect(textOf(yield* collect(server.url))).toBe("Hi.")
    }))

  it.live("closes the socket within 100 ms of an interruption, in the middle of an answer and before it", () =>
    Effect.gen(function*() {
      yield* closesAtOnce(hang, start, ...text(0, "Hi."))
      yield* closesAtOnce(hang)
      yield* closesAtOnce((closed) => (response) => response.on("close", closed))
    }))

  it.scopedLive("says which wait was too long", () =>
    Effect.gen(function*() {
      const server = yield* serve(hang(() => undefined), hang(() => undefined, start, ...text(0, "Hi.")))
      const timeouts = { firstTokenMillis: 60, silenceMillis: 50 }
      expect(yield* failed(server.url, { timeouts })).toMatchObject({
        reason: "timeout",
        message: expect.stringContaining("60 ms for the first token")
      })
      expect(yield* failed(server.url, { timeouts })).toMatchObject({
        reason: "timeout",
        message: expect.stringContaining("silent for 50 ms")
      })
    }))

  it.scopedLive.each(
    [
      [401, "authentication_error", "authentication"],
      [403, "permission_error", "permission"],
      [404, "not_found_error", "not-found"],
      [413, "request_too_large", "context-length"],
      [429, "rate_limit_error", "rate-limit"],
      [500, "api_error", "server"],
      [529, "overloaded_error", "overloaded"]
    ] as const
  )("types HTTP %s %s", ([code, type, reason]) =>
    Effect.gen(function*() {
      const server = yield* serve(status(code, { type: "error", error: { type, message: "The words." } }))
      const error = yield* failed(server.url, { retry: { attempts: 2, baseMillis: 1 } })
      expect(error).toMatchObject({ reason, status: code, provider: "anthropic" })
      expect(error.message).toContain("The words.")
      expect(error.attempts).toBe(code === 429 || code >= 500 ? 2 : 1)
    }))

  it.scopedLive("names a URL where nothing answers", () =>
    Effect.gen(function*() {
      const url = yield* closedPort
      expect(yield* failed(url)).toMatchObject({
        reason: "unreachable",
        attempts: 1,
        message: expect.stringContaining(`${url}: connection refused. Start the server`)
      })
    }))

  it.scopedLive("cannot read malformed events and answers of another protocol", () =>
    Effect.gen(function*() {
      const page: Handler = (response) => response.end("<html></html>")
      const server = yield* serve(
        stream(start, `{"type": "content_block_delta", `),
        stream(start, { type: "content_block_delta", index: "zero" }),
        stream(start, delta(3, { type: "text_delta", text: "x" })),
        page
      )
      for (let count = 0; count < 4; count++) {
        expect(yield* failed(server.url)).toMatchObject({ reason: "bad-response" })
      }
    }))

  it.scopedLive("follows no redirect with the key", () =>
    Effect.gen(function*() {
      const elsewhere = yield* serve(stream(start, ...stop("end_turn")))
      const server = yield* serve(status(307, {}, { location: `${elsewhere.url}/v1/messages` }))
      expect(yield* failed(server.url)).toMatchObject({
        reason: "unreachable",
        message: expect.stringContaining("Redirects are not followed")
      })
      expect(elsewhere.received).toEqual([])
    }))

  it.scopedLive("sends its own key and headers, and nothing of the environment", () =>
    Effect.gen(function*() {
      const server = yield* serve(stream(start, ...text(0, "Hi."), ...stop("end_turn")))
      const variables = {
        ANTHROPIC_API_KEY: "leak-key",
        ANTHROPIC_AUTH_TOKEN: "leak-token",
        ANTHROPIC_BASE_URL: "http://127.0.0.1:1",
        ANTHROPIC_CUSTOM_HEADERS: "x-api-key: leak-header\nX-Leak: leak-custom"
      }
      yield* Effect.acquireUseRelease(
        Effect.sync(() => Object.assign(process.env, variables)),
        () => collect(server.url, { headers: { "x-own": "1" } }),
        () => Effect.sync(() => Object.keys(variables).forEach((name) => delete process.env[name]))
      )
      const { headers, path } = server.received[0] ?? { headers: {}, path: "" }
      expect(path).toBe("/v1/messages")
      expect(headers).toMatchObject({
        "x-api-key": "secret-key",
        "x-own": "1",
        "anthropic-version": expect.any(String)
      })
      expect(JSON.stringify(headers)).not.toContain("leak")
    }))

  it.scopedLive("knows of a model what the catalogue knows, and caps answers by it", () =>
    Effect.gen(function*() {
      const server = yield* serve(stream(start, ...text(0, "Hi."), ...stop("end_turn")))
      const provider = yield* Anthropic.make({
        apiKey: Redacted.make("k"),
        model: "claude-sonnet-4-5",
        baseUrl: server.url,
        capabilities: { contextWindow: 1_000 }
      })
      expect(yield* provider.model(undefined)).toMatchObject({
        provider: "anthropic",
        id: "claude-sonnet-4-5",
        contextWindow: 1_000,
        maxOutput: 64_000,
        prices: { input: expect.any(Number), source: expect.any(String) }
      })
      const warn = vi.spyOn(console, "warn")
      yield* Stream.runDrain(provider.stream({ ...request, maxOutputTokens: undefined }))
      expect(warn).not.toHaveBeenCalled()
      yield* Stream.runDrain(provider.stream({ ...request, model: "mystery-9", maxOutputTokens: undefined }))
      expect(server.received).toMatchObject([{ body: { max_tokens: 64_000 } }, { body: { max_tokens: 8_192 } }])
    }))

  it.effect("gives the vendor's key from the environment to the vendor's host only", () =>
    Effect.gen(function*() {
      const build = (options: { readonly baseUrl?: string; readonly apiKey?: string }) =>
        Layer.build(Anthropic.layerConfig({
          model: Config.string("MODEL"),
          ...(options.baseUrl === undefined ? {} : { baseUrl: Config.succeed(options.baseUrl) }),
          ...(options.apiKey === undefined ? {} : { apiKey: Config.redacted(options.apiKey) })
        })).pipe(
          Effect.scoped,
          Effect.withConfigProvider(ConfigProvider.fromMap(
            new Map([["MODEL", "m"], ["ANTHROPIC_API_KEY", "k"], ["OTHER_KEY", "o"]])
          )),
          Effect.either
        )
      expect((yield* build({}))._tag).toBe("Right")
      expect((yield* build({ baseUrl: "https://api.anthropic.com/" }))._tag).toBe("Right")
      expect((yield* build({ baseUrl: "http://127.0.0.1:8090", apiKey: "OTHER_KEY" }))._tag).toBe("Right")
      for (
        const baseUrl of ["http://127.0.0.1:8090", "https://api.anthropic.com.evil.example", "http://api.anthropic.com"]
      ) {
        const refused = yield* build({ baseUrl })
        expect(refused._tag === "Left" ? String(refused.left) : "").toContain("a key of its own")
      }
    }))

  it.scopedLive("reads an answer however its bytes are cut", () =>
    Effect.gen(function*() {
      const bytes = Buffer.from(
        events(start, ...text(0, "grüß 👋"), ...tool(1, "a", `{"city":"Zürich"}`), ...stop("tool_use"))
      )
      const server = yield* serve((response) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7))
        response.end()
      })
      const deltas = yield* collect(server.url)
      expect(textOf(deltas)).toBe("grüß 👋")
      expect(calls(deltas)).toMatchObject([{ arguments: { city: "Zürich" } }])
    }))
})
