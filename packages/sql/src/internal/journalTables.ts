import { JournalError } from "@capstan/core/Journal"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { fromSql } from "./failures.js"
import type { Tables } from "./tables.js"

const sqlite: ReadonlyArray<string> = [
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

/** The tables of the journal, and the key of its fingerprints. */
export const journalTables: Tables = { name: "schema", migrations: [{ sqlite, postgres }], keys: ["fingerprint"] }

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
