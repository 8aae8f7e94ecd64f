import { ProcessRunner } from "@capstan/core/ProcessRunner"
import { BubblewrapProbe, NodeProcessRunner, SandboxedProcessRunner } from "@capstan/node"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll } from "vitest"

const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "capstan-choice-test-")))
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

/** A program that behaves like a bubblewrap of another kind. */
const pretend = (name: string, version: string, rest: string): string => {
  const file = path.join(root, name)
  fs.writeFileSync(file, `#!/bin/bash\n[ "$1" = --version ] && { echo "${version}"; exit; }\n${rest}\n`, {
    mode: 0o755
  })
  return file
}
const old = pretend("old", "bubblewrap 0.6.2", "exit 1")
const misnamed = pretend("misnamed", "bubblewrap 0.8.0", `echo "bwrap: Unknown option --disable-userns" >&2; exit 1`)
const forbidden = pretend(
  "forbidden",
  "bubblewrap 0.11.0",
  `echo "bwrap: setting up uid map: Permission denied" >&2; exit 1`
)
const silent = pretend("silent", "no number", "exit 1")
const sieve = pretend(
  "sieve",
  "bubblewrap 0.8.0",
  `
while [ $# -gt 0 ]; do
  case "$1" in --setenv) export "$2=$3"; shift 3 ;; --) shift; break ;; *) shift ;; esac
done
exec "$@"`
)
const idle = pretend("idle", "bubblewrap 0.8.0", "echo started; echo done")

describe("a probe", () => {
  const cases = [
    ["missing", path.join(root, "none"), "install"],
    ["too-old", old, "0.8 or newer"],
    ["too-old", misnamed, "0.8 or newer"],
    ["forbidden", forbidden, "setting up uid map: Permission denied"],
    ["forbidden", silent, "allow"],
    ["ineffective", sieve, "a write outside of the mounts reached the disk"],
    ["ineffective", idle, "a write inside of a mount did not reach the disk"]
  ] as const
  for (const [reason, program, message] of cases) {
    it.live(`tells ${reason} by ${path.basename(program)}`, () =>
      Effect.gen(function*() {
        const found = yield* BubblewrapProbe.probe({ program })
        expect(found).toMatchObject({ _tag: "Unavailable", reason })
        expect(found._tag === "Unavailable" ? found.message : "").toContain(message)
        expect(fs.readdirSync(os.homedir()).filter((name) => name.startsWith(".capstan-probe"))).toEqual([])
      }))
  }
})

describe("the choice of a backend", () => {
  const mounts = [{ name: "workspace", root, access: "rw" }] as const
  const run = Effect.flatMap(ProcessRunner, ({ run }) => run({ command: "echo ran", cwd: root, keepBytes: 100 }))

  it.live("required: without a sandbox every command fails and says what to do", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(run)
      expect(error).toMatchObject({ _tag: "ProcessError", reason: "no-sandbox" })
      expect(error.message).toContain("install bubblewrap 0.8 or newer")
      const { enforcement } = yield* ProcessRunner
      expect(enforcement.weakened.join()).toContain("required and not available")
    }).pipe(Effect.provide(NodeProcessRunner.layer({ mounts, program: old }))))

  it.live("the sandbox layer alone is as strict", () =>
    Effect.gen(function*() {
      expect(yield* Effect.flip(run)).toMatchObject({ reason: "no-sandbox" })
    }).pipe(Effect.provide(SandboxedProcessRunner.layer({ mounts, program: forbidden }))))

  it.live("preferred: without a sandbox commands run on the host, and each result says so", () =>
    Effect.gen(function*() {
      const result = yield* run
      expect(result.stdout.head).toBe("ran\n")
      expect(result.notes).toEqual([expect.stringMatching(/^sandbox: none \(.*0\.8 or newer\.\)$/)])
      const { enforcement } = yield* ProcessRunner
      expect(enforcement).toMatchObject({ backend: "host", filesystem: false })
      expect(enforcement.fallback).toMatch(/0\.6\.2/)
      expect(enforcement.weakened.at(-1)).toBe(`sandbox: none (${enforcement.fallback})`)
    }).pipe(Effect.provide(NodeProcessRunner.layer({ mounts, program: old, osSandbox: "preferred" }))))

  it.live("off: commands run on the host", () =>
    Effect.gen(function*() {
      expect(yield* run).toMatchObject({ stdout: { head: "ran\n" }, notes: [] })
      const { enforcement } = yield* ProcessRunner
      expect(enforcement.weakened.at(-1)).toContain("os_sandbox = \"off\"")
    }).pipe(Effect.provide(NodeProcessRunner.layer({ mounts, osSandbox: "off" }))))
})
