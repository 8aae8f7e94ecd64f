import { type Budget, Journal, Tool, ToolLoop, Usage } from "@capstan/core"
import { ScriptedModel, TestLoop } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Option, Schema, Stream, TestClock } from "effect"

const usage: Usage.Usage = { ...Usage.zero, input: 800, output: 200 }
const prices: Usage.Prices = { input: 1, output: 10, cacheRead: null, cacheWrite: null, source: "test" }

const Look = Tool.make("look", {
  description: "Reads.",
  parameters: Schema.Struct({ at: Schema.optional(Schema.Number) }),
  safety: "read-only",
  handler: ({ at }) => Effect.succeed(`saw ${at}`)
})

const Slow = Tool.make("slow", {
  description: "Takes its time.",
  parameters: Schema.Struct({ seconds: Schema.Number }),
  timeout: "1 hour",
  handler: ({ seconds }) => Effect.as(Effect.sleep(Duration.seconds(seconds)), "slept")
})

const Talk = Tool.make("talk", {
  description: "Prints a lot.",
  parameters: Schema.Struct({}),
  timeout: "1 seconds",
  handler: (_, call) =>
    Effect.as(
      Effect.forEach(
        Array.from({ length: 300 }),
        (_, n) => call.emit({ stream: "stdout", text: `${n}\n` }),
        { discard: true }
      ),
      "said"
    )
})

const looks = (count: number) =>
  ScriptedModel.calls(Array.from({ length: count }, (_, at) => ({ name: "look", arguments: { at } })))

const layer = (options: {
  readonly model: ScriptedModel.Script
  readonly budgets?: Partial<Budget.Budgets>
  readonly priced?: boolean
  readonly limits?: Parameters<typeof TestLoop.layer>[0]["limits"]
}) =>
  TestLoop.layer({
    model: options.model,
    modelOptions: { usage, model: { prices: options.priced === true ? prices : null } },
    tools: [Look, Slow, Talk],
    policy: { mode: "auto" },
    loop: options.budgets === undefined ? {} : { budgets: options.budgets },
    ...(options.limits === undefined ? {} : { limits: options.limits })
  })

const records = (session: string) =>
  Effect.map(
    Effect.flatMap(Journal.Journal, (journal) => journal.read({ session })),
    (rows) => rows.map(({ record }) => record)
  )

const outcomes = (turn: { readonly calls: ReadonlyArray<{ readonly outcome: { readonly _tag: string } }> }) =>
  turn.calls.map(({ outcome }) => outcome._tag)

describe("a budget of tokens", () => {
  it.effect("keeps calls from running, and ends the turn in words", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "s", message: "x", budget: { tokens: 2_000 } })
      expect(turn).toMatchObject({ end: "budget", spent: { calls: 1 } })
      expect(turn.reason).toBe("The tokens of this turn are used up: 2000 of 2000.")
      expect(outcomes(turn)).toEqual(["Succeeded", "Refused"])
      expect(turn.calls[1]?.outcome).toMatchObject({
        failure: { _tag: "Limit", details: { limit: "turn tokens", value: 2_000 } }
      })
      expect((yield* records("s")).map(({ _tag }) => _tag).slice(-3)).toEqual(["Settled", "BudgetReached", "TurnEnded"])
    }).pipe(Effect.provide(layer({ model: [looks(1), looks(1)] }))))

  it.effect("ends a turn that a crash cut off as it would have ended", () =>
    Effect.gen(function*() {
      const whole = yield* ToolLoop.run({ session: "s", message: "x", budget: { tokens: 2_000 } })
      const written = yield* records("s")
      yield* Effect.flatMap(Journal.Journal, (journal) =>
        Effect.scoped(
          Effect.flatMap(journal.open({ session: "t", project: "/p" }), (open) => open.commit(written.slice(0, -1)))
        ))
      const resumed = yield* ToolLoop.run({ session: "t" })
      expect(resumed).toEqual({ ...whole, session: "t" })
    }).pipe(Effect.provide(layer({ model: [looks(1), looks(1)] }))))

  it.effect("does not take back an answer", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "s", message: "x", budget: { tokens: 10 } })
      expect(turn).toMatchObject({ end: "answered", text: "done", usage })
    }).pipe(Effect.provide(layer({ model: [ScriptedModel.text("done")] }))))

  it.effect("of a session holds over its turns, also for one that is opened again", () =>
    Effect.gen(function*() {
      yield* ToolLoop.run({ session: "s", message: "x" })
      const turn = yield* ToolLoop.run({ session: "s", message: "y" })
      expect(turn).toMatchObject({ end: "budget", text: "", calls: [] })
      expect(turn.reason).toContain("The tokens of this session are used up: 1000 of 900")
      expect(yield* Effect.flatMap(ScriptedModel.ScriptedModel, (model) => model.count)).toBe(1)
    }).pipe(Effect.provide(layer({ model: [ScriptedModel.text("done")], budgets: { session: { tokens: 900 } } }))))

  it.effect("of a run takes the place of the loop's", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "s", message: "x", budget: {} })
      expect(turn.end).toBe("answered")
    }).pipe(Effect.provide(layer({
      model: [looks(1), ScriptedModel.text("done")],
      budgets: { turn: { tokens: 1 } }
    }))))
})

