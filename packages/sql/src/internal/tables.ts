import { JournalError } from "@capstan/core/Journal"
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { randomBytes } from "node:crypto"
import { fromSql } from "./failures.js"

/**
 * Tables that belong together. `name` is the key of their version, which counts the migrations that they went through; each
 * of its statements can be run again, so that a crash between two of them leaves nothing to clean up. `keys` are random
 * values that are made once.
 */
export interface Tables {
  readonly name: string
  readonly migrations: ReadonlyArray<{
    readonly sqlite: ReadonlyArray<string>
    readonly postgres: ReadonlyArray<string>
  }>
  readonly keys: ReadonlyArray<string>
}

const versionOf = (sql: SqlClient.SqlClient, name: string) =>
  Effect.gen(function*() {
    const present = yield* sql.onDialectOrElse({
      pg: () => sql`select 1 as present where to_regclass('capstan_meta') is not null`,
      orElse: () => sql`select 1 as present from sqlite_master where type = 'table' and name = 'capstan_meta'`
    })
    if (present.length === 0) return 0
    const [row] = yield* sql<{ value: string }>`select value from capstan_meta where key = ${name}`
    return row === undefined ? 0 : Number(row.value)
  })

const migrate = (sql: SqlClient.SqlClient, tables: Tables, from: number): Effect.Effect<void, SqlError> => {
  const missing = tables.migrations.slice(from)
  const current = String(tables.migrations.length)
  const run = (statements: ReadonlyArray<string>) =>
    Effect.gen(function*() {
      yield* Effect.forEach(statements, (text) => sql.unsafe(text), { discard: true })
      for (const name of tables.keys) {
        const key = yield* Effect.sync(() => randomBytes(32).toString("hex"))
        yield* sql`insert into capstan_meta (key, value) values (${name}, ${key}) on conflict (key) do nothing`
      }
      yield* sql`insert into capstan_meta (key, value) values (${tables.name}, ${current})
        on conflict (key) do update set value = excluded.value`
    })
  const meta = "create table if not exists capstan_meta (key text primary key, value text not null)"
  return sql.onDialectOrElse({
    // Two first boots would race on the tables; the lock ends with the transaction.
    pg: () =>
      sql.withTransaction(
        run(["select pg_advisory_xact_lock(7163541)", meta, ...missing.flatMap(({ postgres }) => postgres)])
      ),
    // Without a table of row numbers beside it, which would be another page.
    orElse: () => run([`${meta} without rowid`, ...missing.flatMap(({ sqlite }) => sqlite)])
  })
}

/** Makes the tables if they are not there, and refuses those of a newer version without touching them. */
export const ensure = (tables: Tables): Effect.Effect<void, JournalError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const known = tables.migrations.length
    const version = yield* Effect.mapError(versionOf(sql, tables.name), fromSql)
    if (version < known) yield* Effect.mapError(migrate(sql, tables, version), fromSql)
    if (version > known) {
      return yield* new JournalError({
        reason: "newer",
        message: `This journal has the format ${version} and this program knows ${known}. ` +
          "It was left as it is: update the program, or use another file."
      })
    }
  })
