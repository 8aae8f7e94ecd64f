// @ts-check
import { Approval, Limits, ModelDelta, ModelProvider, Tool, ToolCall, ToolLoop, ToolRegistry } from "@capstan/core"
import * as FakeSandbox from "@capstan/testing/FakeSandbox"
import { Chunk, Effect, Layer, Schema, Stream } from "effect"

const { ModelDelta: Delta } = ModelDelta

/** @type {(id: string, raw: string) => ReadonlyArray<ModelDelta.ModelDelta>} */
const asking = (id, raw) => [
  Delta.ToolCallStart({ index: 0, id, name: "look" }),
  Delta.ToolCallEnd({ index: 0, call: ToolCall.fromJson({ id, name: "look", raw }) }),
  Delta.Finish({ reason: "tool-calls", usage: null, model: "bench" })
]

/** @type {ReadonlyArray<ModelDelta.ModelDelta>} */
const answering = [Delta.TextDelta({ text: "done" }), Delta.Finish({ reason: "stop", usage: null, model: "bench" })]

/** A model that costs next to nothing: `turns` responses with one call each, then one in words. */
const model = (/** @type {number} */ turns) =>
  Layer.sync(ModelProvider.ModelProvider, () => {
    let n = 0
    return {
      model: () =>
        Effect.succeed({ provider: "bench", id: "bench", contextWindow: null, maxOutput: null, prices: null }),
      stream: () => {
        const id = `call_${n++}`
        const raw = JSON.stringify({ at: id })
        return Stream.fromChunk(Chunk.unsafeFromArray(n <= turns ? asking(id, raw) : answering))
      }
    }
  })

const Look = Tool.make("look", {
  description: "Looks at something.",
  parameters: Schema.Struct({ at: Schema.String }),
  safety: "read-only",
  handler: ({ at }) => Effect.succeed(`saw ${at}`)
})

/** Bytes of content in one turn: what the model wrote and what it was told. */
export const contentBytes = (/** @type {number} */ n) =>
  Buffer.byteLength(`call_${n}look${JSON.stringify({ at: `call_${n}` })}saw call_${n}`)

/**
 * Milliseconds a turn of one response with one call and its result, over `turns` turns of one session.
 *
 * @param {number} turns
 * @param {Layer.Layer<import("@capstan/core").Journal.Journal, import("@capstan/core").Journal.JournalError>} journal
 */
export const perTurn = (turns, journal) => {
  const live = ToolLoop.layer.pipe(Layer.provide(Layer.mergeAll(
    model(turns),
    Approval.layerPolicy(),
    ToolRegistry.layer([Look]),
    journal,
    FakeSandbox.layer()
  )))
  const limits = {
    ...Limits.strict,
    maxToolIterationsPerUserTurn: Number.MAX_SAFE_INTEGER,
    repeatsBeforeEnd: Number.MAX_SAFE_INTEGER,
    callsPerMinute: Number.MAX_SAFE_INTEGER
  }
  return Effect.runPromise(
    Effect.gen(function*() {
      const begin = process.hrtime.bigint()
      const result = yield* ToolLoop.run({ session: "bench", message: "go" })
      const millis = Number(process.hrtime.bigint() - begin) / 1e6
      if (result.calls.length !== turns) throw new Error(`${result.calls.length} calls instead of ${turns}`)
      return millis / turns
    }).pipe(Effect.provide(live), Effect.provideService(Limits.Limits, limits))
  )
}
