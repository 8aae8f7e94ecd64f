import { JournalError, LeaseError } from "@capstan/core/Journal"
import { version } from "@capstan/core/JournalRecord"
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as HashChain from "../HashChain.js"
import * as LeaseOwner from "../LeaseOwner.js"
import { fromSql, type Patience } from "./failures.js"
import { tooNew } from "./rows.js"

/** What an owner knows of its session when it takes it. */
export interface Lease {
  readonly session: string
  readonly key: number
  readonly epoch: number
  readonly owner: string
  readonly records: number
  readonly head: Uint8Array
  readonly titled: boolean
}

interface SessionRow {
  readonly key: number | string
  readonly epoch: number | string
  readonly records: number | string
  readonly head: Uint8Array
  readonly version: number
  readonly titled: number
  readonly owner: string | null
  readonly beat: number | string
  readonly now: number | string
}

const OwnerText = Schema.parseJson(LeaseOwner.LeaseOwner)
const decodeOwner = Schema.decodeOption(OwnerText)

/** How an owner is written in the session's row. */
const encodeOwner = Schema.encodeSync(OwnerText)

/** The time in milliseconds by the clock that all writers share: the server's, or this host's for a file. */
export const timeOf = (sql: SqlClient.SqlClient, now: number) =>
  sql.onDialectOrElse({
    pg: () => sql`(extract(epoch from clock_timestamp()) * 1000)::bigint`,
    orElse: () => sql`${now}`
  })

/** Takes a session that is new, free, or whose owner is gone; the last raises the epoch. */
export const acquire = (options: {
  readonly sql: SqlClient.SqlClient
  readonly session: string
  readonly project: string
  readonly self: LeaseOwner.LeaseOwner
  readonly expiry: Duration.Duration
  readonly patience: Patience
}): Effect.Effect<Lease, JournalError | LeaseError> =>
  Effect.gen(function*() {
    const { expiry, patience, self, session, sql } = options
    const query = <A>(statement: Effect.Effect<A, Parameters<typeof fromSql>[0]>) =>
      patience(Effect.mapError(statement, fromSql))
    const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
    const time = timeOf(sql, now)
    const find = query(sql<SessionRow>`select key, epoch, records, head, version, owner, beat, ${time} as now,
      case when title is null then 0 else 1 end as titled from capstan_session where id = ${session}`)

    let row = (yield* find)[0]
    if (row === undefined) {
      yield* query(sql`insert into capstan_session
        (id, project, created, updated, version, records, head, epoch, beat, barriers)
        values (${session}, ${options.project}, ${now}, ${now}, ${version}, 0, ${
        HashChain.genesis(session)
      }, 1, ${time}, 0)
        on conflict (id) do nothing`)
      row = (yield* find)[0]
    }
    if (row === undefined) {
      return yield* new JournalError({
        reason: "io",
        message: `Session ${session} disappeared while it was being opened. Open it again.`
      })
    }
    if (row.version > version) return yield* tooNew(session, row.version)

    const refusal = yield* judge({ row, session, self, expiry })
    if (Option.isSome(refusal)) return yield* refusal.value

    const owner = encodeOwner(self)
    const epoch = Number(row.epoch) + (row.owner === null ? 0 : 1)
    // The owner is compared as well: a release and a new opening keep the epoch.
    const taken = yield* query(sql<SessionRow>`update capstan_session
      set owner = ${owner}, epoch = ${epoch}, beat = ${time}, barriers = barriers + 1
      where key = ${row.key} and epoch = ${row.epoch} and coalesce(owner, '') = ${row.owner ?? ""}
      returning key, records, head, version`)
    const mine = taken[0]
    if (mine === undefined) return yield* acquire(options)
    return {
      session,
      key: Number(mine.key),
      epoch,
      owner,
      records: Number(mine.records),
      head: mine.head,
      titled: row.titled === 1
    }
  })

type Held = Pick<SessionRow, "beat" | "now" | "owner">

/** Whether somebody who may still live has the session open. */
export const isHeld = (row: Held, self: LeaseOwner.LeaseOwner, expiry: Duration.Duration): Effect.Effect<boolean> =>
  Effect.map(judge({ row, session: "", self, expiry }), Option.isSome)

const judge = ({ expiry, row, self, session }: {
  readonly row: Held
  readonly session: string
  readonly self: LeaseOwner.LeaseOwner
  readonly expiry: Duration.Duration
}): Effect.Effect<Option.Option<LeaseError>> =>
  Effect.gen(function*() {
    if (row.owner === null) return Option.none()
    const owner = Option.getOrUndefined(decodeOwner(row.owner))
    const life = owner === undefined ? "elsewhere" : yield* LeaseOwner.life(owner, self)
    const silence = Number(row.now) - Number(row.beat)
    const limit = Duration.toMillis(expiry)
    const mine = owner !== undefined && LeaseOwner.equals(owner, self)
    // A handle of this very process that stopped beating could not be given back when it was closed.
    if (life === "dead" || ((life === "elsewhere" || mine) && silence > limit)) return Option.none()
    const name = owner === undefined ? "a program of another version" : LeaseOwner.toText(owner)
    return Option.some(
      new LeaseError({
        reason: "held",
        session,
        owner: name,
        message: `Session ${session} is open in ${mine ? `this process (${owner.pid})` : name}. ` +
          (life === "alive"
            ? "Wait until it is done, end that process, or use another session."
            : `It was last heard of ${Math.max(0, Math.round(silence / 1000))} s ago and counts as gone after ` +
              `${Duration.format(expiry)}: try again then, or use another session.`)
      })
    )
  })

/** Gives the session back, if it is still ours. */
export const release = (sql: SqlClient.SqlClient, lease: Lease, patience: Patience) =>
  patience(Effect.mapError(
    sql`update capstan_session set owner = null
      where key = ${lease.key} and epoch = ${lease.epoch} and owner = ${lease.owner}`,
    fromSql
  ))

/** The session has another owner now, so nothing more may be written to it from here. */
export const lost = (sql: SqlClient.SqlClient, lease: Lease): Effect.Effect<LeaseError> =>
  sql<{ owner: string | null }>`select owner from capstan_session where key = ${lease.key}`.pipe(
    Effect.map((rows) =>
      Option.fromNullable(rows[0]?.owner).pipe(
        Option.flatMap(decodeOwner),
        Option.match({ onNone: () => "another process", onSome: LeaseOwner.toText })
      )
    ),
    Effect.orElseSucceed(() => "another process"),
    Effect.map((owner) =>
      new LeaseError({
        reason: "lost",
        session: lease.session,
        owner,
        message: `Session ${lease.session} was taken over by ${owner}. ` +
          "Nothing more was written from here: go on there, or open the session again when it is done."
      })
    )
  )
