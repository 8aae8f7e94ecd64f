import type { ApprovalStore, Journal } from "@capstan/core"
import { SqliteFile, SqlJournal } from "@capstan/sql"
import * as PostgresServer from "@capstan/testing/PostgresServer"
import { PgClient } from "@effect/sql-pg"
import * as SqlClient from "@effect/sql/SqlClient"
import { afterAll, beforeAll } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { change } from "./database.js"
import { temporaryFile } from "./folders.js"

/** A database for one test. `address` is its file or its URL. */
interface Database {
  readonly address: string
  readonly layer: (
    options?: SqlJournal.Options
  ) => Layer.Layer<Journal.Journal | ApprovalStore.ApprovalStore | SqlClient.SqlClient, unknown>
  /** Runs statements as another program would. */
  readonly change: (statements: string) => Effect.Effect<void, unknown>
  /** Makes the owner of every session one of another host that was never heard of. */
  readonly asElsewhere: Effect.Effect<void, unknown>
  /** Lets the write of each row number `seq` fail. */
  readonly failAt: (seq: number) => Effect.Effect<void, unknown>
}

export interface Store {
  readonly name: string
  readonly fresh: Effect.Effect<Database, unknown, Scope.Scope>
}

const quiet = "beat = 0"

export const sqlite: Store = {
  name: "SQLite",
  fresh: Effect.map(temporaryFile, (filename) => ({
    address: filename,
    layer: (options = {}) =>
      Layer.provideMerge(SqlJournal.layerWith(options), SqliteFile.layer({ ...options, filename })),
    change: (statements) => change(filename, statements),
    asElsewhere: change(
      filename,
      `update capstan_session set owner = json_set(owner, '$.host', 'elsewhere'), ${quiet}`
    ),
    failAt: (seq) =>
      change(
        filename,
        `drop trigger if exists fails;
         create trigger fails before insert on capstan_journal when new.seq = ${seq}
         begin select raise(abort, 'on purpose'); end`
      )
  }))
}

const failing = (seq: number) =>
  `create or replace function fails() returns trigger language plpgsql as $$
     begin if new.seq = ${seq} then raise exception 'on purpose'; end if; return new; end $$;
   drop trigger if exists fails on capstan_journal;
   create trigger fails before insert on capstan_journal for each row execute function fails()`

const client = (url: string) => Layer.orDie(PgClient.layer({ url: Redacted.make(url), maxConnections: 4 }))

/** Postgres for the tests of a file: it runs from their beginning to their end. */
export const postgres = (): Store => {
  const scope = Effect.runSync(Scope.make())
  let server: PostgresServer.PostgresServer | undefined
  beforeAll(async () => {
    server = await Effect.runPromise(Scope.extend(PostgresServer.start(), scope))
  }, 60_000)
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)), 30_000)

  return {
    name: "Postgres",
    fresh: Effect.suspend(() => server === undefined ? Effect.die("Postgres was not started.") : server.database).pipe(
      Effect.map((url) => {
        const change = (statements: string) =>
          Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statements)).pipe(Effect.provide(client(url)))
        return {
          address: url,
          layer: (options = {}) => Layer.provideMerge(SqlJournal.layerWith(options), client(url)),
          change,
          asElsewhere: change(
            `update capstan_session set owner = jsonb_set(owner::jsonb, '{host}', '"elsewhere"')::text, ${quiet}`
          ),
          failAt: (seq: number) => change(failing(seq))
        }
      })
    )
  }
}

/** Why the tests over Postgres are skipped, printed once. */
export const noPostgres = PostgresServer.missing
if (noPostgres !== undefined) process.stderr.write(`${noPostgres}\n`)

/** A layer that makes an empty database each time it is built. */
export const layerOf = (store: Store) => Layer.unwrapScoped(Effect.map(store.fresh, (database) => database.layer()))
