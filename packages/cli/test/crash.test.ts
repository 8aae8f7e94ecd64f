import { Journal, type JournalRow, layerMemory } from "@capstan/core/Journal"
import type { JournalRecord } from "@capstan/core/JournalRecord"
import type { Message, ToolResultPart } from "@capstan/core/Message"
import type { RecoveryChoice } from "@capstan/core/Recovery"
import * as Tool from "@capstan/core/Tool"
import type { CallRef } from "@capstan/core/ToolCall"
import * as ToolCall from "@capstan/core/ToolCall"
import * as ToolLoop from "@capstan/core/ToolLoop"
import * as CrashPoint from "@capstan/testing/CrashPoint"
import * as HistoryValidator from "@capstan/testing/HistoryValidator"
import * as ScriptedModel from "@capstan/testing/ScriptedModel"
import * as TestLoop from "@capstan/testing/TestLoop"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import { layer, names, script, session, shapes, sideFile } from "./crashLoop.js"
import { buildProgram, copyOf, removeProgram, start, temporaryFolder } from "./crashProcesses.js"
import type { Task } from "./crashTask.js"

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

const choices: ReadonlyArray<RecoveryChoice> = ["partial", "discard"]

interface Point {
  readonly when: "before" | "after"
  readonly n: number
}

const places = (records: number): ReadonlyArray<Point> =>
  Array.from({ length: records }, (_, index) => index + 1).flatMap((n) =>
    (["before", "after"] as const).map((when) => ({ n, when }))
  )

const sideLines = (folder: string): ReadonlyArray<string> =>
  fs.existsSync(sideFile(folder)) ? fs.readFileSync(sideFile(folder), "utf8").split("\n").slice(0, -1) : []

const readRows = Effect.flatMap(
  Journal,
  (journal) =>
    Effect.catchTag(
      journal.read({ session }),
      "JournalError",
      (error) => error.reason === "not-found" ? Effect.succeed<ReadonlyArray<JournalRow>>([]) : Effect.fail(error)
    )
)

type Tagged<Tag extends JournalRecord["_tag"]> = Extract<JournalRecord, { readonly _tag: Tag }>

const only = <Tag extends JournalRecord["_tag"]>(
  rows: ReadonlyArray<JournalRow>,
  tag: Tag
): ReadonlyArray<Tagged<Tag>> => {
  const is = (record: JournalRecord): record is Tagged<Tag> => record._tag === tag
  return rows.map(({ record }) => record).filter(is)
}

const keys = (records: ReadonlyArray<{ readonly ref: CallRef }>) => records.map(({ ref }) => ToolCall.keyOf(ref))

const words = (result: ToolResultPart) =>
  result.content.map((part) => part.type === "text" ? part.text : `<${part.type}>`).join("\n")

const resultsOf = (messages: ReadonlyArray<Message>) =>
  messages.flatMap((message) => message.role === "tool" ? message.results : [])

/** What a run without a crash sent to the model. */
const uninterrupted = (shape: (typeof shapes)[number]) =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    return yield* Effect.gen(function*() {
      yield* ToolLoop.run({ session, message: "Go." })
      const last = (yield* ScriptedModel.requests).at(-1)
      return { rows: yield* readRows, messages: last?.messages ?? [] }
    }).pipe(Effect.provide(layer({ folder, script: script(shape) })))
  }).pipe(Effect.scoped)

