import { Journal, Tool, ToolLoop, Usage } from "@capstan/core"
import type { Budget } from "@capstan/core"
import { ScriptedModel, TestLoop } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Schema, TestClock } from "effect"

const usage: Usage.Usage = { ...Usage.zero, input: 800, output: 200 }
const prices: Usage.Prices = { input: 1, output: 10, cacheRead: null, cacheWrite: null, source: "test" }

/** Hands a message to a session below: as far down as it says. */
const Delegate = Tool.make("delegate", {
  description: "Lets a session below do something.",
  parameters: Schema.Struct({
    to: Schema.String,
    message: Schema.String,
    model: Schema.optional(Schema.String),
    calls: Schema.optional(Schema.Number)
  }),
  timeout: "1 hour",
  handler: ({ calls, message, model, to }, call) =>
    Effect.map(
      call.delegate({
        session: to,
        message,
        ...(model === undefined ? {} : { model }),
        ...(calls === undefined ? {} : { budget: { calls } })
      }),
      ({ end, reason, text }) => `${end}: ${reason ?? text}`
    )
})

const Look = Tool.make("look", {
  description: "Reads.",
  parameters: Schema.Struct({}),
  safety: "read-only",
  handler: () => Effect.succeed("saw")
})

const Sleep = Tool.make("sleep", {
  description: "Sleeps.",
  parameters: Schema.Struct({ seconds: Schema.Number }),
  timeout: "1 hour",
  handler: ({ seconds }) => Effect.as(Effect.sleep(Duration.seconds(seconds)), "slept")
})

const layer = (model: ScriptedModel.Script, budgets?: Partial<Budget.Budgets>) =>
  TestLoop.layer({
    model,
    modelOptions: { usage, model: { prices } },
    tools: [Delegate, Look, Sleep],
    policy: { mode: "auto" },
    ...(budgets === undefined ? {} : { loop: { budgets } })
  })

const records = (session: string) =>
  Effect.map(
    Effect.flatMap(Journal.Journal, (journal) => journal.read({ session })),
    (rows) => rows.map(({ record }) => record)
  )

const childSpent = (session: string) =>
  Effect.map(
    records(session),
    (all) => all.flatMap((record) => record._tag === "ChildSpent" ? [{ of: record.session, ...record.spent }] : [])
  )

const total = (spent: ReadonlyArray<Budget.Spent>) =>
  spent.reduce((sum, { calls, cost, usage }) => ({
    calls: sum.calls + calls,
    tokens: sum.tokens + usage.input + usage.output,
    cost: sum.cost + (cost ?? 0)
  }), { calls: 0, tokens: 0, cost: 0 })

