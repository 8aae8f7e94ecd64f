import { ProcessRunner } from "@capstan/core/ProcessRunner"
import { CommandEnvironment, DisabledProcessRunner, HostProcessRunner } from "@capstan/node"
import { describe, expect, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { leftOver, makeMarker } from "./processCases.js"

const runner = HostProcessRunner.layer({
  grace: "100 millis",
  environment: {
    PATH: "/usr/bin:/bin",
    HOME: "/root",
    MY_TOKEN: "t",
    Ld_Preload: "x",
    HIDDEN: "1",
    BASH_ENV: "/tmp/x",
    EDITOR: "vi"
  },
  denyEnvironment: ["hid*"],
  setEnvironment: { CI: "1", SHOWN_KEY: "written down" }
})

const run = (command: string, cwd = "/") =>
  Effect.flatMap(ProcessRunner, (processes) => processes.run({ command, cwd, keepBytes: 100_000 }))

layer(runner, { excludeTestServices: true })("a command on the host", (it) => {
  it.effect("keeps both outputs and the exit code", () =>
    Effect.gen(function*() {
      const result = yield* run("echo out; echo err > /dev/stderr; exit 3")
      expect(result).toEqual({
        exit: { _tag: "Exited", code: 3 },
        stdout: { head: "out\n", tail: "", droppedBytes: 0, totalBytes: 4 },
        stderr: { head: "err\n", tail: "", droppedBytes: 0, totalBytes: 4 },
        survivors: [],
        notes: []
      })
    }))

  it.effect("tells signals from exit codes", () =>
    Effect.gen(function*() {
      expect((yield* run("kill -9 $$")).exit).toEqual({ _tag: "Signalled", signal: "SIGKILL" })
      expect((yield* run("exit 137")).exit).toEqual({ _tag: "Exited", code: 137 })
    }))

  it.effect("has an empty standard input", () =>
    Effect.gen(function*() {
      expect(yield* run("cat; read -r line || echo closed")).toMatchObject({ stdout: { head: "closed\n" } })
    }))

  it.effect("runs bash without start-up files", () =>
    Effect.gen(function*() {
      expect((yield* run("echo $'\\' ; echo INJECTED #'; shopt login_shell; [[ -v PS1 ]] || echo quiet")).stdout.head)
        .toBe("' ; echo INJECTED #\nlogin_shell    \toff\nquiet\n")
    }))

  it.effect("gets the environment that is allowed, and the request's own", () =>
    Effect.gen(function*() {
      const processes = yield* ProcessRunner
      const result = yield* processes.run({
        command: "env | sort",
        cwd: "/",
        keepBytes: 10_000,
        env: { MINE: "1", CI: "2" }
      })
      const names = result.stdout.head.split("\n").map((line) => line.split("=")[0])
      expect(names).toEqual([
        "CAPSTAN_RUN_TOKEN",
        "CI",
        "EDITOR",
        "HOME",
        "MINE",
        "PATH",
        "PWD",
        "SHLVL",
        "SHOWN_KEY",
        "_",
        ""
      ])
      expect(result.stdout.head).toContain("CI=2\n")
    }))

  it.effect("starts in its folder, which must be one", () =>
    Effect.gen(function*() {
      const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "capstan-cwd-")))
      expect((yield* run("pwd", folder)).stdout.head).toBe(`${folder}\n`)
      fs.rmdirSync(folder)
      expect(yield* Effect.flip(run("pwd", folder))).toMatchObject({ _tag: "ProcessError", reason: "bad-directory" })
      expect(yield* Effect.flip(run("pwd", "/etc/passwd"))).toMatchObject({ reason: "bad-directory" })
    }))

  it.effect("fails typed when it cannot be started", () =>
    Effect.gen(function*() {
      const tooLong = yield* Effect.flip(run(`: ${"x".repeat(200_000)}`))
      expect(tooLong).toMatchObject({ _tag: "ProcessError", reason: "spawn" })
      expect(tooLong.message).toContain("too long")
      expect(yield* Effect.flip(run("echo \0"))).toMatchObject({ reason: "spawn" })
    }))

  it.effect("does not wait for a background child that keeps the pipes open, and ends it", () =>
    Effect.gen(function*() {
      const marker = makeMarker()
      const result = yield* run(`(setsid sleep ${marker} &); sleep ${marker} & echo done`)
      expect(result).toMatchObject({ exit: { code: 0 }, stdout: { head: "done\n" }, survivors: [] })
      expect(leftOver("none", marker)).toEqual([])
    }))

  it.effect("ends children that wiped their environment while their parent still ran", () =>
    Effect.gen(function*() {
      const marker = makeMarker()
      yield* Effect.timeoutOption(run(`env -i setsid sleep ${marker}; true`), "200 millis")
      expect(leftOver("none", marker)).toEqual([])
    }))

  it.effect("lets a command clean up on SIGTERM", () =>
    Effect.gen(function*() {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), "capstan-term-"))
      yield* Effect.timeoutOption(run(`trap 'echo gone > ${folder}/mark; exit' TERM; sleep 100 & wait`), "200 millis")
      expect(fs.readFileSync(path.join(folder, "mark"), "utf8")).toBe("gone\n")
      fs.rmSync(folder, { recursive: true })
    }))

  it.effect("carries the mark of a run around it", () =>
    Effect.gen(function*() {
      const before = process.env["CAPSTAN_RUN_TOKEN"]
      process.env["CAPSTAN_RUN_TOKEN"] = "outer"
      const result = yield* run("echo $CAPSTAN_RUN_TOKEN")
      if (before === undefined) delete process.env["CAPSTAN_RUN_TOKEN"]
      else process.env["CAPSTAN_RUN_TOKEN"] = before
      expect(result.stdout.head).toMatch(/^outer:[0-9a-f-]{36}\n$/)
    }))

  it.effect("runs many at once", () =>
    Effect.gen(function*() {
      const results = yield* Effect.forEach(Array.from({ length: 40 }, (_, index) => index), (index) =>
        run(`echo ${index}`), {
        concurrency: 8
      })
      expect(results.map((result) =>
        Number(result.stdout.head)
      )).toEqual(results.map((_, index) => index))
    }))
})

