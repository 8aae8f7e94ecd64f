import { Journal, type JournalRow } from "@capstan/core/Journal"
import type { JournalRecord } from "@capstan/core/JournalRecord"
import type { Message, ToolResultPart } from "@capstan/core/Message"
import type { RecoveryChoice } from "@capstan/core/Recovery"
import type { CallRef } from "@capstan/core/ToolCall"
import * as ToolCall from "@capstan/core/ToolCall"
import * as ToolLoop from "@capstan/core/ToolLoop"
import * as CrashPoint from "@capstan/testing/CrashPoint"
import * as HistoryValidator from "@capstan/testing/HistoryValidator"
import * as ScriptedModel from "@capstan/testing/ScriptedModel"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import { layer, names, script, session, shapes, sideFile } from "./crashLoop.js"
import { buildProgram, copyOf, removeProgram, start, temporaryFolder } from "./crashProcesses.js"
import type { Task } from "./crashTask.js"

beforeAll(buildProgram)
afterAll(removeProgram)

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

const readRows = Effect.flatMap(Journal, (journal) =>
  Effect.catchTag(journal.read({ session }), "JournalError", (error) =>
    error.reason === "not-found" ? Effect.succeed<ReadonlyArray<JournalRow>>([]) : Effect.fail(error)))

type Tagged<Tag extends JournalRecord["_tag"]> = Extract<JournalRecord, { readonly _tag: Tag }>

const only = <Tag extends JournalRecord["_tag"]>(rows: ReadonlyArray<JournalRow>, tag: Tag): ReadonlyArray<Tagged<Tag>> => {
  const is = (record: JournalRecord): record is Tagged<Tag> => record._tag === tag
  return rows.map(({ record }) => record).filter(is)
}

const keys = (records: ReadonlyArray<{ readonly ref: CallRef }>) => records.map(({ ref }) => ToolCall.keyOf(ref))

const words = (result: ToolResultPart) =>
  result.content.map((part) => part.type === "text" ? part.text : `<${part.type}>`).join("\n")

const resultsOf = (messages: ReadonlyArray<Message>) => messages.flatMap((message) => message.role === "tool" ? message.results : [])

/** What a run without a crash sent to the model. */
const uninterrupted = (shape: (typeof shapes)[number]) =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    return yield* Effect.gen(function*() {
      yield* ToolLoop.run({ session, message: "Go." })
      const last = (yield* ScriptedModel.requests).at(-1)
      return { records: (yield* readRows).length, messages: last?.messages ?? [] }
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
    const expected = resultsOf(without)
    resultsOf(messages).forEach((result, position) => {
      const key = `0.0.${position}`
      const truth = expected[position]
      assert.strictEqual(result.id, truth?.id)
      if (!unfinished || (choice === "partial" && settled.includes(key))) return assert.deepStrictEqual(result, truth)
      assert.isTrue(result.isError)
      if (choice === "discard") assert.include(words(result), "discarded")
      if (settled.includes(key)) return assert.include(words(result), truth === undefined ? "" : words(truth))
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

describe("a process that is killed with -9 between any two records of a batch", () => {
  for (const shape of shapes) {
    it.live(`is succeeded by one that tells the truth, ${shape}`, () =>
      Effect.gen(function*() {
        const { messages: without, records } = yield* uninterrupted(shape)
        assert.isAtLeast(records, 15)
        const cases = yield* killedAt({ mode: "turn", shape }, places(records), temporaryFolder)
        for (const { folder, point } of cases) {
          for (const choice of choices) {
            yield* recoverAndCheck({ folder: yield* copyOf(folder), shape, choice, without }).pipe(
              within(`${point.when} ${point.n}, ${choice}`)
            )
          }
        }
      }).pipe(Effect.scoped), 60_000)
  }
})
