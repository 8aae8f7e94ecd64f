import { Journal, JournalRecord, Limits, SessionState, Tool, ToolLoop, ToolRegistry } from "@capstan/core"
import { FakeSandbox, HistoryValidator, ScriptedApproval, ScriptedModel } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, FastCheck, Layer, Logger, LogLevel, Ref, Schema } from "effect"

/** Counts how often a handler ran for each idempotency key. */
class Runs extends Effect.Service<Runs>()("test/Runs", {
  effect: Effect.map(Ref.make<ReadonlyArray<string>>([]), (ref) => ({
    add: (key: string) => Ref.update(ref, (keys) => [...keys, key]),
    all: Ref.get(ref)
  }))
}) {}

const tool = (name: string, safety: Safety.Safety, handler: () => Effect.Effect<string, string>) =>
  Tool.make(name, {
    description: name,
    parameters: Schema.Struct({ n: Schema.optional(Schema.Number) }),
    safety,
    timeout: "10 millis",
    handler: (_, call) => Effect.zipRight(Effect.flatMap(Runs, (runs) => runs.add(call.idempotencyKey)), handler())
  })

const tools = [
  tool("read", "read-only", () => Effect.succeed("read")),
  tool("write", "side-effect", () => Effect.succeed("")),
  tool("fails", "read-only", () => Effect.fail("no")),
  tool("throws", "side-effect", () => Effect.die("boom")),
  tool("hangs", "read-only", () => Effect.never)
]

const call = FastCheck.record({
  id: FastCheck.constantFrom("", "a", "b", "call_0", "ünläwful", "x".repeat(60)),
  name: FastCheck.constantFrom("read", "write", "fails", "throws", "hangs", "nothing", "READ"),
  raw: FastCheck.constantFrom("{}", "{\"n\":1}", "{\"n\":\"x\"}", "{\"m\":1}", "{", "", "[]", "null")
})

const batch = FastCheck.array(call, { minLength: 1, maxLength: 10 })

const program = FastCheck.array(
  FastCheck.record({
    text: FastCheck.constantFrom("", "thinking about it"),
    calls: batch,
    finish: FastCheck.constantFrom("tool-calls", "length")
  }),
  { maxLength: 5 }
)

const decision = FastCheck.constantFrom(
  ScriptedApproval.approveAll,
  ScriptedApproval.denyAll("no"),
  ScriptedApproval.fail("nobody")
)

const layer = (script: ScriptedModel.Script, approvals: ReadonlyArray<ScriptedApproval.Step>) =>
  ToolLoop.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(
      ScriptedModel.layer(script),
      ScriptedApproval.layer(approvals),
      ToolRegistry.layer(tools),
      Journal.layerMemory,
      FakeSandbox.layer()
    )),
    Layer.provideMerge(Runs.Default),
    Layer.provide(Logger.minimumLogLevel(LogLevel.None))
  )

const replay = (rows: ReadonlyArray<Journal.JournalRow>) =>
  rows.reduce((state, row) => SessionState.step(state, row.record), SessionState.empty)

describe("whatever a model says", () => {
  it.live.prop(
    "each call gets one result, in order, at most one run, and every request is valid",
    { program, approvals: FastCheck.array(decision, { minLength: 5, maxLength: 5 }) },
    ({ approvals, program }) =>
      Effect.gen(function*() {
        const result = yield* ToolLoop.run({ session: "s", message: "go" })
        const rows = yield* Effect.flatMap(Journal.Journal, (journal) => journal.read({ session: "s" }))

        const received = rows.flatMap(({ record }) =>
          record._tag === "CallReceived" ? [JSON.stringify(record.ref)] : []
        )
        const settled = rows.flatMap(({ record }) => record._tag === "Settled" ? [JSON.stringify(record.ref)] : [])
        expect([...settled].sort()).toEqual([...received].sort())
        expect(result.calls.map(({ ref }) => JSON.stringify(ref))).toEqual(received)

        const runs = yield* Effect.flatMap(Runs, (runs) => runs.all)
        expect(new Set(runs).size).toBe(runs.length)

        const intents = rows.flatMap(({ record }) => record._tag === "Intent" ? [record.ref] : [])
        expect(intents).toHaveLength(runs.length)

        const messages = replay(rows).messages
        for (const dialect of HistoryValidator.dialects) {
          expect(HistoryValidator.toText(HistoryValidator.validate(messages, dialect))).toBe("")
        }
        const requests = yield* ScriptedModel.requests
        const last = requests.at(-1)
        expect(messages.slice(0, last?.messages.length)).toEqual(last?.messages)
      }).pipe(
        Effect.provide(layer([
          ...program.map(({ calls, finish, text }) =>
            ScriptedModel.raw({ calls, text, finish: finish === "length" ? "length" : "tool-calls" })
          ),
          ScriptedModel.text("done"),
          ScriptedModel.text("done")
        ], approvals)),
        Effect.provideService(Limits.Limits, {
          ...Limits.strict,
          maxToolIterationsPerUserTurn: 6,
          repeatsBeforeEnd: 100
        })
      ),
    { fastCheck: { numRuns: 40 } }
  )

  it.effect.prop(
    "records survive their way through the store",
    { program },
    ({ program }) =>
      Effect.sync(() => {
        const encode = Schema.encodeSync(Schema.parseJson(JournalRecord.JournalRecord))
        const decode = Schema.decodeSync(Schema.parseJson(JournalRecord.JournalRecord))
        for (const { calls } of program) {
          for (const [position, { id, name, raw }] of calls.entries()) {
            const record: JournalRecord.JournalRecord = {
              _tag: "CallReceived",
              ref: { turn: 0, iteration: 0, position },
              call: { id, name, raw, arguments: null, malformed: "x", repairs: [] }
            }
            expect(decode(encode(record))).toEqual(record)
          }
        }
      })
  )
})
