/**
 * A process of its own for the tests: opens a session and does what it is told, one line of standard input at a time, with
 * one line of JSON for each thing done. `lock` holds the write lock of the database instead.
 */
import { Journal } from "@capstan/core"
import { SqlJournal } from "@capstan/sql"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import * as readline from "node:readline"

const [, , mode = "", filename = "", session = ""] = process.argv

const say = (report: Record<string, unknown>) =>
  Effect.sync(() => {
    process.stdout.write(`${JSON.stringify(report)}\n`)
  })

const lines = Stream.orDie(
  Stream.fromAsyncIterable(readline.createInterface({ input: process.stdin }), String)
)

const ended = (turn: number) => ({
  _tag: "TurnEnded" as const,
  turn,
  end: "answered" as const,
  reason: null,
  millis: 0
})

const follow = Effect.gen(function*() {
  const journal = yield* Journal.Journal
  const open = yield* journal.open({ session, project: "/project" })
  yield* say({ opened: open.epoch })
  let turn = (yield* open.rows({ after: 0 })).length
  const write = (line: string) => {
    if (line === "barrier") return open.commit([])
    turn += 1
    return (line === "commit" ? open.commit : open.append)([ended(turn)])
  }
  const act = (line: string) =>
    write(line).pipe(
      Effect.matchEffect({
        onSuccess: () => say({ written: turn }),
        onFailure: (error) => say({ error: error._tag, reason: error.reason, message: error.message })
      })
    )
  if (mode === "flood") return yield* Effect.forever(Effect.suspend(() => act("append")))
  yield* Stream.runForEach(Stream.takeWhile(lines, (line) => line !== "close"), act)
})

const lock = Effect.gen(function*() {
  const database = new Sqlite(filename)
  database.exec("begin immediate")
  yield* say({ locked: true })
  yield* Stream.runHead(lines)
  database.exec("commit")
  database.close()
})

const program = mode === "lock"
  ? lock
  : follow.pipe(
    Effect.scoped,
    Effect.provide(SqlJournal.layerSqlite({ filename })),
    Effect.catchAll((error) => say({ error: error._tag, reason: error.reason, message: error.message }))
  )

void Effect.runPromiseExit(program).then((exit) => process.exit(Exit.isSuccess(exit) ? 0 : 1))
