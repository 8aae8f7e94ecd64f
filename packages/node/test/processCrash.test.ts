import { ProcessIdentity, ProcessRunner } from "@capstan/core/ProcessRunner"
import { DisabledProcessRunner, HostProcessRunner } from "@capstan/node"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { build } from "esbuild"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll } from "vitest"
import { confines, leftOver, makeMarker } from "./processCases.js"

const isRoot = process.getuid?.() === 0
if (!isRoot) process.stderr.write("No test as another user: only root can become one.\n")

const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "capstan-crash-test-")))
const program = path.join(root, "runtime.mjs")
/** What a killed runtime leaves there goes with the test. */
const temporary = path.join(root, "tmp")
/** Belongs to nobody, so that no account has to be made and removed. */
const stranger = 54_321

beforeAll(() => {
  fs.chmodSync(root, 0o755)
  fs.mkdirSync(temporary)
  fs.chmodSync(temporary, 0o777)
  const sources = fileURLToPath(new URL("../../", import.meta.url))
  return build({
    entryPoints: [fileURLToPath(new URL("processRuntime.ts", import.meta.url))],
    outfile: program,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    alias: { "@capstan/core": `${sources}core/src`, "@capstan/node": `${sources}node/src/index.ts` },
    external: ["@vscode/ripgrep"],
    logLevel: "error"
  })
})
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

const Report = Schema.parseJson(Schema.Struct({
  identity: Schema.optional(ProcessIdentity),
  chunk: Schema.optional(Schema.Struct({ text: Schema.String })),
  enforcement: Schema.optional(Schema.Struct({ backend: Schema.String })),
  outcome: Schema.optional(Schema.Unknown)
}))
type Report = typeof Report.Type

