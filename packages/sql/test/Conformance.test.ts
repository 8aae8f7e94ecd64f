import { Journal } from "@capstan/core"
import { SqlJournal } from "@capstan/sql"
import * as JournalConformance from "@capstan/testing/JournalConformance"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { temporaryFile } from "./folders.js"

JournalConformance.suite({ name: "the memory journal", layer: Journal.layerMemory })

JournalConformance.suite({ name: "SQLite in memory", layer: SqlJournal.layerSqlite({ filename: ":memory:" }) })

JournalConformance.suite({
  name: "SQLite in a file",
  layer: Layer.unwrapScoped(Effect.map(temporaryFile, (filename) => SqlJournal.layerSqlite({ filename })))
})
