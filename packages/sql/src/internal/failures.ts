import { JournalError } from "@capstan/core/Journal"
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import { identity } from "effect/Function"
import * as Schedule from "effect/Schedule"

type Reason = JournalError["reason"]

/** SQLite's codes and Postgres' classes, the first that fits. */
const reasons: ReadonlyArray<readonly [RegExp, Reason]> = [
  [/^SQLITE_(BUSY|LOCKED)|^(55P03|40001|40P01)$/, "busy"],
  [/^SQLITE_FULL|^53100$|^(ENOSPC|EDQUOT)$/, "full"],
  [/^SQLITE_(CORRUPT|NOTADB|IOERR_SHORT_READ|IOERR_CORRUPTFS)|^XX00[12]$/, "corrupt"],
  [/^SQLITE_(READONLY|CANTOPEN|PERM|AUTH)|^(08...|25006|28...|3D000|42501|57P0.|53300)$|^E[A-Z]+$/, "unavailable"]
]

const advice: { readonly [R in Reason]?: string } = {
  full:
    "The disk that holds the journal is full. What was written is intact; free some space and open the session again.",
  corrupt: "The journal is damaged. Keep a copy of the file, then restore a backup or try `sqlite3 <file> .recover`.",
  unavailable: "The journal cannot be opened or written. Check that its folder exists and that you may write there.",
  io: "The journal could not be read or written. Look at the cause; what was committed is intact."
}

const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string" ? cause.code : ""

/** A failure of the driver or of the file system, in the words of the journal. */
export const fromCause = (cause: unknown): JournalError => {
  const code = codeOf(cause)
  const reason = reasons.find(([pattern]) => pattern.test(code))?.[1] ?? "io"
  const detail = cause instanceof Error ? cause.message : String(cause)
  return new JournalError({
    reason,
    message: `${advice[reason] ?? "The journal is locked."} (${
      [code, detail].filter((text) => text !== "").join(": ")
    })`,
    cause
  })
}

export const fromSql = (error: SqlError): JournalError => fromCause(error.cause ?? error)

const pauses = Schedule.exponential("2 millis", 1.5).pipe(
  Schedule.union(Schedule.spaced("50 millis")),
  Schedule.jittered
)

/** Runs statements that another program may lock out, for as long as a lock is waited for. */
export type Patience = <A, E, R>(effect: Effect.Effect<A, E | JournalError, R>) => Effect.Effect<A, E | JournalError, R>

/**
 * What is left of the wait once its fiber was interrupted, uninterruptible regions included: enough to outlast another
 * program's commit, too little to be noticed by whoever pressed Ctrl-C.
 */
const grace = Duration.millis(10)

/** A server needs the time of its answer on top. */
const serverGrace = Duration.millis(250)

/**
 * SQLite answers at once and is tried again: a write has either happened, or has certainly not and fails as `busy`. A server
 * waits by itself, so it is told to stop when the wait is over; nobody knows then whether it had done what it was told, and
 * where that was for an interruption, so the effect ends.
 */
export const patience = (sql: SqlClient.SqlClient, wait: Duration.Duration): Patience =>
  sql.onDialectOrElse({
    sqlite: (): Patience => (effect) => Effect.uninterruptible(patiently(effect, wait)),
    orElse: (): Patience => (effect) =>
      Effect.flatMap(FiberRef.get(FiberRef.interruptedCause), (cause) =>
        Cause.isEmpty(cause)
          ? untilInterrupted(within(effect, wait))
          : Effect.uninterruptible(within(effect, serverGrace)))
  })

/** What a server has not done in time, it is told to stop. */
const within = <A, E, R>(
  effect: Effect.Effect<A, E | JournalError, R>,
  wait: Duration.Duration
): Effect.Effect<A, E | JournalError, R> =>
  Effect.timeoutFail(Effect.interruptible(patiently(effect, wait)), {
    duration: wait,
    onTimeout: () => lockedFor(wait)
  })

const untilInterrupted: Patience = (effect) =>
  Effect.uninterruptible(
    Effect.flatMap(Effect.fork(Effect.interruptible(effect)), (fiber) =>
      Effect.matchCauseEffect(Effect.interruptible(Fiber.await(fiber)), {
        onSuccess: identity,
        onFailure: () =>
          Effect.zipRight(Effect.fork(Effect.delay(Fiber.interrupt(fiber), serverGrace)), Fiber.join(fiber))
      }))
  )

/**
 * Tries again while another program has the lock, for as long as `wait`; in an uninterruptible region only the pauses are
 * cut short.
 */
export const patiently = <A, E, R>(
  effect: Effect.Effect<A, E | JournalError, R>,
  wait: Duration.Duration
): Effect.Effect<A, E | JournalError, R> => {
  const tries = (over: Duration.Duration, pause: Pause, first: JournalError): Effect.Effect<A, E | JournalError, R> =>
    Effect.flatMap(Schedule.driver(Schedule.upTo(pauses, over)), (driver) => {
      const again = (error: JournalError): Effect.Effect<A, E | JournalError, R> =>
        Effect.matchCauseEffect(pause(driver.next(error)), {
          onFailure: (cause) =>
            Cause.isInterrupted(cause) ? tries(grace, Effect.uninterruptible, error) : lockedFor(over, error.cause),
          onSuccess: () => Effect.catchIf(effect, isBusy, again)
        })
      return again(first)
    })
  return Effect.catchIf(effect, isBusy, (error) => tries(wait, Effect.interruptible, error))
}

type Pause = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

const isBusy = (error: unknown): error is JournalError => error instanceof JournalError && error.reason === "busy"

const lockedFor = (wait: Duration.Duration, cause?: unknown): JournalError =>
  new JournalError({
    reason: "busy",
    message: `Another program has had the journal locked for ${Duration.format(wait)}. ` +
      "Close what has it open (another run, a database browser, a backup) and try again.",
    cause
  })
