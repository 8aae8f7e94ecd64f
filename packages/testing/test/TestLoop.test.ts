import { Sandbox, Tool, ToolLoop } from "@capstan/core"
import * as Journal from "@capstan/core/Journal"
import { CrashPoint, FakeSandbox, ScriptedApproval, ScriptedModel, TestLoop } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const DeleteFile = Tool.make("delete_file", {
  description: "Deletes a file.",
  parameters: Schema.Struct({ path: Schema.String }),
  paths: ({ path }) => [{ path, access: "delete" }],
  summary: ({ path }) => `Delete ${path}`,
  assess: () => Effect.succeed({ risk: "high", approval: "always", warnings: [] }),
  handler: ({ path }) =>
    Effect.flatMap(
      Sandbox.Sandbox,
      ({ files }) => Effect.as(files.remove({ path, recursive: false }), `deleted ${path}`)
    )
})

const RunTests = Tool.make("run_tests", {
  description: "Runs the tests.",
  parameters: Schema.Struct({}),
  safety: "read-only",
  handler: () =>
    Effect.flatMap(
      Sandbox.Sandbox,
      ({ processes }) =>
        Effect.map(
          processes.run({ command: "npm test", cwd: "/workspace", keepBytes: 100 }),
          ({ stdout }) => stdout.head
        )
    )
})

const Echo = Tool.make("echo", {
  description: "Says what it is told, fails, or throws.",
  parameters: Schema.Struct({ say: Schema.String }),
  safety: "read-only",
  handler: ({ say }) =>
    say === "throw"
      ? Effect.die(new Error("thrown"))
      : say === "fail"
      ? Effect.fail("failed")
      : Effect.succeed(say)
})

const rawCalls: FastCheck.Arbitrary<ScriptedModel.RawCall> = FastCheck.record({
  id: FastCheck.constantFrom("", "call_0", "call_0", "no legal id", "x".repeat(60)),
  name: FastCheck.constantFrom("echo", "ECHO", "delete_file", "no such tool", ""),
  raw: FastCheck.constantFrom(
    "{\"say\":\"a\"}",
    "{\"say\":\"throw\"}",
    "{\"say\":\"fail\"}",
    "{\"path\":\"a\"}",
    "[",
    "[1]"
  )
})

const steps: FastCheck.Arbitrary<ScriptedModel.Step> = FastCheck.oneof(
  {
    weight: 6,
    arbitrary: FastCheck.record({
      text: FastCheck.constantFrom("", " ", "so"),
      calls: FastCheck.array(rawCalls, { minLength: 1, maxLength: 4 }),
      finish: FastCheck.constantFrom("tool-calls" as const, "tool-calls" as const, "length" as const, "stop" as const)
    }).map(ScriptedModel.raw)
  },
  {
    weight: 2,
    arbitrary: FastCheck.constantFrom(ScriptedModel.text("done"), ScriptedModel.raw({ finish: "refusal" }))
  },
  { weight: 1, arbitrary: FastCheck.constantFrom(ScriptedModel.raw({}), ScriptedModel.broken([])) },
  {
    weight: 1,
    arbitrary: rawCalls.map((call) =>
      ScriptedModel.broken(ScriptedModel.deltasOf({ text: "so", calls: [call] }).slice(0, -1))
    )
  }
)

