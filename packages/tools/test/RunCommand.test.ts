import type { Tool } from "@capstan/core"
import { Sandbox, ToolLoop } from "@capstan/core"
import { NodeSandbox } from "@capstan/node"
import { FakeSandbox, ScriptedApproval, ScriptedModel, TestLoop } from "@capstan/testing"
import { CommandTools, FileTools, RunCommand } from "@capstan/tools"
import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer } from "effect"
import * as Fs from "node:fs"
import { temporaryFolder } from "./machines.js"
import { call, fail, findings, prepare, session, text } from "./toolCalls.js"

const run = RunCommand.tool

const fake = (commands: FakeSandbox.Options["commands"], files: FakeSandbox.Options["files"] = {}) =>
  FakeSandbox.layer({ files, ...(commands === undefined ? {} : { commands }) })

describe("run_command in memory", () => {
  it.effect("gives stdout, and stderr under its name", () =>
    Effect.gen(function*() {
      expect(yield* call(run, { command: "out" })).toBe("hello\n")
      expect(yield* call(run, { command: "both" })).toBe("out\n\n[stderr]\nerr\n")
      expect(yield* call(run, { command: "unended" })).toBe("out\n\n[stderr]\nerr")
      expect(yield* call(run, { command: "err" })).toBe("[stderr]\nerr\n")
      expect(yield* call(run, { command: "nothing" })).toBe("[exit code 0; it printed nothing]")
    }).pipe(Effect.provide(fake({
      out: { stdout: "hello\n" },
      both: { stdout: "out\n", stderr: "err\n" },
      unended: { stdout: "out", stderr: "err" },
      err: { stderr: "err\n" },
      nothing: {}
    }))))

  it.effect("fails with the exit code and both outputs", () =>
    Effect.gen(function*() {
      expect(yield* fail(run, { command: "bad" })).toEqual({
        _tag: "Execution",
        message: "The command failed with exit code 3.\nout\n\n[stderr]\nerr\n",
        suggestedFix: null,
        details: { defect: false }
      })
      expect(text(yield* fail(run, { command: "silent" }))).toBe(
        "The command failed with exit code 1.\n[it printed nothing]"
      )
      expect(text(yield* fail(run, { command: "unknown-program" }))).toContain("A program in it is not there.")
      expect(text(yield* fail(run, { command: "grep x a" }))).toContain("no line matched")
    }).pipe(
      Effect.provide(
        fake({
          bad: { stdout: "out\n", stderr: "err\n", exitCode: 3 },
          silent: { exitCode: 1 },
          "grep x a": { exitCode: 1 }
        })
      )
    ))

  it.effect("keeps beginning and end of what does not fit, and counts the middle", () =>
    Effect.gen(function*() {
      for (const [stdout, stderr] of [["o", ""], ["", "e"], ["o", "e"], ["ü", "😀"]] as const) {
        const machine = fake(() => ({
          stdout: stdout === "" ? "" : `BEGIN${stdout.repeat(20_000)}END`,
          stderr: stderr === "" ? "" : `begin${stderr.repeat(20_000)}end`
        }))
        const at = session({ limits: { maxStoredOutputBytes: 3_000 }, capacity: 3_000 })
        const said = yield* call(run, { command: "x" }, at).pipe(Effect.provide(machine))
        const shown = said.replace(/\n?\[it printed [^\n]*\]$/, "")
        expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(3_000)
        expect(Buffer.byteLength(shown)).toBeGreaterThan(2_700)
        expect(shown).not.toContain("\uFFFD")
        const dropped = [...shown.matchAll(/\n\[… (\d+) bytes left out here …\]\n/g)]
        expect(dropped.length).toBe((stdout === "" ? 0 : 1) + (stderr === "" ? 0 : 1))
        const kept = Buffer.byteLength(
          shown.replace(/\n\[… \d+ bytes left out here …\]\n/g, "").replace(/\n*\[stderr\]\n/, "")
        )
        const total = (stdout === "" ? 0 : 8 + 20_000 * Buffer.byteLength(stdout)) +
          (stderr === "" ? 0 : 8 + 20_000 * Buffer.byteLength(stderr))
        expect(dropped.reduce((sum, [, bytes]) => sum + Number(bytes), kept)).toBe(total)
        if (stdout !== "") expect(shown).toMatch(/^BEGIN[^]*END/)
        if (stderr !== "") expect(shown).toMatch(/\[stderr\]\nbegin[^]*end$/)
      }
    }))

  it.effect("gives short stderr whole next to long stdout", () =>
    Effect.gen(function*() {
      const shown = yield* call(
        run,
        { command: "x" },
        session({ limits: { maxStoredOutputBytes: 2_000 }, capacity: 2_000 })
      )
      expect(shown).toMatch(/left out here …\][^]*\n\n\[stderr\]\nwhy\n(?:\[it printed 9004 bytes;[^\n]*\])?$/)
    }).pipe(Effect.provide(fake({ x: { stdout: "o".repeat(9_000), stderr: "why\n" } }))))

  it.effect("streams, makes its process known, and runs where it should", () =>
    Effect.gen(function*() {
      const at = session()
      yield* call(run, { command: "x", cwd: "src" }, at)
      expect(at.chunks).toEqual([{ stream: "stdout", text: "out" }, { stream: "stderr", text: "err" }])
      expect(at.processes).toMatchObject([{ token: "scripted-1" }])
      yield* call(run, { command: "x" }, at)
      const machine = yield* FakeSandbox.FakeSandbox
      expect((yield* machine.ran).map(({ cwd }) => cwd)).toEqual(["/workspace/src", "/workspace"])
    }).pipe(Effect.provide(fake({ x: { stdout: "out", stderr: "err" } }, { "src/a": "1" }))))

  it.effect("refuses folders that are none", () =>
    Effect.gen(function*() {
      expect(text(yield* fail(run, { command: "x", cwd: "lib" }))).toContain("There is no \"lib\". \".\" has: src/.")
      expect(text(yield* fail(run, { command: "x", cwd: "src/a" }))).toContain("is a file, not a folder")
      expect(yield* fail(run, { command: "x", cwd: "/etc" })).toMatchObject({ _tag: "Permission" })
    }).pipe(Effect.provide(fake({ x: {} }, { "src/a": "1" }))))

  it.effect("says that commands are off", () =>
    Effect.gen(function*() {
      expect(yield* fail(run, { command: "x" })).toMatchObject({ _tag: "Disabled" })
    }).pipe(Effect.provide(fake(undefined))))

  it.effect("asks as the command deserves", () =>
    Effect.gen(function*() {
      const approval = (command: string, cwd?: string) =>
        Effect.map(prepare(run, { command, ...(cwd === undefined ? {} : { cwd }) }).assess, ({ approval }) => approval)
      expect(yield* approval("cat src/a")).toBe("never")
      expect(yield* approval("cat a", "src")).toBe("never")
      expect(yield* approval("ls -la && pwd")).toBe("never")
      expect(yield* approval("cat a")).toBe("unless-allowed")
      expect(yield* approval("cat src")).toBe("unless-allowed")
      expect(yield* approval("cat ../a", "src")).toBe("unless-allowed")
      expect(yield* approval("cat ../../etc/passwd")).toBe("unless-allowed")
      expect(yield* approval("cat /etc/passwd")).toBe("unless-allowed")
      expect(yield* approval("cat link")).toBe("unless-allowed")
      expect(yield* approval("cat secrets/x")).toBe("unless-allowed")
      expect(yield* approval("cat src/a", "missing")).toBe("unless-allowed")
      expect(yield* approval("git status")).toBe("unless-allowed")
      expect(yield* approval("$X")).toBe("unless-allowed")
      expect(yield* approval("rm -rf /")).toBe("always")
      expect(yield* prepare(run, { command: "rm -rf /" }).assess).toEqual({
        risk: "high",
        approval: "always",
        warnings: ["rm deletes \"/\" and all below it"]
      })
      expect(yield* prepare(run, { command: "ls" }).assess).toEqual({ risk: "low", approval: "never", warnings: [] })
    }).pipe(
      Effect.provide(
        fake({}, { "src/a": "1", "secrets/x": "1", "/outside/x": "1", link: FakeSandbox.link("/outside/x") })
      )
    ))

  it("says what it would do", () => {
    const long = `echo ${"x".repeat(400)}`
    expect(prepare(run, { command: long, cwd: "src", description: "Say it" })).toMatchObject({
      paths: [{ path: "src", access: "list" }],
      detail: `${long}\n[in src]`,
      summary: `Run ${long} (Say it)`
    })
    expect(prepare(run, { command: "npm test" }).allowedBy("npm *")).toBe(true)
    expect(prepare(run, { command: "npm test; rm x" }).allowedBy("npm *")).toBe(false)
    expect(Duration.toSeconds(prepare(run, { command: "x" }).timeout ?? 0)).toBe(30)
    expect(Duration.toSeconds(prepare(run, { command: "x", timeout_seconds: 300 }).timeout ?? 0)).toBe(300)
    expect(findings(run, { command: "x", timeout_seconds: 301 })).toMatchObject([{ path: "timeout_seconds" }])
    expect(findings(run, { command: "" })).toMatchObject([{ path: "command" }])
  })
})