describe("a budget of money", () => {
  it.effect("refuses to start where a price is unknown", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(ToolLoop.run({ session: "s", message: "x", budget: { cost: 1 } }))
      expect(error).toMatchObject({ _tag: "ConfigurationError" })
      expect(error.message).toContain("prices of scripted-model are not known")
      expect(yield* records("s")).toEqual([])
    }).pipe(Effect.provide(layer({ model: [] }))))

  it.effect("ends the turn when it is spent", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "s", message: "x", budget: { cost: 0.005 } })
      expect(turn.end).toBe("budget")
      expect(turn.cost).toBeCloseTo(0.0056)
      expect(turn.reason).toContain("$0.0056 of $0.005")
      expect(outcomes(turn)).toEqual(["Succeeded", "Refused"])
    }).pipe(Effect.provide(layer({ model: [looks(1), looks(1)], priced: true }))))

  it.effect("is over when nobody can say what was spent", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "s", message: "x", budget: { cost: 5 } })
      expect(turn).toMatchObject({ end: "budget", cost: null })
      expect(turn.reason).toContain("is not known")
    }).pipe(Effect.provide(TestLoop.layer({
      model: [looks(1)],
      modelOptions: { model: { prices } },
      tools: [Look]
    }))))
})

describe("a budget of calls", () => {
  it.effect("lets as many run, and the model answer", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "s", message: "x", budget: { calls: 2 } })
      expect(turn).toMatchObject({ end: "answered", spent: { calls: 2 } })
    }).pipe(Effect.provide(layer({ model: [looks(2), ScriptedModel.text("done")] }))))

  it.effect("cuts a stage where it ends", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "s", message: "x", budget: { calls: 3 } })
      expect(turn).toMatchObject({ end: "budget", reason: "The tool calls of this turn are used up: 3 of 3." })
      expect(outcomes(turn)).toEqual(["Succeeded", "Succeeded", "Succeeded", "Refused", "Refused"])
    }).pipe(Effect.provide(layer({ model: [looks(5)] }))))
})

/** Runs a turn while the clock moves in steps. */
const driven = (options: ToolLoop.RunOptions, steps: ReadonlyArray<Duration.DurationInput>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.fork(ToolLoop.run(options))
    for (const step of steps) yield* TestClock.adjust(step)
    return yield* Fiber.join(fiber)
  })

const slow = (...seconds: ReadonlyArray<number>) =>
  ScriptedModel.calls(seconds.map((seconds) => ({ name: "slow", arguments: { seconds } })))

