/**
 * A database file that only its owner can read, opened so that a commit is on the disk when it returns and a lock of
 * another program does not stop the event loop.
 *
 * @since 0.1.0
 */
import type { JournalError } from "@capstan/core/Journal"
import * as Reactivity from "@effect/experimental/Reactivity"
import { SqliteClient } from "@effect/sql-sqlite-node"
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { fromCause, fromSql, patiently } from "./internal/failures.js"

/**
 * An SQLite client on a file: made with mode 0600 in a folder that is made with 0700 (a folder that is there keeps its
 * mode), in WAL with `synchronous = FULL` and a busy timeout of 10 ms. `:memory:` lives as long as the layer. `lockWait` is
 * how long another program's lock is waited for while opening (default 15 s).
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: {
  readonly filename: string
  readonly lockWait?: Duration.DurationInput
}): Layer.Layer<SqlClient.SqlClient, JournalError> =>
  Layer.scoped(
    SqlClient.SqlClient,
    Effect.gen(function*() {
      yield* isMemory(options.filename) ? Effect.void : makePrivate(options.filename)
      // Without the client's own switch to WAL, which waits for a lock in its constructor with the event loop stopped.
      const sql = yield* SqliteClient.make({ filename: options.filename, disableWAL: true }).pipe(
        Effect.catchAllDefect(fromCause)
      )
      const prepare = Effect.zipRight(settle(sql), sql`pragma journal_mode = wal`)
      yield* Effect.uninterruptible(
        patiently(Effect.mapError(prepare, fromSql), Duration.decode(options.lockWait ?? "15 seconds"))
      )
      return sql
    })
  ).pipe(Layer.provide(Reactivity.layer))

/**
 * Sets what SQLite forgets with each connection: commits that are synced, and a busy timeout short enough to be waited for
 * on the event loop. better-sqlite3 would sync none in WAL and block for 5 s.
 *
 * @since 0.1.0
 * @category combinators
 */
export const settle = (sql: SqlClient.SqlClient): Effect.Effect<void, SqlError> =>
  Effect.zipRight(sql`pragma busy_timeout = 10`, sql`pragma synchronous = full`)

const isMemory = (filename: string): boolean => filename === ":memory:" || filename === ""

/** SQLite gives the files beside the database the database's mode, so that one has to be right before it is opened. */
const makePrivate = (filename: string): Effect.Effect<void, JournalError> =>
  Effect.tryPromise({
    try: async () => {
      await fs.mkdir(path.dirname(filename), { recursive: true, mode: 0o700 })
      const file = await fs.open(filename, "a", 0o600)
      await file.close()
      const siblings = [filename, `${filename}-wal`, `${filename}-shm`]
      await Promise.all(siblings.map((name) => fs.chmod(name, 0o600).catch(ignoreMissing)))
    },
    catch: fromCause
  })

const ignoreMissing = (error: NodeJS.ErrnoException): void => {
  if (error.code !== "ENOENT") throw error
}
