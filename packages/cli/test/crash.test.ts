import { type JournalRow, layerMemory } from "@capstan/core/Journal"
import type { JournalRecord } from "@capstan/core/JournalRecord"
import type { ToolResultPart } from "@capstan/core/Message"
import type { ModelRequest } from "@capstan/core/ModelProvider"
import * as Tool from "@capstan/core/Tool"
import { keyOf } from "@capstan/core/ToolCall"
import * as ToolLoop from "@capstan/core/ToolLoop"
import * as CrashPoint from "@capstan/testing/CrashPoint"
import * as HistoryValidator from "@capstan/testing/HistoryValidator"
import * as JournalValidator from "@capstan/testing/JournalValidator"
import * as PostgresServer from "@capstan/testing/PostgresServer"
import * as ScriptedModel from "@capstan/testing/ScriptedModel"
import * as TestLoop from "@capstan/testing/TestLoop"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as fs from "node:fs"
import { crashAt, layer, readRows, succeed, turn } from "./crashLoop.js"
import { buildProgram, removeProgram, start, temporaryFolder } from "./crashProcesses.js"
import { childOf, type Name, type Scenario, scenarios, sideLines } from "./crashScenarios.js"
import type { Case, Point, Store, Task } from "./crashTask.js"

beforeAll(buildProgram)
afterAll(removeProgram)

const tellsProcesses = fs.existsSync("/proc/self/environ")
if (!tellsProcesses) process.stderr.write("No test of processes that a crash leaves: they are found in /proc.\n")

/** Living processes with a token in their environment, read without the code under test. */
const processesWith = (token: string): ReadonlyArray<string> =>
  fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      const state = /\) (\S)/.exec(fs.readFileSync(`/proc/${pid}/stat`, "latin1"))?.[1]
      return state !== "Z" && fs.readFileSync(`/proc/${pid}/environ`, "latin1").includes(token)
    } catch {
      return false
    }
  })

type Tagged<Tag extends JournalRecord["_tag"]> = Extract<JournalRecord, { readonly _tag: Tag }>

const only = <Tag extends JournalRecord["_tag"]>(
  rows: ReadonlyArray<JournalRow>,
  tag: Tag
): ReadonlyArray<Tagged<Tag>> => {
  const is = (record: JournalRecord): record is Tagged<Tag> => record._tag === tag
  return rows.map(({ record }) => record).filter(is)
}

const words = (result: ToolResultPart) =>
  result.content.map((part) => part.type === "text" ? part.text : `<${part.type}>`).join("\n")

/** What a run without a crash leaves in the journals of a session and its sub-session. */
const uninterrupted = (scenario: Name) =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    return yield* Effect.gen(function*() {
      yield* turn("s")
      return { rows: yield* readRows("s"), children: yield* readRows(childOf("s")) }
    }).pipe(Effect.provide(layer({ scenario, store: { _tag: "sqlite" }, folder, session: "s" })))
  }).pipe(Effect.scoped)

let sessions = 0

/** A point before and one after each record of some kinds (default: of all). */
const pointsIn = (
  records: ReadonlyArray<JournalRow>,
  around: ReadonlyArray<JournalRecord["_tag"]> | undefined
): ReadonlyArray<Point> => {
  const seen = new Map<string, number>()
  return records.flatMap(({ record: { _tag: kind } }) => {
    if (around?.includes(kind) === false) return []
    const n = (seen.get(kind) ?? 0) + 1
    seen.set(kind, n)
    return [{ when: "before", kind, n }, { when: "after", kind, n }]
  })
}

/** A case for each point, both ways to recover in turns. */
const casesFor = (points: ReadonlyArray<Point>) =>
  Effect.forEach(points, (point, i) =>
    Effect.map(temporaryFolder, (folder): Case => {
      sessions += 1
      return {
        folder,
        session: `case-${process.pid}-${sessions}`,
        choice: Math.floor(i / 2) % 2 === i % 2 ? "partial" : "discard",
        point
      }
    }))

/** One session and nothing that happens to it. */
const unhurt = Effect.map(temporaryFolder, (folder): Case => {
  sessions += 1
  return { folder, session: `case-${process.pid}-${sessions}`, choice: "partial" }
})

