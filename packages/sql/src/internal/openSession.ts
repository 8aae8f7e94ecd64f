import { JournalError, type LeaseError, type OpenSession, titleOf } from "@capstan/core/Journal"
import type { JournalRecord } from "@capstan/core/JournalRecord"
import type * as SqlClient from "@effect/sql/SqlClient"
import type { Connection, Row } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import type { Statement } from "@effect/sql/Statement"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { StoredLink } from "../HashChain.js"
import { fromSql, patiently, type Restore } from "./failures.js"
import { type Lease, lost, release, timeOf } from "./lease.js"
import { chain, type StoredRow, toRow } from "./rows.js"

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
  readonly wait: Duration.Duration
}): Effect.Effect<OpenSession, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { lease, sql, wait } = options
    const one = yield* Effect.makeSemaphore(1)
    let state: State = {
      seq: lease.records,
      head: lease.head,
      titled: lease.titled,
      unsynced: false,
      stopped: undefined
    }

    const stop = (reason: JournalError | LeaseError) =>
      Effect.sync(() => {
        state = { ...state, stopped: reason }
      })

    const write = (durable: boolean) => (records: ReadonlyArray<JournalRecord>) =>
      one.withPermits(1)(Effect.uninterruptibleMask((restore) =>
        Effect.gen(function*() {
          if (state.stopped !== undefined) return yield* state.stopped
          if (records.length === 0 && !(durable && state.unsynced)) return
          const at = yield* Clock.currentTimeMillis
          const links = chain(records, { at, head: state.head, seq: state.seq })
          const title = state.titled ? undefined : titleOf(records)
          const last = links.at(-1)
          const statements = [
            ...(title === undefined ? [] : [entitle(sql, lease, title)]),
            last === undefined ? barrier(sql, lease) : insert({ sql, lease, links, last, after: state.seq })
          ]
          const written = yield* run({ sql, statements, durable, restore, wait }).pipe(
            Effect.tapError((error) => stop(closedBy(lease, error)))
          )
          if (written !== Math.max(1, links.length)) {
            const error = yield* lost(sql, lease)
            yield* stop(error)
            return yield* error
          }
          state = {
            ...state,
            seq: last?.seq ?? state.seq,
            head: last?.hash ?? state.head,
            titled: state.titled || title !== undefined,
            unsynced: !durable
          }
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
        Effect.catchAll(
          release(sql, lease, wait),
          (error) =>
            Effect.logWarning(`Session ${lease.session} could not be given back and stays held for a while.`, error)
        )
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
        Effect.uninterruptibleMask((restore) =>
          patiently(
            Effect.mapError(
              sql<StoredRow>`select seq, at, version, kind, payload from capstan_journal
                where session = ${lease.key} and seq > ${after} order by seq`,
              fromSql
            ),
            { restore, wait }
          )
        ).pipe(Effect.flatMap(Effect.forEach(toRow(lease.session)))),
      append: write(false),
      commit: write(true)
    }
  })

/** Runs the statements on one connection; how many rows the last of them gave. */
const run = ({ durable, restore, sql, statements, wait }: {
  readonly sql: SqlClient.SqlClient
  readonly statements: ReadonlyArray<Statement<Row>>
  readonly durable: boolean
  readonly restore: Restore
  readonly wait: Duration.Duration
}): Effect.Effect<number, JournalError> =>
  patiently(
    sql.reserve.pipe(
      Effect.flatMap((connection) => {
        const all = Effect.reduce(statements, 0, (_, statement) => {
          const [text, parameters] = statement.compile()
          return Effect.map(connection.execute(text, parameters, undefined), (rows) => rows.length)
        })
        return durable ? all : unsynced(sql, connection, all)
      }),
      Effect.scoped,
      Effect.mapError(fromSql)
    ),
    { restore, wait }
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

/** Adds the rows and moves the head, if the session is still ours and stands where we left it. */
const insert = ({ after, last, lease, links, sql }: {
  readonly sql: SqlClient.SqlClient
  readonly lease: Lease
  readonly links: ReadonlyArray<StoredLink>
  readonly last: StoredLink
  readonly after: number
}): Statement<Row> =>
  sql.onDialectOrElse({
    // Updating first locks the session's row: a takeover is seen also when it commits in the meantime.
    pg: () =>
      sql`with mine as (
          update capstan_session
          set records = ${last.seq}, head = ${last.hash}, updated = ${last.at}, version = greatest(version, ${last.version})
          where key = ${lease.key} and epoch = ${lease.epoch} and records = ${after} returning key
        )
        insert into capstan_journal (session, seq, at, version, kind, payload, hash)
        select mine.key, v.* from mine cross join (values ${
        sql.csv(
          links.map((link) =>
            sql`(${link.seq}::bigint, ${link.at}::bigint, ${link.version}::integer,
              ${link.kind}::text, ${link.payload}::bytea, ${link.hash}::bytea)`
          )
        )
      }) as v returning seq`,
    orElse: () =>
      sql`insert into capstan_journal (session, seq, at, version, kind, payload, hash)
        select s.key, v.* from capstan_session s cross join (values ${
        sql.csv(
          links.map((link) =>
            sql`(${link.seq}, ${link.at}, ${link.version}, ${link.kind}, ${link.payload}, ${link.hash})`
          )
        )
      }) as v
        where s.key = ${lease.key} and s.epoch = ${lease.epoch} and s.records = ${after}
        returning seq`
  })

/** A write without a record: it has to change something, or SQLite would write and sync nothing. */
const barrier = (sql: SqlClient.SqlClient, lease: Lease): Statement<Row> =>
  sql`update capstan_session set barriers = barriers + 1
    where key = ${lease.key} and epoch = ${lease.epoch} returning key`

/** Before the rows: a title without its message does no harm. Postgres has no NUL in a text. */
const entitle = (sql: SqlClient.SqlClient, lease: Lease, title: string): Statement<Row> =>
  sql`update capstan_session set title = ${title.replaceAll("\u0000", "")}
    where key = ${lease.key} and epoch = ${lease.epoch} and title is null`

const closedBy = (lease: Lease, cause: JournalError): JournalError =>
  new JournalError({
    reason: "closed",
    message:
      `An earlier write to session ${lease.session} failed, so nothing more is written to it: ${cause.message} ` +
      "Then open the session again.",
    cause
  })
