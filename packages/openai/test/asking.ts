import type { Message } from "@capstan/core/Message"
import type { ModelDelta } from "@capstan/core/ModelDelta"
import { ModelProvider, type ModelRequest } from "@capstan/core/ModelProvider"
import { LLMock } from "@copilotkit/aimock"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

export const request: ModelRequest = {
  model: undefined,
  instructions: "Be brief.",
  messages: [{ role: "user", content: [{ type: "text", text: "weather in Oslo and Rome?" }] }],
  tools: [{
    name: "get.weather",
    description: "Weather",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, unit: { type: "string" } },
      required: ["city"]
    }
  }],
  toolChoice: "auto",
  maxOutputTokens: 200
}

export const answer = (asked: ModelRequest) => Stream.unwrap(Effect.map(ModelProvider, (model) => model.stream(asked)))

export const collect = <E = never>(layer: Layer.Layer<ModelProvider, E>, asked: ModelRequest = request) =>
  Stream.runCollect(answer(asked)).pipe(Effect.map((chunk) => [...chunk]), Effect.provide(layer))

export const failed = (layer: Layer.Layer<ModelProvider>, asked: ModelRequest = request) =>
  Effect.flip(collect(layer, asked))

export const calls = (deltas: ReadonlyArray<ModelDelta>) =>
  deltas.flatMap((delta) => delta._tag === "ToolCallEnd" ? [delta.call] : [])

export const textOf = (deltas: ReadonlyArray<ModelDelta>) =>
  deltas.map((delta) => delta._tag === "TextDelta" ? delta.text : "").join("")

/** The request that goes on after the calls of an answer, each with a result. */
export const following = (deltas: ReadonlyArray<ModelDelta>): ModelRequest => {
  const messages: ReadonlyArray<Message> = [
    {
      role: "assistant",
      content: [
        ...(textOf(deltas) === "" ? [] : [{ type: "text" as const, text: textOf(deltas) }]),
        ...calls(deltas).map((call) => ({
          type: "tool-call" as const,
          id: call.id,
          name: call.name,
          arguments: call.raw
        }))
      ]
    },
    {
      role: "tool",
      results: calls(deltas).map((call) => ({
        type: "tool-result" as const,
        id: call.id,
        name: call.name,
        content: [{ type: "text" as const, text: "rain" }],
        isError: false
      }))
    }
  ]
  return { ...request, messages: [...request.messages, ...messages] }
}

export const mocked = Effect.acquireRelease(
  Effect.promise(async () => {
    const mock = new LLMock({ port: 0 })
    await mock.start()
    return mock
  }),
  (mock) => Effect.promise(() => mock.stop())
)
