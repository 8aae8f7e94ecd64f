import { Journal, type JournalRecord } from "@capstan/core"
import { SqliteFile, SqlJournal } from "@capstan/sql"
import * as JournalConformance from "@capstan/testing/JournalConformance"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { createHash } from "node:crypto"
import { temporaryFile } from "./folders.js"

const { turnEnded, turnStarted } = JournalConformance

export const open = (session = "a") =>
  Effect.flatMap(Journal.Journal, (journal) => journal.open({ session, project: "/project" }))

export const use = (filename: string) => <A, E>(effect: Effect.Effect<A, E, Journal.Journal | Scope.Scope>) =>
  effect.pipe(Effect.scoped, Effect.provide(SqlJournal.layerSqlite({ filename })))

/** A session of three rows in a file. */
export const written = Effect.gen(function*() {
  const filename = yield* temporaryFile
  const batch = [turnStarted(1, "hello"), turnEnded(1), turnEnded(2)]
  yield* Effect.flatMap(open(), (session) => session.commit(batch)).pipe(use(filename))
  return filename
})

export const breaks = (filename: string) =>
  SqlJournal.verify({ session: "a" }).pipe(Effect.provide(SqliteFile.layer({ filename })))

const raw = JSON.stringify({ path: "src/index.ts" })
/** Bytes of content in {@link iterationOf}. */
export const said = raw.length * 2 + "I will read it.".length + "export {}".length

/** One response with one call and its result. */
export const iterationOf = (iteration: number): ReadonlyArray<JournalRecord.JournalRecord> => {
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
