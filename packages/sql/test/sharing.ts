import { Journal } from "@capstan/core"
import { SqlJournal } from "@capstan/sql"
import * as JournalConformance from "@capstan/testing/JournalConformance"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import process from "node:process"
import { start } from "./processes.js"
import type { Store } from "./stores.js"

const { turnEnded } = JournalConformance

const open = (session = "a") =>
  Effect.flatMap(Journal.Journal, (journal) => journal.open({ session, project: "/project" }))

const read = Effect.flatMap(Journal.Journal, (journal) => journal.read({ session: "a" }))

/** What several processes may do with one database, as tests. */
export const suite = ({ fresh, name }: Store): void => {
  describe(`${name} that several processes have open`, () => {
    it.live("keeps every acknowledged row of a process that was killed", () =>
      Effect.gen(function*() {
        const database = yield* fresh
        const child = yield* start({ mode: "flood", address: database.address })
        assert.deepStrictEqual(yield* child.next, { opened: 1 })
        yield* Effect.replicateEffect(child.next, 200, { discard: true })
        yield* child.signal("SIGKILL")
        yield* child.ended
        const acknowledged = 200 + (yield* child.rest).length
        yield* Effect.gen(function*() {
          const session = yield* open()
          assert.strictEqual(session.epoch, 2)
          const rows = yield* session.rows({ after: 0 })
          assert.isAtLeast(rows.length, acknowledged)
          assert.isAtMost(rows.length, acknowledged + 1)
          yield* session.commit([turnEnded(0)])
          assert.deepStrictEqual(rows.map(({ record }) => record), rows.map(({ seq }) => turnEnded(seq)))
          assert.deepStrictEqual(yield* SqlJournal.verify({ session: "a" }), [])
        }).pipe(Effect.scoped, Effect.provide(database.layer()))
      }).pipe(Effect.scoped), 60_000)

    it.live("gives a session to one of two processes and tells the other who has it", () =>
      Effect.gen(function*() {
        const database = yield* fresh
        const child = yield* start({ mode: "follow", address: database.address })
        assert.deepStrictEqual(yield* child.next, { opened: 1 })
        yield* Effect.gen(function*() {
          const error = yield* Effect.flip(Effect.scoped(open()))
          assert.strictEqual(error._tag, "LeaseError")
          assert.strictEqual(error.reason, "held")
          assert.include(error.message, `process ${child.pid} on `)
          yield* Effect.scoped(open("another"))
          yield* child.send("close")
          yield* child.ended
          assert.strictEqual((yield* Effect.scoped(open())).epoch, 1)
        }).pipe(Effect.provide(database.layer()))
      }).pipe(Effect.scoped), 60_000)

    it.live("is made by the first of several that start at once, and used by all", () =>
      Effect.gen(function*() {
        const database = yield* fresh
        const names = ["a", "b", "c", "d"]
        const children = yield* Effect.forEach(
          names,
          (session) => start({ mode: "follow", address: database.address, session })
        )
        const reports = yield* Effect.forEach(children, (child) => child.next, { concurrency: "unbounded" })
        assert.deepStrictEqual(reports, names.map(() => ({ opened: 1 })))
        yield* Effect.forEach(children, (child) => child.send("commit"))
        const written = yield* Effect.forEach(children, (child) => child.next, { concurrency: "unbounded" })
        assert.deepStrictEqual(written, names.map(() => ({ written: 1 })))
      }).pipe(Effect.scoped), 60_000)

    it.live("gives the session of a dead process to one of two that want it at once", () =>
      Effect.gen(function*() {
        const database = yield* fresh
        const dead = yield* start({ mode: "follow", address: database.address })
        yield* dead.next
        yield* dead.send("commit")
        yield* dead.next
        yield* dead.signal("SIGKILL")
        yield* dead.ended
        const heirs = yield* Effect.replicateEffect(start({ mode: "follow", address: database.address }), 2)
        const reports = yield* Effect.forEach(heirs, (heir) => heir.next, { concurrency: "unbounded" })
        assert.sameDeepMembers(reports.map((report) => [report?.opened, report?.reason]), [[2, undefined], [
          undefined,
          "held"
        ]])
        const heir = heirs[reports.findIndex((report) => report?.opened === 2)]
        yield* heir?.send("commit") ?? Effect.void
        assert.deepStrictEqual(yield* heir?.next ?? Effect.succeed(undefined), { written: 2 })
      }).pipe(Effect.scoped), 60_000)

    it.live(
      "keeps a paused process from writing once another has the session, and no other",
      () =>
        Effect.gen(function*() {
          const database = yield* fresh
          const child = yield* start({ mode: "follow", address: database.address })
          yield* child.next
          yield* child.send("commit")
          assert.deepStrictEqual(yield* child.next, { written: 1 })

          yield* child.signal("SIGSTOP")
          yield* child.signal("SIGCONT")
          yield* child.send("append")
          assert.deepStrictEqual(yield* child.next, { written: 2 })

          yield* child.signal("SIGSTOP")
          yield* Effect.gen(function*() {
            const held = yield* Effect.flip(Effect.scoped(open()))
            assert.strictEqual(held.reason, "held")
            // As an owner elsewhere whose heartbeat has run out.
            yield* database.asElsewhere
            const session = yield* open()
            assert.strictEqual(session.epoch, 2)
            yield* session.commit([turnEnded(3)])
            yield* child.signal("SIGCONT")
            yield* child.send("append")
            const refused = yield* child.next
            assert.strictEqual(refused?.error, "LeaseError")
            assert.strictEqual(refused?.reason, "lost")
            assert.include(refused?.message, `process ${process.pid} on `)
            yield* child.send("commit")
            assert.strictEqual((yield* child.next)?.reason, "lost")
            yield* session.commit([turnEnded(4)])
            yield* child.send("close")
            yield* child.ended
            yield* session.commit([turnEnded(5)])
            assert.deepStrictEqual((yield* read).map(({ record }) => record), [1, 2, 3, 4, 5].map(turnEnded))
            assert.deepStrictEqual(yield* SqlJournal.verify({ session: "a" }), [])
          }).pipe(Effect.scoped, Effect.provide(database.layer()))
        }).pipe(Effect.scoped),
      60_000
    )

    it.live(
      "has nothing of a write that fails, whichever row it is, and goes on when it is opened again",
      () =>
        Effect.gen(function*() {
          const database = yield* fresh
          const batches = [[1], [2, 3], [4], [5, 6, 7]]
          const failing = (seq: number) =>
            Effect.gen(function*() {
              const id = `fails at ${seq}`
              const broken = batches.findIndex((batch) => batch.includes(seq))
              yield* database.failAt(seq)
              yield* Effect.scoped(Effect.gen(function*() {
                const session = yield* open(id)
                const writes = batches.map((batch, index) =>
                  (index % 2 === 0 ? session.append : session.commit)(batch.map(turnEnded))
                )
                const ends = yield* Effect.forEach(
                  writes,
                  Effect.match({
                    onSuccess: () => "written",
                    onFailure: ({ reason }) => reason
                  })
                )
                const expected = batches.map((_, index) =>
                  index < broken ? "written" : index > broken ? "closed" : "io"
                )
                assert.deepStrictEqual(ends, expected, id)
                const rows = yield* session.rows({ after: 0 })
                assert.deepStrictEqual(rows.map(({ record }) => record), batches.slice(0, broken).flat().map(turnEnded))
              }))
              yield* database.failAt(0)
              yield* Effect.scoped(Effect.gen(function*() {
                const session = yield* open(id)
                yield* session.commit([turnEnded(8)])
                assert.deepStrictEqual(yield* SqlJournal.verify({ session: id }), [])
                assert.deepStrictEqual((yield* session.rows({ after: 0 })).at(-1)?.record, turnEnded(8))
              }))
            })
          yield* Effect.forEach(batches.flat(), failing).pipe(Effect.provide(database.layer()))
        }).pipe(Effect.scoped),
      60_000
    )
  })
}
