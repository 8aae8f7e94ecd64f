import type * as SqlClient from "@effect/sql/SqlClient"
import type { StoredLink } from "../HashChain.js"
import type { Lease } from "./lease.js"

/** What a connection takes. */
export interface Prepared {
  readonly text: string
  readonly parameters: ReadonlyArray<unknown>
}

/** The statements of a write. Each gives as many rows as it wrote, and none when the session is not ours any more. */
export interface Statements {
  /** Adds the rows behind row `after` and moves the head. */
  readonly insert: (lease: Lease, links: ReadonlyArray<StoredLink>, after: number) => Prepared
  /** A write without a record: it has to change something, or SQLite would write and sync nothing. */
  readonly barrier: (lease: Lease) => Prepared
  readonly entitle: (lease: Lease, title: string) => Prepared
}

/** Building and compiling a statement through the client takes longer than running it, so each text is made once. */
const byCount = (text: (count: number) => string): (count: number) => string => {
  const texts = new Map<number, string>()
  return (count) => {
    const known = texts.get(count)
    if (known !== undefined) return known
    const made = text(count)
    texts.set(count, made)
    return made
  }
}

const repeated = (count: number, text: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => text(index)).join(", ")

const valuesOf = (links: ReadonlyArray<StoredLink>): Array<unknown> => {
  const values: Array<unknown> = []
  for (const link of links) values.push(link.seq, link.at, link.version, link.kind, link.payload, link.hash)
  return values
}

const sqliteInsert = byCount((count) =>
  `insert into capstan_journal (session, seq, at, version, kind, payload, hash)
    select s.key, v.* from capstan_session s cross join (values ${repeated(count, () => "(?, ?, ?, ?, ?, ?)")}) as v
    where s.key = ? and s.epoch = ? and s.records = ? returning seq`
)

const sqlite: Statements = {
  insert: (lease, links, after) => ({
    text: sqliteInsert(links.length),
    parameters: [...valuesOf(links), lease.key, lease.epoch, after]
  }),
  barrier: (lease) => ({
    text: "update capstan_session set barriers = barriers + 1 where key = ? and epoch = ? returning key",
    parameters: [lease.key, lease.epoch]
  }),
  entitle: (lease, title) => ({
    text: "update capstan_session set title = ? where key = ? and epoch = ? and title is null returning key",
    parameters: [title, lease.key, lease.epoch]
  })
}

/** Updating first locks the session's row: a takeover is seen also when it commits in the meantime. */
const postgresInsert = byCount((count) =>
  `with mine as (
      update capstan_session set records = $1, head = $2, updated = $3, version = greatest(version, $4)
      where key = $5 and epoch = $6 and records = $7 returning key
    )
    insert into capstan_journal (session, seq, at, version, kind, payload, hash)
    select mine.key, v.* from mine cross join (values ${
    repeated(count, (index) =>
      `(${
        ["bigint", "bigint", "integer", "text", "bytea", "bytea"]
          .map((type, column) => `$${8 + index * 6 + column}::${type}`)
          .join(", ")
      })`)
  }) as v returning seq`
)

const postgres: Statements = {
  insert: (lease, links, after) => {
    const last = links.at(-1)
    return {
      text: postgresInsert(links.length),
      parameters: [last?.seq, last?.hash, last?.at, last?.version, lease.key, lease.epoch, after, ...valuesOf(links)]
    }
  },
  barrier: (lease) => ({
    text: "update capstan_session set barriers = barriers + 1 where key = $1 and epoch = $2 returning key",
    parameters: [lease.key, lease.epoch]
  }),
  // Postgres has no NUL in a text.
  entitle: (lease, title) => ({
    text: "update capstan_session set title = $1 where key = $2 and epoch = $3 and title is null returning key",
    parameters: [title.replaceAll("\u0000", ""), lease.key, lease.epoch]
  })
}

/** The statements in the client's language. */
export const statementsOf = (sql: SqlClient.SqlClient): Statements =>
  sql.onDialectOrElse({ pg: () => postgres, orElse: () => sqlite })
