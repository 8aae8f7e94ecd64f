import { type Event, type Limits, OutputLimit, OutputStore, Tool, ToolFailure, ToolLoop } from "@capstan/core"
import { FakeSandbox, ScriptedApproval, ScriptedModel, TestLoop } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import {
  Chunk,
  Clock,
  Duration,
  Effect,
  Either,
  Fiber,
  Layer,
  Logger,
  LogLevel,
  Schema,
  Stream,
  TestClock
} from "effect"

const None = Schema.Struct({})

class Refusal extends Schema.TaggedError<Refusal>()("Refusal", { message: Schema.String }) {}

const tool = (
  name: string,
  handler: Parameters<typeof Tool.make<{}, {}, string, string, unknown, never>>[1]["handler"],
  options: {
    readonly safety?: "read-only" | "side-effect"
    readonly polls?: boolean
    readonly timeout?: Duration.DurationInput
  } = {}
) => Tool.make(name, { description: name, parameters: None, safety: "read-only", handler, ...options })

const layer = (options: {
  readonly model: ScriptedModel.Script
  readonly tools: ReadonlyArray<Tool.Tool>
  readonly limits?: Partial<Limits.Values>
}) =>
  TestLoop.layer({ ...options, policy: { mode: "auto" } }).pipe(
    Layer.provide(Logger.minimumLogLevel(LogLevel.None)),
    Layer.provideMerge(OutputStore.layerMemory)
  )

const calls = (...names: ReadonlyArray<string>) => ScriptedModel.calls(names.map((name) => ({ name, arguments: {} })))

/** What the model was sent as the results of the latest batch. */
const latest = Effect.map(ScriptedModel.requests, (requests) => {
  const message = requests.at(-1)?.messages.findLast(({ role }) => role === "tool")
  return message?.role === "tool"
    ? message.results.map(({ content }) => content.map((part) => part.type === "text" ? part.text : "").join("\n"))
    : []
})

/** A turn with one call of one tool, and what the model reads of it. */
const resultOf = (one: Tool.Tool, limits: Partial<Limits.Values> = {}) =>
  Effect.zipRight(ToolLoop.run({ session: "s", message: "x" }), Effect.map(latest, ([text]) => text ?? "")).pipe(
    Effect.provide(layer({ model: [calls(one.definition.name), ScriptedModel.text("done")], tools: [one], limits }))
  )

