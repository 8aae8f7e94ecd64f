/**
 * What every journal has to do, as tests: the memory one, SQLite and Postgres give the same answers.
 *
 * @since 0.1.0
 */
import { Journal, type JournalRow } from "@capstan/core/Journal"
import type { JournalRecord } from "@capstan/core/JournalRecord"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"

/**
 * The beginning of a turn, for tests that need a record with a message.
 *
 * @since 0.1.0
 * @category constructors
 */
export const turnStarted = (turn: number, message: string): JournalRecord => ({
  _tag: "TurnStarted",
  turn,
  content: [{ type: "text", text: message }],
  provider: "test",
  model: "test-model",
  user: null,
  parent: null,
  instructionsHash: ""
})

/**
 * The end of a turn, for tests that need a small record.
 *
 * @since 0.1.0
 * @category constructors
 */
export const turnEnded = (turn: number): JournalRecord => ({
  _tag: "TurnEnded",
  turn,
  end: "answered",
  reason: null,
  millis: 0
})

/**
 * Any record that a loop could write, with texts and arguments that are hard to store.
 *
 * @since 0.1.0
 * @category constructors
 */
export const records: FastCheck.Arbitrary<JournalRecord> = FastCheck.oneof(
  FastCheck.tuple(FastCheck.nat(), hardText()).map(([turn, text]) => turnStarted(turn, text)),
  FastCheck.nat().map(turnEnded),
  FastCheck.tuple(ref(), hardText(), json()).map(([ref, text, value]): JournalRecord => ({
    _tag: "CallReceived",
    ref,
    call: { id: text, name: "read_file", raw: text, arguments: { value }, repairs: [{ kind: "quote", detail: text }] }
  })),
  FastCheck.tuple(ref(), hardText(), json()).map(([ref, text, structured]): JournalRecord => ({
    _tag: "Settled",
    ref,
    outcome: { _tag: "Succeeded", content: [{ type: "text", text }], structured },
    note: text,
    reads: [{ path: text, sha256: "00", lines: [[1, 2]] }],
    written: 12,
    durationMillis: 12.5
  })),
  FastCheck.tuple(ref(), hardText()).map(([ref, text]): JournalRecord => ({
    _tag: "Settled",
    ref,
    outcome: {
      _tag: "Denied",
      failure: {
        _tag: "Permission",
        message: text,
        suggestedFix: null,
        details: { kind: "denied", attempted: text, resolved: null, pattern: null }
      },
      reason: text
    },
    note: null,
    reads: [],
    written: 0,
    durationMillis: 0
  })),
  FastCheck.tuple(FastCheck.nat(), hardText()).map(([turn, text]): JournalRecord => ({
    _tag: "Responded",
    turn,
    iteration: 1,
    parts: [
      { type: "text", text },
      { type: "reasoning", provider: "test", text, data: text },
      { type: "call", position: 0 }
    ],
    finish: "tool-calls",
    usage: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
    prices: null,
    millis: 12.5
  })),
  FastCheck.tuple(ref(), hardText()).map(([ref, text]): JournalRecord => ({
    _tag: "Intent",
    ref,
    tool: text,
    safety: "read-only",
    at: 1_700_000_000_000,
    argumentsHash: text,
    edited: null,
    repairs: [],
    polls: false
  })),
  FastCheck.tuple(FastCheck.nat(), hardText()).map(([turn, text]): JournalRecord => ({
    _tag: "BudgetReached",
    turn,
    budget: "tokens",
    message: text
  })),
  hardText().map((text): JournalRecord => ({
    _tag: "ChildSpent",
    session: text,
    spent: {
      usage: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
      cost: null,
      calls: 3,
      millis: 4
    }
  })),
  hardText().map((text): JournalRecord => ({
    _tag: "Shortened",
    results: [{ id: text, handle: "output:0.0.0", bytes: 1 }]
  })),
  FastCheck.tuple(FastCheck.nat(), hardText()).map(([turn, text]): JournalRecord => ({
    _tag: "Compacted",
    turn,
    summary: text,
    kept: 1,
    usage: null,
    prices: null
  }))
)

function hardText(): FastCheck.Arbitrary<string> {
  return FastCheck.oneof(
    FastCheck.string({ unit: "binary" }),
    FastCheck.constantFrom("", "\u0000", "\ud800", "a\nb\r\n", "'; drop table x; --", "👩‍👩‍👧", "\\u0000", "é".repeat(5000))
  )
}

