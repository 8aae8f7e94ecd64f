/**
 * A look at the processes of this machine that owes nothing to the code that ends them.
 *
 * @since 0.1.0
 */
import type { ProcessIdentity } from "@capstan/core/ProcessRunner"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import process from "node:process"

/**
 * The pids of living processes that belong to some process groups: where there is a `/proc`, all whose environment holds
 * their token; elsewhere those of the groups that still take a signal.
 *
 * @since 0.1.0
 * @category constructors
 */
export const alive = (groups: ReadonlyArray<ProcessIdentity>): Effect.Effect<ReadonlyArray<number>> =>
  Effect.sync(() =>
    fs.existsSync("/proc/self/environ")
      ? pids().filter((pid) => carries(pid, groups.map(({ token }) => token)))
      : groups.map(({ pid }) => pid).filter((pid) => takesSignal(-pid))
  )

const pids = (): ReadonlyArray<number> => fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number)

const carries = (pid: number, tokens: ReadonlyArray<string>): boolean => {
  try {
    const state = /\) (\S)/.exec(fs.readFileSync(`/proc/${pid}/stat`, "latin1"))?.[1]
    const environment = fs.readFileSync(`/proc/${pid}/environ`, "latin1")
    return state !== "Z" && tokens.some((token) => environment.includes(token))
  } catch {
    return false
  }
}

const takesSignal = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
