import { Journal, type JournalRecord, Tool, ToolLoop } from "@capstan/core"
import { ScriptedModel, TestLoop } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger, LogLevel, Schema } from "effect"

interface Seen {
  readonly tool: string
  readonly value: string
  readonly key: string
}

/** Handlers that say what they were run with. */
const toolsOf = (ran: Array<Seen>, asked: Array<Seen>) => {
  const make = (name: string, options: {
    readonly safety?: "read-only" | "side-effect"
    readonly idempotent?: boolean
    readonly reconcile?: "happened" | "unknown" | "hangs" | "throws"
  }) => {
    const { reconcile, ...rest } = options
    return Tool.make(name, {
      description: name,
      parameters: Schema.Struct({ value: Schema.String }),
      timeout: "20 millis",
      ...rest,
      handler: ({ value }, call) =>
        Effect.sync(() => {
          ran.push({ tool: name, value, key: call.idempotencyKey })
          return `${name} again`
        }),
      ...(reconcile === undefined ? {} : {
        reconcile: ({ value }, call) =>
          Effect.suspend((): Effect.Effect<string | undefined> => {
            asked.push({ tool: name, value, key: call.idempotencyKey })
            if (reconcile === "hangs") return Effect.never
            if (reconcile === "throws") return Effect.die("no")
            return Effect.succeed(reconcile === "happened" ? "it had \u001b[31mhappened" : undefined)
          })
      })
    })
  }
  return [
    make("read", { safety: "read-only" }),
    make("put", { idempotent: true }),
    make("send", {}),
    make("pay", { reconcile: "happened" }),
    make("post", { reconcile: "unknown" }),
    make("stall", { reconcile: "hangs" }),
    make("fault", { reconcile: "throws" })
  ]
}

interface Said {
  readonly name: string
  readonly started: boolean
  readonly value?: string
  readonly edited?: string
}

const turnStarted: JournalRecord.JournalRecord = {
  _tag: "TurnStarted",
  turn: 0,
  content: [{ type: "text", text: "x" }],
  provider: "scripted",
  model: "scripted-model",
  user: null,
  parent: null,
  instructionsHash: ""
}

/** What a crash leaves of a batch: calls that had begun, and calls that had not. */
const crashed = (calls: ReadonlyArray<Said>): ReadonlyArray<JournalRecord.JournalRecord> => {
  const refs = calls.map((call, position) => ({ ...call, ref: { turn: 0, iteration: 0, position } }))
  return [
    turnStarted,
    ...refs.map(({ name, ref, value = "v" }): JournalRecord.JournalRecord => ({
      _tag: "CallReceived",
      ref,
      call: { id: "", name, raw: JSON.stringify({ value }), arguments: { value }, repairs: [] }
    })),
    {
      _tag: "Responded",
      turn: 0,
      iteration: 0,
      parts: refs.map(({ ref }) => ({ type: "call", position: ref.position })),
      finish: "tool-calls",
      usage: null,
      prices: null,
      millis: 0
    },
    ...refs.flatMap(({ edited, name, ref, started }): ReadonlyArray<JournalRecord.JournalRecord> =>
      started
        ? [{
          _tag: "Intent",
          ref,
          tool: name,
          safety: "side-effect",
          polls: false,
          at: 0,
          argumentsHash: "",
          edited: edited === undefined ? null : { value: edited },
          repairs: []
        }]
        : []
    )
  ]
}

const world = (ran: Array<Seen>, asked: Array<Seen> = []) =>
  TestLoop.layer({ model: [ScriptedModel.text("done")], tools: toolsOf(ran, asked) }).pipe(
    Layer.provide(Logger.minimumLogLevel(LogLevel.None))
  )

const left = (calls: ReadonlyArray<Said>) =>
  Effect.flatMap(
    Journal.Journal,
    (journal) =>
      Effect.scoped(
        Effect.flatMap(journal.open({ session: "s", project: "/p" }), (open) => open.commit(crashed(calls)))
      )
  )

const rows = Effect.map(
  Effect.flatMap(Journal.Journal, (journal) => journal.read({ session: "s" })),
  (rows) => rows.map(({ record }) => record)
)

const settled = Effect.map(
  rows,
  (records) =>
    records.flatMap((record) => record._tag === "Settled" ? [[record.ref.position, record.outcome._tag] as const] : [])
)

const everything: ReadonlyArray<Said> = ["read", "put", "send", "pay", "post", "stall", "fault"].map((name) => ({
  name,
  started: true
}))