function json(): FastCheck.Arbitrary<unknown> {
  return FastCheck.jsonValue().map((value): unknown => JSON.parse(JSON.stringify(value)))
}

function ref() {
  return FastCheck.record({ turn: FastCheck.nat(), iteration: FastCheck.nat(), position: FastCheck.nat() })
}

const project = "/project"

const recordsOf = (rows: ReadonlyArray<JournalRow>) => rows.map((row) => row.record)

const open = (session: string, within = project) =>
  Effect.flatMap(Journal, (journal) => journal.open({ session, project: within }))

/**
 * Registers the tests under `name`. The layer is built anew for each of them and starts empty.
 *
 * @since 0.1.0
 * @category combinators
 */
export const suite = <E>({ layer, name }: {
  readonly name: string
  readonly layer: Layer.Layer<Journal, E>
}): void => {
  describe(`${name} is a journal`, () => {
    it.effect("numbers rows from 1 and keeps their time and order", () =>
      Effect.gen(function*() {
        const session = yield* open("a")
        assert.deepStrictEqual(yield* session.rows({ after: 0 }), [])
        yield* session.append([turnStarted(1, "one"), turnEnded(1)])
        yield* TestClock.adjust("5 seconds")
        yield* session.commit([turnStarted(2, "two")])
        assert.deepStrictEqual(yield* session.rows({ after: 0 }), [
          { seq: 1, at: 0, record: turnStarted(1, "one") },
          { seq: 2, at: 0, record: turnEnded(1) },
          { seq: 3, at: 5000, record: turnStarted(2, "two") }
        ])
        assert.deepStrictEqual(recordsOf(yield* session.rows({ after: 2 })), [turnStarted(2, "two")])
        assert.deepStrictEqual(yield* session.rows({ after: 3 }), [])
      }).pipe(Effect.scoped, Effect.provide(layer)))

    it.effect.prop(
      "gives back what was written, however it was divided",
      [FastCheck.array(FastCheck.tuple(FastCheck.array(records, { maxLength: 4 }), FastCheck.boolean()), {
        maxLength: 6
      })],
      ([batches]) =>
        Effect.gen(function*() {
          const journal = yield* Journal
          yield* Effect.scoped(Effect.gen(function*() {
            const session = yield* open("a")
            for (const [batch, durable] of batches) {
              yield* durable ? session.commit(batch) : session.append(batch)
            }
          }))
          const rows = yield* journal.read({ session: "a" })
          assert.deepStrictEqual(recordsOf(rows), batches.flatMap(([batch]) => batch))
          assert.deepStrictEqual(rows.map((row) => row.seq), rows.map((_, index) => index + 1))
        }).pipe(Effect.provide(layer)),
      { fastCheck: { numRuns: 15 } }
    )

    it.effect("takes empty batches and adds nothing", () =>
      Effect.gen(function*() {
        const session = yield* open("a")
        yield* session.commit([])
        yield* session.append([])
        yield* session.append([turnEnded(1)])
        yield* session.commit([])
        yield* session.commit([])
        assert.deepStrictEqual(recordsOf(yield* session.rows({ after: 0 })), [turnEnded(1)])
      }).pipe(Effect.scoped, Effect.provide(layer)))

    it.effect("refuses a second opening until the first is closed, and keeps epoch and rows", () =>
      Effect.gen(function*() {
        yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* open("a")
          assert.strictEqual(session.epoch, 1)
          yield* session.append([turnEnded(1)])
          const error = yield* Effect.flip(Effect.scoped(open("a")))
          assert.strictEqual(error._tag, "LeaseError")
          assert.strictEqual(error.reason, "held")
          yield* session.append([turnEnded(2)])
        }))
        yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* open("a")
          assert.strictEqual(session.epoch, 1)
          yield* session.append([turnEnded(3)])
          assert.deepStrictEqual(recordsOf(yield* session.rows({ after: 0 })), [1, 2, 3].map(turnEnded))
        }))
      }).pipe(Effect.provide(layer)))

    it.effect("gives a session back when its owner is interrupted", () =>
      Effect.gen(function*() {
        const opened = yield* Deferred.make<void>()
        const owner = yield* open("a").pipe(
          Effect.zipRight(Deferred.succeed(opened, undefined)),
          Effect.zipRight(Effect.never),
          Effect.scoped,
          Effect.fork
        )
        yield* Deferred.await(opened)
        yield* Fiber.interrupt(owner)
        const session = yield* Effect.scoped(open("a"))
        assert.strictEqual(session.id, "a")
      }).pipe(Effect.provide(layer)))

    it.effect("keeps batches whole when fibers write at once", () =>
      Effect.gen(function*() {
        const session = yield* open("a")
        const turns = Array.from({ length: 20 }, (_, turn) => turn)
        yield* Effect.forEach(
          turns,
          (turn) => (turn % 2 === 0 ? session.append : session.commit)([turnStarted(turn, "m"), turnEnded(turn)]),
          { concurrency: "unbounded", discard: true }
        )
        const written = recordsOf(yield* session.rows({ after: 0 }))
        assert.strictEqual(written.length, 40)
        const begun = written.filter((_, index) => index % 2 === 0).map((
          record
        ) => ("turn" in record ? record.turn : -1))
        assert.deepStrictEqual(written, begun.flatMap((turn) => [turnStarted(turn, "m"), turnEnded(turn)]))
        assert.sameMembers(begun, turns)
      }).pipe(Effect.scoped, Effect.provide(layer)))

    it.effect("keeps sessions apart", () =>
      Effect.gen(function*() {
        const a = yield* open("a")
        const b = yield* open("b")
        yield* a.append([turnEnded(1)])
        yield* b.append([turnEnded(2), turnEnded(3)])
        yield* a.append([turnEnded(4)])
        assert.deepStrictEqual(recordsOf(yield* a.rows({ after: 0 })), [1, 4].map(turnEnded))
        assert.deepStrictEqual(recordsOf(yield* b.rows({ after: 0 })), [2, 3].map(turnEnded))
      }).pipe(Effect.scoped, Effect.provide(layer)))

    it.effect("reads a session that somebody has open, and says when there is none", () =>
      Effect.gen(function*() {
        const journal = yield* Journal
        const missing = yield* Effect.flip(journal.read({ session: "a" }))
        assert.strictEqual(missing.reason, "not-found")
        const session = yield* open("a")
        yield* session.append([turnEnded(1)])
        assert.deepStrictEqual(recordsOf(yield* journal.read({ session: "a" })), [turnEnded(1)])
      }).pipe(Effect.scoped, Effect.provide(layer)))

    it.effect("lists sessions with the latest first, of one project or of all", () =>
      Effect.gen(function*() {
        const journal = yield* Journal
        const write = (id: string, within: string, batch: ReadonlyArray<JournalRecord>) =>
          TestClock.adjust("1 second").pipe(
            Effect.zipRight(open(id, within)),
            Effect.flatMap((session) => session.commit(batch)),
            Effect.scoped
          )
        assert.deepStrictEqual(yield* journal.sessions({ project: undefined }), [])
        yield* write("a", "/one", [turnStarted(1, "first\n message"), turnEnded(1)])
        yield* write("b", "/two", [])
        yield* write("c", "/one", [turnStarted(1, "x".repeat(100))])
        yield* write("a", "/one", [turnStarted(2, "second message")])
        const at = (created: number, updated: number) => ({ created, updated, isOpen: false })
        const a = {
          ...at(1000, 4000),
          id: "a",
          project: "/one",
          title: "first message",
          records: 3,
          last: turnStarted(2, "second message")
        }
        const b = { ...at(2000, 2000), id: "b", project: "/two", title: "", records: 0, last: null }
        const c = {
          ...at(3000, 3000),
          id: "c",
          project: "/one",
          title: `${"x".repeat(79)}…`,
          records: 1,
          last: turnStarted(1, "x".repeat(100))
        }
        assert.deepStrictEqual(yield* journal.sessions({ project: undefined }), [a, c, b])
        assert.deepStrictEqual(yield* journal.sessions({ project: "/one" }), [a, c])
        assert.deepStrictEqual(yield* journal.sessions({ project: "/nowhere" }), [])
        const driven = (yield* Effect.scoped(Effect.zipRight(open("b", "/two"), journal.sessions({ project: "/two" }))))
          .at(0)
        assert.strictEqual(driven?.isOpen, true)
      }).pipe(Effect.provide(layer)))

    it.effect("makes the same fingerprint of the same text only", () =>
      Effect.gen(function*() {
        const journal = yield* Journal
        assert.strictEqual(journal.fingerprint("a"), journal.fingerprint("a"))
        assert.notStrictEqual(journal.fingerprint("a"), journal.fingerprint("b"))
      }).pipe(Effect.provide(layer)))
  })
}
