/**
 * Something that happens at an exact place of the journal: a process that dies, an append that fails, a run that is
 * interrupted.
 *
 * @since 0.1.0
 */
import { Journal, JournalError, type LeaseError, type OpenSession } from "@capstan/core/Journal"
import type { JournalRecord } from "@capstan/core/JournalRecord"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/**
 * Which record: the n-th that comes to the journal (from 1, over all sessions), the first of a kind, or the first that a
 * function picks (`n` is its number).
 *
 * @since 0.1.0
 * @category models
 */
export type Place = number | JournalRecord["_tag"] | ((record: JournalRecord, n: number) => boolean)

/**
 * What happens right before a record is written, or right after it was. It happens once; when it fails, so does the append,
 * and nothing that comes later is written by it.
 *
 * @since 0.1.0
 * @category models
 */
export interface CrashPoint {
  readonly when: "before" | "after"
  readonly place: Place
  readonly happens: Effect.Effect<void, JournalError | LeaseError>
}

/**
 * Something that happens right before a record is written: the record is lost if this does not come back.
 *
 * @since 0.1.0
 * @category constructors
 */
export const before = (place: Place, happens: CrashPoint["happens"]): CrashPoint => ({ when: "before", place, happens })

/**
 * Something that happens right after a record was written, before anybody knows of it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const after = (place: Place, happens: CrashPoint["happens"]): CrashPoint => ({ when: "after", place, happens })

/**
 * Ends this process as a crash does: no finalizer runs.
 *
 * @since 0.1.0
 * @category constructors
 */
export const kill: Effect.Effect<never> = Effect.zipRight(
  Effect.sync(() => process.kill(process.pid, "SIGKILL")),
  Effect.never
)

/**
 * A journal that does not take the record.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fail = (reason: JournalError["reason"] = "io"): Effect.Effect<never, JournalError> =>
  new JournalError({ reason, message: `The journal failed on purpose (${reason}).` })

/**
 * The journal below, with crash points. An append of several records is written whole unless a crash point lies inside: then
 * it is divided there, as a store that is not atomic would.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (points: ReadonlyArray<CrashPoint>): Layer.Layer<Journal, never, Journal> =>
  Layer.effect(
    Journal,
    Effect.map(Journal, (journal) => {
      let left = points
      let count = 0

      /** Takes the points that lie at a record, so that each happens once. */
      const take = (record: JournalRecord, n: number): ReadonlyArray<CrashPoint> => {
        const hit = left.filter(({ place }) => isAt(place, record, n))
        left = left.filter((point) => !hit.includes(point))
        return hit
      }

      const decorate = (write: OpenSession["append"]): OpenSession["append"] => (records) =>
        Effect.suspend(() => {
          const first = count + 1
          count += records.length
          return Effect.forEach(divide(records, first, take), (part) =>
            happening(part.before).pipe(
              Effect.zipRight(write(part.records)),
              Effect.zipRight(happening(part.after))
            ), { discard: true })
        })

      return {
        ...journal,
        open: (options) =>
          Effect.map(journal.open(options), (session) => ({
            ...session,
            append: decorate(session.append),
            commit: decorate(session.commit)
          }))
      }
    })
  )

interface Part {
  readonly before: ReadonlyArray<CrashPoint>
  readonly records: ReadonlyArray<JournalRecord>
  readonly after: ReadonlyArray<CrashPoint>
}

const isAt = (place: Place, record: JournalRecord, n: number): boolean => {
  switch (typeof place) {
    case "number":
      return place === n
    case "string":
      return place === record._tag
    case "function":
      return place(record, n)
  }
}

/** The records between crash points; without any, one part with all of them. */
const divide = (
  records: ReadonlyArray<JournalRecord>,
  first: number,
  take: (record: JournalRecord, n: number) => ReadonlyArray<CrashPoint>
): ReadonlyArray<Part> => {
  const parts: Array<Part> = []
  let open: Part = { before: [], records: [], after: [] }
  records.forEach((record, index) => {
    const hit = take(record, first + index)
    const early = hit.filter(({ when }) => when === "before")
    const late = hit.filter(({ when }) => when === "after")
    if (early.length > 0) {
      parts.push(open)
      open = { before: early, records: [], after: [] }
    }
    open = { ...open, records: [...open.records, record] }
    if (late.length > 0) {
      parts.push({ ...open, after: late })
      open = { before: [], records: [], after: [] }
    }
  })
  const used = [...parts, open].filter((part) => part.records.length > 0)
  return used.length === 0 ? [open] : used
}

const happening = (points: ReadonlyArray<CrashPoint>): Effect.Effect<void, JournalError | LeaseError> =>
  Effect.forEach(points, ({ happens }) => happens, { discard: true })
