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
 * A session that is open for writing. `append` and `commit` write to the journal first and fold into the state only what
 * was written; writers take turns. After a write that failed every other fails, too: what is known is no longer what is
 * stored.
 *
 * @since 0.1.0
 * @category models
 */
export interface LiveSession {
  readonly id: string
  readonly state: () => SessionState.SessionState
  readonly append: (records: ReadonlyArray<JournalRecord>) => Effect.Effect<void, JournalError | LeaseError>
  readonly commit: (records: ReadonlyArray<JournalRecord>) => Effect.Effect<void, JournalError | LeaseError>
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
    let closed = false
    const write = (to: OpenSession["append"]) => (records: ReadonlyArray<JournalRecord>) =>
      turns.withPermits(1)(Effect.uninterruptible(Effect.suspend(() =>
        closed ? closedError(open.id) : to(records).pipe(
          Effect.tapErrorCause(() =>
            Effect.sync(() => {
              closed = true
            })
          ),
          Effect.map(() => {
            state = records.reduce(SessionState.step, state)
          })
        )
      )))
    return { id: open.id, state: () => state, append: write(open.append), commit: write(open.commit) }
  })

const closedError = (id: string) =>
  new JournalError({
    reason: "closed",
    message: `Session ${id} takes no more records, since an earlier one could not be written. Open it again.`
  })
