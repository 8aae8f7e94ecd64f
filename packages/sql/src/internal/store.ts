import type { JournalError } from "@capstan/core/Journal"
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as SqliteFile from "../SqliteFile.js"
import { fromSql, type Patience, patience } from "./failures.js"
import { ensure, type Tables } from "./tables.js"

/** A database that is ready for some tables. */
export interface Store {
  readonly sql: SqlClient.SqlClient
  /** Runs what fails with `busy` again while another program has the lock. */
  readonly waiting: Patience
  /** Runs statements, in the words of the journal when they fail. */
  readonly query: <A>(effect: Effect.Effect<A, SqlError>) => Effect.Effect<A, JournalError>
}

/** The database with its tables made; SQLite is set to sync each commit first. */
export const make = ({ lockWait, tables }: {
  readonly lockWait: Duration.DurationInput | undefined
  readonly tables: Tables
}): Effect.Effect<Store, JournalError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const waiting = patience(sql, Duration.decode(lockWait ?? "15 seconds"))
    const query: Store["query"] = (effect) => waiting(Effect.mapError(effect, fromSql))
    yield* sql.onDialectOrElse({ sqlite: () => query(SqliteFile.settle(sql)), orElse: () => Effect.void })
    yield* waiting(ensure(tables))
    return { sql, waiting, query }
  })