describe("recovery", () => {
  it.live("runs nothing, asks what can tell, and tells the truth about the rest", () => {
    const ran: Array<Seen> = []
    const asked: Array<Seen> = []
    return Effect.gen(function*() {
      yield* left([...everything, { name: "send", started: false }])
      expect(yield* Effect.flip(ToolLoop.run({ session: "s", message: "y" }))).toMatchObject({ reason: "crashed" })
      const report = yield* ToolLoop.recover({ session: "s", choice: "partial" })
      expect(report.unknown).toHaveLength(7)
      expect(report.neverStarted).toEqual(["send (7)"])
      expect(ran).toEqual([])
      expect(asked.map(({ tool }) => tool)).toEqual(["pay", "post", "stall", "fault"])
      expect(yield* settled).toEqual([
        [0, "Unknown"],
        [1, "Unknown"],
        [2, "Unknown"],
        [3, "Succeeded"],
        [4, "Unknown"],
        [5, "Unknown"],
        [6, "Unknown"],
        [7, "Unknown"]
      ])
      const turn = yield* ToolLoop.run({ session: "s" })
      expect(turn).toMatchObject({ end: "answered", text: "done" })
      const said = JSON.stringify((yield* ScriptedModel.requests).at(-1)?.messages)
      expect(said).toContain("it had happened")
      expect(said).toContain("its outcome is unknown, and side effects may have happened")
      expect(said).toContain("It did not run.")
    }).pipe(Effect.provide(world(ran, asked)))
  })

  it.live("runs again what may be repeated, once it is asked to, under the same key", () => {
    const ran: Array<Seen> = []
    const asked: Array<Seen> = []
    return Effect.gen(function*() {
      yield* left([...everything, { name: "read", started: false }])
      yield* ToolLoop.recover({ session: "s", choice: "partial", rerun: true })
      expect(ran.map(({ tool }) => tool)).toEqual(["read", "put"])
      expect((yield* settled).slice(0, 2)).toEqual([[0, "Succeeded"], [1, "Succeeded"]])
      expect(yield* settled).toHaveLength(8)
      const intents = (yield* rows).flatMap((record) => record._tag === "Intent" ? [record.ref.position] : [])
      expect(intents).toEqual([0, 1, 2, 3, 4, 5, 6, 0, 1])
      const keys = [...ran, ...asked].map(({ key }) => key)
      expect(new Set(keys).size).toBe(keys.length)
      expect(yield* ToolLoop.run({ session: "s" })).toMatchObject({ end: "answered" })
    }).pipe(Effect.provide(world(ran, asked)))
  })

  it.live("repeats what a person had put in place, and nothing that has lost a secret", () => {
    const ran: Array<Seen> = []
    return Effect.gen(function*() {
      yield* left([
        { name: "put", started: true, value: "theirs", edited: "mine" },
        { name: "put", started: true, value: "[redacted:github-token]" },
        { name: "put", started: true, edited: "[redacted:secret]" },
        { name: "gone", started: true }
      ])
      yield* ToolLoop.recover({ session: "s", choice: "partial", rerun: true })
      expect(ran.map(({ value }) => value)).toEqual(["mine"])
      expect((yield* settled).map(([, tag]) => tag)).toEqual(["Succeeded", "Unknown", "Unknown", "Unknown"])
    }).pipe(Effect.provide(world(ran)))
  })

  it.live("repeats nothing of a batch that is thrown away", () => {
    const ran: Array<Seen> = []
    return Effect.gen(function*() {
      yield* left([{ name: "read", started: true }])
      yield* ToolLoop.recover({ session: "s", choice: "discard", rerun: true })
      expect(ran).toEqual([])
      yield* ToolLoop.run({ session: "s" })
      expect(JSON.stringify((yield* ScriptedModel.requests).at(-1)?.messages)).toContain(
        "The user discarded the results"
      )
    }).pipe(Effect.provide(world(ran)))
  })

  it.live("gives the key that the call had before the crash", () => {
    const ran: Array<Seen> = []
    return Effect.gen(function*() {
      yield* ToolLoop.run({ session: "s", message: "x" })
      const [before] = ran
      const records = yield* rows
      const end = records.findIndex(({ _tag }) => _tag === "Settled")
      yield* Effect.flatMap(Journal.Journal, (journal) =>
        Effect.scoped(
          Effect.flatMap(journal.open({ session: "t", project: "/p" }), (open) => open.commit(records.slice(0, end)))
        ))
      yield* ToolLoop.recover({ session: "t", choice: "partial", rerun: true })
      expect(ran[1]?.key).toBe(before?.key.replace(/^s /, "t "))
    }).pipe(Effect.provide(
      TestLoop.layer({
        model: [ScriptedModel.call("put", { value: "v" }), ScriptedModel.text("done")],
        tools: toolsOf(ran, []),
        policy: { mode: "auto" }
      })
    ))
  })

  it.effect("sends those who wait for answers to supply, and others away", () =>
    Effect.gen(function*() {
      yield* ToolLoop.run({ session: "s", message: "x" })
      const waiting = yield* Effect.flip(ToolLoop.recover({ session: "s", choice: "partial" }))
      expect(waiting).toMatchObject({ _tag: "ConfigurationError" })
      expect(waiting.message).toContain("Give them with supply")
      yield* ToolLoop.supply({ session: "s", results: [{ position: 0, content: "by hand" }] })
      const fine = yield* Effect.flip(ToolLoop.recover({ session: "s", choice: "partial" }))
      expect(fine.message).toContain("has no unfinished calls")
    }).pipe(Effect.provide(TestLoop.layer({
      model: [ScriptedModel.call("send", { value: "v" }), ScriptedModel.text("done")],
      tools: toolsOf([], []),
      loop: { mode: "parse_only" }
    }))))
})
