import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { type Ended, type Folders, folders, run, script, start } from "./program.js"
import { eventually } from "./tmux.js"

const patient = { timeout: 60_000 }

const write = (file: string) => ({ name: "write_file", arguments: { path: file, content: "Hello\n" } })

const json = <A>({ stdout }: Ended): A => JSON.parse(stdout)

interface Pending {
  readonly pending: ReadonlyArray<{
    readonly session: string
    readonly position: number
    readonly tool: string
    readonly summary: string
    readonly risk: string
    readonly detail: string
    readonly askedAt: number
    readonly answer: { readonly _tag: string } | null
  }>
}

const pendingIn = (at: Folders) => Effect.map(run(at, ["approvals", "--json"]), (ended) => json<Pending>(ended).pending)

const files = (at: Folders) => fs.readdirSync(at.work).toSorted()

const asked = (at: Folders, ...more: ReadonlyArray<string>) =>
  run(at, [
    "run",
    "write",
    "--ask",
    "queue",
    "--model",
    script(at, [{ calls: [write("a"), write("b")] }, { text: "Done." }]),
    ...more
  ])

describe("a run whose questions another process answers", () => {
  it.scoped(
    "ends awaiting, and goes on with the answers that were given to exactly these calls",
    () =>
      Effect.gen(function*() {
        const at = yield* folders
        const waiting = yield* asked(at)
        expect(waiting.code).toBe(3)
        expect(waiting.stderr).toMatch(/capstan: Session \S+ waits for 2 approvals\. .*capstan approvals approve/)
        expect((yield* run(at, ["sessions"])).stdout).toMatch(/ waits {2}write\n$/)
        const [first, second] = yield* pendingIn(at)
        expect(first).toMatchObject({
          tool: "write_file",
          risk: "medium",
          detail: "a",
          position: 0,
          answer: null,
          project: at.work
        })
        const listed = yield* run(at, ["approvals"])
        expect(listed.stdout).toMatch(
          /Asked \d+ s ago in .*, for .*\n\nPosition 0\nwrite_file · medium risk\n {2}│ a\n/
        )
        expect(listed.stdout).toContain("  │ +Hello\n")
        const session = first?.session ?? ""

        const one = yield* run(at, ["approvals", "approve", session.slice(0, 24).toLowerCase(), "0", "--json"])
        expect(json(one)).toMatchObject({ positions: [0], open: [1], next: `capstan resume ${session}` })
        expect((yield* pendingIn(at)).map(({ answer }) => answer?._tag)).toEqual(["Approve", undefined])
        const early = yield* run(at, ["resume"])
        expect(early.code).toBe(3)
        expect(early.stderr).toContain("waits for 1 approval.")
        expect(files(at)).toEqual([])

        const wrong = yield* run(at, ["approvals", "deny", session, "7"])
        expect(wrong.code).toBe(2)
        expect(wrong.stderr).toContain("asks nothing at position 7. Its questions: 0, 1.")
        const two = yield* run(at, ["approvals", "deny", session, String(second?.position), "--reason", "not that one"])
        expect(two.stdout).toBe("⊘ denied 1: write_file · Write b (6 characters)\n")
        expect(two.stderr).toBe(`Go on with: capstan resume ${session}\n`)

        const done = yield* run(at, ["resume", session, "--json"])
        expect(json(done)).toMatchObject({
          end: "answered",
          text: "Done.",
          calls: [{ outcome: { _tag: "Succeeded" } }, { outcome: { _tag: "Denied", reason: "not that one" } }]
        })
        expect(files(at)).toEqual(["a"])
        expect(yield* pendingIn(at)).toEqual([])
        const again = yield* run(at, ["approvals", "approve", session])
        expect(again.code).toBe(2)
        expect(again.stderr).toContain("waits for no approval")
        expect((yield* run(at, ["show"])).stdout).toMatch(
          /call 0 approved \(process:\S+\), call 1 denied: not that one/
        )
      }),
    patient
  )

  it.scopedLive("goes on by itself if the answers come while it waits", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const model = script(at, [{ calls: [write("a")] }, { text: "Done." }])
      const { ended } = yield* start(at, ["run", "write", "--ask", "queue", "--wait", "40", "--model", model])
      const [first] = yield* eventually(pendingIn(at), (pending) => pending.length > 0)
      expect((yield* run(at, ["sessions"])).stdout).toMatch(/ asks {2}write\n$/)
      const approved = yield* run(at, ["approvals", "approve", first?.session ?? ""])
      expect(approved.stderr).toBe("The run that waits goes on with it now.\n")
      const done = yield* ended
      expect(done.code, done.stderr).toBe(0)
      expect(done.stdout).toBe("Done.\n")
      expect(files(at)).toEqual(["a"])
    }), patient)

  it.scoped("denies what nobody answers in time, and says so", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const late = yield* asked(at, "--approval-timeout", "1")
      expect(late.code).toBe(3)
      expect(late.stderr).toContain("denied: Nobody answered within 1s")
      expect(files(at)).toEqual([])
    }), patient)

  it.scoped("lets --yes answer what it may when the session is resumed", () =>
    Effect.gen(function*() {
      const at = yield* folders
      yield* asked(at)
      const done = yield* run(at, ["resume", "--yes"])
      expect(done.code, done.stderr).toBe(0)
      expect(files(at)).toEqual(["a", "b"])
    }), patient)

  it.scoped("shows hidden characters of a model, and nothing cut", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const command = `echo ${"x".repeat(300)} \u202e\u001b[2J; true`
      const model = script(at, [{ calls: [{ name: "run_command", arguments: { command } }] }, { text: "Done." }])
      yield* run(at, ["run", "x", "--ask", "queue", "--model", model])
      const { stdout } = yield* run(at, ["approvals"])
      expect(stdout).toContain(`  │ echo ${"x".repeat(300)} <U+202E><U+001B>[2J; true\n`)
      expect(stdout).not.toMatch(/[\u001b\u202e]/)
    }), patient)

  it.scoped("says that nothing waits", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const none = yield* run(at, ["approvals"])
      expect(none).toMatchObject({ code: 0, stdout: "" })
      expect(none.stderr).toMatch(/^No questions wait in .*\.\n$/)
      expect((yield* run(at, ["approvals", "permissions", "--all"])).stderr).toBe("Nothing was allowed for good.\n")
    }), patient)
})

