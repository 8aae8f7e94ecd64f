import { type Event, Journal, type JournalRecord, Tool, ToolLoop } from "@capstan/core"
import { ScriptedApproval, ScriptedModel, TestLoop } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, FastCheck, Fiber, Schema, Stream } from "effect"

let open = 0

/** Counts what it holds while it runs. */
const tool = (name: string, safety: "read-only" | "side-effect", wait: Effect.Effect<unknown>) =>
  Tool.make(name, {
    description: name,
    parameters: Schema.Struct({}),
    safety,
    handler: (_, call) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          open += 1
        }),
        () => Effect.zipRight(call.emit({ stream: "stdout", text: name }), Effect.as(wait, name)),
        () =>
          Effect.sync(() => {
            open -= 1
          })
      )
  })

const tools = [
  tool("read", "read-only", Effect.yieldNow()),
  tool("hang", "read-only", Effect.never),
  tool("write", "side-effect", Effect.sleep("1 millis"))
]

const calls = (...names: ReadonlyArray<string>) => ScriptedModel.calls(names.map((name) => ({ name, arguments: {} })))

const layer = (model: ScriptedModel.Script) =>
  TestLoop.layer({
    model,
    tools,
    approvals: Array.from({ length: 20 }, () => ScriptedApproval.approveAll)
  })

const records = Effect.map(
  Effect.flatMap(Journal.Journal, (journal) => journal.read({ session: "s" })),
  (rows) => rows.map(({ record }) => record)
)

/** Each call that stands in history has one result, and the last turn is over. */
const settledWhole = (all: ReadonlyArray<JournalRecord.JournalRecord>) => {
  const refs = (tag: "CallReceived" | "Settled") =>
    all.flatMap((record) => record._tag === tag && "ref" in record ? [JSON.stringify(record.ref)] : []).sort()
  const voided = all.flatMap((record) => record._tag === "Voided" ? [record.iteration] : [])
  const standing = refs("CallReceived").filter((ref) => !voided.some((at) => ref.includes(`"iteration":${at},`)))
  expect(refs("Settled")).toEqual(standing)
  const intents = all.flatMap((record) => record._tag === "Intent" ? [JSON.stringify(record.ref)] : [])
  expect(new Set(intents).size).toBe(intents.length)
  expect(all.at(-1)?._tag).toBe("TurnEnded")
}

const taking = (events: number) =>
  ToolLoop.stream({ session: "s", message: "x" }).pipe(Stream.take(events), Stream.runDrain)

describe("cancellation", () => {
  it.live.prop(
    "after any event leaves a whole journal, nothing running, and a session that goes on",
    { events: FastCheck.integer({ min: 1, max: 60 }) },
    ({ events }) =>
      Effect.gen(function*() {
        open = 0
        yield* taking(events)
        expect(open).toBe(0)
        settledWhole(yield* records)
        const next = yield* ToolLoop.run({ session: "s", message: "again" })
        expect(next).toMatchObject({ end: "answered", text: "fine" })
        settledWhole(yield* records)
      }).pipe(Effect.provide(layer((request, n) =>
        JSON.stringify(request.messages.at(-1)).includes("again")
          ? ScriptedModel.text("fine")
          : n === 0
          ? calls("read", "read", "write", "nothing")
          : n === 1
          ? calls("write", "read")
          : ScriptedModel.text("done")
      ))),
    { fastCheck: { numRuns: 40 } }
  )

  it.live("tells those that ran from those that did not, and calls no model", () =>
    Effect.gen(function*() {
      const seen: Array<Event.Event> = []
      yield* ToolLoop.stream({ session: "s", message: "x" }).pipe(
        Stream.tap((event) => Effect.sync(() => seen.push(event))),
        Stream.takeUntil((event) => event._tag === "ToolOutput" && event.ref.position === 1),
        Stream.runDrain
      )
      expect(open).toBe(0)
      const all = yield* records
      const outcomes = all.flatMap((record) => record._tag === "Settled" ? [[record.ref.position, record.outcome]] : [])
      expect(outcomes).toMatchObject([
        [0, { _tag: "Cancelled", failure: { message: "Cancelled by user\nIts last output:\nhang" } }],
        [1, { _tag: "Cancelled", failure: { message: "Cancelled by user\nIts last output:\nhang" } }],
        [2, { _tag: "Cancelled", failure: { message: "Cancelled by user" } }]
      ])
      expect(all.at(-1)).toMatchObject({ end: "cancelled", reason: "Cancelled by user" })
      expect(all.filter(({ _tag }) => _tag === "Intent")).toHaveLength(2)
      expect(yield* Effect.flatMap(ScriptedModel.ScriptedModel, (model) => model.count)).toBe(1)
    }).pipe(Effect.provide(layer([calls("hang", "hang", "write")]))))

  it.live("takes back what the model was saying", () =>
    Effect.gen(function*() {
      yield* ToolLoop.stream({ session: "s", message: "x" }).pipe(
        Stream.takeUntil(({ _tag }) => _tag === "CallReceived"),
        Stream.runDrain
      )
      const all = yield* records
      expect(all.map(({ _tag }) => _tag)).toEqual(["TurnStarted", "CallReceived", "Voided", "TurnEnded"])
      yield* ToolLoop.run({ session: "s", message: "again" })
      const [, request] = yield* ScriptedModel.requests
      expect(request?.messages.map(({ role }) => role)).toEqual(["user", "user"])
    }).pipe(Effect.provide(layer([
      ScriptedModel.hangAfter(
        ScriptedModel.deltasOf({ calls: [{ name: "read", raw: "{}" }] }).filter(({ _tag }) => _tag !== "Finish")
      ),
      ScriptedModel.text("fine")
    ]))))

  it.live("of a run is done when the interruption is through", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(ToolLoop.run({ session: "s", message: "x" }))
      yield* Effect.repeat(Effect.yieldNow(), { until: () => Effect.sync(() => open > 0) })
      yield* Fiber.interrupt(fiber)
      expect(open).toBe(0)
      settledWhole(yield* records)
    }).pipe(Effect.provide(layer([calls("hang")]))))

  it.live("tells it last, where somebody still listens", () =>
    Effect.gen(function*() {
      const seen: Array<Event.Event> = []
      const exit = yield* Effect.exit(
        Stream.runForEach(
          ToolLoop.stream({ session: "s", message: "x" }),
          (event) => Effect.sync(() => seen.push(event))
        )
      )
      expect(exit).toMatchObject({ _tag: "Failure", cause: { _tag: "Interrupt" } })
      expect(seen.at(-1)).toMatchObject({ _tag: "Final", result: { end: "cancelled", calls: [{ name: "read" }] } })
      settledWhole(yield* records)
    }).pipe(Effect.provide(layer([calls("read"), ScriptedModel.respond(() => Effect.interrupt)]))))

  it.live("after a turn has ended waiting leaves it waiting", () =>
    Effect.gen(function*() {
      yield* ToolLoop.stream({ session: "s", message: "x" }).pipe(
        Stream.takeUntil(({ _tag }) => _tag === "Final"),
        Stream.runDrain
      )
      expect((yield* records).at(-1)).toMatchObject({ _tag: "TurnEnded", end: "awaiting" })
      const turn = yield* ToolLoop.supply({ session: "s", answers: { _tag: "ApproveAll" } })
      expect(turn).toMatchObject({ end: "answered" })
    }).pipe(Effect.provide(TestLoop.layer({
      model: [calls("write"), ScriptedModel.text("done")],
      tools,
      approvals: [ScriptedApproval.later]
    }))))
})
