import { ApprovalStore, Journal } from "@capstan/core"
import { SqlJournal } from "@capstan/sql"
import * as ApprovalStoreConformance from "@capstan/testing/ApprovalStoreConformance"
import * as JournalConformance from "@capstan/testing/JournalConformance"
import { describe } from "@effect/vitest"
import * as Layer from "effect/Layer"
import { layerOf, noPostgres, postgres, sqlite } from "./stores.js"

const suites = <E>(name: string, layer: Layer.Layer<Journal.Journal | ApprovalStore.ApprovalStore, E>) => {
  JournalConformance.suite({ name, layer })
  ApprovalStoreConformance.suite({ name, layer })
}

suites("the memory", Layer.merge(Journal.layerMemory, ApprovalStore.layerMemory))

suites("SQLite in memory", SqlJournal.layerSqlite({ filename: ":memory:" }))

suites("SQLite in a file", layerOf(sqlite))

describe.skipIf(noPostgres !== undefined)("over a server", () => {
  suites("Postgres", layerOf(postgres()))
})