describe("calls that somebody else runs", () => {
  const parsed = (at: Folders) =>
    run(at, [
      "run",
      "look",
      "--mode",
      "parse_only",
      "--model",
      script(at, [
        { calls: [{ id: "w1", name: "read_file", arguments: { path: "a" } }, write("b")] },
        { calls: [write("c")] },
        { text: "I know enough." }
      ])
    ])

  it.scoped(
    "get their results by position or id, from the command line or a file, and so do those that follow",
    () =>
      Effect.gen(function*() {
        const at = yield* folders
        const waiting = yield* parsed(at)
        expect(waiting.code).toBe(3)
        expect(waiting.stderr).toMatch(
          /waits for 2 results\. Go on with: capstan resume \S+ --result 0=TEXT --result 1=TEXT/
        )
        const half = yield* run(at, ["resume", "--result", "w1=one"])
        expect(half.code).toBe(3)
        expect(half.stderr).toContain("waits for 2 results, all at once; missing: 1.")
        const wrong = yield* run(at, ["resume", "--result", "5=one"])
        expect(wrong.code).toBe(2)
        expect(wrong.stderr).toContain("has no open call \"5\". Its open calls: 0 (read_file), 1 (write_file).")
        fs.writeFileSync(path.join(at.base, "result.txt"), "from a file\n")
        const next = yield* run(at, ["resume", "--result", "w1=one", "--result", "1=@../result.txt"])
        expect(next.code).toBe(3)
        expect(next.stderr).toContain("waits for 1 result.")
        const done = yield* run(at, ["resume", "--result", "0=@@home", "--json"])
        expect(json(done)).toMatchObject({ end: "answered", exitCode: 0 })
        const shown = yield* run(at, ["show", "--json"])
        expect(shown.stdout).toContain("from a file")
        expect(shown.stdout).toContain("\"@home\"")
        expect(files(at)).toEqual([])
        expect((yield* run(at, ["approvals"])).stderr).toContain("No questions wait")
      }),
    patient
  )

  it.scoped("take no results where approvals are waited for", () =>
    Effect.gen(function*() {
      const at = yield* folders
      yield* asked(at)
      const wrong = yield* run(at, ["resume", "--result", "0=x"])
      expect(wrong.code).toBe(2)
      expect(wrong.stderr).toContain("waits for approvals, not for results")
    }), patient)
})

describe("a run with bounds", () => {
  const model = (at: Folders) =>
    script(at, [
      { calls: [write("a"), { name: "list_directory", arguments: { path: "." } }] },
      { text: "Done.", usage: { input: 900, output: 200, cacheRead: 0, cacheWrite: 0, reasoning: 0 } }
    ])

  it.scoped("that is dry shows the plan and runs nothing", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const dry = yield* run(at, ["run", "x", "--dry-run", "--model", model(at)])
      expect(dry.code).toBe(0)
      expect(dry.stderr).toMatch(/Dry run: the plan ──\n2 calls/)
      expect(dry.stderr).toContain("  │ +Hello\n  ! It would be asked about.\n")
      expect(dry.stderr).toContain("  ! It would run without a question.\n")
      expect(dry.stderr).toContain("\nBy position, they would run in this order: 0, then 1.\n")
      const list = { name: "list_directory", arguments: { path: "." } }
      const several = script(at, [{
        calls: [list, { ...list, arguments: { path: ".", include_hidden: true } }, write("a"), list]
      }, { text: "Done." }])
      expect((yield* run(at, ["run", "x", "--dry-run", "--model", several])).stderr).toContain(
        "in this order: 0 and 1 together, then 2, then 3.\n"
      )
      const allowed = yield* run(at, ["run", "x", "--dry-run", "--allow", "write_file", "--model", model(at)])
      expect(allowed.stderr).not.toContain("It would be asked about.")
      expect(files(at)).toEqual([])
    }), patient)

  it.scoped("ends in words when a budget is used up", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const calls = yield* run(at, ["run", "x", "--yes", "--budget-calls", "1", "--json", "--model", model(at)])
      expect(json(calls)).toMatchObject({ end: "budget", exitCode: 1 })
      const cost = yield* run(at, ["run", "x", "--yes", "--budget-cost", "0.5", "--model", model(at)])
      expect(cost.code).toBe(2)
      expect(cost.stderr).toContain("The prices of")
      const roomy = yield* run(at, [
        "run",
        "x",
        "--yes",
        "--json",
        "--budget-tokens",
        "5000",
        "--budget-time",
        "60",
        "--model",
        model(at)
      ])
      expect(json(roomy)).toMatchObject({ end: "answered", exitCode: 0 })
    }), patient)
})
