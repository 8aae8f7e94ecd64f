import { CallStatistics, Journal, Tool, ToolLoop } from "@capstan/core"
import { ScriptedModel, TestLoop } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

const Look = Tool.make("look", {
  description: "Looks.",
  parameters: Schema.Struct({ at: Schema.String }),
  safety: "read-only",
  handler: ({ at }) => at === "nowhere" ? Effect.fail("nothing there") : Effect.succeed("seen")
})

const raw = (...calls: ReadonlyArray<string>) =>
  ScriptedModel.raw({ calls: calls.map((raw) => ({ name: "look", raw })) })

const counted = (messages: ReadonlyArray<{ readonly message: string; readonly model?: string }>) =>
  Effect.gen(function*() {
    for (const message of messages) yield* ToolLoop.run({ session: "s", ...message })
    const journal = yield* Journal.Journal
    return CallStatistics.fromRows(yield* journal.read({ session: "s" }))
  })

describe("CallStatistics", () => {
  it.effect("counts a corrected call in the chain of the one that it corrects", () =>
    Effect.gen(function*() {
      expect(yield* counted([{ message: "go" }])).toEqual([{
        provider: "scripted",
        model: "scripted-model",
        tool: "look",
        calls: 5,
        successes: 2,
        firstAttemptSuccesses: 1,
        repairs: 0,
        retries: 2,
        failures: { validation: 3 }
      }])
    }).pipe(Effect.provide(TestLoop.layer({
      model: [raw("{}", "{\"at\":\"a\"}", "{\"at\":1}"), raw("{\"at\":\"b\"}", "{"), ScriptedModel.text("done")],
      tools: [Look]
    }))))

  it.effect("begins a new chain with each turn, and counts by model", () =>
    Effect.gen(function*() {
      const counters = yield* counted([{ message: "one" }, { message: "two", model: "other" }])
      expect(counters.map(({ failures, firstAttemptSuccesses, model, retries }) => [
        model,
        firstAttemptSuccesses,
        retries,
        failures
      ])).toEqual([
        ["scripted-model", 0, 0, { validation: 1, execution: 1 }],
        ["other", 1, 0, {}]
      ])
      expect(counters.reduce(CallStatistics.add, CallStatistics.zero)).toMatchObject({
        calls: 3,
        failures: { validation: 1, execution: 1 }
      })
    }).pipe(Effect.provide(TestLoop.layer({
      model: [
        raw("{}", "{\"at\":\"nowhere\"}"),
        ScriptedModel.text("done"),
        raw("{\"at\":\"a\"}"),
        ScriptedModel.text("ok")
      ],
      tools: [Look]
    }))))

  it.effect("counts repairs, and nothing of a response that broke off", () =>
    Effect.gen(function*() {
      const counters = yield* counted([{ message: "go" }])
      expect(counters).toMatchObject([{ tool: "look", calls: 1, firstAttemptSuccesses: 1, repairs: 1, retries: 0 }])
    }).pipe(Effect.provide(TestLoop.layer({
      model: [
        ScriptedModel.broken(ScriptedModel.deltasOf({ calls: [{ name: "look", raw: "{}" }] }).slice(0, -1)),
        ScriptedModel.raw({ calls: [{ name: "LOOK", raw: "{\"at\":\"a\"}" }] }),
        ScriptedModel.text("done")
      ],
      tools: [Look]
    }))))
})