/** What must be true of a session after it was opened again, whatever happened before. */
const recoverAndCheck = (options: {
  readonly folder: string
  readonly shape: (typeof shapes)[number]
  readonly choice: RecoveryChoice
  readonly without: ReadonlyArray<Message>
}) =>
  Effect.gen(function*() {
    const { choice, folder, without } = options
    const before = yield* readRows
    const ranBefore = sideLines(folder)
    const started = keys(only(before, "Intent"))
    const settled = keys(only(before, "Settled"))
    const stands = only(before, "Responded").length > 0
    assert.isAtMost(ranBefore.length, started.length, "a handler ran without an intent")

    const recovered = yield* Effect.either(ToolLoop.recover({ session, choice }))
    const unfinished = stands && settled.length < 3
    assert.strictEqual(Either.isRight(recovered), unfinished)
    if (Either.isRight(recovered)) {
      const { right: report } = recovered
      assert.deepStrictEqual(
        [report.finished, report.unknown, report.neverStarted].map((calls) => calls.length),
        [settled.length, started.length - settled.length, 3 - started.length]
      )
      assert.deepStrictEqual(sideLines(folder), ranBefore, "recovery ran a handler")
    }

    const ended = only(before, "TurnEnded").length > 0
    const message = before.length === 0 || ended ? { message: before.length === 0 ? "Go." : "And now?" } : {}
    const result = yield* ToolLoop.run({ session, ...message })
    assert.strictEqual(result.text, "Done.")
    // The answer may have been there before the crash.
    if ((yield* ScriptedModel.requests).length === 0) yield* ToolLoop.run({ session, message: "And now?" })

    const after = yield* readRows
    assert.deepStrictEqual(after.slice(0, before.length), before, "history was changed")
    const results = keys(only(after, "Settled"))
    assert.deepStrictEqual([...results].sort(), ["0.0.0", "0.0.1", "0.0.2"], "not one result per call")
    const ran = sideLines(folder)
    assert.strictEqual(new Set(ran).size, ran.length, `a handler ran twice: ${ran.join(" ")}`)

    const requests = yield* ScriptedModel.requests
    for (const request of requests) {
      for (const dialect of HistoryValidator.dialects) {
        assert.deepStrictEqual(HistoryValidator.validateRequest(request, dialect), [])
      }
    }

    const messages = requests.at(-1)?.messages ?? []
    assert.deepStrictEqual(messages.slice(0, 2), without.slice(0, 2))
    const discarded = only(after, "Recovered").some((record) => record.choice === "discard")
    const outcomes = new Map(only(after, "Settled").map(({ outcome, ref }) => [ToolCall.keyOf(ref), outcome]))
    assert.strictEqual(resultsOf(messages).length, 3)
    resultsOf(messages).forEach((result, position) => {
      const key = `0.0.${position}`
      const truth = resultsOf(without)[position]
      const outcome = outcomes.get(key)
      assert.strictEqual(result.id, truth?.id)
      assert.strictEqual(result.isError, discarded || outcome?._tag !== "Succeeded")
      if (discarded) assert.include(words(result), "discarded")
      if (outcome?._tag === "Succeeded") {
        assert.include(words(result), truth === undefined ? "no such call" : words(truth))
        if (!discarded) assert.deepStrictEqual(result, truth)
        assert.include(ran, names[position])
        return
      }
      assert.strictEqual(outcome?._tag, "Unknown")
      assert.include(words(result), started.includes(key) ? "its outcome is unknown" : "It did not run")
      if (!started.includes(key)) assert.notInclude(ran, names[position])
    })
  }).pipe(Effect.provide(layer({ folder: options.folder, script: script(options.shape) })))

