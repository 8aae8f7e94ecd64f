import { Journal, type JournalRecord } from "@capstan/core"
import { SqliteFile, SqlJournal } from "@capstan/sql"
import * as JournalConformance from "@capstan/testing/JournalConformance"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { asElsewhere, change } from "./database.js"
import { temporaryFile, temporaryFolder } from "./folders.js"

const { turnEnded, turnStarted } = JournalConformance

const open = (session = "a") =>
  Effect.flatMap(Journal.Journal, (journal) => journal.open({ session, project: "/project" }))

const use = (filename: string) => <A, E>(effect: Effect.Effect<A, E, Journal.Journal | Scope.Scope>) =>
  effect.pipe(Effect.scoped, Effect.provide(SqlJournal.layerSqlite({ filename })))

/** A session of three rows in a file. */
const written = Effect.gen(function*() {
  const filename = yield* temporaryFile
  const batch = [turnStarted(1, "hello"), turnEnded(1), turnEnded(2)]
  yield* Effect.flatMap(open(), (session) => session.commit(batch)).pipe(use(filename))
  return filename
})

const breaks = (filename: string) =>
  SqlJournal.verify({ session: "a" }).pipe(Effect.provide(SqliteFile.layer({ filename })))

/** A payload that is stored as it is, as an SQL literal. */
const plain = (json: string) => `x'00${Buffer.from(json).toString("hex")}'`

/** The first record of {@link iterationOf} as it was stored when the journal was new: it has to stay readable. */
const fromVersion1 =
  "01a334ac124d122b93e32d0ce2fddd53124d9cfce30df3e3c30c524b880dc3e2a264fdccbc94d40abd92e218a55a1c418aac" +
  "0a237801"

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

const raw = JSON.stringify({ path: "src/index.ts" })
const said = raw.length * 2 + "I will read it.".length + "export {}".length

/** One response with one call and its result. */
const iterationOf = (iteration: number): ReadonlyArray<JournalRecord.JournalRecord> => {
  const ref = { turn: 1, iteration, position: 0 }
  return [
    {
      _tag: "CallReceived",
      ref,
      call: {
        id: `call_${createHash("sha256").update(String(iteration)).digest("base64url").slice(0, 24)}`,
        name: "read_file",
        raw,
        arguments: { path: "src/index.ts" },
        repairs: []
      }
    },
    {
      _tag: "Responded",
      turn: 1,
      iteration,
      parts: [{ type: "text", text: "I will read it." }, { type: "call", position: 0 }],
      finish: "tool-calls",
      usage: { input: 12345, output: 123, cacheRead: 12000, cacheWrite: 0, reasoning: 0 },
      prices: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, source: "catalogue" },
      millis: 1234
    },
    { _tag: "Planned", turn: 1, iteration, refused: [], asked: [], stages: [[0]] },
    {
      _tag: "Intent",
      ref,
      tool: "read_file",
      safety: "read-only",
      polls: false,
      at: 1_700_000_000_000,
      argumentsHash: createHash("sha256").update(String(iteration)).digest("hex"),
      edited: null,
      repairs: []
    },
    {
      _tag: "Settled",
      ref,
      outcome: { _tag: "Succeeded", content: [{ type: "text", text: "export {}" }] },
      note: null,
      reads: [],
      written: 0,
      durationMillis: 12
    }
  ]
}