describe("a session that runs on behalf of another", () => {
  it.effect("says whose, and its spending is written into the other", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "top", message: "x", user: "kim", workspace: "/p", model: "special" })
      expect(turn).toMatchObject({ end: "answered", text: "all done", spent: { calls: 2 } })
      expect(turn.spent.usage.input).toBe(4 * 800)
      expect(turn.cost).toBeCloseTo(4 * 0.0028)
      const [started] = yield* records("below")
      expect(started).toMatchObject({ _tag: "TurnStarted", parent: "top", model: "special", user: "kim" })
      const sessions = yield* Effect.flatMap(Journal.Journal, (journal) => journal.sessions({ project: "/p" }))
      expect(sessions.map(({ id }) => id).sort()).toEqual(["below", "top"])
      const spent = yield* childSpent("top")
      expect(total(spent)).toMatchObject({ calls: 1, tokens: 2_000 })
      expect(spent.every(({ millis }) => millis === 0)).toBe(true)
      const requests = yield* ScriptedModel.requests
      expect(requests.map(({ model }) => model)).toEqual(["special", "special", "special", "special"])
    }).pipe(Effect.provide(layer([
      ScriptedModel.call("delegate", { to: "below", message: "look" }),
      ScriptedModel.call("look", {}),
      ScriptedModel.text("looked"),
      ScriptedModel.expecting(ScriptedModel.text("all done"), ({ messages }) => {
        expect(JSON.stringify(messages.at(-1))).toContain("answered: looked")
      })
    ]))))

  it.effect("spends from every session above", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "a", message: "x" })
      expect(turn.spent.calls).toBe(3)
      expect(total(yield* childSpent("b"))).toMatchObject({ calls: 1, tokens: 2_000 })
      expect(total(yield* childSpent("a"))).toMatchObject({ calls: 2, tokens: 4_000 })
      expect((yield* childSpent("a")).every(({ of }) => of === "b")).toBe(true)
    }).pipe(Effect.provide(layer([
      ScriptedModel.call("delegate", { to: "b", message: "x" }),
      ScriptedModel.call("delegate", { to: "c", message: "x" }),
      ScriptedModel.call("look", {}),
      ScriptedModel.text("c"),
      ScriptedModel.text("b"),
      ScriptedModel.text("a")
    ]))))

  it.effect("ends with the budget of a session above, which ends, too", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "a", message: "x", budget: { tokens: 3_000 } })
      expect(turn).toMatchObject({ end: "budget", reason: "The tokens of this turn are used up: 3000 of 3000." })
      const below = (yield* records("c")).at(-1)
      expect(below).toMatchObject({
        _tag: "TurnEnded",
        end: "budget",
        reason: "The tokens of the turn of a, on whose behalf this one runs, are used up: 3000 of 3000."
      })
    }).pipe(Effect.provide(layer([
      ScriptedModel.call("delegate", { to: "b", message: "x" }),
      ScriptedModel.call("delegate", { to: "c", message: "x" }),
      ScriptedModel.call("look", {})
    ]))))

  it.effect("has a budget of its own", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "a", message: "x" })
      expect(turn.end).toBe("answered")
      expect((yield* records("b")).at(-1)).toMatchObject({ end: "budget" })
      expect(turn.calls[0]?.outcome).toMatchObject({
        content: [{ text: "budget: The tool calls of this turn are used up: 1 of 1." }]
      })
    }).pipe(Effect.provide(layer([
      ScriptedModel.call("delegate", { to: "b", message: "x", calls: 1 }),
      ScriptedModel.call("look", {}),
      ScriptedModel.call("look", {}),
      ScriptedModel.text("done")
    ]))))

  it.effect("takes its time from those above", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(
        ToolLoop.run({ session: "a", message: "x", budget: { time: Duration.seconds(5) } })
      )
      yield* TestClock.adjust("20 seconds")
      const turn = yield* Fiber.join(fiber)
      expect(turn).toMatchObject({ end: "budget", spent: { millis: 5_000 } })
    }).pipe(Effect.provide(layer([
      ScriptedModel.call("delegate", { to: "b", message: "x" }),
      ScriptedModel.call("sleep", { seconds: 10 })
    ]))))

  it.effect("needs one that runs now", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(ToolLoop.run({ session: "b", message: "x", parent: "a" }))
      expect(error).toMatchObject({ _tag: "ConfigurationError" })
      expect(error.message).toContain("no turn that runs in this loop now")
      yield* ToolLoop.run({ session: "a", message: "x" })
      expect(yield* Effect.flip(ToolLoop.run({ session: "b", message: "x", parent: "a" }))).toMatchObject({
        _tag: "ConfigurationError"
      })
    }).pipe(Effect.provide(layer([ScriptedModel.text("done")]))))

  it.effect("ends at the limit of their depth, where a model is told", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "0", message: "x" })
      expect(turn.end).toBe("answered")
      const settled = (yield* records("5")).flatMap((record) => record._tag === "Settled" ? [record.outcome] : [])
      expect(settled).toMatchObject([{ _tag: "Failed" }])
      expect(JSON.stringify(settled)).toContain("Session 5 runs 5 sessions deep already")
      expect(yield* Effect.flip(records("6"))).toMatchObject({ reason: "not-found" })
    }).pipe(Effect.provide(layer((_, n) =>
      n < 6 ? ScriptedModel.call("delegate", { to: `${n + 1}`, message: "x" }) : ScriptedModel.text("done")
    ))))

  it.effect("cannot be the session that it runs for", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "a", message: "x" })
      expect(turn.calls[0]?.outcome).toMatchObject({ _tag: "Failed" })
      expect(JSON.stringify(turn.calls[0]?.outcome)).toContain("running already")
    }).pipe(Effect.provide(layer([
      ScriptedModel.call("delegate", { to: "a", message: "x" }),
      ScriptedModel.text("done")
    ]))))

  it.effect("is cancelled with the one above, and the journals say so", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(ToolLoop.run({ session: "a", message: "x" }))
      yield* Effect.repeat(
        Effect.flatMap(
          Effect.orElseSucceed(records("c"), () => []),
          (all) => all.some(({ _tag }) => _tag === "Intent") ? Deferred.succeed(begun, undefined) : Effect.yieldNow()
        ),
        { until: () => Deferred.isDone(begun) }
      )
      yield* Fiber.interrupt(fiber)
      for (const session of ["a", "b", "c"]) {
        const all = yield* records(session)
        expect(all.at(-1)).toMatchObject({ _tag: "TurnEnded", end: "cancelled" })
        const received = all.filter(({ _tag }) => _tag === "CallReceived")
        const settled = all.filter(({ _tag }) => _tag === "Settled")
        expect(settled).toHaveLength(received.length)
        expect(settled).toMatchObject([{ outcome: { _tag: "Cancelled" } }])
      }
      expect(total(yield* childSpent("a"))).toMatchObject({ calls: 2, tokens: 2_000 })
      expect(yield* ToolLoop.run({ session: "c", message: "again" })).toMatchObject({ text: "again" })
    }).pipe(Effect.provide(layer([
      ScriptedModel.call("delegate", { to: "b", message: "x" }),
      ScriptedModel.call("delegate", { to: "c", message: "x" }),
      ScriptedModel.call("sleep", { seconds: 100 }),
      ScriptedModel.text("again")
    ]))))
})
