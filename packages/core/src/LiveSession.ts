/**
 * A session that is open for writing, with its state kept up to date record by record.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { JournalError, type LeaseError, type OpenSession } from "./Journal.js"
import type { JournalRecord } from "./JournalRecord.js"
import * as SessionState from "./SessionState.js"

/**
 * A session that is open for writing. `note` folds records into the state and leaves writing them to the next write, which
 * is for records that something durable follows at once; `append` and `commit` write first and fold in only what was
 * written; `barrier` makes all of it survive a loss of power. Writers take turns. After a write that failed every other
 * fails, too: what is known is no longer what is stored. One that an interruption ends has failed.
 *
 * @since 0.1.0
 * @category models
 */
export interface LiveSession {
  readonly id: string
  readonly state: () => SessionState.SessionState
  /** The state as far as it was written. */
  readonly stored: () => SessionState.SessionState
  readonly note: (records: ReadonlyArray<JournalRecord>) => Effect.Effect<void>
  readonly append: (records: ReadonlyArray<JournalRecord>) => Effect.Effect<void, JournalError | LeaseError>
  readonly commit: (records: ReadonlyArray<JournalRecord>) => Effect.Effect<void, JournalError | LeaseError>
  readonly barrier: Effect.Effect<void, JournalError | LeaseError>
}

/**
 * Brings a known state (or {@link SessionState.empty}) up to date with the journal.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  open: OpenSession,
  known: SessionState.SessionState
): Effect.Effect<LiveSession, JournalError> =>
  Effect.gen(function*() {
    const rows = yield* open.rows({ after: known.seq })
    const turns = yield* Effect.makeSemaphore(1)
    let state = rows.reduce((state, row) => SessionState.step(state, row.record), known)
    let stored = state
    let noted: ReadonlyArray<JournalRecord> = []
    let durable = true
    let closed = false

    const write = (to: OpenSession["append"], survivesPowerLoss: boolean) => (records: ReadonlyArray<JournalRecord>) =>
      turns.withPermits(1)(Effect.uninterruptible(Effect.suspend(() => {
        if (closed) return closedError(open.id)
        const all = noted.length === 0 ? records : [...noted, ...records]
        noted = []
        return to(all).pipe(
          Effect.tapErrorCause(() =>
            Effect.sync(() => {
              closed = true
            })
          ),
          Effect.map(() => {
            state = records.reduce(SessionState.step, state)
            stored = state
            durable = survivesPowerLoss
          })
        )
      })))

    const commit = write(open.commit, true)
    return {
      id: open.id,
      state: () => state,
      stored: () => stored,
      note: (records) =>
        Effect.sync(() => {
          noted = [...noted, ...records]
          state = records.reduce(SessionState.step, state)
        }),
      append: write(open.append, false),
      commit,
      barrier: Effect.suspend(() => durable && noted.length === 0 ? Effect.void : commit([]))
    }
  })

const closedError = (id: string) =>
  new JournalError({
    reason: "closed",
    message: `Session ${id} takes no more records, since an earlier one could not be written. Open it again.`
  })