const aroundOf = (name: Name) => {
  const scenario: Scenario = scenarios[name]
  return scenario.around
}

/** One call has ended, one has started and one has not. */
const inTheMiddle: Point = { when: "after", kind: "Settled", n: 1 }

const killed = (task: Task) =>
  Effect.gen(function*() {
    const child = yield* start(task)
    assert.strictEqual(yield* child.ended, "SIGKILL")
  })

const validRequests = (requests: ReadonlyArray<ModelRequest>) => {
  for (const request of requests) {
    for (const dialect of HistoryValidator.dialects) {
      assert.strictEqual(HistoryValidator.toText(HistoryValidator.validateRequest(request, dialect)), "")
    }
  }
}

/** What must be true of a session that somebody opens after a crash, wherever it was. */
const recoverAndCheck = (
  scenario: Name,
  store: Store,
  { choice, folder, point, session }: Case,
  truth: ReadonlyArray<JournalRow>
) =>
  Effect.gen(function*() {
    const before = yield* readRows(session)
    const childBefore = yield* readRows(childOf(session))
    const ranBefore = sideLines(folder)
    if (point?.kind === "ProcessStarted" && point.when === "before") {
      assert.deepStrictEqual(ranBefore, [], "a command ran before its process was journaled")
    }

    if (childBefore.length > 0) yield* succeed(childOf(session), choice)
    const result = yield* succeed(session, choice)
    assert.include(["answered", "budget"], result.end)

    const after = yield* readRows(session)
    const childAfter = yield* readRows(childOf(session))
    assert.deepStrictEqual(after.slice(0, before.length), before, "history was changed")
    assert.strictEqual(JournalValidator.toText(JournalValidator.validate(after)), "")
    assert.strictEqual(JournalValidator.toText(JournalValidator.validate(childAfter)), "")

    const ran = sideLines(folder)
    assert.deepStrictEqual(ran.slice(0, ranBefore.length), ranBefore)
    assert.strictEqual(new Set(ran).size, ran.length, `a handler ran twice: ${ran.join(", ")}`)
    const intents = [
      ...only(after, "Intent").map(({ ref }) => `${session} ${keyOf(ref)}`),
      ...only(childAfter, "Intent").map(({ ref }) => `${childOf(session)} ${keyOf(ref)}`)
    ]
    for (const line of ran) {
      if (line !== "ready") assert.include(intents, line, "a handler ran without an intent")
    }

    const requests = yield* ScriptedModel.requests
    validRequests(requests)
    const told = (requests.at(-1)?.messages ?? []).flatMap((message) => message.role === "tool" ? message.results : [])
    const firstBatch = only(after, "Settled").filter(({ ref }) => ref.turn === 0 && ref.iteration === 0)
    for (const { outcome, ref } of firstBatch) {
      if (outcome._tag === "Succeeded") {
        const without = only(truth, "Settled").find((one) => keyOf(one.ref) === keyOf(ref))
        if (without?.outcome._tag === "Succeeded") {
          assert.strictEqual(JSON.stringify(outcome.content).length, JSON.stringify(without.outcome.content).length)
        }
      }
      if (outcome._tag === "Unknown" && requests.length > 0 && only(after, "Compacted").length === 0) {
        assert.match(told.map(words).join("\n"), /its outcome is unknown|It did not run/)
      }
    }
  }).pipe(Effect.provide(layer({ scenario, store, folder, session })))

