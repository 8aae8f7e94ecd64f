import { describe, expect, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as http from "node:http"
import * as path from "node:path"
import process from "node:process"
import { type Ended, type Folders, folders, run, script } from "./program.js"

/** A port on which nothing listens any more. */
const closedPort = Effect.async<number>((resume) => {
  const server = http.createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

const patient = { timeout: 30_000 }

const write = { name: "write_file", arguments: { path: "hello.txt", content: "Hello, world!" } }
const list = { name: "list_directory", arguments: { path: "." } }

/** One line on stderr that begins with the program's name, and nothing of where it comes from. */
const oneLine = ({ stderr }: Ended): string => {
  const lines = stderr.trimEnd().split("\n").filter((line) => !line.startsWith("!"))
  expect(lines, stderr).toHaveLength(1)
  expect(stderr).not.toMatch(/\n\s+at |file:\/\/|Error:/)
  expect(lines[0]).toMatch(/^capstan: /)
  return lines[0] ?? ""
}

describe("capstan", () => {
  it.scoped("answers --version, and --help on every command", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const version = yield* run(at, ["--version"])
      expect(version).toMatchObject({ code: 0, stdout: "0.1.0\n", stderr: "" })
      const commands = [
        [],
        ["run"],
        ["resume"],
        ["sessions"],
        ["show"],
        ["doctor"],
        ["tools"],
        ["tools", "show"],
        ["tools", "audit"],
        ["approvals"],
        ["approvals", "deny"],
        ["audit"],
        ["audit", "verify"],
        ["replay"]
      ]
      const helps = yield* Effect.forEach(commands, (words) => run(at, [...words, "--help"]), { concurrency: 3 })
      helps.forEach(({ code, stderr, stdout }, i) => {
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
        expect(stdout).toContain(`$ ${["capstan", ...commands[i] ?? []].join(" ")}`)
        expect(stdout).not.toContain("\u001B")
      })
      expect((yield* run(at, [])).stdout).toBe(helps[0]?.stdout)
    }), { timeout: 90_000 })

  it.scoped("prints completions", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const { code, stdout } = yield* run(at, ["--completions", "bash"])
      expect(code).toBe(0)
      expect(stdout).toContain("sessions")
    }), patient)

  it.scoped.each<readonly [ReadonlyArray<string>, RegExp]>([
    [["sesions"], /Unknown command "sesions"\. Did you mean "sessions"\?/],
    [["run", "x", "--jsn"], /Unknown flag "--jsn" of "capstan run"\. Did you mean "--json"\?/],
    [["sessions", "--foo"], /Unknown flag "--foo" of "capstan sessions"/],
    [["run"], /Missing argument <task>/],
    [["run", ""], /The task is empty/],
    [["run", "x", "--limits", "loose"], /"--limits" takes one of strict, agent, not "loose"/],
    [["run", "x", "--max-iterations", "many"], /"--max-iterations" takes a whole number/],
    [["run", "x", "--max-iterations", "0"], /--max-iterations takes a whole number/],
    [["run", "x", "--json", "--stream-json"], /--json and --stream-json exclude each other/],
    [
      ["run", "x"],
      /No model to talk to\. Set ANTHROPIC_API_KEY .* start a local server .* --base-url URL.* capstan demo/
    ],
    [["run", "x", "--model", "openai/gpt-x"], /OPENAI_API_KEY is not set/],
    [["run", "x", "--cwd", "nowhere"], /nowhere cannot be used \(it does not exist\)\. Give another one with --cwd/],
    [["run", "x", "--model", "scripted/none.json"], /none\.json cannot be read/],
    [["resume"], /There is no session of .* yet\. Start one with: capstan run/],
    [["show", "01ABCDEF"], /There is no session 01ABCDEF\. See "capstan sessions --all"/],
    [["show", "01"], /"01" is too short: give at least 4 characters/],
    [["run", "x", "--ask", "terminal"], /--ask terminal needs a terminal.* Use --ask queue/],
    [["run", "x", "--wait", "1"], /--wait is for --ask queue/],
    [["run", "x", "--ask", "queue", "--wait", "-1"], /--wait takes a whole number from 0 on/],
    [["run", "x", "--ask", "queue", "--wait", "1", "--approval-timeout", "1"], /--wait and --approval-timeout exclude/],
    [["run", "x", "--ask", "everybody"], /"--ask" takes one of terminal, queue, nobody/],
    [["run", "x", "--dry-run", "--yes"], /--dry-run and --yes exclude each other/],
    [["run", "x", "--budget-time", "0"], /--budget-time takes a whole number from 1 on/],
    [["run", "x", "--budget-cost", "0"], /--budget-cost takes an amount of dollars above 0/],
    [["chat", "--budget-tokens", "0"], /--budget-tokens takes a whole number from 1 on/],
    [["resume", "--rerun", "--discard"], /--rerun and --discard exclude each other/],
    [["resume", "--result", "no"], /--result takes POSITION=TEXT or POSITION=@FILE, not "no"/],
    [["resume", "--result", "0=@none.txt"], /The file none\.txt of --result cannot be read/],
    [["approvals", "approve"], /Missing argument <session>/],
    [["approvals", "deny", "last"], /There is no session of .* yet/],
    [["approvals", "revoke", "none"], /There is no permission none\. See "capstan approvals permissions --all"/],
    [["audit", "verify", "none.jsonl"], /none\.jsonl cannot be read/],
    [["audit", "--session", "01ABCDEF"], /There is no session 01ABCDEF/],
    [["replay"], /There is no session of .* yet/],
    [["tools", "show", "raed_file"], /No tool is called "raed_file"\. Did you mean "read_file"\?/]
  ])("%j is wrong use", ([args, message]) =>
    Effect.gen(function*() {
      const at = yield* folders
      const ended = yield* run(at, args)
      expect(ended.code).toBe(2)
      expect(oneLine(ended)).toMatch(message)
    }), patient)

  it.scoped("shows the --model to write when several keys are set", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const ended = yield* run(at, ["run", "x"], { environment: { ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "b" } })
      expect(ended.code).toBe(2)
      expect(oneLine(ended)).toMatch(/--model anthropic\/\S+ or --model openai\//)
    }), patient)

  it.scoped("takes the task from stdin and does it", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const model = script(at, [{ text: "I write it.", calls: [write] }, { text: "It is there." }])
      const ended = yield* run(at, ["run", "-", "--model", model, "--yes", "--quiet"], { input: "Create hello.txt\n" })
      expect(ended.code).toBe(0)
      expect(ended.stdout).toBe("It is there.\n")
      expect(ended.stderr).toMatch(/^! Approval is off \(--yes\)/)
      expect(fs.readFileSync(path.join(at.work, "hello.txt"), "utf8")).toBe("Hello, world!")
      const listed = yield* run(at, ["sessions"])
      expect(listed.stdout).toMatch(/^[0-9A-Z]{26} {2}\d{4}-\d\d-\d\d \d\d:\d\d +\d+ {2}Create hello\.txt\n$/)
      const id = listed.stdout.slice(0, 26)
      const shown = yield* run(at, ["show", id.slice(0, 20).toLowerCase()])
      expect(shown.stdout).toContain("call write_file")
      expect(shown.stdout).toContain("end: answered")
      expect(JSON.parse((yield* run(at, ["show", id, "--json"])).stdout)).toMatchObject({
        type: "Session",
        version: 1,
        id
      })
      const elsewhere = yield* run(at, ["sessions"], { cwd: at.home })
      expect(elsewhere.stderr).toMatch(/No sessions of .*home yet/)
      expect((yield* run(at, ["sessions", "--all"], { cwd: at.home })).stdout).toContain(id)
    }), patient)

  it.scoped("prints one object with --json, one line per event with --stream-json", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const model = script(at, [{ calls: [list] }, { text: "Empty." }])
      const once = yield* run(at, ["run", "look", "--model", model, "--json"])
      expect({ code: once.code, stderr: once.stderr }).toEqual({ code: 0, stderr: "" })
      expect(JSON.parse(once.stdout)).toMatchObject({
        type: "Result",
        version: 1,
        end: "answered",
        text: "Empty.",
        exitCode: 0,
        calls: [{ name: "list_directory", outcome: { _tag: "Succeeded" } }]
      })
      const streamed = yield* run(at, ["run", "look", "--model", model, "--stream-json"])
      const lines = streamed.stdout.trimEnd().split("\n").map((line): { readonly type: string } => JSON.parse(line))
      expect(lines.map(({ type }) => type)).toEqual(
        expect.arrayContaining(["TurnStarted", "ToolStarted", "ToolFinished", "TextDelta"])
      )
      expect(lines.at(-1)).toMatchObject({ type: "Result", exitCode: 0 })
      expect(lines.filter(({ type }) => type === "Result")).toHaveLength(1)
      const failed = yield* run(at, ["run", "look", "--json"])
      expect(failed.code).toBe(2)
      expect(JSON.parse(failed.stdout)).toMatchObject({ type: "Error", exitCode: 2, error: { tag: "UsageError" } })
    }), patient)

  it.scoped(
    "denies what would ask when nobody is there, and names the flag that would allow it",
    () =>
      Effect.gen(function*() {
        const at = yield* folders
        const model = script(at, [{ calls: [write] }, { text: "It was denied." }])
        const denied = yield* run(at, ["run", "write", "--model", model])
        expect(denied.code).toBe(3)
        expect(denied.stderr).toContain("--yes or --allow write_file would allow it")
        expect(fs.existsSync(path.join(at.work, "hello.txt"))).toBe(false)
        const allowed = yield* run(at, ["run", "write", "--model", model, "--allow", "write_file"])
        expect(allowed.code).toBe(0)
        expect(allowed.stderr).toContain("! Calls of write_file run unasked (--allow).")
        expect(fs.existsSync(path.join(at.work, "hello.txt"))).toBe(true)
      }),
    patient
  )

  it.scoped("lets --yes approve everything but what must be asked every time", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const model = script(at, [
        { calls: [{ name: "run_command", arguments: { command: "sudo rm -rf /" } }] },
        { text: "It was denied." }
      ])
      const ended = yield* run(at, ["run", "clean up", "--model", model, "--yes"])
      expect(ended.code).toBe(3)
      expect(ended.stderr).toContain("must be approved by a person each time")
    }), patient)

  it.scoped.each<readonly [string, number, ReadonlyArray<object>, ReadonlyArray<string>]>([
    ["answered", 0, [{ text: "Yes." }], []],
    ["iterations", 1, [{ calls: [list] }, { text: "That is all." }], ["--max-iterations", "1"]],
    ["loop", 1, Array.from({ length: 6 }, () => ({ calls: [list] })), []],
    ["refused", 1, [{ text: "No.", finish: "refusal" }], []],
    ["awaiting", 3, [{ calls: [list] }], ["--mode", "parse_only"]],
    ["answered", 3, [{ calls: [write] }, { text: "Denied." }], ["--deny", "write_file"]],
    ["answered", 3, [{ calls: [write] }, { text: "Denied." }], ["--trust", "read_only", "--yes"]],
    ["answered", 0, [{ calls: [list] }, { text: "No tools." }], ["--no-tools"]]
  ])("a turn that ends %s exits with %i", ([end, code, entries, flags]) =>
    Effect.gen(function*() {
      const at = yield* folders
      const ended = yield* run(at, ["run", "x", "--json", "--model", script(at, entries), ...flags])
      expect(JSON.parse(ended.stdout), ended.stdout).toMatchObject({ end, exitCode: code })
      expect(ended.code).toBe(code)
    }), patient)

  it.scoped("exits with 4 when the model's service fails, and keeps the session", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const model = script(at, [{ error: "authentication" }])
      const ended = yield* run(at, ["run", "x", "--model", model])
      expect(ended.code).toBe(4)
      expect(oneLine(ended)).toContain("The scripted model fails here")
      expect((yield* run(at, ["sessions"])).stdout).toContain("x")
    }), patient)

  it.scoped("exits with 4 when the server cannot be reached", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const unnamed = yield* run(at, ["run", "x", "--base-url", `http://127.0.0.1:${yield* closedPort}/v1`])
      expect(unnamed.code).toBe(4)
      expect(oneLine(unnamed)).toContain("did not list its models (nothing listens there)")
    }), patient)

  it.scoped("sends a compatible server its own key and never a vendor's", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const seen: Array<string | undefined> = []
      const server = yield* Effect.acquireRelease(
        Effect.async<http.Server>((resume) => {
          const server = http.createServer((request, response) => {
            seen.push(request.headers.authorization)
            response.setHeader("content-type", "application/json")
            response.statusCode = request.url === "/v1/models" ? 200 : 400
            response.end(
              JSON.stringify(request.url === "/v1/models" ? { data: [{ id: "m" }] } : { error: { message: "no" } })
            )
          })
          server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const args = ["run", "x", "--base-url", `http://127.0.0.1:${port}/v1`]
      const vendors = { OPENAI_API_KEY: "vendor-1", ANTHROPIC_API_KEY: "vendor-2" }
      const ended = yield* run(at, args, { environment: vendors })
      expect(ended.code).toBe(4)
      yield* run(at, args, { environment: { ...vendors, CAPSTAN_API_KEY: "own" } })
      expect(seen.slice(0, 2)).toEqual([undefined, undefined])
      expect(seen.slice(2)).toEqual(["Bearer own", "Bearer own"])
    }), patient)

  it.scoped("keeps secrets of the environment out of what it stores", () =>
    Effect.gen(function*() {
      const at = yield* folders
      fs.writeFileSync(path.join(at.work, "notes.txt"), "the value is correct-horse-battery-staple\n")
      const model = script(at, [{ calls: [{ name: "read_file", arguments: { path: "notes.txt" } }] }, {
        text: "Read."
      }])
      const ended = yield* run(at, ["run", "read it", "--model", model, "--json"], {
        environment: { DEPLOY_TOKEN: "correct-horse-battery-staple" }
      })
      expect(ended.code).toBe(0)
      expect(ended.stdout).toContain("[redacted:secret]")
      expect((yield* run(at, ["show", "--json"])).stdout).not.toContain("correct-horse-battery-staple")
    }), patient)

  it.scoped("keeps its data to the user", () =>
    Effect.gen(function*() {
      const at = yield* folders
      yield* run(at, ["sessions"])
      const data = path.join(at.data, "capstan")
      expect(fs.statSync(data).mode & 0o777).toBe(0o700)
      expect(fs.statSync(path.join(data, "capstan.db")).mode & 0o777).toBe(0o600)
    }), patient)

  it.scoped("says what doctor finds, without values of keys", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const ended = yield* run(at, ["doctor", "--json", "--base-url", `http://127.0.0.1:${yield* closedPort}/v1`], {
        environment: { CAPSTAN_API_KEY: "very-secret-value" }
      })
      expect(ended.stdout).not.toContain("very-secret-value")
      const report: { readonly findings: ReadonlyArray<{ readonly name: string; readonly text: string }> } = JSON.parse(
        ended.stdout
      )
      const text = (name: string) => report.findings.find((finding) => finding.name === name)?.text
      expect(text("keys")).toBe("CAPSTAN_API_KEY set")
      expect(text("server")).toContain("nothing listens there")
      expect(text("runs")).toContain("read_file")
      expect(text("asks")).toContain("write_file")
      expect(text("database")).toContain("0 sessions")
      expect(text("os sandbox")).toBeDefined()
      expect(text("ripgrep")).toBe("found")
    }), patient)
})