it.live("cuts the grace short in a hurry", () =>
  Effect.gen(function*() {
    const marker = makeMarker()
    const outcome = yield* run(`trap '' TERM; sleep ${marker}; sleep ${marker}`).pipe(
      Effect.timeoutOption("200 millis"),
      Effect.timeout("5 seconds")
    )
    expect(outcome._tag).toBe("None")
    expect(leftOver("none", marker)).toEqual([])
  }).pipe(Effect.provide(HostProcessRunner.layer({ grace: "1 minute", hurry: Effect.succeed(true) }))))

it.live("says what the host does not enforce", () =>
  Effect.gen(function*() {
    const { enforcement } = yield* ProcessRunner
    expect(enforcement).toMatchObject({ backend: "host", filesystem: false, network: false, survivors: true })
    expect(enforcement.weakened).toHaveLength(1)
  }).pipe(Effect.provide(HostProcessRunner.layer())))

it.live("refuses everything when disabled", () =>
  Effect.gen(function*() {
    expect(yield* Effect.flip(run("true"))).toMatchObject({ _tag: "ProcessError", reason: "disabled" })
    expect((yield* ProcessRunner).enforcement.backend).toBe("disabled")
  }).pipe(Effect.provide(DisabledProcessRunner.layer)))

it("takes /bin/sh where there is no bash", () => {
  expect(HostProcessRunner.shell("a", () => true)).toEqual({
    file: "/bin/bash",
    args: ["--noprofile", "--norc", "-c", "a"]
  })
  expect(HostProcessRunner.shell("a", () => false)).toEqual({ file: "/bin/sh", args: ["-c", "a"] })
})

describe("the environment of commands", () => {
  const name = FastCheck.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/)
  const anyCase = (text: string) =>
    FastCheck.array(FastCheck.boolean(), { minLength: text.length, maxLength: text.length }).map((upper) =>
      [...text].map((letter, index) => upper[index] === true ? letter.toUpperCase() : letter.toLowerCase()).join("")
    )
  const denied = FastCheck.tuple(
    FastCheck.constantFrom(...CommandEnvironment.credentials, ...CommandEnvironment.injection),
    name
  )
    .map(([pattern, fill]) => pattern.replaceAll("*", fill))
    .chain(anyCase)

  it.prop(
    "never holds a denied name, whatever its case",
    { denied, value: FastCheck.string() },
    ({ denied, value }) => {
      expect(CommandEnvironment.isDenied(denied)).toBe(true)
      expect(CommandEnvironment.make({ inherited: { [denied]: value } })).toEqual({})
    }
  )

  it.prop(
    "keeps every other variable as it is",
    { inherited: FastCheck.dictionary(name, FastCheck.string()) },
    ({ inherited }) => {
      const kept = CommandEnvironment.make({ inherited })
      for (const [key, value] of Object.entries(inherited)) {
        expect(kept[key]).toBe(CommandEnvironment.isDenied(key) ? undefined : value)
      }
    }
  )

  it("keeps what only looks alike", () => {
    for (
      const kept of [
        "PATH",
        "HOME",
        "KEYBOARD",
        "TOKENIZER",
        "MONKEY",
        "ENVIRONMENT",
        "AWSOME",
        "LANG",
        "GIT_AUTHOR_NAME"
      ]
    ) {
      expect(CommandEnvironment.isDenied(kept)).toBe(false)
    }
  })

  it("takes a user's patterns literally but for the star", () => {
    expect(CommandEnvironment.isDenied("A.B", ["a.*"])).toBe(true)
    expect(CommandEnvironment.isDenied("AxB", ["a.*"])).toBe(false)
    expect(CommandEnvironment.make({ inherited: { A: "1", B: undefined }, deny: ["a"], set: { A_KEY: "2" } }))
      .toEqual({ A_KEY: "2" })
  })
})