describe("a journal that is damaged", () => {
  it.effect("shows which row was changed, removed, moved, added or cut off", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string, ReadonlyArray<{ readonly kind: string; readonly seq: number }>]> = [
        ["select 1", []],
        [`update capstan_journal set payload = ${plain("{\"turn\":7}")} where seq = 1`, [{ kind: "changed", seq: 1 }]],
        ["update capstan_journal set at = at + 1 where seq = 2", [{ kind: "changed", seq: 2 }]],
        ["update capstan_journal set kind = 'Voided' where seq = 3", [{ kind: "changed", seq: 3 }]],
        ["delete from capstan_journal where seq = 2", [{ kind: "removed", seq: 2 }]],
        ["delete from capstan_journal where seq = 1", [{ kind: "removed", seq: 1 }]],
        ["delete from capstan_journal where seq = 3", [{ kind: "cut-off", seq: 3 }]],
        ["delete from capstan_journal", [{ kind: "cut-off", seq: 1 }]],
        [
          `update capstan_journal set seq = 9 where seq = 2; update capstan_journal set seq = 2 where seq = 3;
           update capstan_journal set seq = 3 where seq = 9`,
          [{ kind: "changed", seq: 2 }, { kind: "changed", seq: 3 }]
        ],
        ["update capstan_session set head = zeroblob(32)", [{ kind: "changed", seq: 3 }]],
        [
          `drop trigger capstan_journal_head;
           insert into capstan_journal select session, 4, at, version, kind, payload, hash from capstan_journal where seq = 3`,
          [{ kind: "added", seq: 4 }]
        ]
      ]
      for (const [statements, expected] of cases) {
        const filename = yield* written
        yield* change(filename, statements)
        assert.deepStrictEqual(yield* breaks(filename), expected, statements)
      }
    }).pipe(Effect.scoped))

  it.effect("is verified for sessions that exist, also empty ones", () =>
    Effect.gen(function*() {
      const filename = yield* temporaryFile
      yield* use(filename)(open())
      assert.deepStrictEqual(yield* breaks(filename), [])
      const error = yield* Effect.flip(
        SqlJournal.verify({ session: "b" }).pipe(Effect.provide(SqliteFile.layer({ filename })))
      )
      assert.strictEqual(error._tag === "JournalError" && error.reason, "not-found")
    }).pipe(Effect.scoped))

  it.effect("names the row that cannot be read, and leaves the others readable", () =>
    Effect.gen(function*() {
      const broken = [plain("{"), plain("[]"), plain("{\"turn\":\"one\"}"), "x''", "x'01ff'", "x'02'", "'text'", "7"]
      for (const payload of broken) {
        const filename = yield* written
        yield* change(filename, `update capstan_journal set payload = ${payload} where seq = 2`)
        yield* Effect.gen(function*() {
          const journal = yield* Journal.Journal
          const error = yield* Effect.flip(journal.read({ session: "a" }))
          assert.strictEqual(error.reason, "corrupt")
          assert.include(error.message, "Record 2 of session a")
          const session = yield* open()
          assert.strictEqual((yield* session.rows({ after: 2 })).length, 1)
        }).pipe(use(filename))
      }
    }).pipe(Effect.scoped))

  it.effect("ignores fields that it does not know", () =>
    Effect.gen(function*() {
      const filename = yield* written
      const later = plain(JSON.stringify({ ...turnEnded(1), later: 1 }))
      yield* change(filename, `update capstan_journal set payload = ${later} where seq = 2`)
      const rows = yield* use(filename)(Effect.flatMap(Journal.Journal, (journal) => journal.read({ session: "a" })))
      assert.deepStrictEqual(rows[1]?.record, turnEnded(1))
    }).pipe(Effect.scoped))

  it.effect("is read as it was written by the first version", () =>
    Effect.gen(function*() {
      const filename = yield* written
      yield* change(
        filename,
        `update capstan_journal set kind = 'CallReceived', payload = x'${fromVersion1}' where seq = 2`
      )
      const rows = yield* use(filename)(Effect.flatMap(Journal.Journal, (journal) => journal.read({ session: "a" })))
      assert.deepStrictEqual(rows[1]?.record, iterationOf(1)[0])
    }).pipe(Effect.scoped))

  it.effect("is called corrupt when the file is not a database, and is left as it is", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const filename = path.join(folder, "journal.db")
      const content = "this is not a database, it only looks like one".repeat(100)
      fs.writeFileSync(filename, content)
      const error = yield* Effect.flip(use(filename)(open()))
      assert.strictEqual(error.reason, "corrupt")
      assert.include(error.message, "backup")
      assert.strictEqual(fs.readFileSync(filename, "utf8"), content)
    }).pipe(Effect.scoped))

  it.effect("is called corrupt when a page is overwritten", () =>
    Effect.gen(function*() {
      const filename = yield* written
      const size = fs.statSync(filename).size
      const file = fs.openSync(filename, "r+")
      fs.writeSync(file, Buffer.alloc(size - 4096, 0xa5), 0, size - 4096, 4096)
      fs.closeSync(file)
      const error = yield* Effect.flip(use(filename)(open()))
      assert.strictEqual(error.reason, "corrupt")
    }).pipe(Effect.scoped))

  it.effect("is called corrupt when its fingerprint key is gone", () =>
    Effect.gen(function*() {
      const filename = yield* written
      yield* change(filename, "delete from capstan_meta where key = 'fingerprint'")
      const error = yield* Effect.flip(use(filename)(open()))
      assert.strictEqual(error.reason, "corrupt")
    }).pipe(Effect.scoped))
})