describe("TestLoop", () => {
  it.effect.prop(
    "whatever a model says, every request is valid and every call has one outcome",
    [FastCheck.array(steps, { maxLength: 12 })],
    ([script]) =>
      Effect.gen(function*() {
        for (const message of ["one", "two", "three"]) {
          const turn = yield* Effect.either(ToolLoop.run({ session: "t", message }))
          if (turn._tag === "Left") expect(turn.left).toMatchObject({ _tag: "ModelError", reason: "broken" })
        }
        const journal = yield* Journal.Journal
        const rows = yield* journal.read({ session: "t" })
        const settled = rows.flatMap(({ record }) => record._tag === "Settled" ? [JSON.stringify(record.ref)] : [])
        expect(new Set(settled).size).toBe(settled.length)
        expect((yield* ScriptedModel.requests).length).toBeGreaterThan(2)
      }).pipe(Effect.provide(TestLoop.layer({
        model: (_, n) => script[n] ?? ScriptedModel.text("end"),
        approvals: Array.from({ length: 100 }, (_, index) =>
          index % 2 === 0 ? ScriptedApproval.approve : ScriptedApproval.deny()),
        tools: [DeleteFile, Echo],
        files: { a: "1" }
      }))),
    { fastCheck: { numRuns: 20 } }
  )

  it.effect("a denied deletion is told to the model", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "t", message: "tidy up" })
      expect(turn.calls[0]?.outcome).toMatchObject({ _tag: "Denied", reason: "keep it" })
      expect(turn.text).toBe("left as it was")
      expect(yield* FakeSandbox.files).toEqual({ a: "1" })
      const [, second] = yield* ScriptedModel.requests
      expect(second?.messages.at(-1)).toMatchObject({ role: "tool", results: [{ isError: true }] })
      expect(JSON.stringify(second?.messages.at(-1))).toContain("keep it")
    }).pipe(Effect.provide(TestLoop.layer({
      model: [ScriptedModel.call("delete_file", { path: "a" }), ScriptedModel.text("left as it was")],
      approvals: [ScriptedApproval.deny("keep it")],
      tools: [DeleteFile],
      files: { a: "1" }
    }))))

  it.effect("an approved one is done", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "t", message: "tidy up" })
      expect(turn.calls[0]?.outcome).toMatchObject({ _tag: "Succeeded", content: [{ text: "deleted a" }] })
      expect(yield* FakeSandbox.files).toEqual({ b: "2" })
      expect((yield* ScriptedApproval.requests).flatMap(({ questions }) => questions.map(({ summary }) => summary)))
        .toEqual([
          "Delete a"
        ])
    }).pipe(Effect.provide(TestLoop.layer({
      model: [ScriptedModel.call("delete_file", { path: "a" }), ScriptedModel.text("gone")],
      approvals: [ScriptedApproval.approve],
      tools: [DeleteFile, RunTests],
      files: { a: "1", b: "2" }
    }))))

  it.effect("commands, policy, limits and options of the loop are those that were given", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "t", message: "test twice" })
      expect(turn.calls.map(({ outcome }) => outcome._tag)).toEqual(["Succeeded", "Refused", "Refused"])
      expect(turn.calls[0]?.outcome).toMatchObject({ content: [{ text: "ok" }] })
      expect(turn.calls[1]?.outcome).toMatchObject({ failure: { _tag: "Permission" } })
      expect(turn.calls[2]?.outcome).toMatchObject({ failure: { _tag: "Limit" } })
      expect((yield* ScriptedModel.requests)[0]).toMatchObject({ model: "m", instructions: "be brief" })
    }).pipe(Effect.provide(TestLoop.layer({
      model: [
        ScriptedModel.calls([
          { name: "run_tests", arguments: {} },
          { name: "delete_file", arguments: { path: "a" } },
          { name: "run_tests", arguments: {} }
        ]),
        ScriptedModel.text("done")
      ],
      modelOptions: { model: { id: "m" } },
      policy: { denylist: ["delete_file"] },
      limits: { maxToolCallsPerBatch: 2 },
      loop: { instructions: "be brief" },
      tools: [DeleteFile, RunTests],
      commands: { "npm test": { stdout: "ok" } }
    }))))

  it.effect("a journal with a crash point ends the run, and what came before stands", () =>
    Effect.gen(function*() {
      expect(yield* Effect.flip(ToolLoop.run({ session: "t", message: "tidy up" }))).toMatchObject({
        _tag: "JournalError",
        reason: "full"
      })
      expect(yield* FakeSandbox.files).toEqual({ a: "1" })
      const journal = yield* Journal.Journal
      const rows = yield* journal.read({ session: "t" })
      expect(rows.at(-1)?.record._tag).toBe("Decided")
      expect(yield* Effect.flip(ToolLoop.run({ session: "t", message: "again" }))).toMatchObject({
        _tag: "UnfinishedError"
      })
    }).pipe(Effect.provide(TestLoop.layer({
      model: [ScriptedModel.call("delete_file", { path: "a" })],
      approvals: [ScriptedApproval.approve],
      tools: [DeleteFile],
      files: { a: "1" },
      journal: Layer.provide(
        CrashPoint.layer([CrashPoint.before("Intent", CrashPoint.fail("full"))]),
        Journal.layerMemory
      )
    }))))
})
