/** Starts the crash program as a process that can be killed. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import { build } from "esbuild"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as readline from "node:readline"
import { fileURLToPath } from "node:url"
import type { Task } from "./crashTask.js"

const packages = fileURLToPath(new URL("../..", import.meta.url))

/** Inside the package, so that what is not bundled is found. */
const program = path.join(packages, "cli", "node_modules", ".cache", `crash-${process.pid}.mjs`)

export const buildProgram = () =>
  build({
    entryPoints: [fileURLToPath(new URL("crashProgram.ts", import.meta.url))],
    outfile: program,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    external: ["better-sqlite3", "@vscode/ripgrep"],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    alias: Object.fromEntries(
      ["core", "node", "sql", "testing", "tools"].map((name) => [`@capstan/${name}`, path.join(packages, name, "src")])
    ),
    logLevel: "error"
  })

export const removeProgram = () => fs.rmSync(program, { force: true })

/** A folder that is gone with the scope. */
export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "capstan-crash-")))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
)

const Report = Schema.parseJson(Schema.Struct({
  asked: Schema.optional(Schema.Boolean),
  text: Schema.optional(Schema.String),
  error: Schema.optional(Schema.String),
  reason: Schema.optional(Schema.String),
  message: Schema.optional(Schema.String)
}))

/** A process that does a task and is gone with the scope. `next` is what it says next, none when it says no more. */
export const start = (task: Task) =>
  Effect.gen(function*() {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [program, JSON.stringify(task)], { stdio: ["pipe", "pipe", "inherit"] })
      ),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )
    const reports = yield* Queue.unbounded<Option.Option<typeof Report.Type>>()
    const decode = Schema.decodeUnknownSync(Report)
    readline.createInterface({ input: child.stdout })
      .on("line", (line) => Queue.unsafeOffer(reports, Option.some(decode(line))))
      .on("close", () => Queue.unsafeOffer(reports, Option.none()))
    return {
      pid: child.pid ?? 0,
      next: Effect.map(Queue.take(reports), Option.getOrUndefined),
      tell: Effect.sync(() => child.stdin.write("go\n")),
      kill: Effect.sync(() => child.kill("SIGKILL")),
      /** The signal that ended it; null: it ended by itself. */
      ended: Effect.async<NodeJS.Signals | null>((resume) => {
        if (child.exitCode !== null || child.signalCode !== null) resume(Effect.succeed(child.signalCode))
        else child.once("exit", (_, signal) => resume(Effect.succeed(signal)))
      })
    }
  })
