import * as JournalConformance from "@capstan/testing/JournalConformance"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { spawnSync } from "node:child_process"
import { asElsewhere, change } from "./database.js"
import { open, use, written } from "./journals.js"

const { turnEnded } = JournalConformance

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
