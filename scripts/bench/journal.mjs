// @ts-check
import { Journal } from "@capstan/core"
import { SqlJournal } from "@capstan/sql"
import Database from "better-sqlite3"
import { Effect } from "effect"

/**
 * Milliseconds of two fsynced inserts of rows of the given size: the least that a durable intent and a durable result cost.
 *
 * @param {string} file
 * @param {number} turns
 * @param {number} bytes
 */
export const rawFloor = (file, turns, bytes) => {
  const database = new Database(file)
  database.pragma("journal_mode = WAL")
  database.pragma("synchronous = FULL")
  database.exec("create table log (id integer primary key, payload text not null)")
  const insert = database.prepare("insert into log (payload) values (?)")
  const payload = "x".repeat(bytes)
  const begin = process.hrtime.bigint()
  for (let turn = 0; turn < turns; turn++) {
    insert.run(payload)
    insert.run(payload)
  }
  const millis = Number(process.hrtime.bigint() - begin) / 1e6
  database.close()
  return millis / turns
}

/** @type {(iteration: number) => [Record, Record, Record, Record, Record]} @typedef {import("@capstan/core").JournalRecord.JournalRecord} Record */
const recordsOf = (iteration) => {
  const ref = { turn: 1, iteration, position: 0 }
  const path = `src/file-${iteration}.ts`
  const raw = JSON.stringify({ path })
  const call = { id: `call_${iteration}`, name: "read_file", raw, arguments: { path }, repairs: [] }
  const usage = { input: 12_345, output: 123, cacheRead: 12_000, cacheWrite: 0, reasoning: 0 }
  const outcome = {
    _tag: /** @type {const} */ ("Succeeded"),
    content: [{ type: /** @type {const} */ ("text"), text: raw }]
  }
  return [
    { _tag: "CallReceived", ref, call },
    {
      _tag: "Responded",
      turn: 1,
      iteration,
      parts: [{ type: "call", position: 0 }],
      finish: "tool-calls",
      usage,
      prices: null,
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
      argumentsHash: "0".repeat(64),
      edited: null,
      repairs: []
    },
    { _tag: "Settled", ref, outcome, note: null, reads: [], written: 0, durationMillis: 12 }
  ]
}

/**
 * Milliseconds of what a turn writes, without the loop around it: the call as it arrives (not synced), response, plan and
 * intent in one commit, the result in another. `cpu` is the processor's time, which a busy machine does not stretch.
 *
 * @param {string} file
 * @param {number} turns
 */
export const journalTurn = (file, turns) =>
  Effect.runPromise(
    Effect.gen(function*() {
      const journal = yield* Journal.Journal
      const session = yield* journal.open({ session: "bench", project: "/" })
      const all = Array.from({ length: turns }, (_, iteration) => recordsOf(iteration))
      const begin = process.hrtime.bigint()
      const used = process.cpuUsage()
      for (const [received, responded, planned, intent, settled] of all) {
        yield* session.append([received])
        yield* session.commit([responded, planned, intent])
        yield* session.commit([settled])
      }
      const { system, user } = process.cpuUsage(used)
      return { millis: Number(process.hrtime.bigint() - begin) / 1e6 / turns, cpu: (user + system) / 1e3 / turns }
    }).pipe(Effect.scoped, Effect.provide(SqlJournal.layerSqlite({ filename: file })))
  )

/** Bytes that the tables of a database hold after its write-ahead log was folded in. */
export const databaseBytes = (/** @type {string} */ file) => {
  const database = new Database(file)
  database.pragma("wal_checkpoint(TRUNCATE)")
  const used = Number(database.pragma("page_count", { simple: true })) -
    Number(database.pragma("freelist_count", { simple: true }))
  const bytes = used * Number(database.pragma("page_size", { simple: true }))
  database.close()
  return bytes
}
