import type { ProcessIdentity } from "@capstan/core/ProcessRunner"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import process from "node:process"

/** The variable that marks everything a run started. Nested runs append theirs, so that the outer one still matches. */
export const tokenVariable = "CAPSTAN_RUN_TOKEN"

/** A process that belongs to a run. */
export interface Member {
  readonly pid: number
  readonly group: number
  readonly command: string
}

/**
 * What a scan found. `conclusive` is false when processes came and went while it looked, so that one may have been missed.
 */
export interface Scan {
  readonly members: ReadonlyArray<Member>
  readonly conclusive: boolean
}

interface Entry {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  readonly startTime: number
  readonly name: string
}

/** Whether processes can be found by their token here. */
export const supported = process.platform === "linux"

const read = (path: string): Buffer | undefined => {
  try {
    return fs.readFileSync(path)
  } catch {
    return undefined
  }
}

const parse = (pid: number, stat: string): Entry | "ended" => {
  const close = stat.lastIndexOf(")")
  const fields = stat.slice(close + 2).split(" ")
  const [state, parent, group, session] = fields
  if (state === "Z" || state === "X") return "ended"
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startTime: Number(fields[19]),
    name: stat.slice(stat.indexOf("(") + 1, close)
  }
}

/** More than a line of `/proc/<pid>/stat` is long. */
const memory = Buffer.allocUnsafe(2048)

/** The line in one read: there are many of them in each scan. */
const readStat = (pid: number): string | undefined => {
  let descriptor: number | undefined
  try {
    descriptor = fs.openSync(`/proc/${pid}/stat`, "r")
    return memory.toString("latin1", 0, fs.readSync(descriptor, memory, 0, memory.length, null))
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor)
  }
}

const entry = (pid: number): Entry | "ended" | undefined => {
  const stat = readStat(pid)
  return stat === undefined ? undefined : parse(pid, stat)
}

const carries = (pid: number, token: string): boolean => {
  // During exec the environment reads as empty for a moment.
  for (let attempt = 0; attempt < 3; attempt++) {
    const environment = read(`/proc/${pid}/environ`)
    if (environment === undefined) return false
    if (environment.length > 0) {
      return environment.toString("latin1").split("\0").some((variable) =>
        variable.startsWith(`${tokenVariable}=`) && variable.slice(tokenVariable.length + 1).split(":").includes(token)
      )
    }
  }
  return false
}

const describe = (found: Entry): string => {
  const line = (read(`/proc/${found.pid}/cmdline`)?.toString("utf8") ?? "").split("\0").join(" ").trim()
  const shown = line === "" ? found.name : line
  return shown.length > 120 ? `${shown.slice(0, 119)}…` : shown
}

const bootId = (): string => read("/proc/sys/kernel/random/boot_id")?.toString("utf8").trim() ?? ""

/** Who a process is that was just spawned, before it can have been waited for. */
export const identify = (pid: number, token: string): ProcessIdentity => {
  const found = supported ? entry(pid) : undefined
  return {
    pid,
    token,
    bootId: supported ? bootId() : "",
    startTime: found === undefined || found === "ended" ? "" : String(found.startTime)
  }
}

/** Whether this system has not been started anew since the identity was taken. */
export const sameBoot = (identity: ProcessIdentity): boolean =>
  identity.bootId !== "" && identity.startTime !== "" && identity.bootId === bootId()

/** Whether the very process of the identity still runs (a reused pid has another start time). */
export const leaderRuns = (identity: ProcessIdentity): boolean => {
  const found = entry(identity.pid)
  return found !== undefined && found !== "ended" && String(found.startTime) === identity.startTime
}

const groupOnly = (leader: number): Scan => {
  try {
    process.kill(-leader, 0)
    return { members: [{ pid: leader, group: leader, command: "process group" }], conclusive: true }
  } catch {
    return { members: [], conclusive: true }
  }
}

/**
 * Finds what belongs to a run: the token in the environment, the leader's session and group (`byGroup`, when its number
 * cannot have been given to somebody else), and the descendants of all these.
 */
export const scan = (identity: ProcessIdentity, options: { readonly byGroup: boolean }): Effect.Effect<Scan> =>
  Effect.sync(() => {
    if (!supported) return options.byGroup ? groupOnly(identity.pid) : { members: [], conclusive: true }
    const since = Number(identity.startTime)
    const pids = fs.readdirSync("/proc").map(Number).filter((pid) => pid > 0 && pid !== process.pid)
    const entries = pids.map(entry)
    const running = entries.filter((found): found is Entry =>
      found !== undefined && found !== "ended" && found.startTime >= since
    )
    const belongs = new Set(
      running.filter((found) =>
        (options.byGroup && (found.group === identity.pid || found.session === identity.pid)) ||
        carries(found.pid, identity.token)
      ).map((found) => found.pid)
    )
    for (let before = -1; before !== belongs.size && belongs.size > 0;) {
      before = belongs.size
      for (const found of running) if (belongs.has(found.parent)) belongs.add(found.pid)
    }
    return {
      members: running.filter((found) => belongs.has(found.pid))
        .map((found) => ({ pid: found.pid, group: found.group, command: describe(found) })),
      conclusive: !entries.includes(undefined)
    }
  })
