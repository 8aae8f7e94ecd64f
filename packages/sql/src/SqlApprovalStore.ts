/**
 * Answers and permissions in an SQL database, beside the journal or alone.
 *
 * @since 0.1.0
 */
import { Answer } from "@capstan/core/Approval"
import { ApprovalStore, type Permission, type StoredAnswer } from "@capstan/core/ApprovalStore"
import { JournalError } from "@capstan/core/Journal"
import type { CallRef } from "@capstan/core/ToolCall"
import type * as SqlClient from "@effect/sql/SqlClient"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import { approvalTables } from "./internal/approvalTables.js"
import * as Store from "./internal/store.js"

/**
 * `lockWait`: how long a lock of another program is waited for before a `busy` (default 15 s).
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly lockWait?: Duration.DurationInput
}

/** The version of the texts below. Those of a higher one are refused. */
const version = 1

/** JSON, since it holds characters that a text in Postgres does not. */
const AnswerText = Schema.parseJson(Schema.Struct({
  argumentsHash: Schema.String,
  answer: Answer,
  by: Schema.String,
  at: Schema.Number
}))

const PermissionText = Schema.parseJson(Schema.Struct({
  project: Schema.String,
  session: Schema.NullOr(Schema.String),
  entry: Schema.String,
  by: Schema.String,
  at: Schema.Number
}))

const encodeAnswer = Schema.encodeSync(AnswerText)
const encodePermission = Schema.encodeSync(PermissionText)

interface AnswerRow {
  readonly turn: number | string
  readonly iteration: number | string
  readonly position: number | string
  readonly version: number
  readonly value: string
}

interface PermissionRow {
  readonly id: string
  readonly version: number
  readonly value: string
}

const decoded = <A, I>(schema: Schema.Schema<A, I>, row: { readonly version: number; readonly value: string }) =>
  row.version > version
    ? Effect.fail(
      new JournalError({
        reason: "newer",
        message: `An approval was written by a newer version (${row.version}, this program knows ${version}). ` +
          "It was left as it is: update the program to use it."
      })
    )
    : Effect.mapError(Schema.decodeUnknown(schema)(row.value), (cause) =>
      new JournalError({
        reason: "corrupt",
        message: "A stored approval cannot be read. Restore the journal's database from a backup, or answer anew.",
        cause
      }))

const make = (options: Options) =>
  Effect.gen(function*() {
    const { query, sql } = yield* Store.make({ lockWait: options.lockWait, tables: approvalTables })

    const toPermission = ({ id, ...row }: PermissionRow): Effect.Effect<Permission, JournalError> =>
      Effect.map(decoded(PermissionText, row), (permission) => ({ id, ...permission }))

    const answer = Effect.fn("SqlApprovalStore.answer")(({ ref, session, ...given }: StoredAnswer) =>
      Effect.asVoid(query(
        sql`insert into capstan_answer (session, turn, iteration, position, version, value)
          values (${session}, ${ref.turn}, ${ref.iteration}, ${ref.position}, ${version}, ${encodeAnswer(given)})
          on conflict (session, turn, iteration, position)
          do update set version = excluded.version, value = excluded.value`
      ))
    )

    const answers = Effect.fn("SqlApprovalStore.answers")(function*({ session }: { readonly session: string }) {
      const rows = yield* query(
        sql<AnswerRow>`select turn, iteration, position, version, value from capstan_answer
          where session = ${session} order by turn, iteration, position`
      )
      return yield* Effect.forEach(rows, (row) =>
        Effect.map(decoded(AnswerText, row), (given): StoredAnswer => ({
          session,
          ref: { turn: Number(row.turn), iteration: Number(row.iteration), position: Number(row.position) },
          ...given
        })))
    })

    const take = Effect.fn("SqlApprovalStore.take")(({ refs, session }: {
      readonly session: string
      readonly refs: ReadonlyArray<CallRef>
    }) => {
      const calls = refs.map(({ iteration, position, turn }) =>
        sql`(turn = ${turn} and iteration = ${iteration} and position = ${position})`
      )
      return refs.length === 0
        ? Effect.void
        : Effect.asVoid(query(sql`delete from capstan_answer where session = ${session} and ${sql.or(calls)}`))
    })

    const grantAs = (
      length: number,
      permission: Omit<Permission, "id">
    ): Effect.Effect<Permission, JournalError> =>
      Effect.gen(function*() {
        const id = idOf(permission, length)
        yield* query(
          sql`insert into capstan_permission (id, project, at, version, value)
            values (${id}, ${permission.project}, ${permission.at}, ${version}, ${encodePermission(permission)})
            on conflict (id) do nothing`
        )
        const [row] = yield* query(
          sql<PermissionRow>`select id, version, value from capstan_permission where id = ${id}`
        )
        // Taken back in between.
        if (row === undefined) return yield* grantAs(length, permission)
        const granted = yield* toPermission(row)
        return identityOf(granted) === identityOf(permission) ? granted : yield* grantAs(length + 1, permission)
      })

    const permissions = Effect.fn("SqlApprovalStore.permissions")(
      function*({ project }: { readonly project: string | undefined }) {
        const within = project === undefined ? sql`true` : sql`project = ${project}`
        const rows = yield* query(
          sql<PermissionRow>`select id, version, value from capstan_permission where ${within} order by at, id`
        )
        return yield* Effect.forEach(rows, toPermission)
      }
    )

    const revoke = Effect.fn("SqlApprovalStore.revoke")(({ id }: { readonly id: string }) =>
      Effect.map(query(sql`delete from capstan_permission where id = ${id} returning id`), (rows) => rows.length > 0)
    )

    return {
      answer,
      answers,
      take,
      grant: Effect.fn("SqlApprovalStore.grant")((permission: Omit<Permission, "id">) => grantAs(shortest, permission)),
      permissions,
      revoke
    }
  })

/** Digits of an id, if no other permission has it. */
const shortest = 6

const identityOf = ({ entry, project, session }: Omit<Permission, "id">): string =>
  JSON.stringify([project, session, entry])

/** Short enough to be typed, and the same each time that the same is granted. */
const idOf = (permission: Omit<Permission, "id">, length: number): string =>
  createHash("sha256").update(identityOf(permission)).digest("hex").slice(0, length)

/**
 * Answers and permissions on any SQL client, with the tables made if they are missing.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerWith = (options: Options): Layer.Layer<ApprovalStore, JournalError, SqlClient.SqlClient> =>
  Layer.effect(ApprovalStore, make(options))

/**
 * {@link layerWith} and its defaults.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<ApprovalStore, JournalError, SqlClient.SqlClient> = layerWith({})
