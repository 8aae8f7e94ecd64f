import { Journal } from "@capstan/core"
import { SqliteFile, SqlJournal } from "@capstan/sql"
import * as JournalConformance from "@capstan/testing/JournalConformance"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { change } from "./database.js"
import { temporaryFile, temporaryFolder } from "./folders.js"
import { breaks, iterationOf, open, use, written } from "./journals.js"

const { turnEnded } = JournalConformance

/** A payload that is stored as it is, as an SQL literal. */
const plain = (json: string) => `x'00${Buffer.from(json).toString("hex")}'`

/** The first record of {@link iterationOf} as it was stored when the journal was new: it has to stay readable. */
const fromVersion1 =
  "01a334ac124d122b93e32d0ce2fddd53124d9cfce30df3e3c30c524b880dc3e2a264fdccbc94d40abd92e218a55a1c418aac" +
  "0a237801"

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
      const broken = [
        plain("{"),
        plain("[]"),
        plain("{\"turn\":\"one\"}"),
        "x''",
        "x'01ff'",
        "x'02'",
        "x'021fff'",
        "x'03'",
        "'text'",
        "7"
      ]
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