describe("tools that misbehave", () => {
  const throwing: ReadonlyArray<readonly [string, () => Effect.Effect<string>, string]> = [
    ["an error", () => Effect.die(new Error("boom")), "boom"],
    ["where it makes its effect", () => {
      throw new Error("at once")
    }, "at once"],
    ["later", () => Effect.promise(() => Promise.reject(new Error("later"))), "later"],
    ["an error without a message", () => Effect.die(new TypeError("")), "TypeError"],
    ["a text", () => Effect.die("just text"), "just text"],
    ["nothing", () => Effect.die(undefined), "undefined"],
    ["a symbol", () => Effect.die(Symbol("odd")), "Symbol(odd)"],
    ["what is no text", () => Effect.die(Object.create(null)), "it threw something that says nothing"],
    ["what cannot be read", () =>
      Effect.die(Object.defineProperty(new Error("x"), "message", {
        get: () => {
          throw new Error("unreadable")
        }
      })), "it threw something that says nothing"],
    [
      "controls and a secret",
      () => Effect.die("\u001b[31mred ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"),
      "red [redacted:"
    ],
    ["itself out", () => Effect.interrupt, "it interrupted itself"]
  ]

  for (const [what, handler, said] of throwing) {
    it.effect(`one that throws ${what}`, () =>
      Effect.gen(function*() {
        const text = yield* resultOf(tool("bad", handler))
        expect(text.startsWith(`Tool panicked: ${said}`), text).toBe(true)
        expect(text).not.toContain("\u001b")
      }))
  }

  it.live("one that returns 10 MB gets its head shown and the rest kept", () =>
    Effect.gen(function*() {
      const line = "0123456789012345678901234567890123456789012345678\n"
      const text = line.repeat(10_000_000 / line.length)
      const one = tool("big", () => Effect.succeed(text))
      yield* Effect.gen(function*() {
        yield* ToolLoop.run({ session: "s", message: "x" })
        const shown = (yield* latest)[0] ?? ""
        expect(OutputLimit.byteLength(shown)).toBeLessThanOrEqual(102_400)
        expect(shown).toContain("truncated: 10000000 bytes in all")
        expect(shown).toContain("call read_file with {\"path\":\"output:0.0.0\",\"start_line\":1,\"end_line\":200}")
        const store = yield* OutputStore.OutputStore
        const kept = (yield* store.get({ session: "s", handle: "output:0.0.0" })) ?? ""
        expect(OutputLimit.byteLength(kept)).toBeLessThanOrEqual(8_388_608)
        expect(kept.length).toBeGreaterThan(8_388_000)
      }).pipe(Effect.provide(layer({ model: [calls("big"), ScriptedModel.text("done")], tools: [one] })))
    }), 30_000)

  it.live("one that prints for ever is ended, with the end of what it printed", () =>
    Effect.gen(function*() {
      const text = yield* resultOf(tool(
        "babble",
        (_, call) => Effect.forever(call.emit({ stream: "stdout", text: "again and again\n" })),
        { timeout: "100 millis" }
      ))
      expect(text).toContain("Timed out after 100ms")
      expect(text).toContain("Its last output:")
      expect(text.length).toBeLessThan(3_000)
    }))

  it.effect("one that never returns is ended", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(resultOf(tool("hang", () => Effect.never, { timeout: "10 seconds" })))
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.join(fiber)).toContain("Timed out after 10s; what it had started was ended.")
    }))

  it.effect("one without a limit of its own gets that of the limits", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(
        resultOf(tool("hang", () => Effect.never), { callTimeout: Duration.seconds(7) })
      )
      yield* TestClock.adjust("7 seconds")
      expect(yield* Fiber.join(fiber)).toContain("Timed out after 7s")
    }))

  it.live("one that leaves fibers behind is not heard after its end", () =>
    Effect.gen(function*() {
      const events = yield* Effect.map(
        Stream.runCollect(ToolLoop.stream({ session: "s", message: "x" })),
        Chunk.toReadonlyArray
      )
      const ended = events.findIndex(({ _tag }) => _tag === "ToolFinished")
      expect(events.slice(ended).some(({ _tag }) => _tag === "ToolOutput")).toBe(false)
      expect(events.at(-1)?._tag).toBe("Final")
      expect(JSON.stringify((yield* ScriptedModel.requests)[1]?.messages)).toContain("left them")
    }).pipe(Effect.provide(layer({
      model: [calls("daemons"), calls("wait"), ScriptedModel.text("done")],
      tools: [
        tool("daemons", (_, call) =>
          Effect.gen(function*() {
            const noise = Effect.forever(Effect.delay(call.emit({ stream: "stdout", text: "still here" }), "5 millis"))
            const daemon = yield* Effect.forkDaemon(noise)
            yield* Effect.forkDaemon(Effect.delay(Fiber.interrupt(daemon), "200 millis"))
            yield* Effect.fork(noise)
            return "left them"
          })),
        tool("wait", () => Effect.as(Effect.sleep("50 millis"), "waited"))
      ]
    }))))

  it.effect("one that gives back what cannot be read, or is no JSON", () =>
    Effect.gen(function*() {
      const circle: Record<string, unknown> = { n: 1n }
      circle["self"] = circle
      const odd = Either.getOrThrow(Tool.fromJsonSchema("odd", {
        description: "odd",
        parameters: { type: "object" },
        safety: "read-only",
        handler: () => Effect.succeed({ content: [{ type: "text", text: "fine" }], structured: circle })
      }))
      expect(yield* resultOf(odd)).toBe("fine")
      const broken = Either.getOrThrow(Tool.fromJsonSchema("broken", {
        description: "broken",
        parameters: { type: "object" },
        safety: "read-only",
        handler: () => Effect.succeed(JSON.parse("{\"content\":[{\"type\":\"text\"}]}"))
      }))
      expect(yield* resultOf(broken)).toContain("Tool panicked: its output could not be read")
    }))

  it.effect("one that says nothing", () =>
    Effect.gen(function*() {
      expect(yield* resultOf(tool("empty", () => Effect.succeed("")))).toBe("(no output)")
    }))
})

