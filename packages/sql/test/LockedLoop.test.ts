import { Journal, Tool, ToolLoop } from "@capstan/core"
import { SqlJournal } from "@capstan/sql"
import { ScriptedModel, TestLoop } from "@capstan/testing"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { temporaryFile } from "./folders.js"
import { buildChild, removeChild, start } from "./processes.js"

beforeAll(buildChild)
afterAll(removeChild)

const session = "a"

const records = Effect.map(
  Effect.flatMap(Journal.Journal, (journal) => journal.read({ session })),
  (rows) => rows.map(({ record }) => record)
)

/** A loop over a file, with a model and a tool that wait to be let on. */
const make = Effect.gen(function*() {
  const address = yield* temporaryFile
  const asked = yield* Deferred.make<void>()
  const answers = yield* Deferred.make<void>()
  const called = yield* Deferred.make<void>()
  const returns = yield* Deferred.make<void>()
  let runs = 0
  const write = Tool.make("write", {
    description: "Writes.",
    parameters: Schema.Struct({}),
    safety: "side-effect",
    handler: () =>
      Effect.gen(function*() {
        runs += 1
        yield* Deferred.succeed(called, undefined)
        yield* Deferred.await(returns)
        return "written"
      })
  })
  const layer = TestLoop.layer({
    model: (_, n) =>
      n === 0
        ? ScriptedModel.respond(() =>
          Deferred.succeed(asked, undefined).pipe(
            Effect.zipRight(Deferred.await(answers)),
            Effect.as(ScriptedModel.call("write", {}))
          )
        )
        : ScriptedModel.text("done"),
    tools: [write],
    policy: { mode: "auto", denylist: [] },
    journal: Layer.orDie(SqlJournal.layerSqlite({ filename: address }))
  }).pipe(Layer.provide(Logger.minimumLogLevel(LogLevel.None)))
  const lock = Effect.gen(function*() {
    const locker = yield* start({ mode: "lock", address })
    assert.deepStrictEqual(yield* locker.next, { locked: true })
    return Effect.zipRight(locker.send("release"), locker.ended)
  })
  return { asked, answers, called, returns, layer, lock, runs: () => runs }
})

const interrupted = (fiber: Fiber.Fiber<unknown, unknown>) =>
  Effect.gen(function*() {
    // Long enough for what is written next to wait for the lock.
    yield* Effect.sleep("300 millis")
    assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
    const [taken] = yield* Effect.timed(Fiber.interrupt(fiber))
    assert.isBelow(Duration.toMillis(taken), 500)
  })

describe("a loop whose database another process has locked", () => {
  it.live("is interrupted at once before a call, which then has not run", () =>
    Effect.gen(function*() {
      const world = yield* make
      yield* Effect.gen(function*() {
        const fiber = yield* Effect.fork(ToolLoop.run({ session, message: "x" }))
        yield* Deferred.await(world.asked)
        const release = yield* world.lock
        yield* Deferred.succeed(world.answers, undefined)
        yield* interrupted(fiber)
        yield* release
        assert.strictEqual(world.runs(), 0)
        const turn = yield* ToolLoop.run({ session, message: "again" })
        assert.strictEqual(turn.text, "done")
        assert.strictEqual(world.runs(), 0)
      }).pipe(Effect.provide(world.layer))
    }).pipe(Effect.scoped), 20_000)

  it.live(
    "is interrupted at once after a call, of which nobody knows then what came of it",
    () =>
      Effect.gen(function*() {
        const world = yield* make
        yield* Effect.gen(function*() {
          yield* Deferred.succeed(world.answers, undefined)
          const fiber = yield* Effect.fork(ToolLoop.run({ session, message: "x" }))
          yield* Deferred.await(world.called)
          const release = yield* world.lock
          yield* Deferred.succeed(world.returns, undefined)
          yield* interrupted(fiber)
          yield* release
          const error = yield* Effect.flip(ToolLoop.run({ session, message: "again" }))
          assert.deepInclude(error, { _tag: "UnfinishedError", reason: "crashed", unknown: ["write (0)"] })
          yield* ToolLoop.recover({ session, choice: "partial" })
          assert.strictEqual((yield* ToolLoop.run({ session })).text, "done")
          assert.strictEqual(world.runs(), 1)
          const settled = (yield* records).flatMap((record) => record._tag === "Settled" ? [record.outcome._tag] : [])
          assert.deepStrictEqual(settled, ["Unknown"])
        }).pipe(Effect.provide(world.layer))
      }).pipe(Effect.scoped),
    20_000
  )

  it.live("is interrupted at once while nothing is written, and while a call runs", () =>
    Effect.gen(function*() {
      const world = yield* make
      yield* Effect.gen(function*() {
        yield* Deferred.succeed(world.answers, undefined)
        const fiber = yield* Effect.fork(ToolLoop.run({ session, message: "x" }))
        yield* Deferred.await(world.called)
        const release = yield* world.lock
        yield* interrupted(fiber)
        yield* release
        const error = yield* Effect.flip(ToolLoop.run({ session, message: "again" }))
        assert.deepInclude(error, { _tag: "UnfinishedError", reason: "crashed", unknown: ["write (0)"] })
      }).pipe(Effect.provide(world.layer))
    }).pipe(Effect.scoped), 20_000)

  it.live("goes on when the lock is gone", () =>
    Effect.gen(function*() {
      const world = yield* make
      yield* Effect.gen(function*() {
        yield* Deferred.succeed(world.answers, undefined)
        const fiber = yield* Effect.fork(ToolLoop.run({ session, message: "x" }))
        yield* Deferred.await(world.called)
        const release = yield* world.lock
        yield* Deferred.succeed(world.returns, undefined)
        yield* Effect.sleep("2 seconds")
        yield* release
        assert.strictEqual((yield* Fiber.join(fiber)).text, "done")
      }).pipe(Effect.provide(world.layer))
    }).pipe(Effect.scoped), 20_000)
})
