/**
 * Finds out by trying whether commands can be confined here with bubblewrap.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import process from "node:process"
import * as BubblewrapArguments from "./internal/bubblewrapArguments.js"
import * as SandboxLayout from "./internal/sandboxLayout.js"
import * as SystemProgram from "./internal/systemProgram.js"

/**
 * What a probe found. `reason`: `missing` (no program, or not on Linux), `too-old` (before 0.8), `forbidden` (the system
 * does not let it make namespaces), `ineffective` (it ran, but something got through). `message` says what to do.
 *
 * @since 0.1.0
 * @category models
 */
export type BubblewrapProbe =
  | { readonly _tag: "Available"; readonly program: string; readonly version: string }
  | {
    readonly _tag: "Unavailable"
    readonly reason: "missing" | "too-old" | "forbidden" | "ineffective"
    readonly message: string
  }

const oldest = [0, 8] as const

interface Outcome {
  readonly stdout: string
  readonly stderr: string
  readonly failed: string | undefined
}

const execute = (program: string, args: ReadonlyArray<string>): Effect.Effect<Outcome> =>
  Effect.async((resume) => {
    const child = execFile(program, [...args], {
      cwd: "/",
      env: {},
      encoding: "utf8",
      timeout: 10_000,
      killSignal: "SIGKILL"
    }, (
      error,
      stdout,
      stderr
    ) => resume(Effect.succeed({ stdout, stderr, failed: error === null ? undefined : error.message })))
    return Effect.sync(() => child.kill("SIGKILL"))
  })

const unavailable = (
  reason: Extract<BubblewrapProbe, { readonly _tag: "Unavailable" }>["reason"],
  message: string
): BubblewrapProbe => ({ _tag: "Unavailable", reason, message })

const missing = (what: string) =>
  unavailable(
    "missing",
    process.platform === "linux"
      ? `${what}: install the package "bubblewrap" (0.8 or newer), for instance with "apt-get install bubblewrap" or "dnf install bubblewrap".`
      : `There is no OS sandbox for commands on ${process.platform}: set os_sandbox to "off" to run them without one, or run in a Linux container.`
  )

const tooOld = (program: string, version: string) =>
  unavailable(
    "too-old",
    `${program} is version ${version}, which cannot keep commands from making namespaces of their own: install bubblewrap 0.8 or newer.`
  )

const setting = (name: string): string => {
  try {
    return fs.readFileSync(`/proc/sys/${name}`, "utf8").trim()
  } catch {
    return ""
  }
}

const forbidden = (program: string, outcome: Outcome) => {
  const said = outcome.stderr.trim() === "" ? outcome.failed ?? "no output" : outcome.stderr.trim()
  const advice = setting("kernel/apparmor_restrict_unprivileged_userns") === "1"
    ? "AppArmor forbids user namespaces: give bwrap a profile with \"userns,\", or set kernel.apparmor_restrict_unprivileged_userns=0"
    : setting("kernel/unprivileged_userns_clone") === "0"
    ? "user namespaces are switched off: set kernel.unprivileged_userns_clone=1"
    : setting("user/max_user_namespaces") === "0"
    ? "user namespaces are switched off: set user.max_user_namespaces above 0"
    : fs.existsSync("/.dockerenv") || fs.existsSync("/run/.containerenv")
    ? "in a container, allow namespaces (for Docker \"--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined\")"
    : "allow user namespaces for this user"
  return unavailable("forbidden", `The system does not let ${program} confine commands (${said}): ${advice}.`)
}

const isTooOld = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  return major < oldest[0] || (major === oldest[0] && minor < oldest[1])
}

/** Says on separate lines what it could do; each word is a wall that does not hold. */
const script = `
echo started
echo x > "$INSIDE" && echo inside
echo x > "$OUTSIDE"
{ true >> /proc/sys/kernel/core_pattern; } && echo open-proc-sys
{ read -r _ && read -r _; } < /proc/net/route && echo open-network
while read -r _ _ _ _ _ _ _ _ _ device; do [ "$device" = lo ] || echo open-network; done < /proc/net/ipv6_route
echo done
`

const tryWalls = (program: string, version: string): Effect.Effect<BubblewrapProbe> =>
  Effect.gen(function*() {
    const layout = yield* SandboxLayout.make({ mounts: [], toolFolders: [], gitConfiguration: "" })
    const outside = path.join(layout.home, `.capstan-probe-${randomUUID()}`)
    const mount = path.join(path.dirname(layout.temporary), "mount")
    yield* Effect.sync(() => fs.mkdirSync(mount))
    const outcome = yield* execute(program, [
      ...BubblewrapArguments.make({
        ...layout,
        mounts: [{ name: "probe", root: mount, access: "rw" }],
        network: false,
        environment: { INSIDE: path.join(mount, "inside"), OUTSIDE: outside },
        cwd: mount,
        status: false
      }),
      "--",
      "/bin/sh",
      "-c",
      script
    ])
    const landed = yield* Effect.sync(() => {
      const there = fs.existsSync(outside)
      fs.rmSync(outside, { force: true })
      return there
    })
    const lines = outcome.stdout.split("\n")
    if (!lines.includes("started")) {
      return outcome.stderr.includes("--disable-userns") && outcome.stderr.includes("Unknown option")
        ? tooOld(program, version)
        : forbidden(program, outcome)
    }
    const holes = [
      ...(landed ? ["a write outside of the mounts reached the disk"] : []),
      ...(lines.includes("open-proc-sys") ? ["/proc/sys can be written"] : []),
      ...(lines.includes("open-network") ? ["there is a route to the network"] : []),
      ...(lines.includes("inside") && lines.includes("done") && fs.existsSync(path.join(mount, "inside"))
        ? []
        : ["a write inside of a mount did not reach the disk"])
    ]
    return holes.length === 0
      ? { _tag: "Available" as const, program, version }
      : unavailable("ineffective", `${program} does not confine commands here: ${holes.join(", ")}.`)
  }).pipe(Effect.scoped)

/**
 * Runs a command in a sandbox and looks whether a write outside lands, `/proc/sys` opens for writing, or there is a route
 * out. `program` is an absolute path; without it the system's folders are searched, never the PATH. Takes about 20 ms.
 *
 * @since 0.1.0
 * @category constructors
 */
export const probe = Effect.fn("BubblewrapProbe.probe")(function*(options: { readonly program?: string } = {}) {
  const program = options.program ?? SystemProgram.find("bwrap")
  if (process.platform !== "linux" || program === undefined) return missing("bubblewrap is not installed")
  if (!fs.existsSync(program)) return missing(`${program} does not exist`)
  const told = yield* execute(program, ["--version"])
  const version = /\d+(\.\d+)+/.exec(told.stdout)?.[0]
  if (version === undefined) return forbidden(program, told)
  if (isTooOld(version)) return tooOld(program, version)
  return yield* tryWalls(program, version)
})
