import { Approval, ApprovalStore, Journal, Tool, ToolLoop } from "@capstan/core"
import type { Answer, Question } from "@capstan/core/Approval"
import { CrashPoint, ScriptedApproval, ScriptedModel, TestLoop } from "@capstan/testing"
import { assert, describe, expect, it } from "@effect/vitest"
import { type Duration, Effect, FastCheck, Fiber, Layer, Logger, LogLevel, Schema, Stream, TestClock } from "effect"

const ran: Array<string> = []

const note = Tool.make("note", {
  description: "Notes a line.",
  parameters: Schema.Struct({ line: Schema.String }),
  allowedBy: ({ line }, pattern) => line === pattern,
  handler: ({ line }) => Effect.sync(() => (ran.push(line), `noted ${line}`))
})

const look = Tool.make("look", {
  description: "Reads.",
  parameters: Schema.Struct({}),
  safety: "read-only",
  handler: () => Effect.sync(() => (ran.push("look"), "saw"))
})

const session = "s"

const calls = (...lines: ReadonlyArray<string>) =>
  ScriptedModel.calls([
    ...lines.map((line) => ({ name: "note", arguments: { line } })),
    { name: "look", arguments: {} }
  ])

const done = ScriptedModel.text("done")

const world = (options: Omit<TestLoop.Options, "tools">) =>
  TestLoop.layer({ ...options, tools: [note, look] }).pipe(Layer.provide(Logger.minimumLogLevel(LogLevel.None)))

const queue = (wait: Duration.DurationInput = 0) => Approval.layerQueue({ policy: { denylist: [] }, wait })

const run = Effect.suspend(() => {
  ran.length = 0
  return ToolLoop.run({ session, message: "go" })
})

const records = Effect.map(
  Effect.flatMap(Journal.Journal, (journal) => journal.read({ session })),
  (rows) => rows.map(({ record }) => record)
)

const questions = Effect.map(
  records,
  (all) => all.flatMap((record) => record._tag === "Asked" ? [...record.questions] : [])
)

const stored = Effect.flatMap(ApprovalStore.ApprovalStore, (store) => store.answers({ session }))

const put = (question: Question, answer: Answer, more: Partial<ApprovalStore.StoredAnswer> = {}) =>
  Effect.flatMap(ApprovalStore.ApprovalStore, (store) =>
    store.answer({
      session,
      ref: question.ref,
      argumentsHash: question.argumentsHash,
      answer,
      by: "somebody",
      at: 0,
      ...more
    }))

const approve: Answer = { _tag: "Approve" }

const answerAll = (answer: Answer) =>
  Effect.flatMap(questions, (all) => Effect.forEach(all, (question) => put(question, answer), { discard: true }))

const decided = Effect.map(records, (all) => all.flatMap((record) => record._tag === "Decided" ? [record] : []))

