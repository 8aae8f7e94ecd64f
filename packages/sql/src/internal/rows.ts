import { JournalError, type JournalRow } from "@capstan/core/Journal"
import { JournalRecord, version } from "@capstan/core/JournalRecord"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as HashChain from "../HashChain.js"
import { pack, unpack } from "./payload.js"

/** A row as the client gives it: Postgres gives its big integers as text. */
export interface StoredRow {
  readonly seq: number | string
  readonly at: number | string
  readonly version: number
  readonly kind: string
  readonly payload: Uint8Array
}

const decode = Schema.decodeUnknown(JournalRecord)
const parse = Schema.decodeUnknown(Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown })))

/** The record of a row. Fields that this version does not know are left out. */
export const toRow = (session: string) => (row: StoredRow): Effect.Effect<JournalRow, JournalError> =>
  row.version > version
    ? tooNew(session, row.version)
    : unpack(row.payload).pipe(
      Effect.flatMap(parse),
      Effect.flatMap((fields) => decode({ ...fields, _tag: row.kind })),
      Effect.mapBoth({
        onSuccess: (record) => ({ seq: Number(row.seq), at: Number(row.at), record }),
        onFailure: (cause) =>
          new JournalError({
            reason: "corrupt",
            message: `Record ${row.seq} of session ${session} cannot be read. ` +
              "The other sessions are not affected; restore the journal from a backup to get this one back.",
            cause
          })
      })
    )

/** The session holds records of a version that this program does not know. */
export const tooNew = (session: string, found: number): JournalError =>
  new JournalError({
    reason: "newer",
    message: `Session ${session} was written by a newer version (records ${found}, this program knows ${version}). ` +
      "It was left as it is: update the program to go on with it."
  })

/**
 * The rows that `records` become behind row `seq` with hash `head`. A record is its own encoded form, which the compiler
 * holds to here: encoding it through the schema would take longer than writing it.
 */
export const chain = (
  records: ReadonlyArray<JournalRecord>,
  { at, head, seq }: { readonly at: number; readonly head: Uint8Array; readonly seq: number }
): ReadonlyArray<HashChain.StoredLink> => {
  let previous = head
  return records.map((record, index) => {
    const { _tag: kind, ...fields }: typeof JournalRecord.Encoded = record
    const link = { seq: seq + index + 1, at, version, kind, payload: pack(JSON.stringify(fields)) }
    previous = HashChain.hash(previous, link)
    return { ...link, hash: previous }
  })
}
