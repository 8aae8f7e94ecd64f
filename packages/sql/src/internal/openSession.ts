import { JournalError, type LeaseError, type OpenSession, titleOf } from "@capstan/core/Journal"
import type { JournalRecord } from "@capstan/core/JournalRecord"
import type * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { fromSql, type Patience } from "./failures.js"
import { type Lease, lost, timeOf } from "./lease.js"
import { chain, type StoredRow, toRow } from "./rows.js"
import { type Prepared, statementsOf } from "./statements.js"

/**
 * Where the session stands. `unsynced`: some rows may still be lost to a loss of power. `stopped`: why nothing more may be
 * written.
 */
interface State {
  readonly seq: number
  readonly head: Uint8Array
  readonly titled: boolean
  readonly unsynced: boolean
  readonly stopped: JournalError | LeaseError | undefined
}

/** The session of a lease, which is given back with the scope; until then its owner gives signs of life. */
export const make = (options: {
  readonly sql: SqlClient.SqlClient
  readonly lease: Lease
  readonly expiry: Duration.Duration
  readonly patience: Patience
  readonly giveBack: (lease: Lease) => Effect.Effect<void>
}): Effect.Effect<OpenSession, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { lease, patience, sql } = options
    const one = yield* Effect.makeSemaphore(1)
    let state: State = {
      seq: lease.records,
      head: lease.head,
      titled: lease.titled,
      unsynced: false,
      stopped: undefined
    }

    const { barrier, entitle, insert } = statementsOf(sql)
    const stop = (reason: JournalError | LeaseError) =>
      Effect.sync(() => {
        state = { ...state, stopped: reason }
      })

    /** On SQLite a write is not interrupted in the middle; on a server it may have happened. */
    const settled = sql.onDialectOrElse({
      sqlite: () => <A, E>(effect: Effect.Effect<A, E>) => effect,
      orElse: () => <A, E>(effect: Effect.Effect<A, E>) => Effect.onInterrupt(effect, () => stop(interruptedIn(lease)))
    })

    const write = (durable: boolean) => (records: ReadonlyArray<JournalRecord>) =>
      one.withPermits(1)(Effect.uninterruptible(
        Effect.clockWith((clock) => {
          if (state.stopped !== undefined) return Effect.fail(state.stopped)
          if (records.length === 0 && !(durable && state.unsynced)) return Effect.void
          const { head, seq, titled } = state
          const links = chain(records, { at: clock.unsafeCurrentTimeMillis(), head, seq })
          const title = titled ? undefined : titleOf(records)
          const statements = [
            // Before the rows: a title without its message does no harm.
            ...(title === undefined ? [] : [entitle(lease, title)]),
            links.length === 0 ? barrier(lease) : insert(lease, links, seq)
          ]
          return Effect.matchEffect(settled(patience(run({ sql, statements, durable }))), {
            onFailure: (error) => Effect.zipRight(stop(closedBy(lease, error)), Effect.fail(error)),
            onSuccess: (written) => {
              if (written === 0) return Effect.flatMap(Effect.tap(lost(sql, lease), stop), Effect.fail)
              const last = links.at(-1)
              state = {
                seq: last?.seq ?? seq,
                head: last?.hash ?? head,
                titled: titled || title !== undefined,
                unsynced: !durable,
                stopped: undefined
              }
              return Effect.void
            }
          })
        })
      ))

    yield* Effect.addFinalizer(() =>
      Effect.zipRight(
        one.withPermits(1)(stop(
          new JournalError({
            reason: "closed",
            message: `Session ${lease.session} was closed with its scope. Open it again to write to it.`
          })
        )),
        options.giveBack(lease)
      )
    )
    const beat = Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      return yield* sql`update capstan_session set beat = ${
        timeOf(sql, now)
      } where key = ${lease.key} and epoch = ${lease.epoch}`
    })
    // A beat that fails is made up by the next; that the session was lost is found by the next append.
    yield* Effect.ignore(beat).pipe(
      Effect.schedule(Schedule.spaced(Duration.times(options.expiry, 1 / 3))),
      Effect.interruptible,
      Effect.forkScoped
    )

    return {
      id: lease.session,
      epoch: lease.epoch,
      rows: ({ after }) =>
        patience(
          Effect.mapError(
            sql<StoredRow>`select seq, at, version, kind, payload from capstan_journal
              where session = ${lease.key} and seq > ${after} order by seq`,
            fromSql
          )
        ).pipe(Effect.flatMap(Effect.forEach(toRow(lease.session)))),
      append: write(false),
      commit: write(true)
    }
  })

/** Runs the statements on one connection; how many rows the last of them gave. */
const run = ({ durable, sql, statements }: {
  readonly sql: SqlClient.SqlClient
  readonly statements: ReadonlyArray<Prepared>
  readonly durable: boolean
}): Effect.Effect<number, JournalError> =>
  Effect.mapError(
    Effect.scoped(Effect.flatMap(sql.reserve, (connection) => {
      const all = allOf(connection, statements)
      return durable ? all : unsynced(sql, connection, all)
    })),
    fromSql
  )

const allOf = (connection: Connection, [first, ...more]: ReadonlyArray<Prepared>): Effect.Effect<number, SqlError> =>
  first === undefined ? Effect.succeed(0) : Effect.flatMap(
    connection.execute(first.text, first.parameters, undefined),
    (rows) => more.length === 0 ? Effect.succeed(rows.length) : allOf(connection, more)
  )

/**
 * In WAL a commit under NORMAL is written but not synced; the next one under FULL syncs the file, and with it all before.
 * Other databases sync each commit.
 */
const unsynced = <A>(sql: SqlClient.SqlClient, connection: Connection, effect: Effect.Effect<A, SqlError>) =>
  sql.onDialectOrElse({
    sqlite: () =>
      synchronous(connection, "normal").pipe(
        Effect.zipRight(effect),
        Effect.ensuring(Effect.orDie(synchronous(connection, "full")))
      ),
    orElse: () => effect
  })

const synchronous = (connection: Connection, level: "normal" | "full") =>
  connection.execute(`pragma synchronous = ${level}`, [], undefined)

const interruptedIn = (lease: Lease): JournalError =>
  new JournalError({
    reason: "closed",
    message:
      `A write to session ${lease.session} was interrupted while it waited for the server, so nobody knows whether ` +
      "it was done. Open the session again to see."
  })

const closedBy = (lease: Lease, cause: JournalError): JournalError =>
  new JournalError({
    reason: "closed",
    message:
      `An earlier write to session ${lease.session} failed, so nothing more is written to it: ${cause.message} ` +
      "Then open the session again.",
    cause
  })
