import { Approval, type Event, Journal, ModelDelta, ModelProvider, Tool, ToolLoop, ToolRegistry } from "@capstan/core"
import { FakeSandbox, HistoryValidator, ScriptedModel, TestLoop } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Ref, Schema, Stream } from "effect"

const Look = Tool.make("look", {
  description: "Looks.",
  parameters: Schema.Struct({}),
  safety: "read-only",
  handler: () => Effect.succeed("seen")
})

const loopOver = (provider: ModelProvider.ModelProvider["Type"]) =>
  ToolLoop.layer.pipe(Layer.provideMerge(Layer.mergeAll(
    Layer.succeed(ModelProvider.ModelProvider, provider),
    Approval.layerPolicy(),
    Layer.orDie(ToolRegistry.layer([Look])),
    Journal.layerMemory,
    FakeSandbox.layer()
  )))

const records = Effect.gen(function*() {
  const journal = yield* Journal.Journal
  return (yield* journal.read({ session: "s" })).map((row) => row.record)
})
const eventsOf = (message: string) =>
  Stream.runCollect(ToolLoop.stream({ session: "s", message })).pipe(Effect.map((events) => [...events]))
const said = (events: ReadonlyArray<Event.Event>) => events.map(({ _tag }) => _tag)
const broken = new ModelProvider.ModelError({ reason: "broken", provider: "scripted", message: "Gone." })

describe("a response that breaks off", () => {
  it.effect("is void and asked for once more", () =>
    Effect.gen(function*() {
      expect(said(yield* eventsOf("go"))).toEqual([
        "TurnStarted",
        "IterationStarted",
        "TextDelta",
        "Voided",
        "TextDelta",
        "Final"
      ])
      expect((yield* records).map(({ _tag }) => _tag)).toEqual(["TurnStarted", "Voided", "Responded", "TurnEnded"])
    }).pipe(Effect.provide(TestLoop.layer({
      model: [ScriptedModel.broken([ModelDelta.ModelDelta.TextDelta({ text: "I" })]), ScriptedModel.text("done")]
    }))))

  it.effect("is void when it ended without a word", () =>
    Effect.gen(function*() {
      expect(said(yield* eventsOf("go")).filter((tag) => tag === "Voided")).toHaveLength(1)
    }).pipe(Effect.provide(TestLoop.layer({ model: [ScriptedModel.text(""), ScriptedModel.text("done")] }))))

  it.effect("ends the turn without a word when it did so twice, and the session goes on", () =>
    Effect.gen(function*() {
      expect(yield* ToolLoop.run({ session: "s", message: "go" })).toMatchObject({ end: "answered", text: "" })
      expect(yield* ToolLoop.run({ session: "s", message: "well?" })).toMatchObject({ end: "answered", text: "done" })
    }).pipe(Effect.provide(TestLoop.layer({
      model: [
        ScriptedModel.call("look", {}),
        ScriptedModel.text(""),
        ScriptedModel.text(""),
        ScriptedModel.text("done")
      ],
      tools: [Look]
    }))))

  it.effect("leaves no trace when nothing had come of it", () =>
    Effect.gen(function*() {
      const events = yield* eventsOf("go")
      expect(said(events)).toEqual(["TurnStarted", "IterationStarted", "Retry", "TextDelta", "Final"])
      expect((yield* records).map(({ _tag }) => _tag)).toEqual(["TurnStarted", "Responded", "TurnEnded"])
    }).pipe(Effect.provide(TestLoop.layer({
      model: [
        ScriptedModel.broken([ModelDelta.ModelDelta.Retry({ attempt: 1, delayMillis: 1, reason: "busy" })], broken),
        ScriptedModel.text("done")
      ]
    }))))

  it.effect("ends the run when it breaks off again", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(ToolLoop.run({ session: "s", message: "go" }))
      expect(error).toMatchObject({ _tag: "ModelError", reason: "broken" })
      expect((yield* records).filter(({ _tag }) => _tag === "Voided")).toHaveLength(0)
    }).pipe(Effect.provide(TestLoop.layer({ model: [ScriptedModel.fail(broken), ScriptedModel.fail(broken)] }))))
})