describe("a budget of time", () => {
  it.effect("ends what runs and what follows", () =>
    Effect.gen(function*() {
      const turn = yield* driven({ session: "s", message: "x", budget: { time: Duration.seconds(8) } }, [
        "5 seconds",
        "10 seconds"
      ])
      expect(turn).toMatchObject({ end: "budget", spent: { millis: 8_000 } })
      expect(turn.reason).toBe("The running time of this turn is used up: 8s of 8s.")
      expect(outcomes(turn)).toEqual(["Succeeded", "TimedOut", "Refused"])
    }).pipe(Effect.provide(layer({ model: [slow(5, 5, 5)] }))))

  it.effect("is recorded in parts that add up", () =>
    Effect.gen(function*() {
      const turn = yield* driven({ session: "s", message: "x" }, ["2 seconds", "3 seconds"])
      expect(turn.spent.millis).toBe(5_000)
      const millis = (yield* records("s")).flatMap((record) => "millis" in record ? [record.millis] : [])
      expect(millis).toEqual([0, 5_000, 0])
    }).pipe(Effect.provide(layer({ model: [slow(5), ScriptedModel.text("done")] }))))

  it.effect("ends a request in the middle, and takes back what had come of the answer", () =>
    Effect.gen(function*() {
      const turn = yield* driven({ session: "s", message: "x", budget: { time: Duration.seconds(8) } }, [
        "5 seconds",
        "3 seconds"
      ])
      expect(turn).toMatchObject({
        end: "budget",
        reason: "The running time of this turn is used up: 8s of 8s.",
        calls: [],
        spent: { millis: 8_000 }
      })
      expect((yield* records("s")).map(({ _tag }) => _tag)).toEqual([
        "TurnStarted",
        "CallReceived",
        "Voided",
        "BudgetReached",
        "TurnEnded"
      ])
      expect((yield* ToolLoop.run({ session: "s", message: "again" })).text).toBe("fine")
    }).pipe(Effect.provide(layer({
      model: [
        ScriptedModel.hangAfter(
          ScriptedModel.deltasOf({ calls: [{ name: "look", raw: "{}" }] }).filter(({ _tag }) => _tag !== "Finish")
        ),
        ScriptedModel.text("fine")
      ]
    }))))

  it.effect("of a batch ends the turn, too", () =>
    Effect.gen(function*() {
      const turn = yield* driven({ session: "s", message: "x" }, ["5 seconds", "5 seconds"])
      expect(turn).toMatchObject({
        end: "budget",
        reason: "The calls of one response may run for 8s together; that time is over."
      })
      expect(outcomes(turn)).toEqual(["Succeeded", "TimedOut", "Refused"])
      expect(turn.calls[1]?.outcome).toMatchObject({ failure: { details: { elapsedMillis: 3_000 } } })
      expect(turn.calls[2]?.outcome).toMatchObject({ failure: { details: { limit: "batch time", value: 8_000 } } })
    }).pipe(Effect.provide(layer({ model: [slow(5, 5, 5)], limits: { batchTimeout: Duration.seconds(8) } }))))

  it.effect("does not count a slow consumer", () =>
    Effect.gen(function*() {
      const seen = yield* Deferred.make<void>()
      const fiber = yield* ToolLoop.stream({ session: "s", message: "x", budget: { time: Duration.seconds(2) } }).pipe(
        Stream.tap((event) =>
          event._tag === "ToolOutput"
            ? Effect.zipRight(Deferred.succeed(seen, undefined), Effect.sleep("1 seconds"))
            : Effect.void
        ),
        Stream.filterMap((event) => event._tag === "Final" ? Option.some(event.result) : Option.none()),
        Stream.runHead,
        Effect.fork
      )
      yield* Deferred.await(seen)
      yield* TestClock.adjust("500 seconds")
      const turn = yield* Fiber.join(fiber)
      expect(turn).toMatchObject({ value: { end: "answered" } })
      expect(turn._tag === "Some" ? turn.value.spent.millis : -1).toBeLessThan(2_000)
    }).pipe(Effect.provide(layer({ model: [ScriptedModel.call("talk", {}), ScriptedModel.text("done")] }))))
})
