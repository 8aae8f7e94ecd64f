/**
 * A process of its own for the tests: opens a session and does what it is told, one line of standard input at a time, with
 * one line of JSON for each thing done. `lock` holds the write lock of the database instead.
 */
import { Journal } from "@capstan/core"
import { SqlJournal } from "@capstan/sql"
import { PgClient } from "@effect/sql-pg"
import * as SqlClient from "@effect/sql/SqlClient"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as readline from "node:readline"

const [, , mode = "", address = "", session = ""] = process.argv

const client = (url: string) => Layer.orDie(PgClient.layer({ url: Redacted.make(url), maxConnections: 2 }))

const say = (report: Record<string, unknown>) =>
  Effect.sync(() => {
    process.stdout.write(`${JSON.stringify(report)}\n`)
  })

/** Begun at once: lines that come before anybody iterates would be lost. */
const input = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const lines = Stream.orDie(Stream.fromAsyncIterable({ [Symbol.asyncIterator]: () => input }, String))

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

const isServer = address.startsWith("postgresql:")

const lockFile = Effect.gen(function*() {
  const database = new Sqlite(address)
  database.exec("begin immediate")
  yield* say({ locked: true })
  yield* Stream.runHead(lines)
  database.exec("commit")
  database.close()
})

const lockServer = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql.withTransaction(
    sql`lock table capstan_session in access exclusive mode`.pipe(
      Effect.zipRight(say({ locked: true })),
      Effect.zipRight(Stream.runHead(lines))
    )
  )
}).pipe(Effect.provide(client(address)), Effect.orDie)

const program = mode === "lock"
  ? isServer ? lockServer : lockFile
  : follow.pipe(
    Effect.scoped,
    Effect.provide(
      isServer ? Layer.provide(SqlJournal.layer, client(address)) : SqlJournal.layerSqlite({ filename: address })
    ),
    Effect.catchAll((error) => say({ error: error._tag, reason: error.reason, message: error.message }))
  )

void Effect.runPromiseExit(program).then((exit) => process.exit(Exit.isSuccess(exit) ? 0 : 1))
