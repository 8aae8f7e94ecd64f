import type { Tables } from "./tables.js"

const sqlite: ReadonlyArray<string> = [
  `create table if not exists capstan_answer (
    session text not null,
    turn integer not null,
    iteration integer not null,
    position integer not null,
    version integer not null,
    value text not null,
    primary key (session, turn, iteration, position)
  ) without rowid`,
  `create table if not exists capstan_permission (
    id text not null primary key,
    project text not null,
    at integer not null,
    version integer not null,
    value text not null
  ) without rowid`
]

const postgres: ReadonlyArray<string> = [
  `create table if not exists capstan_answer (
    session text not null,
    turn bigint not null,
    iteration bigint not null,
    position bigint not null,
    version integer not null,
    value text not null,
    primary key (session, turn, iteration, position)
  )`,
  `create table if not exists capstan_permission (
    id text not null primary key,
    project text not null,
    at bigint not null,
    version integer not null,
    value text not null
  )`
]

/** The tables of answers and permissions. */
export const approvalTables: Tables = { name: "approvals", migrations: [{ sqlite, postgres }], keys: [] }
