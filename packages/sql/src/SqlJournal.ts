/**
 * The journal in an SQL database, and the store of approvals beside it: SQLite in a file by default, Postgres by giving
 * another client.
 *
 * Rows are added by single statements that check the owner's epoch and the place they belong to. On SQLite `append` is
 * written but not synced and `commit` syncs it with all before; on Postgres both are synced.
 *
 * @since 0.1.0
 */
import type { ApprovalStore } from "@capstan/core/ApprovalStore"
import { Journal, JournalError, type SessionInfo } from "@capstan/core/Journal"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberMap from "effect/FiberMap"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import { createHmac } from "node:crypto"
import * as HashChain from "./HashChain.js"
import { fromSql } from "./internal/failures.js"
import { fingerprintKey, journalTables } from "./internal/journalTables.js"
import { acquire, isHeld, type Lease, release, timeOf } from "./internal/lease.js"
import * as openSession from "./internal/openSession.js"
import { type StoredRow, toRow } from "./internal/rows.js"
import * as Store from "./internal/store.js"
import * as LeaseOwner from "./LeaseOwner.js"
import * as SqlApprovalStore from "./SqlApprovalStore.js"
import * as SqliteFile from "./SqliteFile.js"

/**
 * `lockWait`: how long a lock of another program is waited for before a `busy` (default 15 s). `leaseExpiry`: after which
 * silence an owner on another host counts as gone (default 30 s; it gives a sign of life three times as often).
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly lockWait?: Duration.DurationInput
  readonly leaseExpiry?: Duration.DurationInput
}

interface SessionRow {
  readonly id: string
  readonly project: string
  readonly title: string | null
  readonly created: number | string
  readonly updated: number | string
  readonly records: number | string
  readonly owner: string | null
  readonly beat: number | string
  readonly now: number | string
  readonly seq: number | string | null
  readonly at: number | string
  readonly version: number
  readonly kind: string
  readonly payload: Uint8Array
}

interface ChainRow {
  readonly head: Uint8Array
  readonly records: number | string
  readonly seq: number | string | null
  readonly at: number | string
  readonly version: number
  readonly kind: string
  readonly payload: Uint8Array
  readonly hash: Uint8Array
}

const make = (options: Options) =>
  Effect.gen(function*() {
    const { query, sql, waiting } = yield* Store.make({ lockWait: options.lockWait, tables: journalTables })
    const expiry = Duration.decode(options.leaseExpiry ?? "30 seconds")
    const key = yield* waiting(fingerprintKey)
    const self = yield* LeaseOwner.current

    const returns = yield* FiberMap.make<string, void, JournalError>()

    /** What cannot be given back at once, since its user does not want to wait, is given back when the lock is gone. */
    const giveBack = (lease: Lease) =>
      Effect.catchAll(release(sql, lease, waiting), (error) =>
        Effect.flatMap(FiberRef.get(FiberRef.interruptedCause), (cause) =>
          Cause.isEmpty(cause)
            ? Effect.logWarning(`Session ${lease.session} could not be given back and stays held for a while.`, error)
            : FiberMap.run(returns, lease.session, release(sql, lease, waiting))))

    const open = Effect.fn("SqlJournal.open")(
      ({ project, session }: { readonly session: string; readonly project: string }) =>
        Effect.uninterruptibleMask((restore) =>
          restore(Effect.ignore(Effect.flatMap(FiberMap.get(returns, session), Fiber.await))).pipe(
            Effect.zipRight(acquire({ sql, session, project, self, expiry, patience: waiting })),
            Effect.flatMap((lease) =>
              openSession.make({ sql, lease, expiry, patience: waiting, giveBack })
            )
          )
        )
    )

    const read = Effect.fn("SqlJournal.read")(function*({ session }: { readonly session: string }) {
      const key = yield* waiting(find(sql, session))
      const rows = yield* query(
        sql<StoredRow>`select seq, at, version, kind, payload from capstan_journal where session = ${key} order by seq`
      )
      return yield* Effect.forEach(rows, toRow(session))
    })

    const infoOf = (row: SessionRow): Effect.Effect<SessionInfo> =>
      Effect.all({
        last: row.seq === null ? Effect.succeed(null) : toRow(row.id)({ ...row, seq: row.seq }).pipe(
          Effect.map(({ record }) => record),
          Effect.orElseSucceed(() => null)
        ),
        isOpen: isHeld(row, self, expiry)
      }).pipe(Effect.map((known) => ({ ...toInfo(row), ...known })))

    const sessions = Effect.fn("SqlJournal.sessions")(function*({ project }: { readonly project: string | undefined }) {
      const within = project === undefined ? sql`true` : sql`s.project = ${project}`
      const time = timeOf(sql, yield* Effect.clockWith((clock) => clock.currentTimeMillis))
      const listed = yield* query(
        sql<
          SessionRow
        >`select s.id, s.project, s.title, s.created, s.updated, s.records, s.owner, s.beat, ${time} as now,
            j.seq, j.at, j.version, j.kind, j.payload
          from capstan_session s left join capstan_journal j on j.session = s.key and j.seq = s.records
          where ${within} order by s.updated desc, s.key desc`
      )
      return yield* Effect.forEach(listed, infoOf)
    })

    return {
      open,
      read,
      sessions,
      fingerprint: (text: string) => createHmac("sha256", key).update(text).digest("hex")
    }
  })