const within = (place: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.catchAllDefect(effect, (defect) => Effect.die(new Error(place, { cause: defect })))

/** Runs a case up to each of some points and kills it there. */
const killedAt = (
  task: Omit<Task, "cases">,
  points: ReadonlyArray<Point>,
  folderOf: Effect.Effect<string, never, Scope.Scope>
) =>
  Effect.gen(function*() {
    const cases = yield* Effect.forEach(points, (point) => Effect.map(folderOf, (folder) => ({ folder, point })))
    const child = yield* start({ ...task, cases })
    assert.strictEqual(yield* child.ended, "SIGKILL")
    return cases
  })

/** A session in which one call has ended, one has started and one has not. */
const inTheMiddle = Effect.gen(function*() {
  const { rows } = yield* uninterrupted("parallel")
  const n = 1 + rows.findIndex(({ record }) => record._tag === "Settled")
  const [crashed] = yield* killedAt({ mode: "turn", shape: "parallel" }, [{ when: "after", n }], temporaryFolder)
  return crashed?.folder ?? ""
})

describe("a process that is killed with -9 between any two records of a batch", () => {
  for (const shape of shapes) {
    it.live(`is succeeded by one that tells the truth, ${shape}`, () =>
      Effect.gen(function*() {
        const { messages: without, rows } = yield* uninterrupted(shape)
        assert.isAtLeast(rows.length, 15)
        const cases = yield* killedAt({ mode: "turn", shape }, places(rows.length), temporaryFolder)
        for (const { folder, point } of cases) {
          for (const choice of choices) {
            yield* recoverAndCheck({ folder: yield* copyOf(folder), shape, choice, without }).pipe(
              within(`${point.when} ${point.n}, ${choice}`)
            )
          }
        }
      }).pipe(Effect.scoped), 60_000)
  }
  it.live("may be succeeded by one that is killed while it recovers", () =>
    Effect.gen(function*() {
      const { messages: without } = yield* uninterrupted("parallel")
      const crashed = yield* inTheMiddle
      for (const choice of choices) {
        const task = { mode: "recover", shape: "parallel", choice } as const
        // Recovered, two results, the answer, the end.
        for (const { folder, point } of yield* killedAt(task, places(5), copyOf(crashed))) {
          yield* recoverAndCheck({ folder, shape: "parallel", choice, without }).pipe(
            within(`${point.when} ${point.n} of recovery, ${choice}`)
          )
        }
      }
    }).pipe(Effect.scoped), 60_000)

  it.live(
    "is succeeded by one of two that try at once, and the other is told who has it",
    () =>
      Effect.gen(function*() {
        const folder = yield* inTheMiddle
        const ran = sideLines(folder)
        const task = { mode: "recover", shape: "parallel", cases: [{ folder }], wait: true } as const
        const children = yield* Effect.all([start(task), start(task)])
        const said = yield* Effect.all(children.map(({ next }) => next), { concurrency: 2 })
        const winner = children[said[0]?.asked === true ? 0 : 1]
        const refused = said.find((report) => report?.asked !== true)
        assert.strictEqual(said.filter((report) => report?.asked === true).length, 1)
        assert.deepStrictEqual([refused?.error, refused?.reason], ["LeaseError", "held"])
        assert.include(refused?.message, `process ${winner?.pid}`)
        yield* winner?.tell ?? Effect.void
        assert.strictEqual((yield* winner?.next ?? Effect.succeed(undefined))?.text, "Done.")
        yield* Effect.gen(function*() {
          const rows = yield* readRows
          assert.deepStrictEqual(keys(only(rows, "Settled")).toSorted(), ["0.0.0", "0.0.1", "0.0.2"])
          assert.strictEqual(only(rows, "Recovered").length, 1)
          assert.deepStrictEqual(sideLines(folder), ran)
        }).pipe(Effect.provide(layer({ folder, script: script("parallel") })))
      }).pipe(Effect.scoped),
    60_000
  )

  it.live.skipIf(!tellsProcesses)("has its commands ended by the next one", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const child = yield* start({ mode: "turn", shape: "command", cases: [{ folder }] })
      yield* Effect.suspend(() => sideLines(folder).includes("ready") ? Effect.void : Effect.fail("not yet")).pipe(
        Effect.retry({ times: 400, schedule: Schedule.spaced("25 millis") })
      )
      yield* child.kill
      yield* child.ended
      yield* Effect.gen(function*() {
        const [identity] = only(yield* readRows, "ProcessStarted").map(({ process }) => process)
        const alive = () => processesWith(identity?.token ?? "none")
        assert.isNotEmpty(alive())
        const unfinished = yield* Effect.flip(ToolLoop.run({ session }))
        assert.strictEqual(unfinished._tag, "UnfinishedError")
        assert.isTrue("ended" in unfinished && unfinished.ended.length > 0)
        assert.isEmpty(alive())
        yield* ToolLoop.recover({ session, choice: "partial" })
        assert.strictEqual((yield* ToolLoop.run({ session })).text, "Done.")
        assert.deepStrictEqual(sideLines(folder), ["ready"])
      }).pipe(Effect.provide(layer({ folder, script: script("command"), machine: "node" })))
    }).pipe(Effect.scoped), 60_000)
})

describe("a journal that does not take a record", () => {
  for (const shape of shapes) {
    it.live(`ends the run, and the session can be opened again, ${shape}`, () =>
      Effect.gen(function*() {
        const { messages: without, rows } = yield* uninterrupted(shape)
        for (const { n } of rows.map((_, index) => ({ n: index + 1 }))) {
          const folder = yield* temporaryFolder
          const points = [CrashPoint.before(n, CrashPoint.fail())]
          const error = yield* Effect.flip(ToolLoop.run({ session, message: "Go." })).pipe(
            Effect.provide(layer({ folder, script: script(shape), points }))
          )
          assert.strictEqual(error._tag, "JournalError")
          yield* recoverAndCheck({ folder, shape, choice: "partial", without }).pipe(within(`record ${n}`))
        }
      }).pipe(Effect.scoped), 60_000)
  }

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
      const error = yield* Effect.flip(ToolLoop.run({ session, message: "Go." })).pipe(
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
