// @ts-check
import Database from "better-sqlite3"

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
