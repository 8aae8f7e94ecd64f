import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { temporaryFolder } from "./folders.js"
import { buildChild, removeChild, start } from "./processes.js"
import * as sharing from "./sharing.js"
import { noPostgres, postgres, sqlite } from "./stores.js"

const tracer = "strace"
const straces = spawnSync(tracer, ["-f", "-e", "trace=fsync", "true"]).status === 0
if (!straces) process.stderr.write("Syncs are not counted: strace is missing or may not trace here.\n")

beforeAll(buildChild)
afterAll(removeChild)

sharing.suite(sqlite)

describe.skipIf(noPostgres !== undefined)("over a server", () => {
  sharing.suite(postgres())
})

describe("SQLite", () => {
  it.skipIf(!straces)("syncs once for a commit, and not for an append", async () => {
    const counts = await Effect.runPromise(
      Effect.gen(function*() {
        const { address } = yield* sqlite.fresh
        const trace = `${yield* temporaryFolder}/trace`
        const syncs = (lines: ReadonlyArray<"append" | "commit" | "barrier">) =>
          Effect.gen(function*() {
            const under = [tracer, "-f", "-o", trace, "-e", "trace=fsync,fdatasync,write"]
            const child = yield* start({ mode: "follow", address, under })
            yield* child.next
            const before = count(trace)
            for (const line of lines) {
              yield* child.send(line)
              yield* child.next
            }
            const after = count(trace)
            yield* child.send("close")
            yield* child.ended
            fs.rmSync(trace)
            return after - before
          }).pipe(Effect.scoped)
        return [
          yield* syncs(["append", "append", "append", "append"]),
          yield* syncs(["commit", "commit", "commit"]),
          yield* syncs(["append", "append", "barrier", "barrier", "append", "barrier"]),
          yield* syncs(["append", "commit", "append"])
        ]
      }).pipe(Effect.scoped)
    )
    assert.deepStrictEqual(counts, [0, 3, 2, 1])
  }, 60_000)
})

/** How often a file was synced, up to what the child has said last. */
const count = (trace: string) =>
  fs.readFileSync(trace, "utf8").split("\n").filter((line) => /\bf(data)?sync\(/.test(line)).length
