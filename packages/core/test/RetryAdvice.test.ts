import { RetryAdvice, Tool, ToolFailure, ToolLoop } from "@capstan/core"
import type { Content } from "@capstan/core"
import { ScriptedModel, TestLoop } from "@capstan/testing"
import { assert, describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

const call = (args: Readonly<Record<string, unknown>>) => ({
  id: "",
  name: "t",
  raw: JSON.stringify(args),
  arguments: args,
  repairs: []
})

const failed = (attempts: RetryAdvice.Attempts, failure: ToolFailure.ToolFailure, n = 0, tool = "t") =>
  RetryAdvice.after(attempts, { tool, call: call({ n }), outcome: { _tag: "Failed", failure }, changes: true })

const succeeded = (attempts: RetryAdvice.Attempts, tool: string, changes: boolean) =>
  RetryAdvice.after(attempts, { tool, call: call({}), outcome: { _tag: "Succeeded", content: [] }, changes })

const times = (count: number, failure: ToolFailure.ToolFailure) =>
  Array.from({ length: count }).reduce<RetryAdvice.Attempts>((attempts) => failed(attempts, failure), RetryAdvice.none)

const network = (message: string): ToolFailure.ToolFailure => ({
  _tag: "Network",
  message,
  suggestedFix: null,
  details: { url: "" }
})

describe("RetryAdvice", () => {
  it("has a rule for each kind of failure, as the specification names them", () => {
    const table = Object.fromEntries(
      Object.values(RetryAdvice.rules).map(({ code, recoverable, strategy }) => [code, [recoverable, strategy]])
    )
    assert.deepStrictEqual(table, {
      validation: [true, "rephrase"],
      unknown_tool: [true, "rephrase"],
      duplicate_call: [true, "rephrase"],
      cut_off: [true, "rephrase"],
      limit: [true, "rephrase"],
      stale_file: [true, "rephrase"],
      patch_failed: [true, "rephrase"],
      not_found: [true, "rephrase"],
      timeout: [true, "rephrase"],
      execution: [true, "rephrase"],
      rate_limit: [true, "same"],
      network: [true, "same"],
      model_refusal: [false, "escalate"],
      unknown_outcome: [false, "escalate"],
      permission: [false, "abort"],
      disabled: [false, "abort"],
      cancelled: [false, "abort"],
      repeated: [false, "abort"]
    })
  })

  it("escalates with the attempts", () => {
    const note = (before: number, failure: ToolFailure.ToolFailure) =>
      RetryAdvice.noteOf(times(before, failure), "t", failure)
    const wrong = ToolFailure.execution("wrong")
    assert.isNull(note(0, wrong))
    assert.match(note(1, wrong) ?? "", /second time\. Do not send the same arguments/)
    assert.match(note(2, wrong) ?? "", /third time\. Give it up/)
    assert.match(note(7, wrong) ?? "", /Give it up/)
    assert.match(note(0, network("x")) ?? "", /Wait a little, then send the same call again/)
    assert.match(note(1, network("x")) ?? "", /Wait longer/)
    assert.match(note(2, network("x")) ?? "", /Tell the user/)
    const forbidden = ToolFailure.permission({ kind: "denied", message: "no" })
    for (const before of [0, 1, 2, 3]) {
      assert.match(note(before, forbidden) ?? "", /[Dd]o not send this call again|Stop/)
    }
    assert.isNull(note(0, ToolFailure.execution("{\"error\":1}")))
  })

  it("counts what is the same: kind and message, or the kind alone where time may mend it", () => {
    const a = failed(RetryAdvice.none, ToolFailure.execution("a"))
    assert.strictEqual(failed(a, ToolFailure.execution("a")).get("t")?.count, 2)
    assert.strictEqual(failed(a, ToolFailure.execution("b")).get("t")?.count, 1)
    assert.strictEqual(failed(a, ToolFailure.notFound("x", "a")).get("t")?.count, 1)
    assert.strictEqual(failed(a, ToolFailure.execution("a"), 0, "u").get("t")?.count, 1)
    assert.strictEqual(failed(failed(RetryAdvice.none, network("a")), network("b")).get("t")?.count, 2)
  })

  it("forgets with a success of the tool, or of one that changes something", () => {
    const both = failed(times(2, ToolFailure.execution("a")), ToolFailure.execution("a"), 0, "u")
    assert.deepStrictEqual([...succeeded(both, "t", false).keys()], ["u"])
    assert.deepStrictEqual([...succeeded(both, "other", false).keys()], ["t", "u"])
    assert.deepStrictEqual([...succeeded(both, "other", true).keys()], [])
  })

  it("gives up on the fourth of the same call, and stays with it", () => {
    const wrong = ToolFailure.execution("wrong")
    assert.isUndefined(RetryAdvice.givenUp(times(2, wrong), "t", call({ n: 0 })))
    const three = times(3, wrong)
    const repeated = RetryAdvice.givenUp(three, "t", call({ n: 0 }))
    assert(repeated?._tag === "Repeated")
    assert.strictEqual(repeated.details.attempts, 3)
    assert.isUndefined(RetryAdvice.givenUp(three, "t", call({ n: 1 })))
    assert.isUndefined(RetryAdvice.givenUp(three, "u", call({ n: 0 })))
    assert.isDefined(RetryAdvice.givenUp(failed(three, repeated), "t", call({ n: 0 })))
  })
})

let runs = 0

const Broken = Tool.make("broken", {
  description: "Fails.",
  parameters: Schema.Struct({ at: Schema.optional(Schema.String) }),
  safety: "read-only",
  handler: () => Effect.suspend(() => Effect.fail(`no ${(runs += 1) > 0}`))
})

const Mend = Tool.make("mend", {
  description: "Changes something.",
  parameters: Schema.Struct({}),
  handler: () => Effect.succeed("mended")
})

const read = (content: ReadonlyArray<Content.ContentPart>) =>
  content.map((part) => part.type === "text" ? part.text : "").join("\n")

/** What the model read as the result of each call. */
const results = Effect.map(
  ScriptedModel.requests,
  (requests) =>
    (requests.at(-1)?.messages ?? []).flatMap((message) =>
      message.role === "tool" ? message.results.map(({ content }) => read(content)) : []
    )
)

const layer = (calls: ReadonlyArray<readonly [string, Readonly<Record<string, unknown>>]>) =>
  TestLoop.layer({
    model: [...calls.map(([name, args]) => ScriptedModel.call(name, args)), ScriptedModel.text("done")],
    tools: [Broken, Mend],
    policy: { mode: "auto" },
    limits: { maxToolIterationsPerUserTurn: 20 }
  })

describe("a turn that fails again and again", () => {
  it.effect("is told so, and the fourth call does not run", () =>
    Effect.gen(function*() {
      runs = 0
      const turn = yield* ToolLoop.run({ session: "s", message: "x" })
      expect(runs).toBe(3)
      expect(turn.calls.map(({ outcome }) => outcome._tag)).toEqual(["Failed", "Failed", "Failed", "Refused"])
      const [first, second, third, fourth] = yield* results
      expect(first).toBe("broken failed: no true")
      expect(second).toContain("second time")
      expect(third).toContain("Give it up")
      expect(fourth).toContain("was not run again")
      expect(fourth).toContain("4 times in a row")
    }).pipe(Effect.provide(layer(Array.from({ length: 4 }, () => ["broken", {}])))))

  it.effect("ends as a loop when it goes on", () =>
    Effect.gen(function*() {
      runs = 0
      const turn = yield* ToolLoop.run({ session: "s", message: "x" })
      expect(turn).toMatchObject({ end: "loop" })
      expect(turn.calls).toHaveLength(5)
      expect(runs).toBe(3)
    }).pipe(Effect.provide(layer(Array.from({ length: 6 }, () => ["broken", {}])))))

  it.effect("may try again with other arguments, and after something has changed", () =>
    Effect.gen(function*() {
      runs = 0
      const turn = yield* ToolLoop.run({ session: "s", message: "x" })
      expect(turn.calls.map(({ outcome }) => outcome._tag)).toEqual([
        "Failed",
        "Failed",
        "Failed",
        "Failed",
        "Succeeded",
        "Failed"
      ])
      expect(runs).toBe(5)
    }).pipe(Effect.provide(layer([
      ["broken", {}],
      ["broken", {}],
      ["broken", {}],
      ["broken", { at: "x" }],
      ["mend", {}],
      ["broken", {}]
    ]))))

  it.effect("is told to give up what never gets as far as running", () =>
    Effect.gen(function*() {
      yield* ToolLoop.run({ session: "s", message: "x" })
      const said = yield* results
      expect(said[0]).toContain("do not fit")
      expect(said[2]).toContain("Give it up")
      expect(said[3]).toContain("do not fit")
      expect(said[3]).toContain("Give it up")
    }).pipe(Effect.provide(layer(Array.from({ length: 4 }, () => ["broken", { at: 1 }])))))

  it.effect("counts anew in the next turn", () =>
    Effect.gen(function*() {
      runs = 0
      yield* ToolLoop.run({ session: "s", message: "x" })
      yield* ToolLoop.run({ session: "s", message: "y" })
      expect(runs).toBe(4)
    }).pipe(Effect.provide(TestLoop.layer({
      model: [
        ...Array.from({ length: 3 }, () => ScriptedModel.call("broken", {})),
        ScriptedModel.text("a"),
        ScriptedModel.call("broken", {}),
        ScriptedModel.text("b")
      ],
      tools: [Broken]
    }))))
})