describe("a queue", () => {
  it.effect("takes the answers of another process as soon as they are all there", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(run)
      yield* TestClock.adjust("10 seconds")
      const [a, b] = yield* questions
      assert(a !== undefined && b !== undefined)
      yield* put(a, approve)
      yield* TestClock.adjust("10 seconds")
      expect(fiber.unsafePoll()).toBeNull()
      yield* put(b, { _tag: "Deny", reason: "not this" }, { by: "another" })
      yield* TestClock.adjust("200 millis")
      const result = yield* Fiber.join(fiber)
      expect(result.calls.map(({ outcome }) => outcome)).toMatchObject([
        { _tag: "Succeeded" },
        { _tag: "Denied", reason: "not this" },
        { _tag: "Succeeded" }
      ])
      expect((yield* decided)[0]).toMatchObject({
        by: "queue",
        decision: { _tag: "Each", answers: [{ position: 0, by: "somebody" }, { position: 1, by: "another" }] }
      })
      expect(yield* stored).toEqual([])
    }).pipe(Effect.provide(world({ model: [calls("a", "b"), done], approval: queue("1 minute") }))))

  it.effect("that waited long enough ends the turn awaiting, and supply goes on once all answers are there", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(run)
      yield* TestClock.adjust("61 seconds")
      expect((yield* Fiber.join(fiber)).end).toBe("awaiting")
      yield* answerAll(approve)
      const next = yield* ToolLoop.supply({ session })
      expect(next.end).toBe("answered")
      expect(ran).toEqual(["a", "b", "look"])
      expect(yield* stored).toEqual([])
    }).pipe(Effect.provide(world({ model: [calls("a", "b"), done], approval: queue("1 minute") }))))

  it.effect("does not take an answer to other arguments, or to another call with the same ones", () =>
    Effect.gen(function*() {
      expect((yield* run).end).toBe("awaiting")
      const [question] = yield* questions
      assert(question !== undefined)
      yield* put(question, approve, { argumentsHash: "other" })
      yield* put({ ...question, ref: { turn: 7, iteration: 0, position: 0 } }, approve)
      const error = yield* Effect.flip(ToolLoop.supply({ session }))
      expect(error).toMatchObject({
        _tag: "ConfigurationError",
        message:
          `Session ${session} waits for an answer to each question; missing: note (0), answered for other arguments.`
      })
      expect(ran).toEqual([])
    }).pipe(Effect.provide(world({ model: [calls("a"), done], approval: queue() }))))

  it.effect("a store that cannot be read is a denial", () =>
    Effect.gen(function*() {
      const approval = yield* Approval.Approval
      const error = yield* Effect.flip(approval.ask({ session, questions: [] }))
      expect(error).toMatchObject({ _tag: "ApprovalError" })
    }).pipe(Effect.provide(
      queue().pipe(Layer.provide(Layer.sync(ApprovalStore.ApprovalStore, () => ({
        ...ApprovalStore.memory(),
        answers: () => new Journal.JournalError({ reason: "unavailable", message: "It is away." })
      }))))
    )))
})

