// @ts-check
import { Journal } from "@capstan/core"
import { SqlJournal } from "@capstan/sql"
import { mkdtempSync, rmSync } from "node:fs"
import { cpus, tmpdir } from "node:os"
import { join } from "node:path"
import { commands } from "./commands.mjs"
import { floor } from "./effect.mjs"
import { files } from "./files.mjs"
import { databaseBytes, journalTurn, rawFloor } from "./journal.mjs"
import { contentBytes, perTurn } from "./loop.mjs"
import { ratio } from "./startup.mjs"

const folder = mkdtempSync(join(tmpdir(), "capstan-bench-"))
const row = (/** @type {ReadonlyArray<string>} */ ...cells) => console.log(`| ${cells.flat().join(" | ")} |`)
const ms = (/** @type {number} */ value) => `${value.toFixed(3)} ms`
const sizes = [100, 1000, 3000]

/** The best of some runs: what the code costs, without what the machine did meanwhile. */
const best = async (/** @type {number} */ runs, /** @type {() => Promise<number>} */ measure) => {
  const values = []
  for (let run = 0; run < runs; run++) values.push(await measure())
  return Math.min(...values)
}

try {
  console.log(`node ${process.version}, ${cpus().length} cores\n`)
  await perTurn(300, Journal.layerMemory)

  row(
    "turns of one session",
    "in memory, a turn",
    "a stream, a fiber and a timeout of Effect",
    "in memory / that",
    "durable, a turn",
    "raw floor (two fsynced inserts)",
    "durable / floor",
    "disk overhead a turn"
  )
  row(...Array.from({ length: 8 }, () => "---"))
  for (const turns of sizes) {
    const memory = await best(3, () => perTurn(turns, Journal.layerMemory))
    const least = await best(3, () => floor(turns))
    let run = 0
    const file = () => join(folder, `journal-${turns}-${run}.db`)
    const pairs = []
    for (; run < 3; run++) {
      pairs.push({
        floor: rawFloor(`${file()}.raw`, turns, 300),
        durable: await perTurn(turns, SqlJournal.layerSqlite({ filename: file() }))
      })
    }
    run = 0
    const [closest = { floor: 1, durable: 1 }] = pairs.sort((a, b) => a.durable / a.floor - b.durable / b.floor)
    const overhead = databaseBytes(file()) / turns - contentBytes(turns)
    row(
      String(turns),
      ms(memory),
      ms(least),
      (memory / least).toFixed(2),
      ms(closest.durable),
      ms(closest.floor),
      (closest.durable / closest.floor).toFixed(2),
      `${Math.round(overhead)} B`
    )
  }

  console.log()
  row("what a turn writes, without the loop", "journal", "raw floor", "ratio", "processor's time")
  row(...Array.from({ length: 5 }, () => "---"))
  await journalTurn(join(folder, "warm.db"), 1000)
  const writes = []
  for (let run = 0; run < 5; run++) {
    const raw = rawFloor(join(folder, `raw-${run}.db`), 1000, 300)
    writes.push({ raw, ...await journalTurn(join(folder, `writes-${run}.db`), 1000) })
  }
  const [fewest = { raw: 1, millis: 1, cpu: 1 }] = writes.sort((a, b) => a.millis / a.raw - b.millis / b.raw)
  row("1000 turns", ms(fewest.millis), ms(fewest.raw), (fewest.millis / fewest.raw).toFixed(2), ms(fewest.cpu))

  const before = process.memoryUsage().rss
  await perTurn(1000, Journal.layerMemory)
  console.log(
    `\nmemory: ${((process.memoryUsage().rss - before) / 1e6).toFixed(1)} MB more after another 1000 turns in memory`
  )

  console.log()
  const { decision, least, ratio: times, realpath, write } = await files(folder)
  row("files", "by hand", "capstan", "ratio")
  row(...Array.from({ length: 4 }, () => "---"))
  row(
    "decision about an existing path (by hand: realpath)",
    ms(realpath),
    ms(decision),
    (decision / realpath).toFixed(2)
  )
  row("atomic write of 4 KB (by hand: write, fsync, rename)", ms(least), ms(write), times.toFixed(2))

  console.log()
  row("a command (`true` in bash)", "median", "over a plain spawn", "ratio")
  row(...Array.from({ length: 4 }, () => "---"))
  const [plain, ...backends] = await commands(folder)
  for (const { millis, name, over } of [plain, ...backends].filter((one) => one !== undefined)) {
    row(name, ms(millis), ms(over), (millis / (plain?.millis ?? 1)).toFixed(2))
  }

  console.log()
  row("start-up", "bare node", "capstan", "ratio")
  row(...Array.from({ length: 4 }, () => "---"))
  for (const args of [["--version"], ["--help"]]) {
    const { capstan, node, ratio: factor } = ratio(args)
    row(`capstan ${args.join(" ")}`, ms(node), ms(capstan), factor.toFixed(2))
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
