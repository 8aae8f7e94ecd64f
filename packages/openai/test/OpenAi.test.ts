import type { ModelProvider, ModelRequest } from "@capstan/core/ModelProvider"
import * as OpenAi from "@capstan/openai/OpenAi"
import { closedPort, drop, dropAfter, events, hang, serve, status, stream } from "@capstan/testing/LoopbackServer"
import { describe, expect, it } from "@effect/vitest"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as net from "node:net"
import { answer, calls, collect, failed, following, mocked, request, textOf } from "./asking.js"

type Options = Partial<OpenAi.OpenAiOptions>

const optionsFor = (url: string, options: Options) => ({
  apiKey: Redacted.make("secret-key"),
  model: "gpt-4o",
  baseUrl: `${url}/v1`,
  retry: { baseMillis: 1, maxDelayMillis: 5 },
  ...options
})

const chunk = (delta: unknown, more: object = {}) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  model: "gpt-test-1",
  choices: [{ index: 0, delta, finish_reason: null, ...more }]
})
const chatUsage = {
  object: "chat.completion.chunk",
  model: "gpt-test-1",
  choices: [],
  usage: {
    prompt_tokens: 20,
    completion_tokens: 7,
    prompt_tokens_details: { cached_tokens: 16 },
    completion_tokens_details: { reasoning_tokens: 4 }
  }
}
const itemAdded = (output_index: number, item: object) => ({ type: "response.output_item.added", output_index, item })
const itemDone = (output_index: number, item: object) => ({ type: "response.output_item.done", output_index, item })
const functionCall = (output_index: number, call_id: string, json: string) => {
  const item = { id: `fc_${output_index}`, type: "function_call", call_id, name: "get_weather" }
  return [
    itemAdded(output_index, { ...item, arguments: "" }),
    { type: "response.function_call_arguments.delta", output_index, item_id: item.id, delta: json },
    itemDone(output_index, { ...item, arguments: json })
  ]
}
const created = { type: "response.created", response: { id: "resp_1", model: "gpt-test-1", status: "in_progress" } }
const outcome = (type: string, more: object = {}) => ({
  type,
  response: {
    id: "resp_1",
    model: "gpt-test-1",
    usage: {
      input_tokens: 20,
      output_tokens: 7,
      input_tokens_details: { cached_tokens: 16 },
      output_tokens_details: { reasoning_tokens: 4 }
    },
    ...more
  }
})

const usage = { input: 20, output: 7, cacheRead: 16, cacheWrite: 0, reasoning: 4 }

/** What both wires have in common, each in its own events. */
const wires = [
  {
    name: "Responses",
    layer: (url: string, options: Options = {}) => OpenAi.layerResponses(optionsFor(url, options)),
    path: "/v1/responses",
    greeting: [created, { type: "response.output_text.delta", output_index: 0, delta: "Hi." }],
    end: [outcome("response.completed")],
    twoCalls: (
      first: string,
      second: string
    ) => [created, ...functionCall(0, "a", first), ...functionCall(1, "b", second)],
    cut: [outcome("response.incomplete", { incomplete_details: { reason: "max_output_tokens" } })],
    refused: [
      { type: "response.refusal.delta", output_index: 0, delta: "Not this." },
      outcome("response.completed")
    ],
    filtered: [outcome("response.incomplete", { incomplete_details: { reason: "content_filter" } })],
    fault: { type: "error", code: "server_is_overloaded", message: "Overloaded" },
    misshapen: { type: "response.output_text.delta", delta: 7 }
  },
  {
    name: "Chat",
    layer: (url: string, options: Options = {}) => OpenAi.layerChat(optionsFor(url, options)),
    path: "/v1/chat/completions",
    greeting: [chunk({ role: "assistant", content: "" }), chunk({ content: "Hi." })],
    end: [chunk({}, { finish_reason: "stop" }), chatUsage, "[DONE]"],
    twoCalls: (first: string, second: string) => [
      chunk({
        tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "get_weather", arguments: "" } }]
      }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: first.slice(0, 4) } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: first.slice(4) } }] }),
      chunk({
        tool_calls: [{ index: 1, id: "b", type: "function", function: { name: "get_weather", arguments: second } }]
      })
    ],
    cut: [chunk({}, { finish_reason: "length" }), chatUsage, "[DONE]"],
    refused: [chunk({ refusal: "Not this." }), chunk({}, { finish_reason: "stop" }), chatUsage, "[DONE]"],
    filtered: [chunk({}, { finish_reason: "content_filter" }), chatUsage, "[DONE]"],
    fault: { error: { code: "server_is_overloaded", message: "Overloaded" } },
    misshapen: chunk({ content: 7 })
  }
]

