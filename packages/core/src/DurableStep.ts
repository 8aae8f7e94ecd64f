/**
 * The one durable primitive: an effect that happens at most once, whatever crashes.
 *
 * The intent is durable before the effect starts and its outcome before anything follows. A step that is found with an
 * outcome is replayed; one that is found with an intent and no outcome may or may not have happened, and is never run again.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { FileRead } from "./FileRead.js"
import type { JournalError, LeaseError } from "./Journal.js"
import type { JournalRecord } from "./JournalRecord.js"
import type { LiveSession } from "./LiveSession.js"
import type { Outcome } from "./Outcome.js"
import type { CallRef } from "./ToolCall.js"

/**
 * What an effect came to, ready for the journal.
 *
 * @since 0.1.0
 * @category models
 */
export interface Settlement {
  readonly outcome: Outcome
  readonly note: string | null
  readonly reads: ReadonlyArray<FileRead>
  /** Bytes that it wrote to files. */
  readonly written: number
}

/**
 * An effect under a key. `run` handles its own interruption: it always ends with a settlement.
 *
 * @since 0.1.0
 * @category models
 */
export interface Step {
  readonly ref: CallRef
  readonly intent: Omit<Extract<JournalRecord, { readonly _tag: "Intent" }>, "_tag" | "ref" | "at">
  readonly run: Effect.Effect<Settlement>
  readonly onSettled: (settlement: Settlement, durationMillis: number) => Effect.Effect<void>
}

/**
 * What is known of a step before it runs: nothing (`Fresh`), its outcome (`Replayed`), or that it began (`Unknown`).
 *
 * @since 0.1.0
 * @category models
 */
export type Standing = Data.TaggedEnum<{
  Fresh: {}
  Replayed: { readonly outcome: Outcome }
  Unknown: {}
}>

/**
 * Constructors of {@link Standing}.
 *
 * @since 0.1.0
 * @category constructors
 */
export const Standing = Data.taggedEnum<Standing>()

/**
 * What the journal knows of a step.
 *
 * @since 0.1.0
 * @category combinators
 */
export const standing = (session: LiveSession, ref: CallRef): Standing => {
  const call = session.state().batch?.calls.find((call) => call.ref.position === ref.position)
  if (call === undefined || (!call.started && call.settled === null)) return Standing.Fresh()
  return call.settled === null ? Standing.Unknown() : Standing.Replayed({ outcome: call.settled.outcome })
}

/**
 * Runs the fresh ones of some steps at the same time: all intents in one commit, each outcome as soon as it is there, and
 * all of them durable at the end. Steps that are not fresh are left as they are; with `again`, those whose outcome is unknown
 * are run instead, under a second intent. When the fiber is interrupted, or the journal fails, so are the steps, and they have
 * ended before it goes on; settlements of interrupted steps are journaled.
 *
 * @since 0.1.0
 * @category combinators
 */
export const stage = (
  session: LiveSession,
  steps: ReadonlyArray<Step>,
  options: { readonly concurrency: number; readonly again?: boolean }
): Effect.Effect<void, JournalError | LeaseError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const wanted = options.again === true ? "Unknown" : "Fresh"
      const fresh = steps.filter((step) => standing(session, step.ref)._tag === wanted)
      if (fresh.length === 0) return
      const at = yield* Clock.currentTimeMillis
      yield* session.commit(fresh.map(({ intent, ref }) => ({ _tag: "Intent", ref, at, ...intent })))
      let left = fresh.length
      const settle = (step: Step) =>
        Effect.gen(function*() {
          const began = yield* Clock.currentTimeMillis
          const settlement = yield* step.run
          const durationMillis = (yield* Clock.currentTimeMillis) - began
          left -= 1
          const write = left === 0 ? session.commit : session.append
          yield* write([{ _tag: "Settled", ref: step.ref, durationMillis, ...settlement }])
          yield* step.onSettled(settlement, durationMillis)
        })
      const [first, ...others] = fresh
      if (first !== undefined && others.length === 0) return yield* settle(first)
      const permits = yield* Effect.makeSemaphore(options.concurrency)
      const fibers = yield* Effect.forEach(fresh, (step) => Effect.fork(permits.withPermits(1)(settle(step))))
      yield* restore(Fiber.joinAll(fibers)).pipe(Effect.onError(() => Fiber.interruptAll(fibers)))
    })
  )
