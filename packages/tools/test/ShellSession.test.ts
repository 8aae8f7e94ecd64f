import { Sandbox } from "@capstan/core"
import { NodeSandbox } from "@capstan/node"
import { FakeSandbox } from "@capstan/testing"
import { ShellSession } from "@capstan/tools"
import { describe, expect, it, layer } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import * as Fs from "node:fs"
import { temporaryFolder } from "./machines.js"
import { call, fail, findings, prepare, text } from "./toolCalls.js"

const run = ShellSession.tool

describe("shell_session in memory", () => {
  it.effect("goes on in the folder where the last call ended, if the path rules let it", () =>
    Effect.gen(function*() {
      const machine = yield* FakeSandbox.FakeSandbox
      expect(yield* call(run, { command: "cd src" })).toBe("[exit code 0; it printed nothing]\n[now in src]")
      expect(yield* call(run, { command: "pwd" })).toBe("ok\n")
      expect(yield* call(run, { command: "cd out" })).toContain("[now in /outside]")
      expect(yield* call(run, { command: "pwd" }))
        .toBe("ok\n[started in the working directory: /outside is gone, or commands may not start there]")
      yield* call(run, { command: "cd secret" })
      expect(yield* call(run, { command: "pwd" })).toContain("[started in the working directory: secrets is gone")
      yield* call(run, { command: "cd file" })
      expect(yield* call(run, { command: "pwd" })).toContain("[started in the working directory: src/a is gone")
      yield* call(run, { command: "cd src" })
      yield* machine.put("src", undefined)
      expect(yield* call(run, { command: "pwd" })).toContain("[started in the working directory: src is gone")
      expect((yield* machine.ran).map(({ command, cwd, session }) => [command, cwd, session])).toEqual([
        ["cd src", "/workspace", "test"],
        ["pwd", "/workspace/src", "test"],
        ["cd out", "/workspace/src", "test"],
        ["pwd", "/workspace", "test"],
        ["cd secret", "/workspace", "test"],
        ["pwd", "/workspace", "test"],
        ["cd file", "/workspace", "test"],
        ["pwd", "/workspace", "test"],
        ["cd src", "/workspace", "test"],
        ["pwd", "/workspace", "test"]
      ])
    }).pipe(Effect.provide(FakeSandbox.layer({
      files: { "src/a": "1", "secrets/x": "1", "/outside/x": "1" },
      commands: {
        "cd src": { directory: "/workspace/src" },
        "cd out": { directory: "/outside" },
        "cd secret": { directory: "/workspace/secrets" },
        "cd file": { directory: "/workspace/src/a" },
        "pwd": { stdout: "ok\n" }
      }
    }))))

  it.effect("starts over when told to", () =>
    Effect.gen(function*() {
      yield* call(run, { command: "cd src" })
      yield* call(run, { command: "pwd", reset: true })
      const machine = yield* FakeSandbox.FakeSandbox
      expect((yield* machine.ran).map(({ cwd }) => cwd)).toEqual(["/workspace", "/workspace"])
    }).pipe(Effect.provide(FakeSandbox.layer({
      files: { "src/a": "1" },
      commands: { "cd src": { directory: "/workspace/src" }, "pwd": {} }
    }))))

  it.effect("asks for every command, and in every mode for dangerous ones", () =>
    Effect.gen(function*() {
      const approval = (command: string) => Effect.map(prepare(run, { command }).assess, ({ approval }) => approval)
      expect(yield* approval("ls")).toBe("unless-allowed")
      expect(yield* approval("cat $X")).toBe("unless-allowed")
      expect(yield* approval("rm -rf ~/")).toBe("always")
    }).pipe(Effect.provide(FakeSandbox.layer({ commands: {} }))))

  it.effect("says that commands are off", () =>
    Effect.gen(function*() {
      expect(yield* fail(run, { command: "x" })).toMatchObject({ _tag: "Disabled" })
    }).pipe(Effect.provide(FakeSandbox.layer())))

  it("says what it would do, and is covered like a single command", () => {
    expect(prepare(run, { command: "ls", description: "Look" })).toMatchObject({
      paths: [],
      summary: "Run ls (Look)",
      detail: "ls\n[in the shell of this session]"
    })
    expect(prepare(run, { command: "ls", reset: true }).detail).toBe("ls\n[in the shell of this session, started over]")
    expect(Duration.toSeconds(prepare(run, { command: "x" }).timeout ?? 0)).toBe(30)
    const chain = prepare(run, { command: "npm ci && npm test" })
    expect(chain.allowedBy("npm ci")).toBe(false)
    expect(chain.allowedBy("npm ci", "npm test")).toBe(true)
    expect(chain.deniedBy("npm test")).toBe(true)
    expect(findings(run, { command: "x", cwd: "src" })).toMatchObject([{ path: "cwd" }])
  })
})

const machine = Layer.unwrapScoped(Effect.map(temporaryFolder, (workspace) => {
  Fs.mkdirSync(`${workspace}/sub`)
  return NodeSandbox.layer({ mounts: { workspace }, osSandbox: "preferred" })
}))

layer(machine, { excludeTestServices: true })("shell_session on the machine", (it) => {
  it.effect("keeps folder and variables, and reports like run_command", () =>
    Effect.gen(function*() {
      expect(yield* call(run, { command: "cd sub && PORT=8080" })).toContain("[now in sub]")
      expect(yield* call(run, { command: "echo $PORT; pwd | grep -o 'sub$'" })).toContain("8080\nsub\n")
      expect(text(yield* fail(run, { command: "PORT=81; echo out; echo err >&2; exit 3" }))).toContain(
        "The command failed with exit code 3.\nout\n\n[stderr]\nerr\n"
      )
      expect(yield* call(run, { command: "echo $PORT" })).toContain("81\n")
      expect(yield* call(run, { command: "echo ${PORT-none}", reset: true })).toContain("none\n")
    }))

  it.effect("says what is not kept", () =>
    Effect.gen(function*() {
      expect(yield* call(run, { command: "PATH=$PWD:$PATH; sleep 100 &" })).toMatch(
        /\[not kept, because they change what later commands run: PATH\][^]*\[ended with the command: .*sleep 100/
      )
    }))

  it.effect("starts in the workspace again once its folder lies outside, is gone or is protected", () =>
    Effect.gen(function*() {
      const { files } = yield* Sandbox.Sandbox
      for (const leave of ["cd /", "mkdir gone; cd gone; rmdir ../gone", "mkdir -p secrets; cd secrets"]) {
        yield* call(run, { command: leave, reset: true })
        const shown = yield* call(run, { command: "pwd" })
        expect(shown).toContain(`${files.workingDirectory}\n`)
        expect(shown).toContain("[started in the working directory: ")
      }
    }))
})