/**
 * Interrupts an answer once it stands still, and fails unless the server sees the end within 100 ms. A busy machine may need
 * another try; an answer that hangs fails all of them.
 */
const closesAtOnce = (
  layer: (url: string) => Layer.Layer<ModelProvider>,
  handler: typeof hang,
  ...events: ReadonlyArray<unknown>
) =>
  Effect.gen(function*() {
    const closed = yield* Deferred.make<void>()
    const arrived = yield* Deferred.make<void>()
    const server = yield* serve((response, received) => {
      handler(() => Effect.runSync(Deferred.succeed(closed, undefined)), ...events)(response, received)
      if (events.length === 0) Effect.runSync(Deferred.succeed(arrived, undefined))
    })
    const fiber = yield* answer(request).pipe(
      Stream.runForEach(() => Deferred.succeed(arrived, undefined)),
      Effect.provide(layer(server.url)),
      Effect.fork
    )
    yield* Deferred.await(arrived)
    yield* Fiber.interrupt(fiber).pipe(Effect.zipRight(Deferred.await(closed)), Effect.timeout("100 millis"))
  }).pipe(Effect.scoped, Effect.retry({ times: 4 }))

for (const wire of wires) {
  describe(`OpenAi by ${wire.name}`, () => {
    it.scopedLive("streams a conversation with two tools", () =>
      Effect.gen(function*() {
        const mock = yield* mocked
        mock.on({ userMessage: /weather/, hasToolResult: false }, {
          toolCalls: [
            { id: "call_1", name: "get_weather", arguments: `{"city":"Oslo","unit":null}` },
            { id: "call_2", name: "get_weather", arguments: `{"city":"Rome"}` }
          ]
        })
        mock.on({ hasToolResult: true }, { content: "Rain in Oslo, sun in Rome." })
        const first = yield* collect(wire.layer(mock.url))
        expect(calls(first)).toMatchObject([
          { id: "call_1", name: "get.weather", raw: `{"city":"Oslo","unit":null}`, arguments: { city: "Oslo" } },
          { id: "call_2", name: "get.weather", raw: `{"city":"Rome"}`, arguments: { city: "Rome" } }
        ])
        expect(first.at(-1)).toMatchObject({ _tag: "Finish", reason: "tool-calls" })
        const second = yield* collect(wire.layer(mock.url), following(first))
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
        const deltas = yield* collect(wire.layer(mock.url))
        expect(deltas[0]).toMatchObject({ _tag: "Retry", attempt: 1, delayMillis: 1_000 })
        expect(textOf(deltas)).toBe("ok")
      }))

    it.scopedLive("counts usage and names the model that answered", () =>
      Effect.gen(function*() {
        const server = yield* serve(stream(...wire.greeting, ...wire.end))
        const deltas = yield* collect(wire.layer(server.url))
        expect(deltas).toMatchObject([
          { _tag: "TextDelta", text: "Hi." },
          { _tag: "Finish", reason: "stop", usage, model: "gpt-test-1" }
        ])
        expect(server.received[0]?.path).toBe(wire.path)
      }))

    it.scopedLive("marks the call that the limit cut off, not the one before it", () =>
      Effect.gen(function*() {
        const server = yield* serve(stream(...wire.twoCalls(`{"city":"Oslo"}`, `{"city":"Ro`), ...wire.cut))
        const deltas = yield* collect(wire.layer(server.url))
        expect(calls(deltas)).toMatchObject([
          { id: "a", arguments: { city: "Oslo" } },
          { id: "b", raw: `{"city":"Ro`, arguments: null, malformed: expect.stringMatching(/^cut off/) }
        ])
        expect(deltas.at(-1)).toMatchObject({ _tag: "Finish", reason: "length" })
      }))

    it.scopedLive("repairs bad JSON and says so, and keeps what cannot be read", () =>
      Effect.gen(function*() {
        const server = yield* serve(stream(...wire.twoCalls(`{"city": Oslo}`, "Oslo, please"), ...wire.end))
        expect(calls(yield* collect(wire.layer(server.url)))).toMatchObject([
          { id: "a", raw: `{"city": Oslo}`, arguments: { city: "Oslo" }, repairs: [{}] },
          { id: "b", raw: "Oslo, please", arguments: null, malformed: expect.any(String) }
        ])
      }))

    it.scopedLive("has arguments enforced unless told otherwise, and reads text for calls only when told", () =>
      Effect.gen(function*() {
        const text = JSON.stringify({ name: "get_weather", arguments: { city: "Oslo" } })
        const said = wire.greeting.map((event) =>
          JSON.parse(JSON.stringify(event).replace("Hi.", () => JSON.stringify(text).slice(1, -1)))
        )
        const server = yield* serve(stream(...said, ...wire.end))
        expect(textOf(yield* collect(wire.layer(server.url)))).toBe(text)
        const rescued = yield* collect(wire.layer(server.url, { rescue: true, strict: false }))
        expect(calls(rescued)).toMatchObject([{ id: "", name: "get_weather", arguments: { city: "Oslo" } }])
        expect(JSON.stringify(server.received[0]?.body)).toContain("\"strict\":true")
        expect(JSON.stringify(server.received[1]?.body)).not.toContain("\"strict\":true")
      }))

    it.scopedLive("tells a refusal by the model or by the service", () =>
      Effect.gen(function*() {
        const server = yield* serve(stream(...wire.refused), stream(...wire.greeting, ...wire.filtered))
        const refused = yield* collect(wire.layer(server.url))
        expect(textOf(refused)).toBe("Not this.")
        expect(refused.at(-1)).toMatchObject({ _tag: "Finish", reason: "refusal" })
        expect((yield* collect(wire.layer(server.url))).at(-1)).toMatchObject({ _tag: "Finish", reason: "refusal" })
      }))

    it.scopedLive("tries again when the connection drops before the first token", () =>
      Effect.gen(function*() {
        const server = yield* serve(drop, dropAfter(wire.greeting[0]), stream(...wire.greeting, ...wire.end))
        const deltas = yield* collect(wire.layer(server.url))
        expect(deltas.map((delta) => delta._tag)).toEqual(["Retry", "Retry", "TextDelta", "Finish"])
      }))

    it.scopedLive("is broken when the connection drops after it, or the service ends it in the middle", () =>
      Effect.gen(function*() {
        const server = yield* serve(
          dropAfter(...wire.greeting),
          stream(...wire.greeting),
          stream(...wire.greeting, wire.fault)
        )
        for (const words of ["was lost", "closed the connection", "Overloaded"]) {
          expect(yield* failed(wire.layer(server.url))).toMatchObject({
            reason: "broken",
            provider: "openai",
            attempts: 1,
            message: expect.stringContaining(words)
          })
        }
      }))

    it.scopedLive("tries again when an error is all that the stream holds", () =>
      Effect.gen(function*() {
        const server = yield* serve(stream(wire.fault), stream(...wire.greeting, ...wire.end))
        expect(textOf(yield* collect(wire.layer(server.url)))).toBe("Hi.")
      }))

    it.live("closes the socket within 100 ms of an interruption, in the middle of an answer and before it", () =>
      Effect.gen(function*() {
        yield* closesAtOnce(wire.layer, hang, ...wire.greeting)
        yield* closesAtOnce(wire.layer, hang)
        yield* closesAtOnce(wire.layer, (closed) => (response) => response.on("close", closed))
      }))

    it.scopedLive("says which wait was too long", () =>
      Effect.gen(function*() {
        const server = yield* serve(
          hang(() => undefined),
          hang(() => undefined, wire.greeting[0]),
          hang(() => undefined, ...wire.greeting)
        )
        const timeouts = { firstTokenMillis: 80, silenceMillis: 50 }
        for (const words of ["80 ms for the first token", "80 ms for the first token", "silent for 50 ms"]) {
          expect(yield* failed(wire.layer(server.url, { timeouts }))).toMatchObject({
            reason: "timeout",
            message: expect.stringContaining(words)
          })
        }
      }))

    it.scopedLive.each(
      [
        [400, { message: "no" }, "bad-request"],
        [400, { message: "too long", code: "context_length_exceeded" }, "context-length"],
        [401, { message: "no", code: "invalid_api_key" }, "authentication"],
        [403, { message: "no" }, "permission"],
        [404, { message: "no", code: "model_not_found" }, "not-found"],
        [429, { message: "no", type: "insufficient_quota", code: "insufficient_quota" }, "permission"],
        [429, { message: "no" }, "rate-limit"],
        [500, { message: "no" }, "server"],
        [503, { message: "no" }, "overloaded"]
      ] as const
    )("types HTTP %s %j", ([code, error, reason]) =>
      Effect.gen(function*() {
        const server = yield* serve(status(code, { error }))
        const found = yield* failed(wire.layer(server.url, { retry: { attempts: 2, baseMillis: 1 } }))
        expect(found).toMatchObject({ reason, status: code, provider: "openai" })
        expect(found.message).toContain(error.message)
        expect(found.attempts).toBe(["rate-limit", "server", "overloaded"].includes(reason) ? 2 : 1)
      }))

    it.scopedLive("names a URL where nothing answers", () =>
      Effect.gen(function*() {
        const url = yield* closedPort
        expect(yield* failed(wire.layer(url))).toMatchObject({
          reason: "unreachable",
          attempts: 1,
          message: expect.stringContaining(`${url}/v1: connection refused. Start the server`)
        })
      }))

    it.scopedLive("cannot read malformed events and answers of another protocol", () =>
      Effect.gen(function*() {
        const server = yield* serve(
          stream(`{"type": "response.created", `),
          stream(wire.misshapen),
          (response) => response.end("<html></html>")
        )
        for (let count = 0; count < 3; count++) {
          expect(yield* failed(wire.layer(server.url))).toMatchObject({ reason: "bad-response" })
        }
      }))

    it.scopedLive("sends its own key and headers, and nothing of the environment", () =>
      Effect.gen(function*() {
        const server = yield* serve(stream(...wire.greeting, ...wire.end))
        const variables = {
          OPENAI_API_KEY: "leak-key",
          OPENAI_ORG_ID: "leak-organisation",
          OPENAI_PROJECT_ID: "leak-project",
          OPENAI_BASE_URL: "http://127.0.0.1:1"
        }
        yield* Effect.acquireUseRelease(
          Effect.sync(() => Object.assign(process.env, variables)),
          () => collect(wire.layer(server.url, { organization: "org", headers: { "x-own": "1" } })),
          () => Effect.sync(() => Object.keys(variables).forEach((name) => delete process.env[name]))
        )
        const headers = server.received[0]?.headers
        expect(headers).toMatchObject({
          authorization: "Bearer secret-key",
          "openai-organization": "org",
          "x-own": "1"
        })
        expect(JSON.stringify(headers)).not.toContain("leak")
      }))

    it.scopedLive("reads an answer however its bytes are cut", () =>
      Effect.gen(function*() {
        const bytes = Buffer.from(events(...wire.twoCalls(`{"city":"Zürich"}`, `{"city":"東京"}`), ...wire.end))
        const server = yield* serve((response) => {
          response.writeHead(200, { "content-type": "text/event-stream" })
          for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7))
          response.end()
        })
        expect(calls(yield* collect(wire.layer(server.url)))).toMatchObject([
          { arguments: { city: "Zürich" } },
          { arguments: { city: "東京" } }
        ])
      }))

    it.scopedLive("follows no redirect with the key", () =>
      Effect.gen(function*() {
        const elsewhere = yield* serve(stream(...wire.greeting, ...wire.end))
        const server = yield* serve(status(307, {}, { location: `${elsewhere.url}${wire.path}` }))
        expect(yield* failed(wire.layer(server.url))).toMatchObject({ reason: "unreachable" })
        expect(elsewhere.received).toEqual([])
      }))
  })
}

