import { Anthropic } from "@capstan/anthropic"
import { Approval, Journal, type ModelProvider, ToolLoop, ToolRegistry } from "@capstan/core"
import { NodeSandbox } from "@capstan/node"
import { OpenAi, OpenAiCompatible } from "@capstan/openai"
import { HistoryValidator } from "@capstan/testing"
import { FileTools } from "@capstan/tools"
import { LLMock } from "@copilotkit/aimock"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as fs from "node:fs"
import * as http from "node:http"
import * as os from "node:os"
import * as path from "node:path"

const mocked = Effect.acquireRelease(
  Effect.promise(async () => {
    const mock = new LLMock({ port: 0 })
    await mock.start()
    return mock
  }),
  (mock) => Effect.promise(() => mock.stop())
)

/** Stands before the mock server and keeps what was sent to it, byte for byte. */
const recorder = (target: string) =>
  Effect.acquireRelease(
    Effect.async<{ readonly url: string; readonly bodies: ReadonlyArray<unknown>; readonly server: http.Server }>(
      (resume) => {
        const bodies: Array<unknown> = []
        const server = http.createServer((request, response) => {
          const pieces: Array<Buffer> = []
          request.on("data", (piece: Buffer) => pieces.push(piece)).on("end", () => {
            const body = Buffer.concat(pieces)
            bodies.push(JSON.parse(body.toString("utf8")))
            const { host: _, ...headers } = request.headers
            http.request(new URL(request.url ?? "/", target), { method: request.method, headers }, (answer) => {
              response.writeHead(answer.statusCode ?? 500, answer.headers)
              answer.pipe(response)
            }).end(body)
          })
        })
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          const port = typeof address === "object" && address !== null ? address.port : 0
          resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, bodies, server }))
        })
      }
    ),
    ({ server }) =>
      Effect.async<void>((resume) => {
        server.closeAllConnections()
        server.close(() => resume(Effect.void))
      })
  )

const folder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "capstan-wires-"))),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
)

const apiKey = Redacted.make("key")

interface Wire {
  readonly name: string
  readonly layer: (url: string) => Layer.Layer<ModelProvider.ModelProvider>
  readonly validate: (body: unknown) => ReadonlyArray<HistoryValidator.Violation>
}

const wires: ReadonlyArray<Wire> = [
  {
    name: "Anthropic's Messages",
    layer: (baseUrl) => Anthropic.layer({ apiKey, model: "claude-test", baseUrl }),
    validate: (body) => HistoryValidator.validateAnthropic(body)
  },
  {
    name: "OpenAI's Responses",
    layer: (url) => OpenAi.layerResponses({ apiKey, model: "gpt-test", baseUrl: `${url}/v1` }),
    validate: (body) => HistoryValidator.validateOpenAiResponses(body)
  },
  {
    name: "OpenAI's Chat Completions",
    layer: (url) => OpenAi.layerChat({ apiKey, model: "gpt-test", baseUrl: `${url}/v1` }),
    validate: (body) => HistoryValidator.validateOpenAiChat(body)
  },
  {
    name: "a compatible server",
    layer: (url) => OpenAiCompatible.layer({ model: "local-test", baseUrl: `${url}/v1` }),
    validate: (body) => HistoryValidator.validateOpenAiChat(body)
  }
]

describe.each(wires)("the loop over $name", ({ layer, validate }) => {
  it.scopedLive("runs two tools at once, answers bad arguments, and sends only valid requests", () =>
    Effect.gen(function*() {
      const root = yield* folder
      fs.writeFileSync(path.join(root, "a.txt"), "one\n")
      const mock = yield* mocked
      mock.on({ userMessage: /copy/, sequenceIndex: 0 }, {
        content: "Let me look.",
        toolCalls: [
          { id: "call_1", name: "read_file", arguments: "{\"path\":\"a.txt\"}" },
          { id: "call_1", name: "list_directory", arguments: "{\"path\":\".\"}" }
        ]
      })
      mock.on({ userMessage: /copy/, sequenceIndex: 1 }, {
        toolCalls: [
          { id: "call_1", name: "write_file", arguments: "{\"path\": [[[" },
          { id: "call_2", name: "write_file", arguments: "{\"path\":\"b.txt\",\"content\":\"one\\n\"}" }
        ]
      })
      mock.on({ userMessage: /copy/, sequenceIndex: 2 }, { content: "Copied." })
      const { bodies, url } = yield* recorder(mock.url)

      const result = yield* ToolLoop.run({ session: "s", message: "copy a.txt to b.txt" }).pipe(
        Effect.provide(ToolLoop.layer.pipe(
          Layer.provide([
            layer(url),
            ToolRegistry.layer(FileTools.all),
            Approval.layerPolicy({ mode: "auto" }),
            Journal.layerMemory
          ]),
          Layer.provide(NodeSandbox.layer({ mounts: { workspace: root }, osSandbox: "off" }))
        ))
      )

      expect(result.text).toBe("Copied.")
      expect(result.calls.map(({ name, outcome }) => [name, outcome._tag])).toEqual([
        ["read_file", "Succeeded"],
        ["list_directory", "Succeeded"],
        ["write_file", "Refused"],
        ["write_file", "Succeeded"]
      ])
      expect(fs.readFileSync(path.join(root, "b.txt"), "utf8")).toBe("one\n")
      expect(bodies).toHaveLength(3)
      for (const body of bodies) expect(HistoryValidator.toText(validate(body))).toBe("")
    }))
})
