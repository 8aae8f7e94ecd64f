/**
 * Who has a session open: a process that can be recognised, and known to be gone, by another process on the same host.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as os from "node:os"
import process from "node:process"

/**
 * A process on a host. `machine`, `boot` and `space` (the process namespace) are empty where the system does not tell them;
 * `start` is the kernel's start time of the process, so that a reused pid is not taken for it.
 *
 * @since 0.1.0
 * @category models
 */
export const LeaseOwner = Schema.Struct({
  host: Schema.String,
  machine: Schema.String,
  boot: Schema.String,
  space: Schema.String,
  pid: Schema.Number,
  start: Schema.String
})

/**
 * A process on a host.
 *
 * @since 0.1.0
 * @category models
 */
export type LeaseOwner = typeof LeaseOwner.Type

/**
 * What one process can know of another: `elsewhere` means that only its heartbeat can tell.
 *
 * @since 0.1.0
 * @category models
 */
export type Life = "alive" | "dead" | "elsewhere"

/**
 * This process.
 *
 * @since 0.1.0
 * @category constructors
 */
export const current: Effect.Effect<LeaseOwner> = Effect.sync(() => ({
  host: os.hostname(),
  machine: read("/etc/machine-id"),
  boot: read("/proc/sys/kernel/random/boot_id"),
  space: attempt(() => fs.readlinkSync("/proc/self/ns/pid")),
  pid: process.pid,
  start: startOf(process.pid)
}))

/**
 * Whether `owner` still runs, as seen from `self`. A host is the same if its name and its machine id are; processes of
 * another process namespace (a container) cannot be seen, so they count as elsewhere.
 *
 * @since 0.1.0
 * @category combinators
 */
export const life = (owner: LeaseOwner, self: LeaseOwner): Effect.Effect<Life> =>
  Effect.sync(() => {
    if (owner.host !== self.host || owner.machine !== self.machine) return "elsewhere"
    if (owner.boot !== self.boot) return "dead"
    if (owner.space !== self.space) return "elsewhere"
    if (!exists(owner.pid)) return "dead"
    const start = startOf(owner.pid)
    return start === ended || (start !== "" && start !== owner.start) ? "dead" : "alive"
  })

/**
 * Whether both are the same process.
 *
 * @since 0.1.0
 * @category combinators
 */
export const equals: (a: LeaseOwner, b: LeaseOwner) => boolean = Schema.equivalence(LeaseOwner)

/**
 * For messages: the process and its host.
 *
 * @since 0.1.0
 * @category combinators
 */
export const toText = (owner: LeaseOwner): string => `process ${owner.pid} on ${owner.host}`

const ended = "ended"

const attempt = (f: () => string): string => {
  try {
    return f().trim()
  } catch {
    return ""
  }
}

const read = (path: string): string => attempt(() => fs.readFileSync(path, "utf8"))

const startOf = (pid: number): string => {
  const stat = read(`/proc/${pid}/stat`)
  const [state, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return state === "Z" || state === "X" ? ended : rest[18] ?? ""
}

/** A signal 0 is refused (EPERM) by a process of another user, which is alive then. */
const exists = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ESRCH")
  }
}
