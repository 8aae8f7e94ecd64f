/**
 * The durable, append-only record of what happened, one log per session. Implemented in memory here and in SQL by
 * `@capstan/sql`.
 *
 * A session is written by one owner at a time. {@link Journal} `open` takes the session over if its last owner is dead and
 * refuses otherwise; every append checks that nobody has taken over since.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { JournalRecord } from "./JournalRecord.js"
import * as Sanitiser from "./Sanitiser.js"

/**
 * A record as it stands in the log: `seq` counts from 1 without gaps, `at` in milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface JournalRow {
  readonly seq: number
  readonly at: number
  readonly record: JournalRecord
}

/**
 * A session in a listing. `project` is the canonical root that it belongs to, `title` the beginning of its first message,
 * times in milliseconds since the epoch. `last` is its latest record (null: none, or one that cannot be read), `isOpen`
 * whether a process drives it now: with a last record other than `TurnEnded` and nobody who drives it, it was cut off.
 *
 * @since 0.1.0
 * @category models
 */
export interface SessionInfo {
  readonly id: string
  readonly project: string
  readonly title: string
  readonly created: number
  readonly updated: number
  readonly records: number
  readonly last: JournalRecord | null
  readonly isOpen: boolean
}

/**
 * The store did not take or give what it was asked for. `closed`: an earlier append failed and nothing more is written to
 * this session; `newer`: it was written by a newer version and is left alone; `busy`: another program held the lock for
 * longer than the wait allows.
 *
 * @since 0.1.0
 * @category errors
 */
export class JournalError extends Schema.TaggedError<JournalError>("@capstan/core/JournalError")("JournalError", {
  reason: Schema.Literal("unavailable", "busy", "full", "corrupt", "newer", "closed", "not-found", "io"),
  message: Schema.String,
  cause: Schema.optionalWith(Schema.Defect, { exact: true })
}) {}

/**
 * Another owner has the session, or has taken it over in the meantime (`lost`).
 *
 * @since 0.1.0
 * @category errors
 */
export class LeaseError extends Schema.TaggedError<LeaseError>("@capstan/core/LeaseError")("LeaseError", {
  reason: Schema.Literal("held", "lost"),
  session: Schema.String,
  owner: Schema.String,
  message: Schema.String
}) {}

/**
 * A session that this process may write. `append` writes records so that they survive the end of the process; `commit`
 * writes them so that they, and all before them, survive a loss of power. Both write all or none, in order, and fail with
 * `lost` when somebody else took the session over. Where they wait for another program they give up soon after their fiber
 * was interrupted, also in an uninterruptible region.
 *
 * @since 0.1.0
 * @category models
 */
export interface OpenSession {
  readonly id: string
  /** Grows by one with each takeover. */
  readonly epoch: number
  /** Rows with a `seq` above `after`, in order. */
  readonly rows: (options: { readonly after: number }) => Effect.Effect<ReadonlyArray<JournalRow>, JournalError>
  readonly append: (records: ReadonlyArray<JournalRecord>) => Effect.Effect<void, JournalError | LeaseError>
  readonly commit: (records: ReadonlyArray<JournalRecord>) => Effect.Effect<void, JournalError | LeaseError>
}

/**
 * The durable record of what happened.
 *
 * @since 0.1.0
 * @category services
 */
export class Journal extends Context.Tag("@capstan/core/Journal")<Journal, {
  /** Opens a session for writing, making it if it is new; the lease is given back when the scope closes. */
  readonly open: (options: {
    readonly session: string
    readonly project: string
  }) => Effect.Effect<OpenSession, JournalError | LeaseError, Scope.Scope>
  /** The rows of a session without opening it; `not-found` if there is none. */
  readonly read: (options: { readonly session: string }) => Effect.Effect<ReadonlyArray<JournalRow>, JournalError>
  /** Sessions, the latest first; of one project, or of all (undefined). */
  readonly sessions: (options: {
    readonly project: string | undefined
  }) => Effect.Effect<ReadonlyArray<SessionInfo>, JournalError>
  /** A keyed hash (hex) that binds an approval to its arguments; the key stays with the journal. */
  readonly fingerprint: (text: string) => string
}>() {}

/**
 * The beginning of a message, for listings: one line of at most 80 characters.
 *
 * @since 0.1.0
 * @category combinators
 */
export const titleOf = (records: ReadonlyArray<JournalRecord>): string | undefined => {
  for (const record of records) {
    if (record._tag !== "TurnStarted") continue
    const text = record.content.flatMap((part) => part.type === "text" ? [part.text] : []).join(" ")
    const line = Sanitiser.sanitise(text).text.replace(/\s+/g, " ").trim()
    return line.length <= 80 ? line : `${[...line].slice(0, 79).join("")}…`
  }
  return undefined
}

interface MemorySession {
  readonly info: { readonly project: string; readonly created: number }
  readonly rows: Array<JournalRow>
  held: boolean
}

/**
 * A journal that lives as long as the layer: for tests and for runs that nobody will ask about. Its fingerprints are the
 * texts themselves, since they never leave the process.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory: Layer.Layer<Journal> = Layer.sync(Journal, () => {
  const sessions = new Map<string, MemorySession>()

  const acquire = (id: string, project: string) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const session = sessions.get(id) ?? { info: { project, created: now }, rows: [], held: false }
      sessions.set(id, session)
      if (session.held) {
        return new LeaseError({
          reason: "held",
          session: id,
          owner: "this process",
          message: `Session ${id} is running already. Wait for it, or use another session.`
        })
      }
      session.held = true
      return Effect.succeed(session)
    })

  const openSession = (id: string, session: MemorySession) =>
    Effect.gen(function*() {
      let open = true
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          open = false
        })
      )
      const write = (records: ReadonlyArray<JournalRecord>) =>
        Effect.flatMap(Clock.currentTimeMillis, (at) => {
          if (!open) return new JournalError({ reason: "closed", message: `Session ${id} was closed. Open it again.` })
          for (const record of records) session.rows.push({ seq: session.rows.length + 1, at, record })
          return Effect.void
        })
      return {
        id,
        epoch: 1,
        rows: ({ after }: { readonly after: number }) => Effect.sync(() => session.rows.slice(after)),
        append: write,
        commit: write
      }
    })

  return {
    open: ({ project, session: id }) =>
      Effect.flatMap(
        Effect.acquireRelease(acquire(id, project), (session) =>
          Effect.sync(() => {
            session.held = false
          })),
        (session) => openSession(id, session)
      ),
    read: ({ session: id }) =>
      Effect.suspend(() => {
        const session = sessions.get(id)
        return session === undefined
          ? new JournalError({ reason: "not-found", message: `There is no session ${id}.` })
          : Effect.succeed(session.rows.slice())
      }),
    sessions: ({ project }) =>
      Effect.sync(() =>
        [...sessions]
          .filter(([, session]) => project === undefined || session.info.project === project)
          .map(([id, session]): SessionInfo => ({
            id,
            project: session.info.project,
            title: titleOf(session.rows.map((row) => row.record)) ?? "",
            created: session.info.created,
            updated: session.rows.at(-1)?.at ?? session.info.created,
            records: session.rows.length,
            last: session.rows.at(-1)?.record ?? null,
            isOpen: session.held
          }))
          .sort((a, b) => b.updated - a.updated)
      ),
    fingerprint: (text) => text
  }
})
