import * as Journal from "@capstan/core/Journal"
import type { JournalRecord } from "@capstan/core/JournalRecord"
import * as Limits from "@capstan/core/Limits"
import { type ModelRequest } from "@capstan/core/ModelProvider"
import * as SessionState from "@capstan/core/SessionState"
import * as ToolCall from "@capstan/core/ToolCall"
import * as ToolLoop from "@capstan/core/ToolLoop"
import { CrashPoint, HistoryValidator, JournalValidator } from "@capstan/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Schema } from "effect"
import { type Entry, generated, make, type World } from "./worlds.js"

const session = "s"

const limits: Limits.Values = { ...Limits.strict, maxToolIterationsPerUserTurn: 4, repeatsBeforeEnd: 100 }

const rowsOf = Effect.flatMap(
  Journal.Journal,
  (journal) => Effect.catchAll(journal.read({ session }), () => Effect.succeed<ReadonlyArray<Journal.JournalRow>>([]))
)

const fold = (rows: ReadonlyArray<Journal.JournalRow>) =>
  rows.reduce((state, { record }) => SessionState.step(state, record), SessionState.empty)

const promised = (rows: ReadonlyArray<Journal.JournalRow>): void => {
  assert.strictEqual(JournalValidator.toText(JournalValidator.validate(rows)), "")
}

const isRecord = (entry: Entry | undefined, tag: JournalRecord["_tag"], key: string): boolean =>
  entry?._tag === "Wrote" && entry.record._tag === tag && "ref" in entry.record &&
  ToolCall.keyOf(entry.record.ref) === key

/** 3: a handler runs at most once per call. */
const atMostOnce = (log: ReadonlyArray<Entry>): void => {
  const ran = log.flatMap((entry) => entry._tag === "Started" ? [entry.key] : [])
  assert.deepStrictEqual(ran, [...new Set(ran)])
}

/** 4: the intent is written before the handler starts, the result before the next stage starts and the model is asked. */
const journaledFirst = (log: ReadonlyArray<Entry>): void => {
  log.forEach((entry, i) => {
    const before = log.slice(0, i)
    if (entry._tag === "Started") {
      assert.isTrue(before.some((earlier) => isRecord(earlier, "Intent", entry.key)), `${entry.key} ran unjournaled`)
      const alone = entry.safety !== "read-only"
      for (const earlier of before) {
        if (earlier._tag !== "Started" || (!alone && earlier.safety === "read-only")) continue
        const settled = before.some((one) => isRecord(one, "Settled", earlier.key))
        assert.isTrue(settled, `${entry.key} started before ${earlier.key} was journaled`)
      }
    }
    if (entry._tag === "Requested") {
      for (const earlier of before) {
        if (earlier._tag !== "Started") continue
        assert.isTrue(
          before.some((one) => isRecord(one, "Settled", earlier.key)),
          `asked before ${earlier.key} was there`
        )
      }
    }
  })
}

/** 5: no handler of a batch runs before its questions are answered. */
const askedFirst = (log: ReadonlyArray<Entry>): void => {
  let open: string | undefined
  for (const entry of log) {
    if (entry._tag === "Asked") open = entry.batch
    if (entry._tag === "Answered") open = undefined
    if (entry._tag === "Started") assert.notStrictEqual(entry.key.split(".").slice(0, 2).join("."), open)
  }
}

/** 2, 7: every request is valid for every provider, reasoning of another one left out. */
const validRequests = (requests: ReadonlyArray<ModelRequest & { readonly provider: string }>): void => {
  for (const request of requests) {
    for (const dialect of HistoryValidator.dialects) {
      assert.strictEqual(HistoryValidator.toText(HistoryValidator.validateRequest(request, dialect)), "")
    }
  }
}

/** 10: what a model was sent is what the journal says. */
const sentIsStored = (rows: ReadonlyArray<Journal.JournalRow>, requests: ReadonlyArray<ModelRequest>): void => {
  const stored = fold(rows).messages
  const last = requests.at(-1)?.messages ?? []
  assert.deepStrictEqual(stored.slice(0, last.length), last)
}

