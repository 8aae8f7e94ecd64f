import { type Approval, ApprovalStore, Journal } from "@capstan/core"
import { ScriptedApproval, ScriptedModel, type TestLoop } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, TestClock } from "effect"
import { calls, done, ran, recordOf, run, session, tags, world } from "./approvalWorld.js"

describe("always", () => {
  const twice = [calls(["put", { path: "a" }]), calls(["put", { path: "b" }]), done]
  const asked = Effect.map(ScriptedApproval.requests, (requests) => requests.length)
  const always = (scope: Approval.Scope) => ScriptedApproval.always("put", scope)

  it.effect("in a turn holds until it ends, and is kept nowhere else", () =>
    Effect.gen(function*() {
      yield* run()
      expect(yield* asked).toBe(1)
      yield* run()
      expect(yield* asked).toBe(2)
      expect(yield* Effect.flatMap(ApprovalStore.ApprovalStore, (store) => store.permissions({ project: undefined })))
        .toEqual([])
    }).pipe(Effect.provide(world({ model: [...twice, ...twice], approvals: [always("turn"), always("turn")] }))))

  it.effect("in a session holds in its later turns, not in another, and not once it is taken back", () =>
    Effect.gen(function*() {
      const store = yield* ApprovalStore.ApprovalStore
      yield* TestClock.adjust("5 seconds")
      yield* run()
      yield* run()
      expect(yield* asked).toBe(1)
      const [permission] = yield* store.permissions({ project: undefined })
      expect(permission).toMatchObject({ project: "/workspace", session, entry: "put", by: "script", at: 5_000 })
      expect(tags(yield* run("other"))).toEqual(["Denied", "Denied"])
      yield* store.revoke({ id: permission?.id ?? "" })
      expect(tags(yield* run())).toEqual(["Denied", "Denied"])
    }).pipe(Effect.provide(world({
      model: [...twice, ...twice, ...twice, ...twice],
      approvals: [always("session"), ...Array.from({ length: 4 }, () => ScriptedApproval.denyAll())]
    }))))

  it.effect("in a project holds in its other sessions, not in another project, and is listed", () =>
    Effect.gen(function*() {
      yield* run()
      expect(tags(yield* run("other"))).toEqual(["Succeeded", "Succeeded"])
      expect(yield* asked).toBe(1)
      expect(tags(yield* run("third", { workspace: "/elsewhere" }))).toEqual(["Denied", "Denied"])
      const permissions = yield* Effect.flatMap(
        ApprovalStore.ApprovalStore,
        (store) => store.permissions({ project: "/workspace" })
      )
      expect(permissions).toMatchObject([{ session: null, entry: "put" }])
    }).pipe(Effect.provide(world({
      model: [...twice, ...twice, ...twice],
      approvals: [always("project"), ScriptedApproval.denyAll(), ScriptedApproval.denyAll()]
    }))))

  it.effect("does not answer for a call that must be asked about each time", () =>
    Effect.gen(function*() {
      yield* run()
      expect(yield* asked).toBe(2)
    }).pipe(Effect.provide(world({
      model: [calls(["shell", { command: "rm a" }]), calls(["shell", { command: "rm a" }]), done],
      approvals: [ScriptedApproval.always("shell"), ScriptedApproval.deny()]
    }))))

  it.effect("a store that fails stops the run before anything runs", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(run())
      expect(error).toMatchObject({ _tag: "JournalError" })
      expect(ran).toEqual([])
    }).pipe(Effect.provide(world({
      model: twice,
      approvals: [always("project")],
      approvalStore: Layer.sync(ApprovalStore.ApprovalStore, () => ({
        ...ApprovalStore.memory(),
        grant: () => new Journal.JournalError({ reason: "full", message: "The disk is full." })
      }))
    }))))
})

describe("edited arguments", () => {
  const edited = (
    tool: readonly [string, Readonly<Record<string, unknown>>],
    args: Readonly<Record<string, unknown>>,
    more: Partial<TestLoop.Options> = {}
  ) => world({ model: [calls(tool), done], approvals: [ScriptedApproval.edit(args)], ...more })

  it.effect("run, the result says what was changed, and history keeps what the model wrote", () =>
    Effect.gen(function*() {
      const result = yield* run()
      expect(ran).toEqual(["put b"])
      expect(result.calls[0]?.arguments).toEqual({ path: "a", line: "x" })
      const [, second] = yield* ScriptedModel.requests
      const history = JSON.stringify(second?.messages)
      expect(history).toContain("\\\"path\\\":\\\"a\\\"")
      expect(history).toContain(
        "The user changed the arguments of this call: \\\"path\\\" was changed from \\\"a\\\" to \\\"b\\\"; \\\"line\\\" was taken out."
      )
      expect((yield* recordOf("Intent"))[0]?.edited).toEqual({ path: "b" })
    }).pipe(Effect.provide(edited(["put", { path: "a", line: "x" }], { path: "b" }))))

  it.effect.each(
    [
      ["the schema", { wrong: 1 }, {}, { _tag: "Validation" }],
      ["the denylist", { path: "keep/a" }, { policy: { denylist: ["put(keep/**)"] } }, {
        details: { kind: "denylist" }
      }],
      ["the sandbox", { path: "../out" }, {}, { details: { kind: "outside-sandbox" } }],
      ["the quota", { path: "b", line: "x".repeat(11) }, { limits: { bytesWrittenPerSession: 10 } }, { _tag: "Limit" }],
      ["the size of arguments", { path: "b".repeat(50) }, { limits: { maxToolArgsBytes: 40 } }, { _tag: "Limit" }],
      ["marks of secrets", { path: "b", line: "[redacted:jwt]" }, {}, { _tag: "Validation" }]
    ] as const
  )("are planned again: %s", ([, args, more, failure]) =>
    Effect.gen(function*() {
      const result = yield* run()
      expect(result.calls[0]?.outcome).toMatchObject({ _tag: "Refused", failure })
      expect(ran).toEqual([])
      const [, second] = yield* ScriptedModel.requests
      expect(JSON.stringify(second?.messages)).toContain("The user changed the arguments")
    }).pipe(Effect.provide(edited(["put", { path: "a" }], args, more))))

  it.effect("that must be asked about by themselves do not run unless that was asked", () =>
    Effect.gen(function*() {
      const harmless = yield* run().pipe(Effect.provide(edited(["shell", { command: "ls" }], { command: "rm a" })))
      expect(harmless.calls[0]?.outcome).toMatchObject({ _tag: "Refused", failure: { details: { kind: "denied" } } })
      expect(ran).toEqual([])
      yield* run().pipe(Effect.provide(edited(["shell", { command: "rm a" }], { command: "rm b" })))
      expect(ran).toEqual(["rm b"])
    }))

  it.effect("that together are more than is left are refused by the executor, which is the last to look", () =>
    Effect.gen(function*() {
      const result = yield* run()
      expect(result.calls.map(({ outcome }) => outcome)).toMatchObject([
        { _tag: "Succeeded" },
        { _tag: "Refused", failure: { _tag: "Limit", details: { limit: "bytes_written" } } }
      ])
      expect((yield* recordOf("Intent")).length).toBe(1)
    }).pipe(Effect.provide(world({
      model: [calls(["put", { path: "a" }], ["put", { path: "b" }]), done],
      limits: { bytesWrittenPerSession: 10 },
      approvals: ["a", "b"].map((path) => ScriptedApproval.edit({ path, line: "123456" }))
    }))))
})
