import * as Journal from "@capstan/core/Journal"
import { CrashPoint } from "@capstan/testing"
import * as JournalConformance from "@capstan/testing/JournalConformance"
import { describe, expect, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"

const record = JournalConformance.turnEnded

const turns = (session: string) =>
  Effect.flatMap(
    Journal.Journal,
    (journal) =>
      Effect.map(journal.read({ session }), (rows) =>
        rows.map(({ record }) =>
          record._tag === "TurnStarted" ? "start" : record._tag === "TurnEnded" ? record.turn : -1
        ))
  )

const open = (session: string) => Effect.flatMap(Journal.Journal, (journal) => journal.open({ session, project: "p" }))

const crashing = (...points: ReadonlyArray<CrashPoint.CrashPoint>) =>
  Layer.provideMerge(CrashPoint.layer(points), Journal.layerMemory)

/** Each append that reaches the journal below. */
const watched = (log: Ref.Ref<ReadonlyArray<number>>) =>
  Layer.provide(
    Layer.effect(
      Journal.Journal,
      Effect.map(Journal.Journal, (journal) => ({
        ...journal,
        open: (options) =>
          Effect.map(journal.open(options), (session) => ({
            ...session,
            append: (records) =>
              Effect.zipRight(Ref.update(log, (sizes) => [...sizes, records.length]), session.append(records))
          }))
      }))
    ),
    Journal.layerMemory
  )

describe("CrashPoint", () => {
  it.scoped("fails the n-th record, over sessions, and leaves what came before it", () =>
    Effect.gen(function*() {
      const a = yield* open("a")
      const b = yield* open("b")
      yield* a.append([record(0), record(1)])
      expect((yield* Effect.flip(b.commit([record(2), record(3), record(4)]))).reason).toBe("full")
      expect(yield* turns("a")).toEqual([0, 1])
      expect(yield* turns("b")).toEqual([2])
      yield* b.append([record(5)])
      expect(yield* turns("b")).toEqual([2, 5])
    }).pipe(Effect.provide(crashing(CrashPoint.before(4, CrashPoint.fail("full"))))))

  it.scoped("happens after the first record of a kind, once", () =>
    Effect.gen(function*() {
      const session = yield* open("a")
      const batch = [record(0), JournalConformance.turnStarted(1, "m"), record(1)]
      expect((yield* Effect.flip(session.append(batch))).reason).toBe("io")
      expect(yield* turns("a")).toEqual([0, "start"])
      yield* session.append(batch)
      expect(yield* turns("a")).toEqual([0, "start", 0, "start", 1])
    }).pipe(Effect.provide(crashing(CrashPoint.after("TurnStarted", CrashPoint.fail())))))

  it.scoped("goes on where the effect comes back, and sees what is written by then", () =>
    Effect.gen(function*() {
      const seen = yield* Ref.make<ReadonlyArray<unknown>>([])
      yield* Effect.gen(function*() {
        const journal = yield* Journal.Journal
        const look = Effect.orDie(Effect.suspend(() => journal.read({ session: "a" }))).pipe(
          Effect.flatMap((rows) => Ref.update(seen, (counts) => [...counts, rows.length]))
        )
        yield* Effect.gen(function*() {
          const session = yield* open("a")
          yield* session.append([record(0), record(1), record(2)])
        }).pipe(Effect.provide(CrashPoint.layer([
          CrashPoint.after(3, look),
          CrashPoint.before((_, n) => n === 2, look),
          CrashPoint.after(2, look)
        ])))
      }).pipe(Effect.provide(Journal.layerMemory))
      expect(yield* Ref.get(seen)).toEqual([1, 2, 3])
    }))

  it.scoped("divides an append at its crash points only", () =>
    Effect.gen(function*() {
      const log = yield* Ref.make<ReadonlyArray<number>>([])
      yield* Effect.gen(function*() {
        const session = yield* open("a")
        yield* session.append([record(0), record(1)])
        yield* session.append([])
        yield* session.append([record(2), record(3), record(4), record(5)])
        yield* session.append([record(6), record(7)])
      }).pipe(Effect.provide(Layer.provide(
        CrashPoint.layer([CrashPoint.before(4, Effect.void), CrashPoint.after(5, Effect.void)]),
        watched(log)
      )))
      expect(yield* Ref.get(log)).toEqual([2, 0, 1, 2, 1, 2])
    }))

  it.effect("kills the process and comes back to nobody", () =>
    Effect.gen(function*() {
      const kill = vi.spyOn(process, "kill").mockReturnValue(true)
      const fiber = yield* Effect.fork(Effect.ensuring(CrashPoint.kill, Effect.sync(() => kill.mockRestore())))
      yield* Effect.yieldNow()
      expect(kill.mock.calls).toEqual([[process.pid, "SIGKILL"]])
      expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
    }))
})
