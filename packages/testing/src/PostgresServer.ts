/**
 * A Postgres of its own for tests: its data in a temporary folder, reached through a socket in there, run by an ordinary
 * user also where the tests run as root, gone with the scope and with the process that started it.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { type ChildProcess, execFile, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

/**
 * A server that runs. `database` makes an empty database and gives its URL.
 *
 * @since 0.1.0
 * @category models
 */
export interface PostgresServer {
  readonly database: Effect.Effect<string, PostgresError>
}

/**
 * The server could not be started, or did not do what it was told.
 *
 * @since 0.1.0
 * @category errors
 */
export class PostgresError
  extends Schema.TaggedError<PostgresError>("@capstan/testing/PostgresError")("PostgresError", {
    message: Schema.String
  })
{}

/** The newest version that Debian's packages installed, or whatever the path has. */
const installed = (): string | undefined => {
  const base = "/usr/lib/postgresql"
  const versions = fs.existsSync(base) ? fs.readdirSync(base).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...versions.map((version) => path.join(base, version, "bin")),
    ...(process.env["PATH"] ?? "").split(path.delimiter)
  ]
  return folders.find((folder) => fs.existsSync(path.join(folder, "initdb")))
}

const binaries = installed()

/**
 * Why there is no Postgres for the tests here, if there is none: what to print when they are skipped.
 *
 * @since 0.1.0
 * @category models
 */
export const missing: string | undefined = binaries === undefined
  ? "Nothing runs over Postgres: initdb is neither in /usr/lib/postgresql/*/bin nor in PATH."
  : undefined

/** Postgres refuses to run as root. */
const ordinaryUser = (): { readonly uid: number; readonly gid: number } | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const users = fs.readFileSync("/etc/passwd", "utf8").split("\n").map((line) => line.split(":"))
  const user = ["postgres", "nobody"].map((name) => users.find(([known]) => known === name)).find(Array.isArray)
  return { uid: Number(user?.[2] ?? 65534), gid: Number(user?.[3] ?? 65534) }
}

const superuser = "capstan"

const run = (file: string, args: ReadonlyArray<string>, user: ReturnType<typeof ordinaryUser>) =>
  Effect.async<void, PostgresError>((resume) => {
    execFile(file, args, { ...user, env: environment, cwd: "/" }, (error, _, stderr) => {
      resume(error === null ? Effect.void : new PostgresError({ message: `${path.basename(file)}: ${stderr}${error}` }))
    })
  })

const environment = { PATH: process.env["PATH"] ?? "", LC_ALL: "C" }

/**
 * Runs the server for as long as its standard input is open, which is what is left of a process that was killed: then ends
 * it at once and removes its folder.
 */
const guard = `exec 3<&0
folder=$1; shift
"$@" </dev/null 3<&- &
server=$!
{ cat <&3; kill -QUIT "$server"; } >/dev/null 2>&1 &
exec 3<&-
wait "$server"
rm -rf "$folder"`

/**
 * Starts a server, in about two seconds. Nothing is synced to the disk unless `fsync` is set. `from` is the folder of the
 * programs (default: where they are installed).
 *
 * @since 0.1.0
 * @category constructors
 */
export const start = (
  options: { readonly fsync?: boolean; readonly from?: string } = {}
): Effect.Effect<PostgresServer, PostgresError, Scope.Scope> =>
  Effect.gen(function*() {
    const from = options.from ?? binaries
    if (from === undefined) return yield* new PostgresError({ message: missing ?? "" })
    const user = ordinaryUser()
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const folder = fs.mkdtempSync(path.join(os.tmpdir(), "capstan-postgres-"))
        if (user !== undefined) fs.chownSync(folder, user.uid, user.gid)
        return folder
      }),
      (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
    )
    const data = path.join(folder, "data")
    yield* run(
      path.join(from, "initdb"),
      ["--no-sync", "--auth=trust", `--username=${superuser}`, "--encoding=UTF8", "--locale=C", data],
      user
    )
    yield* serve({ folder, user, fsync: options.fsync ?? false, program: path.join(from, "postgres"), data })

    let made = 0
    return {
      database: Effect.suspend(() => {
        const name = `test_${made++}`
        const url = `postgresql://${superuser}@localhost/${name}?host=${encodeURIComponent(folder)}`
        return Effect.as(
          run(path.join(from, "createdb"), ["-h", folder, "-U", superuser, "--template=template0", name], undefined),
          url
        )
      })
    }
  })

const serve = (options: {
  readonly program: string
  readonly folder: string
  readonly data: string
  readonly fsync: boolean
  readonly user: ReturnType<typeof ordinaryUser>
}) =>
  Effect.gen(function*() {
    const { data, folder, fsync, program, user } = options
    const settings = [
      "listen_addresses=",
      `unix_socket_directories=${folder}`,
      `fsync=${fsync ? "on" : "off"}`,
      "max_connections=100",
      "log_min_messages=log",
      "log_checkpoints=off"
    ]
    const ready = yield* Deferred.make<void, PostgresError>()
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn("/bin/sh", ["-c", guard, "sh", folder, program, "-D", data, ...settings.flatMap((set) => ["-c", set])], {
          ...user,
          env: environment,
          cwd: "/",
          detached: true,
          stdio: ["pipe", "ignore", "pipe"]
        })
      ),
      stop
    )
    let log = ""
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      log += text
      if (log.includes("ready to accept connections")) Deferred.unsafeDone(ready, Effect.void)
    })
    child.on("close", () => Deferred.unsafeDone(ready, new PostgresError({ message: `postgres ended: ${log}` })))
    yield* Deferred.await(ready).pipe(
      Effect.timeoutFail({
        duration: "30 seconds",
        onTimeout: () => new PostgresError({ message: `postgres did not start within 30 s: ${log}` })
      })
    )
  })

const stop = (child: ChildProcess) =>
  Effect.async<void>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
    child.stdin?.end()
  }).pipe(
    Effect.timeoutOption(Duration.seconds(10)),
    Effect.asVoid
  )
