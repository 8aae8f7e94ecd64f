import { describe, expect, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { type Ended, type Folders, folders, run, script, start } from "./program.js"
import { eventually } from "./tmux.js"

const patient = { timeout: 60_000 }

const secret = "the whole content of the file"

const json = <A>({ stdout }: Ended): A => JSON.parse(stdout)

const done = (at: Folders) =>
  run(at, [
    "run",
    "write it",
    "--allow",
    "write_file",
    "--model",
    script(at, [
      { text: "I write it.", calls: [{ name: "write_file", arguments: { path: "a.txt", content: secret } }] },
      {
        calls: [{ name: "run_command", arguments: { command: "touch b" } }, { name: "raed_file", arguments: {} }],
        usage: { input: 900, output: 200, cacheRead: 0, cacheWrite: 0, reasoning: 0 }
      },
      { text: "The file is there." }
    ])
  ])

const database = (at: Folders) => new Database(path.join(at.data, "capstan", "capstan.db"))

describe("capstan audit", () => {
  it.scoped("lists each call with its decision and its outcome, without contents", () =>
    Effect.gen(function*() {
      const at = yield* folders
      expect((yield* run(at, ["audit"])).stderr).toMatch(/^No calls of .* yet\.\n$/)
      yield* done(at)
      const listed = yield* run(at, ["audit"])
      expect(listed.code).toBe(0)
      expect(listed.stdout).toMatch(/ 0\.0\.0 {2}write_file +allowed +✓ \d+ ms +path 7 B, content 31 B\n/)
      expect(listed.stdout).toMatch(/ 0\.1\.0 {2}run_command +denied \(policy\) +✗ Denied permission +command 9 B\n/)
      expect(listed.stdout).not.toContain(secret)
      const { calls } = json<{ readonly calls: ReadonlyArray<object> }>(yield* run(at, ["audit", "--json"]))
      expect(calls).toHaveLength(3)
      expect(calls[0]).toMatchObject({ tool: "write_file", decision: "allowed", success: true })
      expect((yield* run(at, ["audit", "--session", "last", "--json"], { cwd: at.work })).stdout).toContain(
        "write_file"
      )
      expect((yield* run(at, ["audit"], { cwd: at.home })).stdout).toBe("")
      expect((yield* run(at, ["audit", "--all"], { cwd: at.home })).stdout).toContain("write_file")
    }), patient)

  it.scoped("exports a file of its own that can be checked", () =>
    Effect.gen(function*() {
      const at = yield* folders
      yield* done(at)
      const file = path.join(at.base, "calls.jsonl")
      const exported = yield* run(at, ["audit", "export", "--output", file])
      expect(exported.code, exported.stderr).toBe(0)
      expect(exported.stderr).toBe(`3 calls of 1 session in ${file}. Check with: capstan audit verify ${file}\n`)
      expect(fs.statSync(file).mode & 0o777).toBe(0o600)
      const text = fs.readFileSync(file, "utf8")
      expect(text.trimEnd().split("\n")).toHaveLength(5)
      expect(text).not.toContain(secret)
      expect((yield* run(at, ["audit", "export"])).stdout.split("\n")).toHaveLength(6)
      expect((yield* run(at, ["audit", "verify", file])).stdout).toBe(`✓ As written: 3 calls in ${file}.\n`)
      const again = yield* run(at, ["audit", "export", "--output", file])
      expect(again.code).toBe(2)
      expect(again.stderr).toContain("is there already and is left as it is")
      expect(fs.readFileSync(file, "utf8")).toBe(text)

      fs.writeFileSync(file, text.replace("run_command", "read_file"))
      const changed = yield* run(at, ["audit", "verify", file])
      expect(changed.code).toBe(1)
      expect(changed.stdout).toBe(`✗ ${file}: line 3 does not say what was written\n`)
      fs.writeFileSync(file, text.split("\n").slice(0, 3).join("\n"))
      const cut = yield* run(at, ["audit", "verify", file, "--json"])
      expect(cut.code).toBe(1)
      expect(json(cut)).toMatchObject({ intact: false, found: [{ kind: "cut-off", place: 4 }] })
    }), patient)

  it.scoped("finds rows that were changed, removed or cut off in the journal", () =>
    Effect.gen(function*() {
      const at = yield* folders
      yield* done(at)
      const intact = yield* run(at, ["audit", "verify"])
      expect(intact).toMatchObject({ code: 0, stderr: "" })
      expect(intact.stdout).toMatch(/^✓ As written: \d+ rows of 1 session\.\n$/)
      const changes = [
        ["update capstan_journal set at = at + 1 where seq = 3", /row 3 does not say what was written/],
        ["delete from capstan_journal where seq = 4", /row 4 was removed/],
        ["delete from capstan_journal where seq > 6", /row 7 and what came after it are gone/]
      ] as const
      for (const [sql, found] of changes) {
        const db = database(at)
        db.prepare(sql).run()
        db.close()
        const broken = yield* run(at, ["audit", "verify"])
        expect(broken.code).toBe(1)
        expect(broken.stdout).toMatch(found)
      }
    }), patient)
})

describe("capstan replay and show", () => {
  it.scoped("plays a session again with no model and no key", () =>
    Effect.gen(function*() {
      const at = yield* folders
      yield* done(at)
      fs.rmSync(path.join(at.work, "a.txt"))
      const again = yield* run(at, ["replay"])
      expect(again.code, again.stderr).toBe(0)
      expect(again.stdout).toBe("I write it.\nThe file is there.\n")
      expect(again.stderr).toMatch(/^› write it\n/)
      expect(again.stderr).toContain("→ policy: call 0 denied: Nobody is there to approve it.")
      expect(again.stderr).toMatch(/✓ .*a\.txt/)
      expect(again.stderr).toMatch(/\n3 calls · [\d.]+ m?s · /)
      expect(fs.existsSync(path.join(at.work, "a.txt"))).toBe(false)
      const { turns } = json<
        { readonly turns: ReadonlyArray<{ readonly events: ReadonlyArray<{ readonly type: string }> }> }
      >(
        yield* run(at, ["replay", "--json"])
      )
      expect(turns[0]?.events.map(({ type }) => type)).toEqual(
        expect.arrayContaining(["TurnStarted", "TextDelta", "ToolStarted", "ToolFinished", "Final"])
      )
    }), patient)

  it.scoped("say what was spent and how well the model called tools", () =>
    Effect.gen(function*() {
      const at = yield* folders
      yield* done(at)
      const { stdout } = yield* run(at, ["show"])
      expect(stdout).toMatch(/\nSpent: 900 tokens in, 200 out, cost unknown, 1 call started/)
      expect(stdout).toMatch(/\nwrite_file with .*: 1 call, 1 right at once\n/)
      expect(stdout).toMatch(/\nraed_file with .*: 1 call, 0 right at once, failed: 1 \w+\n/)
      expect(json(yield* run(at, ["show", "--json"]))).toMatchObject({ spent: { usage: { input: 900 }, calls: 1 } })
    }), patient)

  it.scopedLive("tell a session that was cut off, and one that runs", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const model = script(at, [
        { calls: [{ name: "run_command", arguments: { command: "touch up; sleep 60" } }] },
        { text: "All right." }
      ])
      yield* Effect.scoped(Effect.gen(function*() {
        const { child, ended } = yield* start(at, ["run", "work", "--yes", "--model", model])
        yield* eventually(Effect.sync(() => fs.existsSync(path.join(at.work, "up"))), (is) => is)
        expect((yield* run(at, ["sessions"])).stdout).toMatch(/ running {2}work\n$/)
        child.kill("SIGKILL")
        yield* ended
      }))
      const listed = yield* run(at, ["sessions"])
      expect(listed.stdout).toMatch(/ cut off {2}work\n$/)
      expect(listed.stderr).toContain("capstan resume ID")
      expect((yield* run(at, ["replay"])).stderr).toContain("✗ The program was cut off here.")
      expect((yield* run(at, ["show"])).stderr).toMatch(/It was cut off\. Go on with: capstan resume \S+\n$/)
      const resumed = yield* run(at, ["resume", "--rerun"])
      expect(resumed.code, resumed.stderr).toBe(0)
      expect(resumed.stdout).toContain("All right.")
      expect(json(yield* run(at, ["sessions", "--json"]))).toMatchObject({ sessions: [{ title: "work", state: "" }] })
    }), patient)
})
