import {
  Journal,
  type JournalRecord,
  ModelDelta,
  ModelProvider,
  OutputStore,
  Replay,
  Tool,
  ToolLoop
} from "@capstan/core"
import { CrashPoint, ScriptedModel, TestLoop } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, FastCheck, Layer, Logger, LogLevel, Schema, Stream } from "effect"

/** Says `bytes` bytes, each time others. */
const Dump = Tool.make("dump", {
  description: "Prints.",
  parameters: Schema.Struct({ bytes: Schema.Number }),
  safety: "read-only",
  handler: ({ bytes }, { ref }) => Effect.succeed(`${ref.turn}.${ref.iteration}.${ref.position} `.padEnd(bytes, "x"))
})

const dump = (bytes: number) => ScriptedModel.call("dump", { bytes }, { id: "" })
const isSummary = (request: ModelProvider.ModelRequest) =>
  request.toolChoice === "none" && JSON.stringify(request.messages.at(-1)).includes("context is nearly full")
const tooLong = ScriptedModel.fail(
  new ModelProvider.ModelError({ reason: "context-length", provider: "scripted", message: "Too long." })
)

const layer = (
  model: ScriptedModel.Script,
  options: Partial<TestLoop.Options> & { readonly outputs?: Layer.Layer<OutputStore.OutputStore> } = {}
) =>
  TestLoop.layer({
    model,
    modelOptions: { model: { contextWindow: 2_000 }, chunkSize: 10_000 },
    tools: [Dump],
    limits: { maxToolIterationsPerUserTurn: 30 },
    ...options
  }).pipe(
    Layer.provideMerge(options.outputs ?? OutputStore.layerMemory),
    Layer.provide(Logger.minimumLogLevel(LogLevel.None))
  )

const records = Effect.gen(function*() {
  const journal = yield* Journal.Journal
  return (yield* journal.read({ session: "s" })).map((row) => row.record)
})
const tags = Effect.map(records, (all) => all.map(({ _tag }) => _tag))
const run = (message: string) => ToolLoop.run({ session: "s", message })

describe("a context that fills with results", () => {
  it.effect("has the oldest put away under handles, and goes on with the same tools", () =>
    Effect.gen(function*() {
      const events = yield* Stream.runCollect(ToolLoop.stream({ session: "s", message: "go" }))
      expect([...events].filter(({ _tag }) => _tag === "Shortened")).toEqual([
        { _tag: "Shortened", handles: ["output:0.0.0", "output:0.1.0"] }
      ])
      const store = yield* OutputStore.OutputStore
      expect(yield* store.get({ session: "s", handle: "output:0.0.0" })).toBe("0.0.0 ".padEnd(3_000, "x"))
      const [first, , , last] = yield* ScriptedModel.requests
      const text = JSON.stringify(last?.messages)
      expect(text).toContain("3000 bytes was taken out to make room. read_file reads it again as \\\"output:0.0.0\\\"")
      expect(text).not.toContain("0.0.0 xxx")
      expect(text).toContain("0.2.0 xxx")
      expect(last?.tools).toEqual(first?.tools)
    }).pipe(Effect.provide(layer([dump(3_000), dump(3_000), dump(3_000), ScriptedModel.text("done")]))))

  it.effect("keeps what was stored whole before", () =>
    Effect.gen(function*() {
      const store = yield* OutputStore.OutputStore
      yield* store.put({ session: "s", handle: "output:0.0.0", text: "the whole" })
      yield* run("go")
      expect(yield* store.get({ session: "s", handle: "output:0.0.0" })).toBe("the whole")
      expect(yield* records).toContainEqual({
        _tag: "Shortened",
        results: [
          { id: expect.any(String), handle: "output:0.0.0", bytes: 9 },
          { id: expect.any(String), handle: "output:0.1.0", bytes: 3_000 }
        ]
      })
    }).pipe(Effect.provide(layer([dump(3_000), dump(3_000), dump(3_000), ScriptedModel.text("done")]))))

  it.effect("is summarised when results cannot be stored", () =>
    Effect.gen(function*() {
      const result = yield* run("go")
      expect(result.end).toBe("answered")
      expect(yield* tags).not.toContain("Shortened")
      expect(yield* tags).toContain("Compacted")
    }).pipe(Effect.provide(layer(
      [dump(3_000), dump(3_000), dump(3_000), ScriptedModel.text("what was printed"), ScriptedModel.text("done")],
      {
        outputs: Layer.succeed(OutputStore.OutputStore, {
          get: () => Effect.succeed(undefined),
          put: () => new OutputStore.OutputStoreError({ message: "no room" })
        })
      }
    ))))
})