const find = (sql: SqlClient.SqlClient, session: string) =>
  Effect.gen(function*() {
    const [row] = yield* Effect.mapError(
      sql<{ key: number | string }>`select key from capstan_session where id = ${session}`,
      fromSql
    )
    return row === undefined
      ? yield* notFound(session)
      : row.key
  })

const notFound = (session: string) =>
  new JournalError({ reason: "not-found", message: `There is no session ${session}.` })

const toInfo = (row: SessionRow): Omit<SessionInfo, "isOpen" | "last"> => ({
  id: row.id,
  project: row.project,
  title: row.title ?? "",
  created: Number(row.created),
  updated: Number(row.updated),
  records: Number(row.records)
})

/**
 * Every place where a session's rows are not what was written: none if it is intact. Fails with `not-found` if there is no
 * such session.
 *
 * @since 0.1.0
 * @category combinators
 */
export const verify: (options: {
  readonly session: string
}) => Effect.Effect<ReadonlyArray<HashChain.Break>, JournalError, SqlClient.SqlClient> = Effect.fn("SqlJournal.verify")(
  function*({ session }) {
    const sql = yield* SqlClient.SqlClient
    // One statement, so that rows which are added meanwhile are in both or in neither.
    const rows = yield* Effect.mapError(
      sql<ChainRow>`select s.head, s.records, j.seq, j.at, j.version, j.kind, j.payload, j.hash
        from capstan_session s left join capstan_journal j on j.session = s.key
        where s.id = ${session} order by j.seq`,
      fromSql
    )
    const [first] = rows
    if (first === undefined) return yield* notFound(session)
    return HashChain.verify({
      session,
      head: first.head,
      records: Number(first.records),
      rows: rows.flatMap(({ hash, kind, payload, version, ...row }) =>
        row.seq === null ? [] : [{ seq: Number(row.seq), at: Number(row.at), version, kind, payload, hash }]
      )
    })
  }
)

/**
 * The journal and the store of approvals on any SQL client, with their tables made if they are missing. A client whose
 * connection is shared must not have a transaction open around a write to the journal.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerWith = (
  options: Options
): Layer.Layer<Journal | ApprovalStore, JournalError, SqlClient.SqlClient> =>
  Layer.merge(Layer.scoped(Journal, make(options)), SqlApprovalStore.layerWith(options))

/**
 * {@link layerWith} and its defaults.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Journal | ApprovalStore, JournalError, SqlClient.SqlClient> = layerWith({})

/**
 * The journal and the store of approvals in an SQLite file of their own (see {@link SqliteFile.layer}); `:memory:` lives as
 * long as the layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerSqlite = (
  options: Options & { readonly filename: string }
): Layer.Layer<Journal | ApprovalStore, JournalError> => Layer.provide(layerWith(options), SqliteFile.layer(options))