describe("supply", () => {
  const later = { model: [calls("a", "b"), done], approvals: [ScriptedApproval.later], policy: { denylist: [] } }

  it.effect("names every question without an answer, and the session waits on", () =>
    Effect.gen(function*() {
      yield* run
      expect((yield* Effect.flip(ToolLoop.supply({ session }))).message).toContain("missing: note (0); note (1).")
      const [, b] = yield* questions
      assert(b !== undefined)
      yield* put(b, approve)
      expect((yield* Effect.flip(ToolLoop.supply({ session }))).message).toContain("missing: note (0).")
      expect(yield* Effect.flip(ToolLoop.run({ session, message: "more" }))).toMatchObject({
        _tag: "UnfinishedError",
        reason: "awaiting"
      })
      expect((yield* ToolLoop.supply({ session, answers: { _tag: "ApproveAll" } })).end).toBe("answered")
      expect(ran).toEqual(["a", "b", "look"])
    }).pipe(Effect.provide(world(later))))

  it.effect("a decision that is given counts, and stored answers to the same questions are gone", () =>
    Effect.gen(function*() {
      yield* run
      yield* answerAll(approve)
      const result = yield* ToolLoop.supply({ session, answers: { _tag: "DenyAll", reason: "no" } })
      expect(result.calls.map(({ outcome }) => outcome._tag)).toEqual(["Denied", "Denied", "Denied"])
      expect(yield* stored).toEqual([])
      expect(ran).toEqual([])
    }).pipe(Effect.provide(world(later))))

  it.effect("counts once: the same answers again find a session that waits for nothing", () =>
    Effect.gen(function*() {
      yield* run
      yield* ToolLoop.supply({ session, answers: { _tag: "ApproveAll" } })
      expect(yield* Effect.flip(ToolLoop.supply({ session, answers: { _tag: "ApproveAll" } }))).toMatchObject({
        _tag: "ConfigurationError",
        message: `Session ${session} waits for nothing.`
      })
      expect(ran).toEqual(["a", "b", "look"])
    }).pipe(Effect.provide(world(later))))

  it.effect("edits, permissions and reasons work as they do at once", () =>
    Effect.gen(function*() {
      yield* run
      const [a, b] = yield* questions
      assert(a !== undefined && b !== undefined)
      yield* put(a, { _tag: "Edit", arguments: { line: "changed" } })
      yield* put(b, { _tag: "Always", entry: "note", scope: "project" }, { by: "whoever" })
      yield* ToolLoop.supply({ session })
      expect(ran).toEqual(["changed", "b", "look"])
      const store = yield* ApprovalStore.ApprovalStore
      expect(yield* store.permissions({ project: "/workspace" })).toMatchObject([{ entry: "note", by: "whoever" }])
    }).pipe(Effect.provide(world(later))))

  it.effect("tells what happens as a stream does, with the result as the last event", () =>
    Effect.gen(function*() {
      yield* run
      const events = yield* Stream.runCollect(ToolLoop.supplyStream({ session, answers: { _tag: "ApproveAll" } }))
      const tags = [...events].map(({ _tag }) => _tag)
      expect(tags).toContain("ApprovalAnswered")
      expect(tags.at(-1)).toBe("Final")
    }).pipe(Effect.provide(world(later))))

  it.effect("a call whose secret did not come through the journal is not the one that was approved", () =>
    Effect.gen(function*() {
      yield* run
      const result = yield* ToolLoop.supply({ session, answers: { _tag: "ApproveAll" } })
      expect(result.calls[0]?.outcome._tag).toBe("Refused")
      expect(ran).toEqual(["look"])
    }).pipe(Effect.provide(world({
      ...later,
      model: [calls("ghp_0123456789abcdefghijABCDEFGHIJ012345"), done]
    }))))

  it.effect("rules that ask about more than was asked about refuse what nobody saw", () =>
    Effect.gen(function*() {
      const journal = yield* Layer.memoize(Journal.layerMemory)
      const loose = world({ ...later, policy: { denylist: [], allowlist: ["note(b)"] }, journal })
      expect((yield* run.pipe(Effect.provide(loose))).end).toBe("awaiting")
      const strict = world({ model: [done], policy: { denylist: [] }, journal })
      const result = yield* ToolLoop.supply({ session, answers: { _tag: "ApproveAll" } }).pipe(Effect.provide(strict))
      expect(result.calls[1]?.outcome).toMatchObject({
        _tag: "Refused",
        failure: { message: "Nobody was asked about this call, and now somebody must be." }
      })
      expect(ran).toEqual(["a", "look"])
    }).pipe(Effect.scoped))
})

