import { Journal } from "@capstan/core"
import { SqliteFile, SqlJournal } from "@capstan/sql"
import * as JournalConformance from "@capstan/testing/JournalConformance"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { asElsewhere } from "./database.js"
import { temporaryFile } from "./folders.js"
import { buildChild, removeChild, start } from "./processes.js"

const tracer = "strace"
const straces = spawnSync(tracer, ["-f", "-e", "trace=fsync", "true"]).status === 0
if (!straces) process.stderr.write("Syncs are not counted: strace is missing or may not trace here.\n")

beforeAll(buildChild)
afterAll(removeChild)

const open = (session = "a") =>
  Effect.flatMap(Journal.Journal, (journal) => journal.open({ session, project: "/project" }))

const read = Effect.flatMap(Journal.Journal, (journal) => journal.read({ session: "a" }))

const { turnEnded } = JournalConformance

/** The longest time for which the event loop did nothing else while `effect` ran. */
const longestPause = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    let longest = 0
    let before = performance.now()
    const tick = yield* Effect.sync(() => {
      const now = performance.now()
      longest = Math.max(longest, now - before)
      before = now
    }).pipe(Effect.repeat(Schedule.spaced("1 millis")), Effect.fork)
    yield* effect
    yield* Fiber.interrupt(tick)
    return longest
  })

describe("a journal that several processes have open", () => {
  it.live("keeps every acknowledged row of a process that was killed", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      const child = yield* start({ mode: "flood", filename })
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
        assert.deepStrictEqual(
          yield* SqlJournal.verify({ session: "a" }).pipe(
            Effect.provide(SqliteFile.layer({ filename }))
          ),
          []
        )
      }).pipe(Effect.scoped, Effect.provide(SqlJournal.layerSqlite({ filename })))
    }).pipe(Effect.scoped), 30_000)

  it.live("gives a session to one of two processes and tells the other who has it", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      const child = yield* start({ mode: "follow", filename })
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
      }).pipe(Effect.provide(SqlJournal.layerSqlite({ filename })))
    }).pipe(Effect.scoped), 30_000)

  it.live(
    "keeps a paused process from writing once another has the session, and no other",
    () =>
      Effect.gen(function*() {
        const filename = yield* temporaryFile
        const child = yield* start({ mode: "follow", filename })
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
          yield* asElsewhere(filename, 0)
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
        }).pipe(Effect.scoped, Effect.provide(SqlJournal.layerSqlite({ filename })))
      }).pipe(Effect.scoped),
    30_000
  )

  it.live(
    "waits for a lock of two seconds without stopping the event loop, and answers an interruption",
    () =>
      Effect.gen(function*() {
        const filename = yield* temporaryFile
        yield* Effect.gen(function*() {
          const session = yield* open()
          const locker = yield* start({ mode: "lock", filename })
          assert.deepStrictEqual(yield* locker.next, { locked: true })

          const interrupted = yield* Effect.fork(session.append([turnEnded(0)]))
          yield* Effect.sleep("200 millis")
          const [taken] = yield* Effect.timed(Fiber.interrupt(interrupted))
          assert.isBelow(Duration.toMillis(taken), 250)

          yield* Effect.fork(Effect.zipRight(Effect.sleep("2 seconds"), locker.send("release")))
          const [waited, pause] = yield* Effect.timed(longestPause(session.commit([turnEnded(1)])))
          process.stdout.write(
            `Interrupted in ${Math.round(Duration.toMillis(taken))} ms; longest pause ${Math.round(pause)} ms.\n`
          )
          assert.isAtLeast(Duration.toMillis(waited), 1500)
          assert.isBelow(pause, 500)
          assert.deepStrictEqual((yield* read).map(({ record }) => record), [turnEnded(1)])
        }).pipe(Effect.scoped, Effect.provide(SqlJournal.layerSqlite({ filename })))
      }).pipe(Effect.scoped),
    30_000
  )

  it.live(
    "says so when the lock lasts longer than the wait, closes the session and leaves its rows",
    () =>
      Effect.gen(function*() {
        const filename = yield* temporaryFile
        yield* Effect.gen(function*() {
          const session = yield* open()
          yield* session.append([turnEnded(1)])
          const locker = yield* start({ mode: "lock", filename })
          yield* locker.next
          const busy = yield* Effect.flip(session.append([turnEnded(2)]))
          assert.strictEqual(busy.reason, "busy")
          assert.include(busy.message, "300ms")
          const opening = yield* Effect.flip(Effect.scoped(open("b")))
          assert.strictEqual(opening.reason, "busy")
          yield* locker.send("release")
          yield* locker.ended
          const closed = yield* Effect.flip(session.append([turnEnded(2)]))
          assert.strictEqual(closed.reason, "closed")
          assert.deepStrictEqual((yield* read).map(({ record }) => record), [turnEnded(1)])
        }).pipe(Effect.scoped, Effect.provide(SqlJournal.layerSqlite({ filename, lockWait: "300 millis" })))
      }).pipe(Effect.scoped),
    30_000
  )

  it.skipIf(!straces)("syncs once for a commit, and not for an append", async () => {
    const counts = await Effect.runPromise(
      Effect.gen(function*() {
        const filename = yield* temporaryFile
        const syncs = (lines: ReadonlyArray<"append" | "commit" | "barrier">) =>
          Effect.gen(function*() {
            const trace = `${path.dirname(filename)}.trace`
            const child = yield* start({
              mode: "follow",
              filename,
              under: [tracer, "-f", "-o", trace, "-e", "trace=fsync,fdatasync,write"]
            })
            yield* child.next
            const before = count(trace)
            for (const line of lines) {
              yield* child.send(line)
              yield* child.next
            }
            const after = count(trace)
            yield* child.send("close")
            yield* child.ended
            fs.rmSync(trace)
            return after - before
          }).pipe(Effect.scoped)
        return [
          yield* syncs(["append", "append", "append", "append"]),
          yield* syncs(["commit", "commit", "commit"]),
          yield* syncs(["append", "append", "barrier", "barrier", "append", "barrier"]),
          yield* syncs(["append", "commit", "append"])
        ]
      }).pipe(Effect.scoped)
    )
    assert.deepStrictEqual(counts, [0, 3, 2, 1])
  }, 60_000)
})

/** How often a file was synced, up to what the child has said last. */
const count = (trace: string) =>
  fs.readFileSync(trace, "utf8").split("\n").filter((line) => /\bf(data)?sync\(/.test(line)).length