const holds = (world: World, rows: ReadonlyArray<Journal.JournalRow>): void => {
  promised(rows)
  atMostOnce(world.log)
  journaledFirst(world.log)
  askedFirst(world.log)
  validRequests(world.requests)
  sentIsStored(rows, world.requests)
  assert.strictEqual(world.running(), 0)
}

const inCallOrder = (a: string, b: string): number => {
  const [x, y] = [a, b].map((key) => key.split(".").map(Number))
  return (x ?? []).reduce((order, part, i) => order === 0 ? part - (y?.[i] ?? 0) : order, 0)
}

const turns = (world: World) =>
  Effect.forEach(world.program.turns, ({ model }, turn) => ToolLoop.run({ session, message: `turn ${turn}`, model }))

describe("whatever a model says, and whoever answers", () => {
  it.live.prop(
    "every turn ends, each call has one result, nothing runs twice, unasked or unjournaled, and every request is valid",
    { program: generated },
    ({ program }) => {
      const world = make(program)
      return Effect.gen(function*() {
        const results = yield* turns(world)
        const rows = yield* rowsOf
        holds(world, rows)
        assert.deepStrictEqual(
          results.flatMap(({ calls }) => calls.map(({ ref }) => ToolCall.keyOf(ref))),
          rows.flatMap(({ record }) => record._tag === "Settled" ? [ToolCall.keyOf(record.ref)] : []).sort(inCallOrder)
        )
      }).pipe(Effect.provide(world.layer([])), Effect.provideService(Limits.Limits, limits))
    },
    { fastCheck: { numRuns: 50 } }
  )

  it.live.prop(
    "a turn that is cancelled after any record leaves nothing running and goes on as one that was not",
    { program: generated, place: Schema.Int.pipe(Schema.between(1, 40)) },
    ({ place, program }) => {
      const world = make(program)
      return Effect.gen(function*() {
        const reached = yield* Deferred.make<void>()
        const layer = world.layer([CrashPoint.after(place, Deferred.succeed(reached, undefined))])
        yield* Effect.gen(function*() {
          const fiber = yield* Effect.fork(turns(world))
          yield* Effect.race(Deferred.await(reached), Fiber.await(fiber))
          yield* Fiber.interrupt(fiber)
          assert.strictEqual(world.running(), 0)
          promised(yield* rowsOf)
          assert.isNull(fold(yield* rowsOf).open)
          const result = yield* ToolLoop.run({ session, message: "and now?" })
          assert.include(["answered", "iterations", "refused"], result.end)
          holds(world, yield* rowsOf)
        }).pipe(Effect.provide(layer))
      }).pipe(Effect.provideService(Limits.Limits, limits))
    },
    { fastCheck: { numRuns: 50 } }
  )

  it.live.prop(
    "a journal that fails at any record ends the run, and the session goes on with the truth about each call",
    {
      program: generated,
      place: Schema.Int.pipe(Schema.between(1, 40)),
      choice: Schema.Literal("partial", "discard")
    },
    ({ choice, place, program }) => {
      const world = make(program)
      return Effect.gen(function*() {
        const broke = yield* Effect.exit(turns(world))
        if (Exit.isSuccess(broke)) return holds(world, yield* rowsOf)
        const before = yield* rowsOf
        const ran = world.log.filter((entry) => entry._tag === "Started").length
        yield* Effect.ignore(ToolLoop.recover({ session, choice }))
        assert.strictEqual(world.log.filter((entry) => entry._tag === "Started").length, ran, "recovery ran a handler")
        const open = fold(yield* rowsOf).open
        yield* ToolLoop.run({ session, ...(open === null ? { message: "and now?" } : {}) })
        const after = yield* rowsOf
        assert.deepStrictEqual(after.slice(0, before.length), before)
        promised(after)
        atMostOnce(world.log)
        validRequests(world.requests)
        sentIsStored(after, world.requests)
      }).pipe(
        Effect.provide(world.layer([CrashPoint.before(place, CrashPoint.fail())])),
        Effect.provideService(Limits.Limits, limits)
      )
    },
    { fastCheck: { numRuns: 50 } }
  )
})
