import { ApprovalStore, Journal } from "@capstan/core"
import * as JournalConformance from "@capstan/testing/JournalConformance"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { responsiveness } from "./eventLoop.js"
import { buildChild, removeChild, start } from "./processes.js"
import { noPostgres, postgres, sqlite, type Store } from "./stores.js"

beforeAll(buildChild)
afterAll(removeChild)

const { turnEnded } = JournalConformance

const open = (session = "a") =>
  Effect.flatMap(Journal.Journal, (journal) => journal.open({ session, project: "/project" }))

const read = Effect.flatMap(Journal.Journal, (journal) => journal.read({ session: "a" }))

const seconds = (duration: Duration.Duration) => Duration.toSeconds(duration)

const suite = ({ fresh, name }: Store) => {
  /** A session with one row, and a process that holds the lock. */
  const locked = Effect.gen(function*() {
    const database = yield* fresh
    const build = Effect.gen(function*() {
      const session = yield* open()
      yield* session.append([turnEnded(1)])
      const locker = yield* start({ mode: "lock", address: database.address })
      assert.deepStrictEqual(yield* locker.next, { locked: true })
      return { session, locker }
    })
    return { database, build }
  })

  describe(`${name} that another process has locked`, { concurrent: true }, () => {
    it.live("is waited for for ten seconds, then written", () =>
      Effect.gen(function*() {
        const { build, database } = yield* locked
        yield* Effect.gen(function*() {
          const { locker, session } = yield* build
          yield* Effect.fork(Effect.zipRight(Effect.sleep("10 seconds"), locker.send("release")))
          const [waited, blocked] = yield* Effect.timed(responsiveness(session.commit([turnEnded(2)])))
          assert.isAtLeast(seconds(waited), 9)
          assert.isBelow(seconds(waited), 14)
          assert.isBelow(blocked, 100)
          assert.deepStrictEqual((yield* read).map(({ record }) => record), [1, 2].map(turnEnded))
        }).pipe(Effect.scoped, Effect.provide(database.layer()))
      }).pipe(Effect.scoped), 40_000)

    it.live("for longer is given up on after fifteen, and what was written is there", () =>
      Effect.gen(function*() {
        const { build, database } = yield* locked
        yield* Effect.gen(function*() {
          const { locker, session } = yield* build
          const [waited, error] = yield* Effect.timed(Effect.flip(session.commit([turnEnded(2)])))
          assert.strictEqual(error.reason, "busy")
          assert.include(error.message, "15s")
          assert.isAtLeast(seconds(waited), 14)
          assert.isBelow(seconds(waited), 20)
          yield* locker.send("release")
          yield* locker.ended
          assert.strictEqual((yield* Effect.flip(session.append([turnEnded(2)]))).reason, "closed")
          assert.deepStrictEqual((yield* read).map(({ record }) => record), [turnEnded(1)])
        }).pipe(Effect.scoped, Effect.provide(database.layer()))
      }).pipe(Effect.scoped), 40_000)

    it.live(
      "answers an interruption at once, and tells who opens or approves that it is busy",
      () =>
        Effect.gen(function*() {
          const { build, database } = yield* locked
          yield* Effect.gen(function*() {
            const { locker, session } = yield* build
            const writing = yield* Effect.fork(session.append([turnEnded(2)]))
            yield* Effect.sleep("200 millis")
            const blocked = yield* responsiveness(Fiber.interrupt(writing))
            assert.isBelow(blocked, 100)
            const [taken] = yield* Effect.timed(Fiber.await(writing))
            assert.isBelow(Duration.toMillis(taken), 100)

            const store = yield* ApprovalStore.ApprovalStore
            const entry = { project: "/project", session: null, entry: "git_*", by: "somebody", at: 0 }
            // Postgres locks the sessions only, which approvals do not need.
            if (name === "SQLite") assert.strictEqual((yield* Effect.flip(store.grant(entry))).reason, "busy")
            assert.strictEqual((yield* Effect.flip(Effect.scoped(open("b")))).reason, "busy")
            yield* locker.send("release")
            yield* locker.ended
            assert.strictEqual((yield* store.grant(entry)).entry, "git_*")
            assert.deepStrictEqual((yield* read).map(({ record }) => record), [turnEnded(1)])
          }).pipe(Effect.scoped, Effect.provide(database.layer({ lockWait: "3 seconds" })))
        }).pipe(Effect.scoped),
      40_000
    )
  })
}

suite(sqlite)

describe.skipIf(noPostgres !== undefined)("over a server", { concurrent: true }, () => {
  suite(postgres())
})