const usage = { input: 100, output: 10, cacheRead: 0, cacheWrite: 0, reasoning: 0 }
const prices = { input: 1, output: 2, cacheRead: null, cacheWrite: null, source: "test" }

describe("a context that fills with messages", () => {
  it.effect("is summarised; the summary is redacted, its usage counts, the user's latest words stay", () =>
    Effect.gen(function*() {
      yield* run("a".repeat(3_000))
      yield* run("b".repeat(3_000))
      const events = yield* Stream.runCollect(ToolLoop.stream({ session: "s", message: "c".repeat(3_000) }))
      const summary = "the key is [redacted:github-token]"
      expect([...events]).toContainEqual({ _tag: "Compacted", summary })
      expect(yield* records).toContainEqual({ _tag: "Compacted", turn: 2, summary, kept: 1, usage, prices })
      const final = [...events].at(-1)
      expect(final).toMatchObject({ _tag: "Final", result: { end: "answered", usage: { input: 200, output: 20 } } })
      const last = (yield* ScriptedModel.requests).at(-1)
      expect(last?.messages).toEqual([
        { role: "user", content: [{ type: "text", text: expect.stringContaining(summary) }] },
        { role: "user", content: [{ type: "text", text: "c".repeat(3_000) }] }
      ])
    }).pipe(Effect.provide(layer([
      ScriptedModel.text("one"),
      ScriptedModel.text("two"),
      ScriptedModel.expecting(
        ScriptedModel.raw({ text: `the key is ghp_${"a1B2".repeat(9)}`, usage }),
        (request) => {
          expect(isSummary(request)).toBe(true)
          expect(request.tools).toHaveLength(1)
          expect(request.messages).toHaveLength(5)
        }
      ),
      ScriptedModel.raw({ text: "three", usage })
    ], { modelOptions: { model: { contextWindow: 2_000, prices } } }))))

  it.effect("is summarised in the middle of a turn, and wire ids stay unique", () =>
    Effect.gen(function*() {
      const result = yield* run("look at all of it")
      expect(result.calls).toHaveLength(9)
      const last = (yield* ScriptedModel.requests).at(-1)
      expect(last?.messages.slice(0, 2)).toEqual([
        { role: "user", content: [{ type: "text", text: expect.stringContaining("so far") }] },
        { role: "user", content: [{ type: "text", text: "look at all of it" }] }
      ])
      const ids = last?.messages.flatMap((message) =>
        message.role === "tool" ? message.results.map(({ id }) => id) : []
      )
      expect(ids?.at(-1)).toBe("call_0_8_0")
    }).pipe(Effect.provide(layer((request, n) =>
      isSummary(request)
        ? ScriptedModel.text("so far")
        : n === 10
        ? ScriptedModel.text("done")
        : ScriptedModel.call("dump", { bytes: 900 + n }, { id: "same" })
    ))))

  it.effect("follows what the provider counts, not only the bytes", () =>
    Effect.gen(function*() {
      yield* run("a".repeat(2_000))
      yield* run("b")
      expect(yield* tags).toContain("Compacted")
    }).pipe(Effect.provide(layer([
      ScriptedModel.raw({ text: "one", usage: { ...usage, input: 1_800 } }),
      ScriptedModel.text("short"),
      ScriptedModel.text("two")
    ]))))

  it.effect("counts what stands before the messages, and a provider that tells of a second try", () =>
    Effect.gen(function*() {
      yield* ToolLoop.run({ session: "s", message: "a".repeat(2_000), instructions: "" })
      const retry = { attempt: 1, delayMillis: 5, reason: "busy" }
      const events = yield* Stream.runCollect(
        ToolLoop.stream({ session: "s", message: "b".repeat(100), instructions: "i".repeat(5_000) })
      )
      expect([...events]).toContainEqual({ _tag: "Retry", ...retry })
      expect(yield* tags).toContain("Compacted")
    }).pipe(Effect.provide(layer([
      ScriptedModel.text("one"),
      ScriptedModel.deltas([
        ModelDelta.ModelDelta.Retry({ attempt: 1, delayMillis: 5, reason: "busy" }),
        ModelDelta.ModelDelta.ThinkingDelta({ text: "hm" }),
        ModelDelta.ModelDelta.TextDelta({ text: "short" }),
        ModelDelta.ModelDelta.Finish({ reason: "stop", usage: null, model: "m" })
      ]),
      ScriptedModel.text("two")
    ]))))
})

