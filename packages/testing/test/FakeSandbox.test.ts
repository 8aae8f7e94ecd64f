import { FileError } from "@capstan/core/FileError"
import { ProcessRunner } from "@capstan/core/ProcessRunner"
import { Sandbox } from "@capstan/core/Sandbox"
import { Workspace } from "@capstan/core/Workspace"
import { FakeSandbox } from "@capstan/testing"
import * as WorkspaceConformance from "@capstan/testing/WorkspaceConformance"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"

WorkspaceConformance.suite({
  name: "FakeSandbox",
  layer: (seed) =>
    FakeSandbox.layer({
      workingDirectory: "/machine/workspace",
      files: Object.fromEntries(
        Object.entries(seed).map(([path, content]) => [path.replace(/^\.\.\//, "/machine/"), content])
      )
    })
})

const run = (command: string, more: { readonly keepBytes?: number } = {}) =>
  Effect.flatMap(ProcessRunner, (runner) => runner.run({ command, cwd: "/workspace", keepBytes: 100, ...more }))

describe("FakeSandbox", () => {
  it.effect("shows its files from outside, and changes them as somebody else would", () =>
    Effect.gen(function*() {
      const machine = yield* FakeSandbox.FakeSandbox
      const files = yield* Workspace
      yield* TestClock.adjust("5 seconds")
      yield* files.write({ path: "b.txt", content: new TextEncoder().encode("2") })
      expect(yield* FakeSandbox.files).toEqual({ "/etc/hosts": "h", "a.txt": "1", "b.txt": "2" })
      yield* machine.put("a.txt", "changed")
      yield* machine.put("b.txt", undefined)
      yield* machine.put("link", FakeSandbox.link("a.txt"))
      expect(
        new TextDecoder().decode(yield* machine.bytes("link").pipe(Effect.map((bytes) => bytes ?? new Uint8Array())))
      ).toBe("")
      expect((yield* files.read({ path: "link" })).modified).toBe(5_000)
      expect(new TextDecoder().decode((yield* files.read({ path: "link" })).bytes)).toBe("changed")
      expect(yield* FakeSandbox.files).toEqual({ "/etc/hosts": "h", "a.txt": "changed" })
    }).pipe(Effect.provide(FakeSandbox.layer({ files: { "a.txt": "1", "/etc/hosts": "h" } }))))

  it.effect("keeps to its mounts, their access and further deny patterns", () =>
    Effect.gen(function*() {
      const { files } = yield* Sandbox
      const reason = (path: string) =>
        Effect.map(Effect.flip(files.write({ path, content: new Uint8Array() })), (error) => error.reason)
      expect(yield* reason("/shared/a.txt")).toBe("read-only")
      expect(yield* reason("/work/vault/x")).toBe("denied")
      expect(yield* reason("/other/x")).toBe("outside")
      const move = (from: string, to: string) => files.move({ from, to, overwrite: false })
      expect((yield* Effect.flip(move("folder", "/tmp/folder"))).reason).toBe("bad-path")
      expect((yield* Effect.flip(move("/shared/a.txt", "/tmp/b.txt"))).reason).toBe("read-only")
      yield* move("a.txt", "/tmp/a.txt")
      expect((yield* Effect.flip(files.stat({ path: "a.txt" }))).reason).toBe("not-found")
      expect((yield* files.stat({ path: "/tmp/a.txt" })).kind).toBe("file")
      expect((yield* files.read({ path: "/shared/a.txt" })).display).toBe("/shared/a.txt")
    }).pipe(Effect.provide(FakeSandbox.layer({
      files: { "a.txt": "", "folder/x": "", "/shared/a.txt": "s" },
      workingDirectory: "/work",
      mounts: [
        { name: "workspace", root: "/work", access: "rw" },
        { name: "shared", root: "/shared", access: "ro" },
        { name: "tmp", root: "/tmp", access: "rw" }
      ],
      deny: ["vault"]
    }))))

  it.effect("hides a mount from the tools for files, also inside of another one", () =>
    Effect.gen(function*() {
      const { files } = yield* Sandbox
      const found = yield* files.files({ path: ".", glob: undefined, includeHidden: false, limit: 9 })
      expect(found.files.map(({ path }) => path)).toEqual(["a.txt"])
      expect((yield* files.list({ path: "." })).map(({ name }) => name)).toEqual(["a.txt"])
      expect((yield* Effect.flip(files.read({ path: "vault/v" }))).reason).toBe("outside")
      expect((yield* files.stat({ path: "vault/v", vault: true })).size).toBe(1)
      expect((yield* files.copy({ from: "vault/v", to: "v", overwrite: false, vault: true })).bytes).toBe(1)
      expect((yield* Effect.flip(files.stat({ path: "a.txt", vault: true }))).reason).toBe("outside")
    }).pipe(Effect.provide(FakeSandbox.layer({
      files: { "a.txt": "a", "vault/v": "v" },
      workingDirectory: "/work",
      mounts: [
        { name: "workspace", root: "/work", access: "rw" },
        { name: "vault", root: "/work/vault", access: "ro", seenBy: ["vault"] }
      ]
    }))))

  it.effect("fails where it is told to", () =>
    Effect.gen(function*() {
      const files = yield* Workspace
      const write = files.write({ path: "a.txt", content: new Uint8Array() })
      expect((yield* Effect.flip(write)).reason).toBe("no-space")
      expect(yield* FakeSandbox.files).toEqual({ "a.txt": "1" })
      expect((yield* files.read({ path: "a.txt" })).size).toBe(1)
    }).pipe(Effect.provide(FakeSandbox.layer({
      files: { "a.txt": "1" },
      fault: ({ name, path }) =>
        name === "write" ? new FileError({ reason: "no-space", path, message: "The disk is full." }) : undefined
    }))))

  it.effect("runs commands from a table", () =>
    Effect.gen(function*() {
      const machine = yield* FakeSandbox.FakeSandbox
      const { processes } = yield* Sandbox
      const chunks: Array<string> = []
      const result = yield* processes.run({
        command: "npm test",
        cwd: "/workspace",
        env: { CI: "1" },
        keepBytes: 4,
        onStart: ({ pid }) => Effect.sync(() => chunks.push(`started ${pid}`)),
        onOutput: ({ stream, text }) => Effect.sync(() => chunks.push(`${stream} ${text}`))
      })
      expect(result).toMatchObject({
        exit: { _tag: "Exited", code: 2 },
        stdout: { head: "12", tail: "56", droppedBytes: 2, totalBytes: 6 },
        stderr: { head: "bad", tail: "", droppedBytes: 0, totalBytes: 3 }
      })
      expect(chunks).toEqual(["started 1", "stdout 123456", "stderr bad"])
      expect((yield* run("rm x")).exit).toEqual({ _tag: "Exited", code: 127 })
      expect((yield* machine.ran).map(({ command, env }) => [command, env])).toEqual([["npm test", { CI: "1" }], [
        "rm x",
        {}
      ]])
      expect(yield* processes.reap([])).toEqual([])
    }).pipe(Effect.provide(FakeSandbox.layer({
      commands: { "npm test": { stdout: "123456", stderr: "bad", exitCode: 2 } }
    }))))

  it.effect("runs commands by a function, and leaves none behind", () =>
    Effect.gen(function*() {
      const machine = yield* FakeSandbox.FakeSandbox
      expect((yield* run("echo hi")).stdout.head).toBe("echo hi in /workspace")
      const fiber = yield* Effect.fork(run("sleep"))
      yield* Effect.yieldNow()
      expect(yield* machine.running).toBe(1)
      yield* Fiber.interrupt(fiber)
      expect(yield* machine.running).toBe(0)
    }).pipe(Effect.provide(FakeSandbox.layer({
      commands: (command, cwd) => command === "sleep" ? Effect.never : { stdout: `${command} in ${cwd}` }
    }))))

  it.effect("has no commands unless it is given some", () =>
    Effect.gen(function*() {
      expect((yield* Effect.flip(run("ls"))).reason).toBe("disabled")
      const { processes, weakened } = yield* Sandbox
      expect(processes.enforcement.backend).toBe("disabled")
      expect(weakened).toEqual([])
    }).pipe(Effect.provide(FakeSandbox.layer())))
})