describe("failures of handlers", () => {
  it.effect("pass a JSON object on byte for byte, and name the tool otherwise", () =>
    Effect.gen(function*() {
      const json = "{\"error\": \"quota\",\t\"left\":0,\"text\":\"\\u001b[31m\"}"
      expect(yield* resultOf(tool("api", () => Effect.fail(json)))).toBe(json)
      expect(yield* resultOf(tool("api", () => Effect.fail({ message: json })))).toBe(json)
      expect(yield* resultOf(tool("api", () => Effect.fail("[1]")))).toBe("api failed: [1]")
      expect(yield* resultOf(tool("api", () => Effect.fail(new Refusal({ message: "no" }))))).toBe("api failed: no")
    }))

  it.effect("do not stop the batch", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "s", message: "x" })
      expect(turn.calls.map(({ outcome }) => outcome._tag)).toEqual(["Failed", "Succeeded", "Failed", "Succeeded"])
    }).pipe(Effect.provide(layer({
      model: [calls("fails", "works", "throws", "works"), ScriptedModel.text("done")],
      tools: [
        tool("fails", () => Effect.fail("no"), { safety: "side-effect" }),
        tool("works", () => Effect.succeed("yes")),
        tool("throws", () => Effect.die("no"))
      ]
    }))))
})

const timed = (name: string, millis: number, safety: "read-only" | "side-effect") =>
  tool(name, () => Effect.map(Effect.sleep(millis), () => name), { safety })

const stagesOf = (events: ReadonlyArray<Event.Event>) =>
  events.flatMap((event) =>
    event._tag === "ToolStarted"
      ? [`+${event.ref.position}`]
      : event._tag === "ToolFinished"
      ? [`-${event.ref.position}`]
      : []
  )

describe("stages", () => {
  it.live("four reads of 300 ms in one batch take hardly longer than one", () =>
    Effect.gen(function*() {
      const elapsed = Effect.gen(function*() {
        const began = yield* Clock.currentTimeMillis
        yield* ToolLoop.run({ session: "s", message: "x" })
        return (yield* Clock.currentTimeMillis) - began
      })
      yield* elapsed
      // The best of several: what else the machine does is no matter of ours.
      const times = yield* Effect.all(Array.from({ length: 3 }, () => Effect.all({ one: elapsed, four: elapsed })))
      const one = Math.min(...times.map(({ one }) => one))
      const four = Math.min(...times.map(({ four }) => four))
      expect(four / one).toBeLessThanOrEqual(1.2)
    }).pipe(Effect.provide(layer({
      model: (_, n) =>
        n % 2 === 1
          ? ScriptedModel.text("done")
          : n === 0 || n % 4 === 2
          ? calls("read")
          : calls("read", "read", "read", "read"),
      tools: [timed("read", 300, "read-only")]
    }))))

  it.effect("[read, read, write, read, read] runs as three, its results in call order", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(Stream.runCollect(ToolLoop.stream({ session: "s", message: "x" })))
      yield* TestClock.adjust("1 seconds")
      const events = Chunk.toReadonlyArray(yield* Fiber.join(fiber))
      expect(events.find(({ _tag }) => _tag === "Planned")).toMatchObject({ stages: [[0, 1], [2], [3, 4]] })
      expect(stagesOf(events)).toEqual(["+0", "+1", "-1", "-0", "+2", "-2", "+3", "+4", "-4", "-3"])
      expect(yield* latest).toEqual(["slow", "quick", "write", "slow", "quick"])
    }).pipe(Effect.provide(layer({
      model: [calls("slow", "quick", "write", "slow", "quick"), ScriptedModel.text("done")],
      tools: [timed("slow", 20, "read-only"), timed("quick", 10, "read-only"), timed("write", 5, "side-effect")]
    }))))

  it.effect("no more run at once than the limits say", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(Stream.runCollect(ToolLoop.stream({ session: "s", message: "x" })))
      yield* TestClock.adjust("1 seconds")
      const events = Chunk.toReadonlyArray(yield* Fiber.join(fiber))
      const running = stagesOf(events).reduce<ReadonlyArray<number>>(
        (levels, event) => [...levels, (levels.at(-1) ?? 0) + (event.startsWith("+") ? 1 : -1)],
        []
      )
      expect(Math.max(...running)).toBe(2)
    }).pipe(Effect.provide(layer({
      model: [calls("read", "read", "read", "read", "read"), ScriptedModel.text("done")],
      tools: [timed("read", 10, "read-only")],
      limits: { maxParallel: 2 }
    }))))
})