describe("a context in which nothing more can be done", () => {
  const full = (script: ScriptedModel.Script, options?: Parameters<typeof layer>[1]) =>
    Effect.gen(function*() {
      yield* run("a".repeat(3_000))
      yield* run("b".repeat(3_000))
      const events = [...yield* Stream.runCollect(ToolLoop.stream({ session: "s", message: "c".repeat(3_000) }))]
      const message = expect.stringContaining("context of scripted-model is full")
      expect(events).toContainEqual({ _tag: "BudgetReached", budget: "context", message })
      expect(events.at(-1)).toMatchObject({ _tag: "Final", result: { end: "budget", reason: message } })
      expect(yield* records).toContainEqual({ _tag: "BudgetReached", turn: 2, budget: "context", message })
      expect(Replay.messages(yield* Effect.flatMap(Journal.Journal, (journal) => journal.read({ session: "s" }))))
        .toHaveLength(5)
    }).pipe(Effect.provide(layer(script, options)))

  it.effect("ends the turn in words when the summary is empty", () =>
    full([ScriptedModel.text("one"), ScriptedModel.text("two"), ScriptedModel.text("  ")]))

  it.effect("ends the turn in words when the summary fails", () =>
    full([ScriptedModel.text("one"), ScriptedModel.text("two"), tooLong]))

  it.effect("ends the turn in words when summaries do not get shorter", () =>
    Effect.gen(function*() {
      yield* run("a".repeat(3_000))
      yield* run("b".repeat(3_000))
      expect(yield* run("c".repeat(3_000))).toMatchObject({ end: "budget" })
      expect((yield* tags).filter((tag) => tag === "Compacted")).toHaveLength(4)
    }).pipe(Effect.provide(layer((request) => ScriptedModel.text(isSummary(request) ? "s".repeat(6_000) : "ok")))))

  it.effect("does not ask the model about a message that is too long, and lets a shorter one follow", () =>
    Effect.gen(function*() {
      expect(yield* run("a".repeat(9_000))).toMatchObject({ end: "budget", text: "" })
      expect(yield* ScriptedModel.requests).toEqual([])
    }).pipe(Effect.provide(layer([]))))
})

describe("a model whose window is not known", () => {
  const unknown = { modelOptions: { model: { contextWindow: null } } }

  it.effect("is asked as it is, and once more with room made when it finds that too long", () =>
    Effect.gen(function*() {
      const result = yield* run("go")
      expect(result.end).toBe("answered")
      expect(yield* tags).toContain("Shortened")
      expect(yield* tags).not.toContain("Voided")
    }).pipe(Effect.provide(layer([dump(30_000), dump(30_000), tooLong, ScriptedModel.text("done")], unknown))))

  it.effect("ends the turn in words when it finds that too long, too", () =>
    Effect.gen(function*() {
      expect(yield* run("go")).toMatchObject({ end: "budget" })
    }).pipe(Effect.provide(layer([dump(30_000), dump(30_000), tooLong, tooLong], unknown))))

  it.effect("ends the turn in words when there is nothing to take out", () =>
    Effect.gen(function*() {
      expect(yield* run("go")).toMatchObject({ end: "budget" })
    }).pipe(Effect.provide(layer([tooLong], unknown))))

  it.effect("holds for a window that is smaller than it is said to be, too", () =>
    Effect.gen(function*() {
      expect(yield* run("go")).toMatchObject({ end: "answered" })
    }).pipe(Effect.provide(layer([dump(30_000), dump(30_000), tooLong, ScriptedModel.text("done")], {
      modelOptions: { model: { contextWindow: 100_000 } }
    }))))

  it.effect("passes every other error on", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(run("go"))
      expect(error).toMatchObject({ _tag: "ModelError", reason: "server" })
    }).pipe(Effect.provide(layer([
      ScriptedModel.fail(new ModelProvider.ModelError({ reason: "server", provider: "scripted", message: "No." }))
    ], unknown))))
})