describe("OpenAi", () => {
  it.scopedLive("keeps encrypted reasoning and sends it back with the calls that it led to", () =>
    Effect.gen(function*() {
      const reasoning = {
        id: "rs_1",
        type: "reasoning",
        summary: [{ type: "summary_text", text: "Hm." }, { type: "summary_text", text: "So." }],
        encrypted_content: "ZW5j"
      }
      const server = yield* serve(
        stream(
          created,
          itemAdded(0, { ...reasoning, summary: [], encrypted_content: null }),
          { type: "response.reasoning_summary_part.added", output_index: 0, summary_index: 0 },
          { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "Hm." },
          { type: "response.reasoning_summary_part.added", output_index: 0, summary_index: 1 },
          { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "So." },
          itemDone(0, reasoning),
          ...functionCall(1, "a", `{"city":"Oslo"}`),
          outcome("response.completed")
        ),
        stream(...(wires[0]?.greeting ?? []), outcome("response.completed"))
      )
      const layer = OpenAi.layerResponses(optionsFor(server.url, { model: "o4-mini" }))
      const deltas = yield* collect(layer)
      expect(deltas.map((delta) => delta._tag === "ThinkingDelta" ? delta.text : "").join("")).toBe("Hm.\n\nSo.")
      const part = deltas.flatMap((delta) => delta._tag === "Reasoning" ? [delta.part] : [])
      expect(part).toEqual([
        { type: "reasoning", provider: "openai", text: "Hm.\n\nSo.", data: JSON.stringify(reasoning) }
      ])
      const next: ModelRequest = following(deltas)
      yield* collect(layer, {
        ...next,
        messages: next.messages.map((message) =>
          message.role === "assistant" ? { role: "assistant", content: [...part, ...message.content] } : message
        )
      })
      expect(server.received[1]?.body).toMatchObject({
        store: false,
        include: ["reasoning.encrypted_content"],
        input: [{ type: "message" }, reasoning, { type: "function_call" }, { type: "function_call_output" }]
      })
    }))

  it.effect("knows of a model what the catalogue knows, and what its user knows better", () =>
    Effect.gen(function*() {
      const options = optionsFor("http://127.0.0.1:1", { capabilities: { contextWindow: 1_000 } })
      const provider = yield* Effect.scoped(OpenAi.makeResponses(options))
      expect(yield* provider.model(undefined)).toMatchObject({
        provider: "openai",
        id: "gpt-4o",
        contextWindow: 1_000,
        maxOutput: 16_384,
        prices: { input: expect.any(Number), source: expect.any(String) }
      })
      expect(yield* provider.model("mystery-9")).toMatchObject({ id: "mystery-9", maxOutput: null, prices: null })
    }))

  it.scopedLive("asks no model for what it is known not to take", () =>
    Effect.gen(function*() {
      const server = yield* serve(stream(...(wires[1]?.greeting ?? []), ...(wires[1]?.end ?? [])))
      const sent = (model: string) =>
        Effect.map(
          collect(OpenAi.layerChat(optionsFor(server.url, { model, reasoning: { effort: "low" } })), {
            ...request,
            toolChoice: "required"
          }),
          () => JSON.stringify(server.received.at(-1)?.body)
        )
      const reasoner = yield* sent("o4-mini")
      expect(reasoner).not.toContain("tool_choice")
      expect(reasoner).toContain("\"reasoning_effort\":\"low\"")
      const old = yield* sent("gpt-3.5-turbo")
      expect(old).toContain("\"tool_choice\":\"required\"")
      expect(old).not.toMatch(/"strict"|reasoning_effort/)
      expect(yield* sent("mystery-9")).toContain("\"strict\":true")
    }))

  it.scopedLive("says once which tool cannot be enforced", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const logger = Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => said.push(String(message))))
      const server = yield* serve(stream(...(wires[1]?.greeting ?? []), ...(wires[1]?.end ?? [])))
      const open = { name: "any", description: "", parameters: { type: "object", additionalProperties: true } }
      const asked = Stream.runDrain(answer({ ...request, tools: [...request.tools, open] }))
      yield* Effect.zipRight(asked, asked).pipe(
        Effect.provide(OpenAi.layerChat(optionsFor(server.url, {}))),
        Effect.provide(logger)
      )
      expect(said).toEqual([expect.stringContaining("\"any\" are not enforced")])
    }))

  it.scopedLive("says why a response failed", () =>
    Effect.gen(function*() {
      const failure = outcome("response.failed", { error: { code: "rate_limit_exceeded", message: "Too fast." } })
      const server = yield* serve(stream(created, failure))
      const error = yield* failed(
        OpenAi.layerResponses(optionsFor(server.url, { retry: { attempts: 2, baseMillis: 1 } }))
      )
      expect(error).toMatchObject({ reason: "rate-limit", attempts: 2, message: expect.stringContaining("Too fast.") })
    }))

  it.scopedLive("tells a TLS handshake that never ends as a connection that took too long", () =>
    Effect.gen(function*() {
      const silent = yield* Effect.acquireRelease(
        Effect.async<net.Server>((resume) => {
          const server = net.createServer(() => undefined)
          server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      const address = silent.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const layer = OpenAi.layerChat({
        ...optionsFor(`https://127.0.0.1:${port}`, {}),
        timeouts: { connectMillis: 100 },
        retry: { attempts: 2, baseMillis: 1 }
      })
      expect(yield* failed(layer)).toMatchObject({
        reason: "timeout",
        attempts: 2,
        message: expect.stringContaining("Waited 100 ms for a connection to https://127.0.0.1")
      })
    }))

  it.effect("gives the vendor's key from the environment to the vendor's host only", () =>
    Effect.gen(function*() {
      const build = (
        layer: typeof OpenAi.layerChatConfig,
        options: { readonly baseUrl?: string; readonly apiKey?: string }
      ) =>
        Layer.build(layer({
          model: Config.string("MODEL"),
          ...(options.baseUrl === undefined ? {} : { baseUrl: Config.succeed(options.baseUrl) }),
          ...(options.apiKey === undefined ? {} : { apiKey: Config.redacted(options.apiKey) })
        })).pipe(
          Effect.scoped,
          Effect.withConfigProvider(ConfigProvider.fromMap(
            new Map([["MODEL", "m"], ["OPENAI_API_KEY", "k"], ["OTHER_KEY", "o"]])
          )),
          Effect.either
        )
      for (const layer of [OpenAi.layerChatConfig, OpenAi.layerResponsesConfig]) {
        expect((yield* build(layer, {}))._tag).toBe("Right")
        expect((yield* build(layer, { baseUrl: "http://127.0.0.1:8090/v1", apiKey: "OTHER_KEY" }))._tag).toBe("Right")
        for (const baseUrl of ["http://127.0.0.1:8090/v1", "https://api.openai.com.evil.example/v1"]) {
          const refused = yield* build(layer, { baseUrl })
          expect(refused._tag === "Left" ? String(refused.left) : "").toContain("a key of its own")
        }
      }
    }))
})