describe("a journal of a newer version", () => {
  it.effect("is refused whole when its tables are newer", () =>
    Effect.gen(function*() {
      const filename = yield* written
      yield* change(filename, "update capstan_meta set value = '2' where key = 'schema'; drop table capstan_journal")
      const before = fs.readFileSync(filename)
      const error = yield* Effect.flip(use(filename)(open()))
      assert.strictEqual(error.reason, "newer")
      assert.isTrue(before.equals(fs.readFileSync(filename)))
    }).pipe(Effect.scoped))

  it.effect("is refused by session when its records are newer", () =>
    Effect.gen(function*() {
      const filename = yield* written
      yield* change(
        filename,
        "update capstan_journal set version = 2 where seq = 3; update capstan_session set version = 2"
      )
      yield* Effect.gen(function*() {
        const journal = yield* Journal.Journal
        assert.strictEqual((yield* Effect.flip(Effect.scoped(open()))).reason, "newer")
        assert.strictEqual((yield* Effect.flip(journal.read({ session: "a" }))).reason, "newer")
        yield* open("b")
      }).pipe(use(filename))
    }).pipe(Effect.scoped))
})

describe("a lease", () => {
  it.effect("of a dead process on this host is taken at once, with a new epoch", () =>
    Effect.gen(function*() {
      const dead = spawnSync("true").pid
      for (const property of [`'$.pid', ${dead}`, "'$.start', '1'", "'$.boot', 'an earlier one'"]) {
        const filename = yield* written
        yield* Effect.gen(function*() {
          const before = yield* open()
          yield* change(filename, `update capstan_session set owner = json_set(owner, ${property})`)
          const after = yield* open()
          assert.deepStrictEqual([before.epoch, after.epoch], [1, 2], property)
          const lost = yield* Effect.flip(before.append([turnEnded(3)]))
          assert.strictEqual(lost.reason, "lost")
          yield* after.append([turnEnded(3)])
        }).pipe(use(filename))
      }
    }).pipe(Effect.scoped))

  it.effect("of an owner elsewhere is taken after its heartbeat has run out", () =>
    Effect.gen(function*() {
      const filename = yield* written
      yield* Effect.gen(function*() {
        yield* open()
        yield* asElsewhere(filename, 0)
        yield* TestClock.setTime(29_000)
        yield* asElsewhere(filename, 0)
        const held = yield* Effect.flip(Effect.scoped(open()))
        assert.strictEqual(held.reason, "held")
        assert.include(held.message, "29 s ago")
        yield* TestClock.setTime(31_000)
        yield* asElsewhere(filename, 0)
        const session = yield* open()
        assert.strictEqual(session.epoch, 2)
      }).pipe(use(filename))
    }).pipe(Effect.scoped))

  it.effect("of another process namespace, or one that cannot be read, is judged by its heartbeat", () =>
    Effect.gen(function*() {
      for (const owner of ["json_set(owner, '$.space', 'pid:[1]', '$.pid', 1)", "'something else'"]) {
        const filename = yield* written
        yield* Effect.gen(function*() {
          yield* open()
          yield* change(filename, `update capstan_session set owner = ${owner}`)
          const held = yield* Effect.flip(Effect.scoped(open()))
          assert.strictEqual(held.reason, "held")
        }).pipe(use(filename))
      }
    }).pipe(Effect.scoped))

  it.effect("is kept alive while the session is open", () =>
    Effect.gen(function*() {
      const filename = yield* written
      yield* Effect.gen(function*() {
        yield* open()
        yield* TestClock.adjust("5 minutes")
        const held = yield* Effect.flip(Effect.scoped(open()))
        assert.strictEqual(held.reason, "held")
        assert.include(held.message, "this process")
      }).pipe(use(filename))
    }).pipe(Effect.scoped))

  it.effect("that this process could not give back is taken when it has gone quiet", () =>
    Effect.gen(function*() {
      const filename = yield* written
      yield* Effect.gen(function*() {
        yield* open()
        yield* TestClock.adjust("5 minutes")
        yield* change(filename, "update capstan_session set beat = 0")
        assert.strictEqual((yield* open()).epoch, 2)
      }).pipe(use(filename))
    }).pipe(Effect.scoped))

  it.effect("ends with its scope: what is left of the session writes nothing", () =>
    Effect.gen(function*() {
      const filename = yield* written
      yield* Effect.gen(function*() {
        const scope = yield* Scope.make()
        const session = yield* Scope.extend(open(), scope)
        yield* Scope.close(scope, Exit.void)
        const error = yield* Effect.flip(session.append([turnEnded(9)]))
        assert.strictEqual(error.reason, "closed")
      }).pipe(use(filename))
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