const sizes = FastCheck.array(FastCheck.constantFrom(10, 800, 1_100, 2_500, 4_000), { minLength: 3, maxLength: 9 })

describe("whatever record a crash comes after", () => {
  /** A model that remembers nothing: what it says next follows from what stands in the journal. */
  const scripted =
    (journal: Journal.Journal["Type"], sizes: ReadonlyArray<number>) => (request: ModelProvider.ModelRequest) =>
      isSummary(request)
        ? ScriptedModel.text("summary")
        : Effect.map(Effect.orDie(journal.read({ session: "s" })), (rows) => {
          const bytes = sizes[rows.filter(({ record }) => record._tag === "Responded").length]
          return bytes === undefined ? ScriptedModel.text("done") : dump(bytes)
        })

  const attempt = (journal: Journal.Journal["Type"], sizes: ReadonlyArray<number>, crash?: CrashPoint.CrashPoint) => {
    const stored = Layer.succeed(Journal.Journal, journal)
    return Effect.gen(function*() {
      const rows = yield* Effect.orElseSucceed(journal.read({ session: "s" }), () => [])
      const unfinished = yield* Effect.either(
        ToolLoop.run({ session: "s", ...(rows.length === 0 ? { message: "go" } : {}) })
      )
      if (unfinished._tag === "Right" || unfinished.left._tag !== "UnfinishedError") return unfinished
      yield* ToolLoop.recover({ session: "s", choice: "partial" })
      return yield* Effect.either(ToolLoop.run({ session: "s" }))
    }).pipe(Effect.provide(layer(scripted(journal, sizes), {
      limits: { maxToolIterationsPerUserTurn: 30, repeatsBeforeEnd: 100 },
      journal: crash === undefined ? stored : Layer.provide(CrashPoint.layer([crash]), stored)
    })))
  }

  const fresh = Effect.provide(Journal.Journal, Layer.fresh(Journal.layerMemory))
  const rowsOf = (journal: Journal.Journal["Type"]) => journal.read({ session: "s" })
  const withoutTime = (all: ReadonlyArray<Journal.JournalRow>): ReadonlyArray<JournalRecord.JournalRecord> =>
    all.map(({ record }) => "millis" in record ? { ...record, millis: 0 } : record)

  it.effect.prop(
    "the session goes on with what it would have been sent without one",
    { sizes, place: FastCheck.nat() },
    ({ place, sizes }) =>
      Effect.gen(function*() {
        const reference = yield* fresh
        yield* attempt(reference, sizes)
        const expected = yield* rowsOf(reference)
        const change = expected.findIndex(({ record }) => record._tag === "Shortened" || record._tag === "Compacted")
        for (const index of new Set([place % expected.length, ...(change < 0 ? [] : [change])])) {
          const journal = yield* fresh
          expect((yield* attempt(journal, sizes, CrashPoint.after(index + 1, CrashPoint.fail())))._tag).toBe("Left")
          const ended = (yield* rowsOf(journal)).at(-1)?.record._tag === "TurnEnded"
          if (!ended) expect((yield* attempt(journal, sizes))._tag).toBe("Right")
          const rows = yield* rowsOf(journal)
          if (index === change) expect(withoutTime(rows)).toEqual(withoutTime(expected))
          if (!rows.some(({ record }) => record._tag === "Recovered" || record._tag === "Voided")) {
            expect(Replay.messages(rows)).toEqual(Replay.messages(expected))
          }
        }
      }),
    { fastCheck: { numRuns: 8 } }
  )
})
