import { Journal } from "@capstan/core"
import { SqliteFile, SqlJournal } from "@capstan/sql"
import * as JournalConformance from "@capstan/testing/JournalConformance"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { temporaryFile, temporaryFolder } from "./folders.js"
import { breaks, iterationOf, open, said, use, written } from "./journals.js"

const { turnEnded, turnStarted } = JournalConformance

const modeOf = (file: string) => fs.statSync(file).mode & 0o777

describe("the files of a journal", () => {
  it.effect("are for their owner only, in a folder that is too", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      yield* Effect.gen(function*() {
        yield* open()
        assert.deepStrictEqual(
          [path.dirname(filename), filename, `${filename}-wal`, `${filename}-shm`].map(modeOf),
          [0o700, 0o600, 0o600, 0o600]
        )
      }).pipe(use(filename))
      fs.chmodSync(filename, 0o644)
      yield* use(filename)(Effect.void)
      assert.strictEqual(modeOf(filename), 0o600)
    }).pipe(Effect.scoped))

  it.effect("are synced at each commit, also after the first opening and after appends", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      const pragmas = Effect.gen(function*() {
        const session = yield* open()
        yield* session.append([turnEnded(1)])
        const sql = yield* SqlClient.SqlClient
        const [synchronous] = yield* sql<{ synchronous: number }>`pragma synchronous`
        const [mode] = yield* sql<{ journal_mode: string }>`pragma journal_mode`
        const [busy] = yield* sql<{ timeout: number }>`pragma busy_timeout`
        return { ...synchronous, ...mode, ...busy }
      }).pipe(
        Effect.scoped,
        Effect.provide(Layer.provideMerge(SqlJournal.layer, SqliteFile.layer({ filename })))
      )
      const expected = { synchronous: 2, journal_mode: "wal", timeout: 10 }
      assert.deepStrictEqual(yield* pragmas, expected)
      assert.deepStrictEqual(yield* pragmas, expected)
    }).pipe(Effect.scoped))

  it.effect("grow by less than 1 KB an iteration beyond what was said", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      const iterations = 500
      yield* Effect.gen(function*() {
        const session = yield* open()
        yield* session.commit([turnStarted(1, "hello")])
        for (let iteration = 1; iteration <= iterations; iteration++) yield* session.append(iterationOf(iteration))
      }).pipe(use(filename))
      const overhead = fs.statSync(filename).size / iterations - said
      process.stdout.write(`Overhead on disk: ${Math.round(overhead)} bytes an iteration.\n`)
      assert.isBelow(overhead, 1024)
    }).pipe(Effect.scoped))
})

const mounts = process.getuid?.() === 0 && (() => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "capstan-mount-"))
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]).status === 0
  if (mounted) spawnSync("umount", [folder])
  fs.rmdirSync(folder)
  return mounted
})()
if (!mounts) process.stderr.write("No test on a full disk: only root can mount one.\n")

/** A disk of one megabyte that is gone with the scope. */
const smallDisk = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "capstan-disk-"))
    spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder])
    return folder
  }),
  (folder) =>
    Effect.sync(() => {
      spawnSync("umount", [folder])
      fs.rmdirSync(folder)
    })
)

describe("a disk", () => {
  it.skipIf(!mounts)("that is full is told apart, and what was written is intact", () =>
    Effect.runPromise(
      Effect.gen(function*() {
        const filename = path.join(yield* smallDisk, "journal.db")
        const big = turnStarted(1, "x".repeat(50_000))
        const acknowledged = yield* Effect.gen(function*() {
          const session = yield* open()
          let count = 0
          const more = Effect.suspend(() => (count % 2 === 0 ? session.append : session.commit)([big])).pipe(
            Effect.map(() => {
              count += 1
            })
          )
          const error = yield* Effect.flip(Effect.forever(more))
          assert.strictEqual(error.reason, "full")
          assert.include(error.message, "free some space")
          assert.strictEqual((yield* Effect.flip(session.append([turnEnded(1)]))).reason, "closed")
          assert.strictEqual((yield* session.rows({ after: 0 })).length, count)
          return count
        }).pipe(use(filename))
        assert.isAbove(acknowledged, 3)
        assert.deepStrictEqual(yield* breaks(filename), [])
      }).pipe(Effect.scoped)
    ))

  it.effect("that has no room for another page is told apart, and what was written is intact", () =>
    Effect.gen(function*() {
      const filename = yield* written
      const journal = Layer.provideMerge(SqlJournal.layer, SqliteFile.layer({ filename }))
      yield* Effect.gen(function*() {
        const session = yield* open()
        const sql = yield* SqlClient.SqlClient
        const [pages] = yield* sql<{ page_count: number }>`pragma page_count`
        yield* sql.unsafe(`pragma max_page_count = ${pages?.page_count ?? 0}`)
        const error = yield* Effect.flip(session.commit([turnStarted(3, "x".repeat(50_000))]))
        assert.strictEqual(error.reason, "full")
        assert.strictEqual((yield* session.rows({ after: 0 })).length, 3)
        yield* sql`pragma max_page_count = 1000000`
      }).pipe(Effect.scoped, Effect.provide(journal))
      assert.deepStrictEqual(yield* breaks(filename), [])
      const more = Effect.flatMap(open(), (session) => session.commit([turnEnded(3)]))
      yield* use(filename)(more)
    }).pipe(Effect.scoped))

  it.effect("that may only be read is told apart", () =>
    Effect.gen(function*() {
      const filename = yield* written
      const journal = Layer.provideMerge(SqlJournal.layer, SqliteFile.layer({ filename }))
      yield* Effect.gen(function*() {
        const session = yield* open()
        const sql = yield* SqlClient.SqlClient
        yield* sql`pragma query_only = on`
        const error = yield* Effect.flip(session.commit([turnEnded(1)]))
        assert.strictEqual(error.reason, "unavailable")
        yield* sql`pragma query_only = off`
      }).pipe(Effect.scoped, Effect.provide(journal))
    }).pipe(Effect.scoped))

  it.effect("where nothing can be opened is told apart", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const file = path.join(folder, "file")
      fs.writeFileSync(file, "")
      for (const filename of [folder, path.join(file, "journal.db")]) {
        const error = yield* Effect.flip(use(filename)(open()))
        assert.strictEqual(error.reason, "unavailable")
        assert.include(error.message, "Check that its folder exists")
      }
    }).pipe(Effect.scoped))
})

describe("a fingerprint", () => {
  it.effect("is the same for as long as the journal lives, and another in another journal", () =>
    Effect.gen(function*() {
      const fingerprint = Effect.map(Journal.Journal, (journal) => journal.fingerprint("text"))
      const [one, two] = [yield* temporaryFile, yield* temporaryFile]
      const first = yield* use(one)(fingerprint)
      assert.match(first, /^[0-9a-f]{64}$/)
      assert.strictEqual(yield* use(one)(fingerprint), first)
      assert.notStrictEqual(yield* use(two)(fingerprint), first)
    }).pipe(Effect.scoped))
})
