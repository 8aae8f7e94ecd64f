import { describe, expect, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import process from "node:process"
import { type Folders, folders, run, script, start } from "./program.js"

const patient = { timeout: 30_000 }

/** Writes a file, sleeps for a time that no other process has, and would write another. */
const entries = (seconds: string) => [
  {
    text: "Working.",
    calls: [
      { name: "write_file", arguments: { path: "before.txt", content: "1" } },
      { name: "run_command", arguments: { command: `echo up > up.txt; sleep ${seconds}` } },
      { name: "write_file", arguments: { path: "after.txt", content: "2" } }
    ]
  },
  { text: "All right." }
]

let count = 0
const uniqueSleep = () => `7${process.pid}${count++}.125`

const sleeping = (seconds: string): boolean => {
  const listed = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })
  return listed.split("\n").some((line) => line.startsWith(`sleep ${seconds}`))
}

const until = (condition: () => boolean) =>
  Effect.repeat(Effect.sync(condition), { until: (is) => is, schedule: Schedule.spaced("20 millis") })

const isThere = (at: Folders, name: string) => fs.existsSync(path.join(at.work, name))

const inTheMiddle = (at: Folders, seconds: string, flags: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const running = yield* start(at, ["run", "work", "--yes", "--model", script(at, entries(seconds)), ...flags])
    yield* until(() => isThere(at, "up.txt") && sleeping(seconds))
    return running
  })

describe("capstan, interrupted", () => {
  it.scopedLive.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "%s cancels the turn, with results and without children",
    (signal) =>
      Effect.gen(function*() {
        const at = yield* folders
        const seconds = uniqueSleep()
        const { child, ended } = yield* inTheMiddle(at, seconds, ["--json"])
        child.kill(signal)
        const { code, stdout } = yield* ended
        expect(code).toBe(130)
        expect(sleeping(seconds)).toBe(false)
        expect(isThere(at, "after.txt")).toBe(false)
        expect(JSON.parse(stdout)).toMatchObject({
          end: "cancelled",
          exitCode: 130,
          calls: [{ outcome: { _tag: "Succeeded" } }, { outcome: { _tag: "Cancelled" } }, {
            outcome: { _tag: "Cancelled" }
          }]
        })
        expect((yield* run(at, ["show"])).stdout).toContain("end: cancelled")
      }),
    patient
  )

  it.scopedLive("shows the summary of a cancelled turn", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const { child, ended } = yield* inTheMiddle(at, uniqueSleep(), [])
      child.kill("SIGINT")
      const { code, stderr } = yield* ended
      expect(code).toBe(130)
      expect(stderr).toMatch(/3 calls.*session/s)
    }), patient)

  it.scopedLive("ends children at once on a second signal, though they ignore the first", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const seconds = uniqueSleep()
      const stubborn = [{
        calls: [{
          name: "run_command",
          arguments: { command: `trap '' TERM INT HUP; echo up > up.txt; sleep ${seconds}` }
        }]
      }]
      const { child, ended } = yield* start(at, ["run", "x", "--yes", "--model", script(at, stubborn)])
      yield* until(() => isThere(at, "up.txt") && sleeping(seconds))
      child.kill("SIGINT")
      child.kill("SIGINT")
      expect((yield* ended).code).toBe(130)
      expect(sleeping(seconds)).toBe(false)
    }), patient)

  it.scopedLive("leaves a session that hangs in the model's answer", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const { child, ended } = yield* start(at, ["run", "x", "--stream-json", "--model", script(at, [{ hang: true }])])
      yield* Effect.async<void>((resume) => {
        child.stdout?.once("data", () => resume(Effect.void))
      })
      child.kill("SIGINT")
      const { code, stdout } = yield* ended
      expect(code).toBe(130)
      expect(stdout.trimEnd().split("\n").at(-1)).toContain("\"end\":\"cancelled\"")
    }), patient)

  it.scopedLive.each(["before it begins", "while the model answers"] as const)(
    "leaves a database that another program has locked %s",
    (when) =>
      Effect.gen(function*() {
        const at = yield* folders
        // The database is there, with a session in it.
        yield* run(at, ["run", "x", "--model", script(at, [{ text: "y" }])])
        const lock = Effect.acquireRelease(
          Effect.sync(() => {
            const database = new Database(path.join(at.data, "capstan", "capstan.db"))
            database.exec("begin immediate")
            return database
          }),
          (database) => Effect.sync(() => database.close())
        )
        if (when === "before it begins") yield* lock
        const { child, ended } = yield* start(at, [
          "run",
          "x",
          "--stream-json",
          "--model",
          script(at, [{ hang: true }])
        ])
        if (when === "before it begins") yield* Effect.sleep("2 seconds")
        else {
          yield* Effect.async<void>((resume) => {
            child.stdout?.once("data", () => resume(Effect.void))
          })
          yield* lock
        }
        child.kill("SIGINT")
        const [taken, { code }] = yield* Effect.timed(ended)
        expect(code).toBe(130)
        expect(Duration.toMillis(taken)).toBeLessThan(2_000)
      }),
    patient
  )

  it.scopedLive("ends quietly when its reader is gone", () =>
    Effect.gen(function*() {
      const at = yield* folders
      yield* run(at, ["run", "x", "--model", script(at, [{ text: "y".repeat(300_000) }])])
      const { child, ended } = yield* start(at, ["show"])
      child.stdout?.destroy()
      const { signal, stderr } = yield* ended
      expect({ signal, stderr }).toEqual({ signal: null, stderr: expect.not.stringContaining("internal error") })
    }), patient)
})