describe("usage", () => {
  it.effect("is stored with the prices of the time and their source", () =>
    Effect.gen(function*() {
      const usage = { input: 1_000_000, output: 500_000, cacheRead: 0, cacheWrite: 0, reasoning: 0 }
      const prices = { input: 2, output: 4, cacheRead: null, cacheWrite: null, source: "a list of today" }
      const result = yield* ToolLoop.run({ session: "s", message: "go" })
      expect(result).toMatchObject({ usage, cost: 4 })
      expect(yield* records).toContainEqual(expect.objectContaining({ _tag: "Responded", usage, prices }))
    }).pipe(Effect.provide(TestLoop.layer({
      model: [ScriptedModel.text("done")],
      modelOptions: {
        usage: { input: 1_000_000, output: 500_000, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
        model: {
          prices: { input: 2, output: 4, cacheRead: null, cacheWrite: null, source: "a list of today" }
        }
      }
    }))))
})

describe("a model that changes between turns", () => {
  const reasoning = (provider: string) => ({ type: "reasoning" as const, provider, text: "hm", data: `"${provider}"` })
  const first = ScriptedModel.make([
    ScriptedModel.raw({ reasoning: reasoning("one"), calls: [{ id: "same", name: "look", raw: "{}" }] }),
    ScriptedModel.raw({ reasoning: reasoning("one"), text: "seen" })
  ], { provider: "one" })
  const second = ScriptedModel.make([
    ScriptedModel.raw({ reasoning: reasoning("two"), calls: [{ id: "same", name: "look", raw: "{}" }] }),
    ScriptedModel.text("seen again")
  ], { provider: "two" })

  /** Goes by the model's name, as a router over several providers does. */
  const router: ModelProvider.ModelProvider["Type"] = {
    model: (id) => (id === "b" ? second : first).provider.model(id),
    stream: (request) => (request.model === "b" ? second : first).provider.stream(request)
  }

  it.effect("is recorded with each turn, and gets the other's reasoning as data that it can leave out", () =>
    Effect.gen(function*() {
      yield* ToolLoop.run({ session: "s", message: "go", model: "a" })
      yield* ToolLoop.run({ session: "s", message: "go on", model: "b" })
      const turns = (yield* records).filter((record) => record._tag === "TurnStarted")
      expect(turns.map(({ model, provider }) => [provider, model])).toEqual([["one", "a"], ["two", "b"]])
      const requests = yield* second.handle.requests
      const last = requests.at(-1)?.messages ?? []
      const makers = last.flatMap((message) =>
        message.role === "assistant" ? message.content.flatMap((part) => part.type === "reasoning" ? [part] : []) : []
      )
      expect(makers).toEqual([reasoning("one"), reasoning("one"), reasoning("two")])
      const own = last.map((message) =>
        message.role === "assistant"
          ? {
            ...message,
            content: message.content.filter((part) => part.type !== "reasoning" || part.provider === "two")
          }
          : message
      )
      for (const dialect of HistoryValidator.dialects) {
        expect(HistoryValidator.toText(HistoryValidator.validate(own, dialect, { provider: "two" }))).toBe("")
      }
    }).pipe(Effect.provide(loopOver(router))))
})

describe("a consumer that is slow", () => {
  const deltas = 400
  const made = Array.from({ length: deltas }, (_, n) => ModelDelta.ModelDelta.TextDelta({ text: `${n} ` }))

  it.live("slows the model, gets everything, in order", () =>
    Effect.gen(function*() {
      const produced = yield* Ref.make(0)
      const taken = yield* Ref.make<ReadonlyArray<string>>([])
      const most = yield* Ref.make(0)
      const provider: ModelProvider.ModelProvider["Type"] = {
        model: () => Effect.succeed({ provider: "p", id: "m", contextWindow: null, maxOutput: null, prices: null }),
        stream: () =>
          Stream.concat(
            Stream.rechunk(Stream.fromIterable(made), 1).pipe(Stream.tap(() => Ref.update(produced, (n) => n + 1))),
            Stream.make(ModelDelta.ModelDelta.Finish({ reason: "stop", usage: null, model: "m" }))
          )
      }
      yield* ToolLoop.stream({ session: "s", message: "go" }).pipe(
        Stream.runForEach((event) =>
          event._tag !== "TextDelta" ? Effect.void : Effect.gen(function*() {
            const texts = yield* Ref.updateAndGet(taken, (texts) => [...texts, event.text])
            if (texts.length % 20 === 0) yield* Effect.sleep("2 millis")
            const ahead = (yield* Ref.get(produced)) - texts.length
            yield* Ref.update(most, (n) => Math.max(n, ahead))
          })
        ),
        Effect.provide(loopOver(provider))
      )
      expect(yield* Ref.get(taken)).toEqual(made.map(({ text }) => text))
      expect(yield* Ref.get(most)).toBeGreaterThan(10)
      expect(yield* Ref.get(most)).toBeLessThan(150)
    }))
})
