import { ApprovalStore } from "@capstan/core"
import { SqlApprovalStore, SqliteFile } from "@capstan/sql"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { noPostgres, postgres, sqlite, type Store } from "./stores.js"

const ref = { turn: 1, iteration: 2, position: 3 }

const answer: ApprovalStore.StoredAnswer = {
  session: "a",
  ref,
  argumentsHash: "hash",
  answer: { _tag: "Edit", arguments: { text: "\u0000 and \ud800" } },
  by: "somebody",
  at: 1
}

const permission = { project: "/project", session: null, entry: "run_command(printf \u0000)", by: "somebody", at: 1 }

const suite = ({ fresh, name }: Store) => {
  describe(`approvals in ${name}`, () => {
    it.effect("are there when the database is opened again, and for others that have it open", () =>
      Effect.gen(function*() {
        const database = yield* fresh
        const id = yield* Effect.gen(function*() {
          const store = yield* ApprovalStore.ApprovalStore
          yield* store.answer(answer)
          return (yield* store.grant(permission)).id
        }).pipe(Effect.provide(database.layer()))
        const store = yield* ApprovalStore.ApprovalStore.pipe(Effect.provide(yield* Layer.build(database.layer())))
        const other = yield* ApprovalStore.ApprovalStore.pipe(Effect.provide(yield* Layer.build(database.layer())))
        assert.deepStrictEqual(yield* store.answers({ session: "a" }), [answer])
        assert.deepStrictEqual(yield* store.permissions({ project: undefined }), [{ id, ...permission }])
        yield* other.take({ session: "a", refs: [ref] })
        assert.isTrue(yield* other.revoke({ id }))
        assert.deepStrictEqual(yield* store.answers({ session: "a" }), [])
        assert.deepStrictEqual(yield* store.permissions({ project: undefined }), [])
      }).pipe(Effect.scoped))

    it.effect("have ids that can be typed, the same for the same permission, longer where two would be alike", () =>
      Effect.gen(function*() {
        const database = yield* fresh
        yield* Effect.gen(function*() {
          const store = yield* ApprovalStore.ApprovalStore
          const { id } = yield* store.grant(permission)
          assert.match(id, /^[0-9a-f]{6}$/)
          yield* store.revoke({ id })
          yield* store.grant({ ...permission, entry: "another" })
          yield* database.change(`update capstan_permission set id = '${id}'`)
          const longer = yield* store.grant(permission)
          assert.match(longer.id, new RegExp(`^${id}[0-9a-f]$`))
          assert.deepStrictEqual(yield* store.grant(permission), longer)
          assert.strictEqual((yield* store.permissions({ project: "/project" })).length, 2)
        }).pipe(Effect.provide(database.layer()))
      }).pipe(Effect.scoped))

    it.effect("that cannot be read, or that a newer version wrote, are told apart", () =>
      Effect.gen(function*() {
        const database = yield* fresh
        yield* Effect.gen(function*() {
          const store = yield* ApprovalStore.ApprovalStore
          yield* store.answer(answer)
          yield* store.grant(permission)
          const reasons = Effect.all([
            Effect.map(Effect.flip(store.answers({ session: "a" })), ({ reason }) => reason),
            Effect.map(Effect.flip(store.permissions({ project: "/project" })), ({ reason }) => reason)
          ])
          const everywhere = (set: string) =>
            Effect.zipRight(
              database.change(`update capstan_answer set ${set}`),
              database.change(`update capstan_permission set ${set}`)
            )
          yield* everywhere("value = '{'")
          assert.deepStrictEqual(yield* reasons, ["corrupt", "corrupt"])
          yield* everywhere("version = 2")
          assert.deepStrictEqual(yield* reasons, ["newer", "newer"])
          assert.deepStrictEqual(yield* store.answers({ session: "another" }), [])
        }).pipe(Effect.provide(database.layer()))
      }).pipe(Effect.scoped))

    it.effect("are refused whole when their tables are newer", () =>
      Effect.gen(function*() {
        const database = yield* fresh
        yield* Effect.provide(Effect.void, database.layer())
        yield* database.change("update capstan_meta set value = '2' where key = 'approvals'")
        const error = yield* Effect.flip(Effect.provide(Effect.void, database.layer()))
        assert.include(String(error), "update the program")
      }).pipe(Effect.scoped))
  })
}

suite(sqlite)

describe.skipIf(noPostgres !== undefined)("over a server", () => {
  suite(postgres())
})

describe("a store of approvals", () => {
  it.effect("needs no journal beside it", () =>
    Effect.gen(function*() {
      const store = yield* ApprovalStore.ApprovalStore
      yield* store.answer(answer)
      assert.deepStrictEqual(yield* store.answers({ session: "a" }), [answer])
      const sql = yield* SqlClient.SqlClient
      assert.deepStrictEqual(yield* sql`select name from sqlite_master where name = 'capstan_journal'`, [])
    }).pipe(
      Effect.provide(Layer.provideMerge(SqlApprovalStore.layer, SqliteFile.layer({ filename: ":memory:" })))
    ))
})
