/** The command as users start it: the bundle, built once for each file of tests, in a process of its own. */
import * as Effect from "effect/Effect"
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import process from "node:process"
import { afterAll } from "vitest"

const cli = path.dirname(import.meta.dirname)

let built: string | undefined

export const bin = (): string => {
  if (built === undefined) {
    fs.mkdirSync(path.join(cli, "dist"), { recursive: true })
    built = fs.mkdtempSync(path.join(cli, "dist", "test-"))
    fs.chmodSync(built, 0o755)
    execFileSync(process.execPath, [path.join(cli, "scripts", "bundle.mjs"), built])
  }
  return path.join(built, "bin.js")
}

/** Folders for one test: `work` to be started in, `home` and `data` of the user. They go with the scope. */
export interface Folders {
  readonly base: string
  readonly work: string
  readonly data: string
  readonly home: string
}

export const folders = Effect.acquireRelease(
  Effect.sync((): Folders => {
    const base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "capstan-cli-")))
    const made = { base, work: path.join(base, "work"), data: path.join(base, "data"), home: path.join(base, "home") }
    for (const folder of [made.work, made.data, made.home]) fs.mkdirSync(folder)
    return made
  }),
  ({ base }) => Effect.sync(() => fs.rmSync(base, { recursive: true, force: true }))
)

/** A script for the scripted provider, as a file. */
export const script = (at: Folders, entries: ReadonlyArray<object>): string => {
  const file = path.join(at.base, `script-${fs.readdirSync(at.base).length}.json`)
  fs.writeFileSync(file, JSON.stringify(entries))
  return `scripted/${file}`
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  readonly ended: Effect.Effect<Ended>
  readonly stderrHas: (text: string) => Effect.Effect<void>
}

export interface StartOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly input?: string
  readonly uid?: number
}

export const start = (at: Folders, args: ReadonlyArray<string>, options: StartOptions = {}) =>
  Effect.acquireRelease(
    Effect.sync((): Running => {
      const child = spawn(process.execPath, [bin(), ...args], {
        cwd: options.cwd ?? at.work,
        env: { PATH: process.env["PATH"], HOME: at.home, XDG_DATA_HOME: at.data, ...options.environment },
        stdio: ["pipe", "pipe", "pipe"],
        ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid })
      })
      let stdout = ""
      let stderr = ""
      const waiting = new Set<() => void>()
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        stdout += text
      })
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        stderr += text
        waiting.forEach((look) => look())
      })
      child.stdin.on("error", () => undefined)
      child.stdin.end(options.input ?? "")
      const closed = new Promise<Ended>((resolve) => {
        child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr }))
      })
      return {
        child,
        ended: Effect.promise(() => closed),
        stderrHas: (text) =>
          Effect.async<void>((resume) => {
            const look = () => {
              if (stderr.includes(text)) resume(Effect.void)
            }
            waiting.add(look)
            look()
            return Effect.sync(() => waiting.delete(look))
          })
      }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  )

export const run = (at: Folders, args: ReadonlyArray<string>, options: StartOptions = {}) =>
  Effect.scoped(Effect.flatMap(start(at, args, options), ({ ended }) => ended))

afterAll(() => {
  if (built !== undefined) fs.rmSync(built, { recursive: true, force: true })
})