describe("going in circles", () => {
  it.effect("is warned about at three and ended at five", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "s", message: "x" })
      expect(turn.end).toBe("loop")
      expect(turn.calls).toHaveLength(5)
      const requests = yield* ScriptedModel.requests
      const said = requests.map(({ messages }) => JSON.stringify(messages.at(-1)))
      expect(said.map((text) => text.includes("in a row"))).toEqual([false, false, false, true, true])
    }).pipe(Effect.provide(layer({
      model: () => calls("same"),
      tools: [tool("same", () => Effect.succeed("same"))],
      limits: { maxToolIterationsPerUserTurn: 50 }
    }))))

  it.effect("is what polling is for", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "s", message: "x" })
      expect(turn.end).toBe("answered")
      expect(turn.calls).toHaveLength(8)
      expect(JSON.stringify(yield* ScriptedModel.requests)).not.toContain("in a row")
    }).pipe(Effect.provide(layer({
      model: (_, n) => n < 8 ? calls("poll") : ScriptedModel.text("done"),
      tools: [tool("poll", () => Effect.succeed("same"), { polls: true })],
      limits: { maxToolIterationsPerUserTurn: 50 }
    }))))
})

describe("a call that was cut off", () => {
  it.effect("never runs, however whole it looks", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "s", message: "x" })
      expect(turn.calls.map(({ outcome }) => outcome._tag)).toEqual(["Succeeded", "Refused"])
      expect(turn.calls[1]?.outcome).toMatchObject({ failure: { _tag: "CutOff" } })
      expect((yield* latest)[1]).toContain("Send it again, smaller.")
    }).pipe(Effect.provide(layer({
      model: [
        ScriptedModel.raw({ calls: [{ name: "read", raw: "{}" }, { name: "read", raw: "{}" }], finish: "length" }),
        ScriptedModel.text("done")
      ],
      tools: [tool("read", () => Effect.succeed("read"))]
    }))))
})

describe("the context of a call", () => {
  it.effect("has a key of its own for each call, and nothing of the one before", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const seen = tool("seen", (_, call) =>
        Effect.sync(() => {
          keys.push(call.idempotencyKey)
          return `${call.session} ${call.user} ${call.workingDirectory} ${call.capacity > 0}`
        }))
      yield* Effect.gen(function*() {
        yield* ToolLoop.run({ session: "s", message: "x", user: "kim" })
        const { files } = yield* FakeSandbox.FakeSandbox
        expect(files).toBeDefined()
        expect(yield* latest).toEqual(["s kim /workspace true", "s kim /workspace true"])
      }).pipe(Effect.provide(layer({ model: [calls("seen", "seen"), ScriptedModel.text("done")], tools: [seen] })))
      expect(new Set(keys).size).toBe(2)
    }))

  it.effect("does not count the time that a person takes", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(
        ToolLoop.run({ session: "s", message: "x", budget: { time: Duration.seconds(5) } })
      )
      yield* TestClock.adjust("1 hour")
      expect(yield* Fiber.join(fiber)).toMatchObject({ end: "answered", spent: { millis: 0 } })
    }).pipe(Effect.provide(TestLoop.layer({
      model: [calls("write"), ScriptedModel.text("done")],
      tools: [tool("write", () => Effect.succeed("written"), { safety: "side-effect" })],
      approvals: [
        ScriptedApproval.decide(() => Effect.as(Effect.sleep("1 hour"), { _tag: "ApproveAll" as const }))
      ]
    }))))
})

it("a message is taken for JSON only where it is an object", () => {
  expect(["{}", " {\"a\":1}"].every(ToolFailure.isJsonObject)).toBe(true)
  expect(["[1]", "{", "1", "\"x\"", ""].some(ToolFailure.isJsonObject)).toBe(false)
})
