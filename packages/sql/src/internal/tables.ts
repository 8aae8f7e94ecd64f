import { JournalError } from "@capstan/core/Journal"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { randomBytes } from "node:crypto"
import { fromSql } from "./failures.js"

/** The version of the tables. A database with a higher one is refused. */
const current = 1

const sqlite: ReadonlyArray<string> = [
  `create table if not exists capstan_meta (key text primary key, value text not null)`,
  `create table if not exists capstan_session (
    key integer primary key,
    id text not null unique,
    project text not null,
    title text,
    created integer not null,
    updated integer not null,
    version integer not null,
    records integer not null,
    head blob not null,
    epoch integer not null,
    owner text,
    beat integer not null,
    barriers integer not null
  )`,
  `create table if not exists capstan_journal (
    session integer not null references capstan_session (key),
    seq integer not null,
    at integer not null,
    version integer not null,
    kind text not null,
    payload blob not null,
    hash blob not null,
    unique (session, seq)
  )`,
  // The head moves in the statement that adds the row: neither can be there without the other.
  `create trigger if not exists capstan_journal_head after insert on capstan_journal begin
    update capstan_session
      set records = new.seq, head = new.hash, updated = new.at, version = max(version, new.version)
      where key = new.session;
  end`
]

const postgres: ReadonlyArray<string> = [
  // Two first boots would race on the tables; the lock ends with the transaction.
  `select pg_advisory_xact_lock(7163541)`,
  `create table if not exists capstan_meta (key text primary key, value text not null)`,
  `create table if not exists capstan_session (
    key bigint generated always as identity primary key,
    id text not null unique,
    project text not null,
    title text,
    created bigint not null,
    updated bigint not null,
    version integer not null,
    records bigint not null,
    head bytea not null,
    epoch bigint not null,
    owner text,
    beat bigint not null,
    barriers bigint not null
  )`,
  `create table if not exists capstan_journal (
    session bigint not null references capstan_session (key),
    seq bigint not null,
    at bigint not null,
    version integer not null,
    kind text not null,
    payload bytea not null,
    hash bytea not null,
    unique (session, seq)
  )`
]

const versionOf = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const present = yield* sql.onDialectOrElse({
    pg: () => sql`select 1 as present where to_regclass('capstan_meta') is not null`,
    orElse: () => sql`select 1 as present from sqlite_master where type = 'table' and name = 'capstan_meta'`
  })
  if (present.length === 0) return 0
  const [row] = yield* sql<{ value: string }>`select value from capstan_meta where key = 'schema'`
  return row === undefined ? 0 : Number(row.value)
})

/** Every statement can be run again, so that a crash between two of them leaves nothing to clean up. */
const create = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const run = (statements: ReadonlyArray<string>) =>
    Effect.forEach(statements, (text) => sql.unsafe(text), { discard: true })
  yield* sql.onDialectOrElse({ pg: () => sql.withTransaction(run(postgres)), orElse: () => run(sqlite) })
  const key = yield* Effect.sync(() => randomBytes(32).toString("hex"))
  const insert = (name: string, value: string) =>
    sql`insert into capstan_meta (key, value) values (${name}, ${value}) on conflict (key) do nothing`
  yield* insert("fingerprint", key)
  yield* insert("schema", String(current))
})

/** Makes the tables if they are not there, and refuses those of a newer version without touching them. */
export const ensure: Effect.Effect<void, JournalError, SqlClient.SqlClient> = Effect.flatMap(
  Effect.mapError(versionOf, fromSql),
  (version): Effect.Effect<void, JournalError, SqlClient.SqlClient> => {
    if (version === current) return Effect.void
    if (version < current) return Effect.mapError(create, fromSql)
    return new JournalError({
      reason: "newer",
      message: `This journal has the format ${version} and this program knows ${current}. ` +
        "It was left as it is: update the program, or use another file."
    })
  }
)

/** The key of this journal's fingerprints. */
export const fingerprintKey: Effect.Effect<string, JournalError, SqlClient.SqlClient> = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* Effect.mapError(
    sql<{ value: string }>`select value from capstan_meta where key = 'fingerprint'`,
    fromSql
  )
  if (row !== undefined) return row.value
  return yield* new JournalError({
    reason: "corrupt",
    message:
      "The journal has lost its fingerprint key, so approvals can no longer be checked. Restore it from a backup."
  })
})
