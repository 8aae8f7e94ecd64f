import { Approval, type ApprovalRequest, type Question } from "@capstan/core/Approval"
import { ScriptedApproval } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"

const question = (position: number): Question => ({
  ref: { turn: 0, iteration: 0, position },
  tool: "delete_file",
  summary: `delete ${position}`,
  detail: "",
  preview: null,
  arguments: {},
  origin: "",
  risk: "high",
  mustAsk: true,
  warnings: [],
  argumentsHash: "",
  hint: "",
  entry: null
})

const batch = (...positions: ReadonlyArray<number>): ApprovalRequest => ({
  session: "s",
  questions: positions.map(question)
})

const ask = (request: ApprovalRequest) => Effect.flatMap(Approval, (approval) => approval.ask(request))

const defectOf = <A, E>(exit: Exit.Exit<A, E>): string =>
  Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "it succeeded"

describe("ScriptedApproval", () => {
  it.effect("answers one question after the other, across batches", () =>
    Effect.gen(function*() {
      expect(yield* ask(batch(0, 2))).toEqual({
        _tag: "Each",
        answers: [{ position: 0, answer: { _tag: "Approve" } }, {
          position: 2,
          answer: { _tag: "Deny", reason: "keep it" }
        }]
      })
      expect(yield* ask(batch(1))).toEqual({
        _tag: "Each",
        answers: [{ position: 1, answer: { _tag: "Always", entry: "delete_file", scope: "session" } }]
      })
      expect(yield* ask(batch(0))).toEqual({
        _tag: "Each",
        answers: [{ position: 0, answer: { _tag: "Edit", arguments: { path: "b" } } }]
      })
      expect((yield* ScriptedApproval.requests).map(({ questions }) => questions.length)).toEqual([2, 1, 1])
      const script = yield* ScriptedApproval.ScriptedApproval
      expect(yield* script.left).toBe(0)
    }).pipe(Effect.provide(ScriptedApproval.layer([
      ScriptedApproval.approve,
      ScriptedApproval.deny("keep it"),
      ScriptedApproval.always("delete_file"),
      ScriptedApproval.edit({ path: "b" })
    ]))))

  it.effect("decides over whole batches", () =>
    Effect.gen(function*() {
      expect(yield* ask(batch(0, 1))).toEqual({ _tag: "ApproveAll" })
      expect(yield* ask(batch(0, 1))).toEqual({ _tag: "DenyAll", reason: "no" })
      expect(yield* ask(batch(0, 3))).toEqual({
        _tag: "Each",
        answers: [{ position: 3, answer: { _tag: "Deny", reason: null } }]
      })
      expect(yield* ask(batch(0))).toEqual({ _tag: "Later" })
      expect((yield* Effect.flip(ask(batch(0)))).message).toBe("nobody there")
      const fiber = yield* Effect.fork(ask(batch(0)))
      yield* Effect.yieldNow()
      expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
    }).pipe(Effect.provide(ScriptedApproval.layer([
      ScriptedApproval.approveAll,
      ScriptedApproval.denyAll("no"),
      ScriptedApproval.each({ 3: ScriptedApproval.deny() }),
      ScriptedApproval.later,
      ScriptedApproval.fail("nobody there"),
      ScriptedApproval.hang
    ]))))

  it.effect("names the questions that it has no answer for", () =>
    Effect.gen(function*() {
      expect(defectOf(yield* Effect.exit(ask(batch(0, 1))))).toContain(
        "(1 steps) has 1 answers left for 2 questions (0: delete 0; 1: delete 1)"
      )
    }).pipe(Effect.provide(ScriptedApproval.layer([ScriptedApproval.approve]))))

  it.effect("finds an answer to a question that was not put", () =>
    Effect.gen(function*() {
      expect(defectOf(yield* Effect.exit(ask(batch(0))))).toContain(
        "position 4 answers no single question: asked were 0: delete 0"
      )
    }).pipe(Effect.provide(ScriptedApproval.layer([ScriptedApproval.each({ 4: ScriptedApproval.approve })]))))

  it.effect("has the safe policy unless told otherwise", () =>
    Effect.gen(function*() {
      const { by, policy } = yield* Approval
      expect(by).toBe("tester")
      expect(policy).toMatchObject({ mode: "auto", denylist: ["run_command", "shell_session"] })
    }).pipe(Effect.provide(ScriptedApproval.layer([], { by: "tester", policy: { mode: "auto" } }))))
})
