import { PostgresServer } from "@capstan/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

const { missing, start } = PostgresServer
if (missing !== undefined) process.stderr.write(`${missing}\n`)

const folderOf = (url: string) => new URL(url).searchParams.get("host") ?? ""

/** Processes whose arguments name the folder. */
const using = (folder: string) =>
  execFileSync("ps", ["-eo", "user=,args="], { encoding: "utf8" }).split("\n")
    .filter((line) => line.includes(folder) && line.includes("postgres -D"))

describe("a Postgres for tests", () => {
  it.live.skipIf(missing !== undefined)(
    "runs as an ordinary user and is gone with the scope, its folder too",
    () =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const server = yield* Scope.extend(start(), scope)
        const [one, two] = yield* Effect.all([server.database, server.database], { concurrency: 2 })
        assert.notStrictEqual(one, two)
        const folder = folderOf(one)
        assert.isNotEmpty(using(folder))
        assert.isEmpty(using(folder).filter((line) => line.startsWith("root ")))
        yield* Scope.close(scope, Exit.void)
        assert.isEmpty(using(folder))
        assert.isFalse(fs.existsSync(folder))
      }),
    60_000
  )

  it.live("says what is wrong when it cannot be started", () =>
    Effect.gen(function*() {
      const nowhere = yield* Effect.flip(Effect.scoped(start({ from: "/nowhere" })))
      assert.include(nowhere.message, "initdb")
      const from = fs.mkdtempSync(path.join(os.tmpdir(), "capstan-no-postgres-"))
      fs.chmodSync(from, 0o755)
      fs.writeFileSync(path.join(from, "initdb"), "#!/bin/sh\n", { mode: 0o755 })
      fs.writeFileSync(path.join(from, "postgres"), "#!/bin/sh\necho no port free >&2\nexit 1\n", { mode: 0o755 })
      const ended = yield* Effect.flip(Effect.scoped(start({ from })))
      assert.include(ended.message, "no port free")
      fs.rmSync(from, { recursive: true })
    }), 30_000)
})