/** Starts the program; `until` decides on the reports so far when to go on. */
const runtime = (options: {
  readonly backend: "host" | "sandbox"
  readonly command: string
  readonly workspace: string
  readonly until: (reports: ReadonlyArray<Report>) => boolean
  readonly user?: number
  readonly home?: string
}) =>
  Effect.async<{ readonly reports: ReadonlyArray<Report>; readonly kill: () => void }, string>((resume) => {
    const child = spawn(process.execPath, [program, options.backend, options.workspace, options.command], {
      cwd: "/",
      env: { PATH: "/usr/bin:/bin", HOME: options.home ?? os.homedir(), TMPDIR: temporary },
      stdio: ["ignore", "pipe", "pipe"],
      ...(options.user === undefined ? {} : { uid: options.user, gid: options.user })
    })
    let text = ""
    let errors = ""
    child.stderr.on("data", (data: Buffer) => {
      errors += data.toString()
    })
    child.on("close", () => resume(Effect.fail(`it ended: ${text}${errors}`)))
    child.stdout.on("data", (data: Buffer) => {
      text += data.toString()
      const reports = text.split("\n").slice(0, -1).map((line) => Schema.decodeUnknownSync(Report)(line))
      if (options.until(reports)) resume(Effect.succeed({ reports, kill: () => child.kill("SIGKILL") }))
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })

const printed = (word: string) => (reports: ReadonlyArray<Report>) =>
  reports.some((report) => report.chunk?.text.includes(word) ?? false)
const identityOf = (reports: ReadonlyArray<Report>): ProcessIdentity => {
  const identity = reports.find((report) => report.identity !== undefined)?.identity
  if (identity === undefined) throw new Error("it reported no identity")
  return identity
}
const eventually = (check: () => boolean) =>
  Effect.suspend(() => check() ? Effect.void : Effect.fail("not yet")).pipe(
    Effect.retry({ times: 200, schedule: Schedule.spaced("25 millis") })
  )

describe("a runtime that is killed with -9", () => {
  it.live("leaves processes of the host, which reap ends and names", () =>
    Effect.gen(function*() {
      const marker = makeMarker()
      const { kill, reports } = yield* runtime({
        backend: "host",
        workspace: "/",
        command:
          `(setsid bash -c "trap '' TERM; sleep ${marker}; sleep ${marker}" &); env -i setsid sleep ${marker} & echo ready; sleep ${marker}`,
        until: printed("ready")
      })
      const identity = identityOf(reports)
      yield* eventually(() => leftOver(identity.token, marker).length >= 4)
      kill()
      const runner = yield* ProcessRunner
      const other = { ...identity, bootId: "another boot" }
      const reused = { ...identity, token: "none", startTime: String(Number(identity.startTime) + 1) }
      expect(yield* runner.reap([other, reused])).toEqual([])
      expect(leftOver(identity.token, marker).length).toBeGreaterThanOrEqual(4)

      const lines = yield* runner.reap([identity])
      expect(lines.filter((line) => new RegExp(`^\\d+ sleep ${marker}$`).test(line)).length).toBeGreaterThanOrEqual(3)
      expect(leftOver(identity.token, marker)).toEqual([])
      expect(yield* runner.reap([identity])).toEqual([])
    }).pipe(Effect.provide(HostProcessRunner.layer({ grace: "100 millis" }))))

  it.live("leaves processes whose leader is gone, which reap finds by their token", () =>
    Effect.gen(function*() {
      const marker = makeMarker()
      const { kill, reports } = yield* runtime({
        backend: "host",
        workspace: "/",
        command: `sleep ${marker} & echo ready; sleep ${marker}`,
        until: printed("ready")
      })
      const identity = identityOf(reports)
      kill()
      process.kill(identity.pid, "SIGKILL")
      const runner = yield* ProcessRunner
      expect((yield* runner.reap([identity])).length).toBeGreaterThan(0)
      expect(leftOver(identity.token, marker)).toEqual([])
    }).pipe(Effect.provide(DisabledProcessRunner.layer)))

  it.live.skipIf(!confines)("leaves nothing of a sandbox", () =>
    Effect.gen(function*() {
      const marker = makeMarker()
      const { kill, reports } = yield* runtime({
        backend: "sandbox",
        workspace: root,
        command:
          `(env -i setsid bash -c "trap '' TERM; sleep ${marker}; sleep ${marker}" &); echo ready; sleep ${marker}`,
        until: printed("ready")
      })
      const identity = identityOf(reports)
      expect(leftOver(identity.token, marker).length).toBeGreaterThan(0)
      kill()
      yield* eventually(() => leftOver(identity.token, marker).length === 0)
      expect(leftOver(identity.token, marker)).toEqual([])
    }))
})

describe.skipIf(!isRoot)("as an ordinary user", () => {
  const home = path.join(root, "home")
  const workspace = path.join(home, "project")
  beforeAll(() => {
    fs.mkdirSync(workspace, { recursive: true })
    fs.writeFileSync(
      path.join(home, ".gitconfig"),
      "[user]\n\tname = \"A; B\"\n\temail = a@example.org\n[credential]\n\thelper = store\n"
    )
    fs.writeFileSync(path.join(home, "private"), "hidden")
    for (const name of [home, workspace, path.join(home, ".gitconfig")]) fs.chownSync(name, stranger, stranger)
  })

  it.live.skipIf(!confines)("the sandbox holds, and git knows who commits", () =>
    Effect.gen(function*() {
      const { reports } = yield* runtime({
        backend: "sandbox",
        workspace,
        user: stranger,
        home,
        command:
          `id -u; cat ~/private; echo x > ~/landed; { true >> /proc/sys/kernel/core_pattern; } && echo open; git init -q . && git commit -q --allow-empty -m a && git log --format='%an <%ae>'; git config credential.helper; cat ~/.gitconfig | wc -l`,
        until: (all) => all.some((report) => report.outcome !== undefined)
      })
      expect(reports[0]?.enforcement).toMatchObject({ backend: "sandboxed" })
      expect(reports.at(-1)?.outcome).toMatchObject({
        right: { exit: { code: 0 }, stdout: { head: `${stranger}\nA; B <a@example.org>\n3\n` } }
      })
      expect(fs.existsSync(path.join(home, "landed"))).toBe(false)
    }))
})