describe("capstan, killed", () => {
  it.scopedLive("asks for a choice, tells the truth, and goes on", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const seconds = uniqueSleep()
      const { child, ended } = yield* inTheMiddle(at, seconds, [])
      child.kill("SIGKILL")
      expect((yield* ended).signal).toBe("SIGKILL")
      const undecided = yield* run(at, ["resume"])
      expect(undecided.code).toBe(2)
      expect(undecided.stderr.trimEnd().split("\n")).toHaveLength(1)
      expect(undecided.stderr).toMatch(
        /finished: write_file \(0\); started, outcome unknown: run_command \(1\); never started: write_file \(2\)/
      )
      expect(undecided.stderr).toMatch(
        /"capstan resume [0-9A-Z]{26} --partial".*"capstan resume [0-9A-Z]{26} --discard"/
      )
      yield* until(() => !sleeping(seconds))
      const resumed = yield* run(at, ["resume", "--partial", "--json"])
      expect(resumed.code).toBe(0)
      expect(JSON.parse(resumed.stdout)).toMatchObject({
        end: "answered",
        text: "All right.",
        calls: [{ outcome: { _tag: "Succeeded" } }, { outcome: { _tag: "Unknown" } }, { outcome: { _tag: "Unknown" } }]
      })
      expect(isThere(at, "after.txt")).toBe(false)
      const again = yield* run(at, ["resume"])
      expect(again.code).toBe(2)
      expect(again.stderr).toMatch(/has nothing to go on with\. Say what to do: capstan run --resume/)
    }), patient)

  it.scopedLive("counts every call as failed with --discard", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const { child, ended } = yield* inTheMiddle(at, uniqueSleep(), [])
      child.kill("SIGKILL")
      yield* ended
      const resumed = yield* run(at, ["resume", "last", "--discard"])
      expect(resumed.code).toBe(0)
      expect(resumed.stdout).toBe("All right.\n")
      expect((yield* run(at, ["show"])).stdout).toContain("recovered after a crash: discard")
      expect((yield* run(at, ["resume", "--partial", "--discard"])).code).toBe(2)
    }), patient)

  it.scopedLive("goes on without a question when only the answer was cut off", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const file = path.join(at.base, "replies.json")
      fs.writeFileSync(file, JSON.stringify([{ hang: true }]))
      const { child, ended } = yield* start(at, ["run", "say it", "--stream-json", "--model", `scripted/${file}`])
      yield* Effect.async<void>((resume) => {
        child.stdout?.once("data", () => resume(Effect.void))
      })
      child.kill("SIGKILL")
      yield* ended
      fs.writeFileSync(file, JSON.stringify([{ text: "Said." }]))
      const resumed = yield* run(at, ["resume"])
      expect({ code: resumed.code, stdout: resumed.stdout }).toEqual({ code: 0, stdout: "Said.\n" })
    }), patient)

  it.scopedLive("refuses a session that another process has", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const seconds = uniqueSleep()
      yield* inTheMiddle(at, seconds, [])
      const second = yield* run(at, ["resume", "--partial"])
      expect(second.code).toBe(1)
      expect(second.stderr).toMatch(/^capstan: .*process \d+/)
      expect(sleeping(seconds)).toBe(true)
    }), patient)
})