describe("parse_only", () => {
  const definitions = [{
    name: "elsewhere",
    description: "Runs in another program.",
    parameters: { type: "object", properties: { n: { type: "number" } } }
  }] as const

  it.effect("offers definitions that are given as data, runs nothing and goes on with results", () =>
    Effect.gen(function*() {
      const first = yield* run
      expect(first).toMatchObject({
        end: "awaiting",
        pending: [{ call: { name: "elsewhere" } }, { call: { name: "note" } }]
      })
      const missing = yield* Effect.flip(ToolLoop.supply({ session, results: [{ position: 0, content: "one" }] }))
      expect(missing.message).toContain("missing: note (1).")
      const next = yield* ToolLoop.supply({
        session,
        results: [{ position: 0, content: "one" }, { position: 1, content: "it broke", isError: true }]
      })
      expect(next.calls.map(({ outcome }) => outcome)).toMatchObject([
        { _tag: "Succeeded", content: [{ text: "one" }] },
        { _tag: "Failed", failure: { message: "it broke" } }
      ])
      const requests = yield* ScriptedModel.requests
      expect(requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([["elsewhere"], ["elsewhere"]])
      expect(ran).toEqual([])
    }).pipe(Effect.provide(world({
      loop: { mode: "parse_only", definitions },
      model: [
        ScriptedModel.calls([{ name: "elsewhere", arguments: { n: 1 } }, { name: "note", arguments: { line: "x" } }]),
        done
      ]
    }))))

  it.effect("answers a call that was cut off itself, and hands over those that were not", () =>
    Effect.gen(function*() {
      const first = yield* run
      expect(first).toMatchObject({ end: "awaiting", pending: [{ ref: { position: 0 } }] })
      expect(first.pending).toHaveLength(1)
      const next = yield* ToolLoop.supply({ session, results: [{ position: 0, content: "one" }] })
      expect(next.end).toBe("answered")
      expect(next.calls.map(({ outcome }) => outcome)).toMatchObject([
        { _tag: "Succeeded", content: [{ text: "one" }] },
        { _tag: "Refused", failure: { _tag: "CutOff" } },
        { _tag: "Refused", failure: { _tag: "CutOff" } }
      ])
    }).pipe(Effect.provide(world({
      loop: { mode: "parse_only", definitions },
      limits: { maxToolIterationsPerUserTurn: 9 },
      model: [
        ScriptedModel.raw({
          calls: [{ name: "elsewhere", raw: "{}" }, { name: "elsewhere", raw: "{\"n\":1}" }],
          finish: "length"
        }),
        ScriptedModel.raw({ calls: [{ name: "elsewhere", raw: "{}" }], finish: "length" }),
        done
      ]
    }))))

  it.effect("offers the registry's where none are given, and other modes offer only those", () =>
    Effect.gen(function*() {
      const offered = (loop: ToolLoop.LoopOptions) =>
        Effect.map(
          Effect.zipRight(run, ScriptedModel.requests),
          (requests) => requests[0]?.tools.map(({ name }) => name)
        )
          .pipe(Effect.provide(world({ loop, model: [done] })))
      expect(yield* offered({ mode: "parse_only" })).toEqual(["look", "note"])
      expect(yield* offered({ mode: "enabled", definitions })).toEqual(["look", "note"])
      expect(yield* offered({ mode: "disabled", definitions })).toEqual([])
    }))

  it.effect("ends in words at the limit of iterations, too", () =>
    Effect.gen(function*() {
      yield* run
      const result = yield* ToolLoop.supply({ session, results: [{ position: 0, content: "1" }] })
      expect(result).toMatchObject({ end: "iterations" })
    }).pipe(Effect.provide(world({
      loop: { mode: "parse_only" },
      limits: { maxToolIterationsPerUserTurn: 1 },
      model: [ScriptedModel.call("look", {}), ScriptedModel.call("look", {})]
    }))))
})

describe("an answer that a crash comes between", () => {
  /** Everything that a crash leaves: journal and store outlive the loop. */
  const survivors = Effect.gen(function*() {
    const journal = yield* Layer.memoize(Journal.layerMemory)
    const store = ApprovalStore.memory()
    return { journal, store }
  })

  const tags = ["Asked", "Decided", "Intent", "Settled", "TurnEnded"] as const

  const place = FastCheck.record({
    when: FastCheck.constantFrom("before" as const, "after" as const),
    tag: FastCheck.constantFrom(...tags),
    nth: FastCheck.integer({ min: 1, max: 2 }),
    takeFails: FastCheck.boolean()
  })

  it.effect.prop(
    "is neither lost, nor used twice, nor used for another call",
    [place],
    ([{ nth, tag, takeFails, when }]) =>
      Effect.gen(function*() {
        const { journal, store } = yield* survivors
        let seen = 0
        const point = (when === "before" ? CrashPoint.before : CrashPoint.after)(
          (record) => record._tag === tag && ++seen === nth,
          CrashPoint.fail("unavailable")
        )
        const attempt = (
          points: ReadonlyArray<CrashPoint.CrashPoint>,
          take: ApprovalStore.ApprovalStore["Type"]["take"]
        ) =>
          world({
            model: (_: unknown, n: number) => n === 0 && points.length > 0 ? calls("a") : done,
            approval: queue(),
            approvalStore: Layer.succeed(ApprovalStore.ApprovalStore, { ...store, take }),
            journal: CrashPoint.layer(points).pipe(Layer.provideMerge(journal))
          })
        const failing = () => new Journal.JournalError({ reason: "io", message: "Not taken." })
        yield* Effect.gen(function*() {
          yield* Effect.ignore(run)
          yield* answerAll(approve)
          yield* Effect.ignore(ToolLoop.supply({ session }))
        }).pipe(Effect.provide(attempt([point], takeFails ? failing : store.take)))

        yield* Effect.gen(function*() {
          const before = ran.filter((line) => line === "a").length
          const all = yield* records
          const started = all.some((record) => record._tag === "Intent" && record.tool === "note")
          const asked = all.some(({ _tag }) => _tag === "Asked")
          if (asked && !started) yield* answerAll(approve)
          const result = yield* Effect.either(ToolLoop.supply({ session }))
          const after = ran.filter((line) => line === "a").length
          assert.isAtMost(after, 1)
          if (asked && !started) {
            assert.strictEqual(result._tag, "Right")
            assert.strictEqual(before, 0)
            assert.strictEqual(after, 1)
            assert.deepStrictEqual(yield* stored, [])
            assert.strictEqual((yield* decided).length, 1)
          }
          if (started) {
            assert(result._tag === "Left")
            if (result.left._tag === "UnfinishedError") assert.strictEqual(result.left.reason, "crashed")
          }
        }).pipe(Effect.provide(attempt([], store.take)))
      }).pipe(Effect.scoped),
    { fastCheck: { numRuns: 40 } }
  )

  it.effect("is still waited for, and the session says so", () =>
    Effect.gen(function*() {
      const { journal, store } = yield* survivors
      const layer = (points: ReadonlyArray<CrashPoint.CrashPoint>) =>
        world({
          model: (_: unknown, n: number) => n === 0 && points.length > 0 ? calls("a") : done,
          approval: queue(),
          approvalStore: Layer.succeed(ApprovalStore.ApprovalStore, store),
          journal: CrashPoint.layer(points).pipe(Layer.provideMerge(journal))
        })
      yield* Effect.flip(run).pipe(
        Effect.provide(layer([CrashPoint.after(({ _tag }) => _tag === "Asked", CrashPoint.fail("unavailable"))]))
      )
      yield* Effect.gen(function*() {
        const error = yield* Effect.flip(ToolLoop.run({ session }))
        expect(error).toMatchObject({ _tag: "UnfinishedError", reason: "awaiting" })
        expect(error.message).toContain("waits for answers or results of note (0), look (1). Give them with supply")
        const result = yield* ToolLoop.supply({ session, answers: { _tag: "ApproveAll" } })
        expect(result.end).toBe("answered")
        expect(ran).toEqual(["a", "look"])
      }).pipe(Effect.provide(layer([])))
    }).pipe(Effect.scoped))

  it.effect("what could not be taken away does not answer the next call with the same arguments", () =>
    Effect.gen(function*() {
      const { journal, store } = yield* survivors
      let refusals = 1
      const layer = world({
        model: [calls("a"), done, calls("a"), done],
        approval: queue(),
        approvalStore: Layer.succeed(ApprovalStore.ApprovalStore, {
          ...store,
          take: (options) =>
            refusals-- > 0
              ? new Journal.JournalError({ reason: "io", message: "Not taken." })
              : store.take(options)
        }),
        journal
      })
      yield* Effect.gen(function*() {
        yield* run
        yield* answerAll(approve)
        expect((yield* Effect.flip(ToolLoop.supply({ session })))._tag).toBe("JournalError")
        expect(yield* stored).toHaveLength(1)
        expect(ran).toEqual([])
        expect((yield* ToolLoop.supply({ session })).end).toBe("answered")
        expect(ran).toEqual(["a", "look"])
        expect(yield* stored).toEqual([])
        expect((yield* ToolLoop.run({ session, message: "again" })).end).toBe("awaiting")
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped))
})