const within = (place: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.catchAllDefect(effect, (defect) => Effect.die(new Error(place, { cause: defect })))

const placeOf = ({ choice, point }: Case) => `${point?.when} ${point?.kind} ${point?.n}, ${choice}`

const names: ReadonlyArray<Name> = [
  "parallel",
  "sequential",
  "answered",
  "awaiting",
  "broken",
  "command",
  "budget",
  "child",
  "crowded"
]

/** Every kind of record, by the scenario that is cut off around it; `Recovered` is written by a recovery that is. */
const kinds: { readonly [Kind in JournalRecord["_tag"]]: Name } = {
  TurnStarted: "parallel",
  CallReceived: "parallel",
  Responded: "parallel",
  Voided: "broken",
  Planned: "parallel",
  Asked: "answered",
  Decided: "answered",
  Intent: "sequential",
  ProcessStarted: "command",
  Settled: "sequential",
  Recovered: "parallel",
  ChildSpent: "child",
  BudgetReached: "budget",
  Shortened: "crowded",
  Compacted: "crowded",
  TurnEnded: "parallel"
}

it.live("the scenarios write every kind of record", () =>
  Effect.gen(function*() {
    for (const name of names) {
      const { rows } = yield* uninterrupted(name)
      const written = new Set(rows.map(({ record }) => record._tag))
      for (const [kind, by] of Object.entries(kinds)) {
        if (by === name && kind !== "Recovered") {
          assert.isTrue([...written].some((tag) => tag === kind), `${name} writes no ${kind}`)
        }
      }
    }
  }), 60_000)

if (PostgresServer.missing !== undefined) process.stderr.write(`${PostgresServer.missing}\n`)

/** One server for the file; its database holds the sessions of all cases. */
const server = Effect.runSync(Scope.make())
let url = ""
beforeAll(async () => {
  if (PostgresServer.missing !== undefined) return
  url = await Effect.runPromise(
    Scope.extend(PostgresServer.start(), server).pipe(Effect.flatMap(({ database }) => database))
  )
}, 60_000)
afterAll(() => Effect.runPromise(Scope.close(server, Exit.void)), 30_000)

const stores = [
  { name: "SQLite", runs: true, failing: names, store: (): Store => ({ _tag: "sqlite" }) },
  {
    name: "Postgres",
    runs: PostgresServer.missing === undefined,
    failing: ["parallel" as const],
    store: (): Store => ({ _tag: "postgres", url })
  }
]

for (const { failing, name: storeName, runs, store } of stores) {
  describe.skipIf(!runs)(`a process that is killed with -9 around any record, on ${storeName}`, () => {
    for (const scenario of names) {
      it.live(`is succeeded by one that tells the truth: ${scenario}`, () =>
        Effect.gen(function*() {
          const to = store()
          const { children, rows } = yield* uninterrupted(scenario)
          const cases = yield* casesFor(pointsIn([...rows, ...children], aroundOf(scenario)))
          yield* killed({ mode: "turn", scenario, store: to, cases })
          for (const one of cases) yield* recoverAndCheck(scenario, to, one, rows).pipe(within(placeOf(one)))
        }).pipe(Effect.scoped), 120_000)
    }

    it.live("may be succeeded by one that is killed while it recovers", () =>
      Effect.gen(function*() {
        const to = store()
        const { rows } = yield* uninterrupted("parallel")
        const cases = yield* casesFor([
          ...["Recovered", "Responded", "TurnEnded"].flatMap((kind) => [
            { when: "before" as const, kind, n: 1 },
            { when: "after" as const, kind, n: 1 }
          ]),
          { when: "before", kind: "Settled", n: 1 },
          { when: "after", kind: "Settled", n: 1 },
          { when: "after", kind: "Settled", n: 2 }
        ])
        yield* killed({
          mode: "turn",
          scenario: "parallel",
          store: to,
          cases: cases.map((one) => ({ ...one, point: inTheMiddle }))
        })
        yield* killed({ mode: "succeed", scenario: "parallel", store: to, cases })
        for (const one of cases) yield* recoverAndCheck("parallel", to, one, rows).pipe(within(placeOf(one)))
      }).pipe(Effect.scoped), 60_000)

    it.live(
      "is succeeded by one of two that try at once, and the other is told who has it",
      () =>
        Effect.gen(function*() {
          const to = store()
          const crashed = yield* unhurt
          const task: Task = {
            mode: "turn",
            scenario: "parallel",
            store: to,
            cases: [{ ...crashed, point: inTheMiddle }]
          }
          yield* killed(task)
          const ran = sideLines(crashed.folder)
          const race: Task = { ...task, mode: "succeed", cases: [crashed], wait: true }
          const children = yield* Effect.all([start(race), start(race)])
          const said = yield* Effect.all(children.map(({ next }) => next), { concurrency: 2 })
          const winner = children[said[0]?.asked === true ? 0 : 1]
          const refused = said.find((report) => report?.asked !== true)
          assert.strictEqual(said.filter((report) => report?.asked === true).length, 1)
          assert.deepStrictEqual([refused?.error, refused?.reason], ["LeaseError", "held"])
          assert.include(refused?.message, `process ${winner?.pid}`)
          yield* winner?.tell ?? Effect.void
          assert.strictEqual((yield* winner?.next ?? Effect.succeed(undefined))?.text, "Done.")
          yield* Effect.gen(function*() {
            const after = yield* readRows(crashed.session)
            assert.strictEqual(JournalValidator.toText(JournalValidator.validate(after)), "")
            assert.strictEqual(only(after, "Recovered").length, 1)
            assert.deepStrictEqual(sideLines(crashed.folder), ran)
          }).pipe(Effect.provide(layer({ ...crashed, scenario: "parallel", store: to })))
        }).pipe(Effect.scoped),
      60_000
    )

    it.live.skipIf(!tellsProcesses)("has its commands ended by the next one", () =>
      Effect.gen(function*() {
        const to = store()
        const one = yield* unhurt
        const { folder, session } = one
        const child = yield* start({ mode: "turn", scenario: "endless", store: to, cases: [one] })
        yield* Effect.suspend(() => sideLines(folder).includes("ready") ? Effect.void : Effect.fail("not yet")).pipe(
          Effect.retry({ times: 400, schedule: Schedule.spaced("25 millis") })
        )
        yield* child.kill
        yield* child.ended
        yield* Effect.gen(function*() {
          const [identity] = only(yield* readRows(session), "ProcessStarted").map(({ process }) => process)
          const alive = () => processesWith(identity?.token ?? "none")
          assert.isNotEmpty(alive())
          const unfinished = yield* Effect.flip(ToolLoop.run({ session }))
          assert.strictEqual(unfinished._tag, "UnfinishedError")
          assert.isTrue("ended" in unfinished && unfinished.ended.length > 0)
          assert.isEmpty(alive())
          assert.strictEqual((yield* succeed(session, "partial")).text, "Done.")
          assert.deepStrictEqual(sideLines(folder), ["ready"])
        }).pipe(Effect.provide(layer({ scenario: "endless", store: to, folder, session })))
      }).pipe(Effect.scoped), 60_000)
  })

  describe.skipIf(!runs)(`a journal on ${storeName} that does not take a record`, () => {
    for (const scenario of failing) {
      it.live(`ends the run, and the session can be opened again: ${scenario}`, () =>
        Effect.gen(function*() {
          const to = store()
          const { children, rows } = yield* uninterrupted(scenario)
          const places = pointsIn([...rows, ...children], aroundOf(scenario)).filter(({ when }) => when === "before")
          for (const one of yield* casesFor(places)) {
            const points = one.point === undefined ? [] : [crashAt(one.point, CrashPoint.fail())]
            yield* Effect.exit(turn(one.session)).pipe(
              Effect.provide(layer({ ...one, scenario, store: to, points }))
            )
            yield* recoverAndCheck(scenario, to, one, rows).pipe(within(placeOf(one)))
          }
        }).pipe(Effect.scoped), 120_000)
    }
  })
}

describe("a journal that does not take a record", () => {
  it.live("leaves no other call of the stage running", () =>
    Effect.gen(function*() {
      let running = 0
      const tool = (name: string, body: Effect.Effect<string>) =>
        Tool.make(name, {
          description: name,
          parameters: Schema.Struct({}),
          safety: "read-only",
          handler: () =>
            Effect.sync(() => {
              running += 1
            }).pipe(
              Effect.zipRight(body),
              Effect.ensuring(Effect.sync(() => {
                running -= 1
              }))
            )
        })
      const error = yield* Effect.flip(ToolLoop.run({ session: "s", message: "Go." })).pipe(
        Effect.provide(TestLoop.layer({
          model: [ScriptedModel.calls([{ name: "quick", arguments: {} }, { name: "slow", arguments: {} }])],
          tools: [tool("quick", Effect.succeed("done")), tool("slow", Effect.never)],
          journal: Layer.provide(CrashPoint.layer([CrashPoint.before("Settled", CrashPoint.fail())]), layerMemory)
        }))
      )
      assert.strictEqual(error._tag, "JournalError")
      assert.strictEqual(running, 0)
    }))
})