const host = Layer.unwrapScoped(Effect.map(temporaryFolder, (workspace) => {
  Fs.writeFileSync(`${workspace}/a`, "1\n")
  return NodeSandbox.layer({ mounts: { workspace }, osSandbox: "off" })
}))

describe("run_command on the machine", () => {
  it.live("runs bash, in the folder, without input", () =>
    Effect.gen(function*() {
      expect(yield* call(run, { command: "cat a; [[ x == x ]] && cat" })).toBe("1\n")
      expect(text(yield* fail(run, { command: "echo out; echo err >&2; exit 3" }))).toBe(
        "The command failed with exit code 3.\nout\n\n[stderr]\nerr\n"
      )
      expect(text(yield* fail(run, { command: "kill -TERM $$" }))).toContain("ended by the signal SIGTERM")
    }).pipe(Effect.provide(host)))

  it.live("keeps its memory and output bounded", () =>
    Effect.gen(function*() {
      const shown = yield* call(
        run,
        { command: "seq 1 300000" },
        session({ limits: { maxStoredOutputBytes: 5_000 }, capacity: 1_000 })
      )
      expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(5_000)
      expect(shown).toMatch(/^1\n2\n[^]*left out here[^]*299999\n300000\n\[it printed 1988895 bytes;[^\n]*\]$/)
    }).pipe(Effect.provide(host)))

  it.live("ends what runs when it is interrupted", () =>
    Effect.gen(function*() {
      const at = session()
      const fiber = yield* Effect.fork(call(run, { command: "echo ready; sleep 100" }, at))
      yield* Effect.iterate(0, {
        while: () => at.chunks.length === 0,
        body: (n) => Effect.as(Effect.sleep("5 millis"), n + 1)
      })
      yield* Fiber.interrupt(fiber)
      const pid = at.processes[0]?.pid ?? 0
      expect(pid).toBeGreaterThan(1)
      expect(Fs.existsSync(`/proc/${pid}`)).toBe(false)
    }).pipe(Effect.provide(host)))

  it.effect("runs reading commands unasked where somebody chose to do without a sandbox, and says what is off", () =>
    Effect.gen(function*() {
      const { weakened } = (yield* Sandbox.Sandbox).processes.enforcement
      expect(weakened.join(" ")).toContain("No OS sandbox")
      expect(yield* prepare(run, { command: "ls" }).assess).toEqual({
        risk: "low",
        approval: "never",
        warnings: weakened
      })
      expect(yield* prepare(run, { command: "npm test" }).assess).toMatchObject({ approval: "unless-allowed" })
    }).pipe(Effect.provide(host)))

  it.live("asks for every command where a sandbox was preferred and is not there, and every result says so", () =>
    Effect.gen(function*() {
      for (const command of ["ls", "npm test"]) {
        const assessed = yield* prepare(run, { command }).assess
        expect(assessed).toMatchObject({ risk: "high", approval: "unless-allowed" })
        expect(assessed.warnings.at(-1)).toMatch(/^sandbox: none \(.*install the package "bubblewrap".*\)$/)
      }
      expect(yield* call(run, { command: "echo hi" })).toMatch(/^hi\n\[sandbox: none \(.*bubblewrap.*\)\]$/)
      expect(text(yield* fail(run, { command: "exit 3" }))).toMatch(/exit code 3[^]*\[sandbox: none \(/)
    }).pipe(Effect.provide(Layer.unwrapScoped(
      Effect.map(
        temporaryFolder,
        (workspace) =>
          NodeSandbox.layer({ mounts: { workspace }, osSandbox: "preferred", program: `${workspace}/none` })
      )
    ))))
})

describe("the tools in the loop", () => {
  const tools: ReadonlyArray<Tool.Tool<Sandbox.Sandbox>> = [...FileTools.all, ...CommandTools.all]

  it.effect("read, edit and check a file", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "s", message: "set the port to 8080" })
      expect(turn.calls.map(({ outcome }) => outcome._tag)).toEqual(["Succeeded", "Succeeded", "Succeeded"])
      expect(yield* FakeSandbox.files).toEqual({ "config.json": "{\n  \"port\": 8080\n}\n" })
    }).pipe(Effect.provide(TestLoop.layer({
      model: [
        ScriptedModel.call("read_file", { path: "config.json" }),
        ScriptedModel.call("edit_file", {
          path: "config.json",
          old_text: "\"port\": 80\n",
          new_text: "\"port\": 8080\n"
        }),
        ScriptedModel.call("run_command", { command: "cat config.json" }),
        ScriptedModel.text("done")
      ],
      approvals: [ScriptedApproval.approve],
      files: { "config.json": "{\n  \"port\": 80\n}\n" },
      commands: { "cat config.json": { stdout: "ok\n" } },
      policy: { denylist: [], trust: "full" },
      limits: { maxToolIterationsPerUserTurn: 8 },
      tools
    }))))

  it.effect("a refused overwrite shows the file, which then counts as read in the next call", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "s", message: "x" })
      expect(turn.calls.map(({ outcome }) => outcome._tag)).toEqual(["Failed", "Succeeded"])
      expect(yield* FakeSandbox.files).toEqual({ a: "new\n" })
    }).pipe(Effect.provide(TestLoop.layer({
      model: [
        ScriptedModel.call("write_file", { path: "a", content: "new\n" }),
        ScriptedModel.call("write_file", { path: "a", content: "new\n" }),
        ScriptedModel.text("done")
      ],
      policy: { mode: "auto" },
      files: { a: "old\n" },
      tools
    }))))

  it.effect("a dangerous command asks although everything is allowed", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "s", message: "x" })
      expect(turn.calls.map(({ outcome }) => outcome._tag)).toEqual(["Denied"])
    }).pipe(Effect.provide(TestLoop.layer({
      model: [ScriptedModel.call("run_command", { command: "rm -rf ~/" }), ScriptedModel.text("done")],
      approvals: [ScriptedApproval.deny("no")],
      commands: {},
      policy: { mode: "auto", denylist: [], allowlist: ["run_command", "run_command(rm *)"], trust: "full" },
      tools
    }))))
})

describe("descriptions", () => {
  it.each([...FileTools.all, ...CommandTools.all].map((tool) => [tool.definition.name, tool] as const))(
    "%s",
    (name, tool) => {
      const { description, parameters } = tool.definition
      // A patch needs its whole format told.
      expect(description.length).toBeLessThanOrEqual(name === "apply_patch" ? 1_400 : 700)
      expect(description).toContain("Example")
      expect(description).toMatch(/\bNot (?:for|to) |\bDo not use it /)
      const properties = Object.entries(parameters["properties"] ?? {})
      expect(properties.length).toBeGreaterThan(0)
      for (const [parameter, schema] of properties) {
        expect([name, parameter, schema.description, schema.examples]).toEqual([
          name,
          parameter,
          expect.any(String),
          expect.any(Array)
        ])
      }
    }
  )
})
