import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import { build } from "esbuild"
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as readline from "node:readline"
import { fileURLToPath } from "node:url"

const packages = fileURLToPath(new URL("../../", import.meta.url))

/** Inside the package, so that what is not bundled is found. */
const program = path.join(packages, "sql", "node_modules", ".cache", `child-${process.pid}.mjs`)

/** Bundles the child program; the native package stays outside. */
export const buildChild = () =>
  build({
    entryPoints: [fileURLToPath(new URL("childProgram.ts", import.meta.url))],
    outfile: program,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    external: ["better-sqlite3", "pg-native"],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    alias: { "@capstan/core": `${packages}core/src`, "@capstan/sql": `${packages}sql/src/index.ts` },
    logLevel: "error"
  })

export const removeChild = () => fs.rmSync(program, { force: true })

const Report = Schema.parseJson(Schema.Struct({
  opened: Schema.optional(Schema.Number),
  locked: Schema.optional(Schema.Boolean),
  written: Schema.optional(Schema.Number),
  error: Schema.optional(Schema.String),
  reason: Schema.optional(Schema.String),
  message: Schema.optional(Schema.String)
}))

type Report = typeof Report.Type

interface Child {
  readonly pid: number
  readonly send: (line: "append" | "commit" | "barrier" | "close" | "release") => Effect.Effect<void>
  /** What it says next; none when it has ended. */
  readonly next: Effect.Effect<Report | undefined>
  /** Everything it still says until it ends. */
  readonly rest: Effect.Effect<ReadonlyArray<Report>>
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  readonly ended: Effect.Effect<void>
}

const exited = (child: ChildProcess) =>
  Effect.async<void>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) resume(Effect.void)
    else child.once("exit", () => resume(Effect.void))
  })

/** A process that is gone with the scope. `under` is a program that starts it, with its arguments. */
export const start = (options: {
  readonly mode: "follow" | "flood" | "lock"
  readonly address: string
  readonly session?: string
  readonly under?: ReadonlyArray<string>
}) =>
  Effect.gen(function*() {
    const [command = process.execPath, ...parameters] = [
      ...(options.under ?? []),
      process.execPath,
      program,
      options.mode,
      options.address,
      options.session ?? "a"
    ]
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => spawn(command, parameters, { stdio: ["pipe", "pipe", "inherit"] })),
      (child) =>
        Effect.sync(() => {
          child.kill("SIGCONT")
          child.kill("SIGKILL")
        }).pipe(Effect.zipRight(exited(child)))
    )
    const reports = yield* Queue.unbounded<Option.Option<Report>>()
    const decode = Schema.decodeUnknownSync(Report)
    readline.createInterface({ input: child.stdout })
      .on("line", (line) => Queue.unsafeOffer(reports, Option.some(decode(line))))
      .on("close", () => Queue.unsafeOffer(reports, Option.none()))
    const rest: Effect.Effect<ReadonlyArray<Report>> = Effect.flatMap(Queue.take(reports), (report) =>
      Option.isNone(report) ? Effect.succeed([]) : Effect.map(rest, (more) => [report.value, ...more]))
    return {
      pid: child.pid ?? 0,
      send: (line: string) =>
        Effect.sync(() => {
          child.stdin.write(`${line}\n`)
        }),
      next: Effect.map(Queue.take(reports), Option.getOrUndefined),
      rest,
      signal: (signal: NodeJS.Signals) =>
        Effect.sync(() => {
          child.kill(signal)
        }),
      ended: exited(child)
    } satisfies Child
  })