describe("capstan, on a machine that is in the way", () => {
  const model = (at: Folders) => script(at, [{ calls: [write] }, { text: "Done." }])

  it.scoped("refuses a database that is damaged and leaves it as it is", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const data = path.join(at.data, "capstan")
      fs.mkdirSync(data, { mode: 0o700 })
      const garbage = Buffer.alloc(8192, "this is no database ")
      fs.writeFileSync(path.join(data, "capstan.db"), garbage)
      const ended = yield* run(at, ["run", "x", "--model", model(at), "--yes"])
      expect(ended.code).toBe(1)
      expect(oneLine(ended)).toMatch(/damaged.*capstan\.db/)
      expect(fs.readFileSync(path.join(data, "capstan.db")).equals(garbage)).toBe(true)
      expect(fs.existsSync(path.join(at.work, "hello.txt"))).toBe(false)
      const doctor = yield* run(at, ["doctor"])
      expect(doctor.code).toBe(1)
      expect(doctor.stdout).toMatch(/✗ database +The journal is damaged/)
    }), patient)

  it.scoped("refuses a database of a newer version and leaves it as it is", () =>
    Effect.gen(function*() {
      const at = yield* folders
      yield* run(at, ["run", "x", "--model", model(at), "--yes"])
      const file = path.join(at.data, "capstan", "capstan.db")
      const database = new Database(file)
      database.prepare("update capstan_meta set value = '99' where key = 'schema'").run()
      database.close()
      const before = fs.readFileSync(file)
      const ended = yield* run(at, ["run", "x", "--model", model(at), "--yes"])
      expect(ended.code).toBe(1)
      expect(oneLine(ended)).toMatch(/has the format 99 .* update the program/)
      expect(fs.readFileSync(file).equals(before)).toBe(true)
    }), patient)

  const isRoot = process.getuid?.() === 0
  if (!isRoot) process.stderr.write("No test of a full disk and of another user's folder: that needs root.\n")

  const smallDisk = (folder: string) =>
    Effect.acquireRelease(
      Effect.sync(() => execFileSync("mount", ["-t", "tmpfs", "-o", "size=512k", "tmpfs", folder])),
      () => Effect.sync(() => execFileSync("umount", ["-l", folder]))
    )

  /** Leaves less than a long answer needs, and more than the file is opened with. */
  const fill = (folder: string) => {
    const file = path.join(folder, "filler")
    const block = Buffer.alloc(4096)
    const free = () => fs.statfsSync(folder).bfree
    while (free() > 20) fs.appendFileSync(file, block)
  }

  const canMount = (() => {
    if (!isRoot) return false
    const folder = fs.mkdtempSync("/tmp/capstan-mount-")
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=512k", "tmpfs", folder], { stdio: "ignore" })
      execFileSync("umount", [folder], { stdio: "ignore" })
      return true
    } catch {
      process.stderr.write("No test of a full disk: mounting is not allowed here.\n")
      return false
    } finally {
      fs.rmdirSync(folder)
    }
  })()

  it.scoped.skipIf(!canMount)(
    "says that the disk of the journal is full and loses nothing that was written",
    () =>
      Effect.gen(function*() {
        const at = yield* folders
        yield* smallDisk(at.data)
        const first = yield* run(at, ["run", "first", "--model", script(at, [{ text: "One." }])])
        expect(first.code).toBe(0)
        fill(at.data)
        const long = script(at, [{ text: "x".repeat(100_000), calls: [write] }, { text: "Done." }])
        const ended = yield* run(at, ["run", "second", "--model", long, "--yes", "--quiet"])
        expect(ended.code).toBe(1)
        expect(oneLine(ended)).toMatch(/disk .*full/)
        expect(fs.existsSync(path.join(at.work, "hello.txt"))).toBe(false)
        const shown = yield* run(at, [
          "show",
          (yield* run(at, ["sessions"])).stdout.split("\n").find((line) => line.includes("first"))?.slice(0, 26) ?? ""
        ])
        expect(shown.stdout).toContain("One.")
      }),
    patient
  )

  it.scoped.skipIf(!isRoot)("names a folder that cannot be read", () =>
    Effect.gen(function*() {
      const at = yield* folders
      fs.chmodSync(at.base, 0o755)
      fs.chmodSync(at.work, 0o700)
      fs.chownSync(at.data, 65_534, 65_534)
      const ended = yield* run(at, ["run", "x", "--model", model(at), "--cwd", at.work], { uid: 65_534, cwd: "/" })
      expect(ended.code).toBe(2)
      expect(oneLine(ended)).toMatch(/work cannot be used \(no permission\)\. Give another one with --cwd/)
    }), patient)

  it.scoped("names a data folder that cannot be used", () =>
    Effect.gen(function*() {
      const at = yield* folders
      fs.writeFileSync(path.join(at.data, "capstan"), "")
      const ended = yield* run(at, ["sessions"])
      expect(ended.code).toBe(2)
      expect(oneLine(ended)).toMatch(/The data folder .* cannot be used .* XDG_DATA_HOME/)
    }), patient)
})
