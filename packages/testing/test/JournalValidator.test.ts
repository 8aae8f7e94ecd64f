import type { JournalRecord } from "@capstan/core/JournalRecord"
import type { Outcome } from "@capstan/core/Outcome"
import type { Safety } from "@capstan/core/Safety"
import { turnEnded, turnStarted } from "@capstan/testing/JournalConformance"
import * as JournalValidator from "@capstan/testing/JournalValidator"
import { assert, describe, it } from "@effect/vitest"

const ref = (position: number) => ({ turn: 0, iteration: 0, position })

const received = (position: number): JournalRecord => ({
  _tag: "CallReceived",
  ref: ref(position),
  call: { id: "", name: "write", raw: "{}", arguments: {}, repairs: [] }
})

const responded = (calls: number): JournalRecord => ({
  _tag: "Responded",
  turn: 0,
  iteration: 0,
  parts: Array.from({ length: calls }, (_, position) => ({ type: "call", position })),
  finish: "tool-calls",
  usage: null,
  prices: null,
  millis: 0
})

const planned: JournalRecord = { _tag: "Planned", turn: 0, iteration: 0, refused: [], asked: [], stages: [] }

const asked: JournalRecord = { _tag: "Asked", questions: [] }

const intent = (position: number, safety: Safety = "side-effect"): JournalRecord => ({
  _tag: "Intent",
  ref: ref(position),
  tool: "write",
  safety,
  polls: false,
  at: 0,
  argumentsHash: "",
  edited: null,
  repairs: []
})

const settled = (position: number, outcome: Outcome = { _tag: "Succeeded", content: [] }): JournalRecord => ({
  _tag: "Settled",
  ref: ref(position),
  outcome,
  note: null,
  reads: [],
  written: 0,
  durationMillis: 0
})

const unknown = (started: boolean): Outcome => ({
  _tag: "Unknown",
  failure: { _tag: "Unknown", message: "", suggestedFix: null, details: { started } }
})

const denied: Outcome = {
  _tag: "Denied",
  reason: null,
  failure: {
    _tag: "Permission",
    message: "",
    suggestedFix: null,
    details: { kind: "denied", attempted: null, resolved: null, pattern: null }
  }
}

const one = [turnStarted(0, "go"), received(0), responded(1), planned]
const two = [turnStarted(0, "go"), received(0), received(1), responded(2), planned]

const rules = (records: ReadonlyArray<JournalRecord>, options: JournalValidator.Options = {}) =>
  JournalValidator.validate(records.map((record, i) => ({ seq: i + 1, at: 0, record })), options).map(({ rule }) =>
    rule
  )

describe("a journal that keeps the promises", () => {
  it.each<readonly [string, ReadonlyArray<JournalRecord>, JournalValidator.Options]>([
    ["one call", [...one, intent(0), settled(0), turnEnded(0)], {}],
    ["calls that read side by side", [
      ...two,
      intent(0, "read-only"),
      intent(1, "read-only"),
      settled(1),
      settled(0),
      turnEnded(0)
    ], {}],
    ["a voided response", [
      turnStarted(0, "go"),
      received(0),
      { _tag: "Voided", turn: 0, iteration: 0, reason: "" },
      turnEnded(0)
    ], {}],
    ["results that a person supplied", [turnStarted(0, "go"), received(0), responded(1), settled(0)], {}],
    ["a session that waits", [
      ...one,
      asked,
      { _tag: "TurnEnded", turn: 0, end: "awaiting", reason: null, millis: 0 }
    ], { unfinished: true }],
    ["a call that is run again because somebody asked", [...one, intent(0), intent(0), settled(0)], { rerun: true }]
  ])("%s", (_, records, options) => {
    assert.deepStrictEqual(rules(records, options), [])
  })
})

describe("a journal that breaks one", () => {
  it.each<readonly [JournalValidator.Rule, ReadonlyArray<JournalRecord>]>([
    ["one-result", [...one, intent(0)]],
    ["one-result", [...one, intent(0), settled(0), settled(0)]],
    ["one-result", [...one, intent(0), turnEnded(0), settled(0)]],
    ["no-result", [turnStarted(0, "go"), received(0), settled(0)]],
    ["intent-first", [...one, settled(0)]],
    ["intent-first", [...one, intent(0), settled(0, denied)]],
    ["intent-once", [...one, intent(0), intent(0), settled(0)]],
    ["planned-first", [turnStarted(0, "go"), received(0), responded(1), intent(0), settled(0)]],
    ["answered-first", [...one, asked, intent(0), settled(0)]],
    ["one-by-one", [...two, intent(0), intent(1, "read-only"), settled(0), settled(1)]],
    ["truth", [...one, intent(0), settled(0, unknown(false))]],
    ["truth", [...one, settled(0, unknown(true))]]
  ])("%s", (rule, records) => {
    assert.deepStrictEqual([...new Set(rules(records))], [rule])
  })
})
