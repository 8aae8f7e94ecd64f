import * as Budget from "@capstan/core/Budget"
import { JournalError, LeaseError } from "@capstan/core/Journal"
import { ModelError } from "@capstan/core/ModelProvider"
import type { Outcome } from "@capstan/core/Outcome"
import { ConfigurationError, type RunError, UnfinishedError } from "@capstan/core/RunError"
import * as ToolFailure from "@capstan/core/ToolFailure"
import type { TurnResult } from "@capstan/core/TurnResult"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as ExitCode from "../src/ExitCode.js"
import * as Ulid from "../src/Ulid.js"

const failure = ToolFailure.permission({ kind: "denied", message: "no" })
const succeeded: Outcome = { _tag: "Succeeded", content: [] }
const denied: Outcome = { _tag: "Denied", failure, reason: null }

const turn = (end: TurnResult["end"], ...outcomes: ReadonlyArray<Outcome>): TurnResult => ({
  session: "s",
  turn: 0,
  text: "",
  calls: outcomes.map((outcome, iteration) => ({
    ref: { turn: 0, iteration, position: 0 },
    name: "t",
    arguments: {},
    outcome,
    durationMillis: 0
  })),
  pending: [],
  usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
  cost: null,
  spent: Budget.nothing,
  end,
  reason: null
})

const unfinished = (reason: UnfinishedError["reason"]) =>
  new UnfinishedError({ reason, session: "s", finished: [], unknown: [], neverStarted: [], ended: [], message: "" })

describe("ExitCode", () => {
  it.each(
    [
      ["answered", 0],
      ["iterations", 1],
      ["budget", 1],
      ["loop", 1],
      ["refused", 1],
      ["awaiting", 3],
      ["cancelled", 130]
    ] as const
  )("%s is %i", (end, code) => {
    expect(ExitCode.ofTurn(turn(end), { attended: true })).toBe(code)
  })

  it("counts a denial that ended the turn, and each that nobody saw", () => {
    expect(ExitCode.ofTurn(turn("answered", succeeded, denied), { attended: true })).toBe(3)
    expect(ExitCode.ofTurn(turn("answered", denied, succeeded), { attended: true })).toBe(0)
    expect(ExitCode.ofTurn(turn("answered", denied, succeeded), { attended: false })).toBe(3)
    expect(ExitCode.ofTurn(turn("answered", { _tag: "Refused", failure }), { attended: true })).toBe(0)
  })

  it.each<readonly [RunError, number]>([
    [new ModelError({ reason: "server", provider: "p", message: "" }), 4],
    [new JournalError({ reason: "full", message: "" }), 1],
    [new JournalError({ reason: "not-found", message: "" }), 2],
    [new LeaseError({ reason: "held", session: "s", owner: "o", message: "" }), 1],
    [new ConfigurationError({ message: "" }), 2],
    [unfinished("crashed"), 2],
    [unfinished("awaiting"), 3]
  ])("%s is %i", (error, code) => {
    expect(ExitCode.ofRunError(error)).toBe(code)
  })
})

describe("Ulid", () => {
  it.effect("sorts by time and differs", () =>
    Effect.gen(function*() {
      const first = yield* Ulid.make
      const again = yield* Ulid.make
      yield* TestClock.adjust("1 milli")
      const later = yield* Ulid.make
      expect(first).toMatch(/^0000000000[0-9A-HJKMNP-TV-Z]{16}$/)
      expect(again).not.toBe(first)
      expect(later.slice(0, 10)).toBe("0000000001")
      yield* TestClock.setTime(1_469_918_176_385)
      expect((yield* Ulid.make).slice(0, 10)).toBe("01ARYZ6S41")
    }))
})
