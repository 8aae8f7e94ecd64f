import { Content, Journal, Tool, ToolLoop, ToolRegistry } from "@capstan/core"
import { FakeSandbox, ScriptedApproval, ScriptedModel } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Ref, Schema, Stream } from "effect"

class Counter extends Effect.Service<Counter>()("test/Counter", {
  effect: Effect.map(Ref.make<ReadonlyArray<string>>([]), (ref) => ({
    add: (line: string) => Ref.update(ref, (lines) => [...lines, line]),
    lines: Ref.get(ref)
  }))
}) {}

const Note = Tool.make("note", {
  description: "Writes a line down.",
  parameters: Schema.Struct({ line: Schema.String }),
  handler: ({ line }) => Effect.flatMap(Counter, (counter) => Effect.as(counter.add(line), `noted ${line}`))
})

const Look = Tool.make("look", {
  description: "Reads a line.",
  parameters: Schema.Struct({ at: Schema.String }),
  safety: "read-only",
  handler: ({ at }) => Effect.flatMap(Counter, (counter) => Effect.as(counter.add(`look ${at}`), `saw ${at}`))
})

const Crash = Tool.make("crash", {
  description: "Throws.",
  parameters: Schema.Struct({}),
  safety: "read-only",
  handler: () =>
    Effect.sync((): string => {
      throw new Error("boom")
    })
})

const Hang = Tool.make("hang", {
  description: "Never returns.",
  parameters: Schema.Struct({}),
  safety: "read-only",
  timeout: "10 seconds",
  handler: () => Effect.never
})

const loop = (options: {
  readonly model: ScriptedModel.Script
  readonly approvals?: ReadonlyArray<ScriptedApproval.Step>
  readonly mode?: "enabled" | "parse_only" | "disabled"
}) =>
  ToolLoop.layerOptions({ mode: options.mode ?? "enabled" }).pipe(
    Layer.provideMerge(Layer.mergeAll(
      ScriptedModel.layer(options.model),
      ScriptedApproval.layer(options.approvals ?? []),
      ToolRegistry.layer([Note, Look, Crash, Hang]),
      Journal.layerMemory,
      FakeSandbox.layer()
    )),
    Layer.provideMerge(Counter.Default)
  )

describe("ToolLoop", () => {
  it.effect("runs an approved call and answers", () =>
    Effect.gen(function*() {
      const result = yield* ToolLoop.run({ session: "s", message: "note a" })
      expect(result.end).toBe("answered")
      expect(result.text).toBe("done")
      expect(result.calls.map((call) => call.outcome)).toMatchObject([{
        _tag: "Succeeded",
        content: [{ text: "noted a" }]
      }])
      expect(yield* Effect.flatMap(Counter, (counter) => counter.lines)).toEqual(["a"])
    }).pipe(Effect.provide(loop({
      model: [ScriptedModel.call("note", { line: "a" }), ScriptedModel.text("done")],
      approvals: [ScriptedApproval.approve]
    }))))

  it.effect("a denial reaches the model with its reason", () =>
    Effect.gen(function*() {
      const result = yield* ToolLoop.run({ session: "s", message: "note a" })
      expect(result.calls[0]?.outcome).toMatchObject({ _tag: "Denied", reason: "keep it" })
      expect(yield* Effect.flatMap(Counter, (counter) => counter.lines)).toEqual([])
    }).pipe(Effect.provide(loop({
      model: [
        ScriptedModel.call("note", { line: "a" }),
        ScriptedModel.expecting(ScriptedModel.text("left"), (request) => {
          expect(JSON.stringify(request.messages.at(-1))).toContain("keep it")
        })
      ],
      approvals: [ScriptedApproval.deny("keep it")]
    }))))

  it.effect("a bad batch gets one result per call, in order, and the run goes on", () =>
    Effect.gen(function*() {
      const result = yield* ToolLoop.run({ session: "s", message: "x" })
      expect(result.calls.map((call) => call.outcome._tag)).toEqual([
        "Refused",
        "Refused",
        "Refused",
        "Succeeded",
        "Refused",
        "Failed"
      ])
    }).pipe(Effect.provide(loop({
      model: [
        ScriptedModel.raw({
          calls: [
            { name: "nope", raw: "{}" },
            { name: "look", raw: "{not json" },
            { name: "look", raw: "{\"wrong\": 1}" },
            { id: "x", name: "LOOK", raw: "{\"at\":\"1\"}" },
            { id: "x", name: "LOOK", raw: "{\"at\":\"1\"}" },
            { name: "crash", raw: "{}" }
          ]
        }),
        ScriptedModel.text("done")
      ]
    }))))

  it.live("an interrupted turn is journaled as cancelled and the session goes on", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const fiber = yield* ToolLoop.stream({ session: "s", message: "x" }).pipe(
        Stream.runForEach((event) => event._tag === "ToolStarted" ? Deferred.succeed(started, undefined) : Effect.void),
        Effect.fork
      )
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      const rows = yield* Effect.flatMap(Journal.Journal, (journal) => journal.read({ session: "s" }))
      expect(rows.map((row) => row.record._tag).slice(-2)).toEqual(["Settled", "TurnEnded"])
      expect(rows.at(-1)?.record).toMatchObject({ end: "cancelled" })
      const next = yield* ToolLoop.run({ session: "s", message: "again" })
      expect(next.text).toBe("fine")
    }).pipe(Effect.provide(loop({ model: [ScriptedModel.call("hang", {}), ScriptedModel.text("fine")] }))))

  it.effect("parse_only ends awaiting and goes on with the supplied results", () =>
    Effect.gen(function*() {
      const first = yield* ToolLoop.run({ session: "s", message: "x" })
      expect(first.end).toBe("awaiting")
      expect(first.pending.map(({ call }) => call.name)).toEqual(["look"])
      const blocked = yield* Effect.flip(ToolLoop.run({ session: "s", message: "y" }))
      expect(blocked).toMatchObject({ _tag: "UnfinishedError", reason: "awaiting" })
      const next = yield* ToolLoop.supply({ session: "s", results: [{ position: 0, content: "by hand" }] })
      expect(next.end).toBe("answered")
      expect(next.calls[0]?.outcome).toMatchObject({ content: [Content.text("by hand")] })
    }).pipe(Effect.provide(loop({
      mode: "parse_only",
      model: [ScriptedModel.call("look", { at: "1" }), ScriptedModel.text("ok")]
    }))))

  it.effect("answers that come later are bound to the arguments that were asked about", () =>
    Effect.gen(function*() {
      expect((yield* ToolLoop.run({ session: "s", message: "x" })).end).toBe("awaiting")
      const next = yield* ToolLoop.supply({ session: "s", answers: { _tag: "ApproveAll" } })
      expect(next.end).toBe("answered")
      expect(yield* Effect.flatMap(Counter, (counter) => counter.lines)).toEqual(["a"])
    }).pipe(Effect.provide(loop({
      model: [ScriptedModel.call("note", { line: "a" }), ScriptedModel.text("ok")],
      approvals: [ScriptedApproval.later]
    }))))

  it.effect("the iteration limit ends the turn in words", () =>
    Effect.gen(function*() {
      const result = yield* ToolLoop.run({ session: "s", message: "x" })
      expect(result).toMatchObject({ end: "iterations", text: "that is all" })
      expect(result.calls).toHaveLength(4)
    }).pipe(Effect.provide(loop({
      model: [
        ...["1", "2", "3", "4"].map((at) => ScriptedModel.call("look", { at })),
        ScriptedModel.expecting(ScriptedModel.text("that is all"), (request) => expect(request.toolChoice).toBe("none"))
      ]
    }))))
})
