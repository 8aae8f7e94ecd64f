import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import process from "node:process"

/** What a folder is for. */
type Kind = "pipes" | "sandbox"

/** Numbers of processes mean something among those that see each other only. */
const space = (): string => {
  try {
    return /\d+/.exec(fs.readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0"
  } catch {
    return "0"
  }
}

const prefix = (kind: Kind): string => `capstan-${kind}-${space()}-${process.pid}-`

const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    return !(cause instanceof Error && "code" in cause && cause.code === "ESRCH")
  }
}

/** Whether a name is that of a folder of ours whose process was killed before it could take it away. */
const isLeft = (name: string): boolean => {
  const [, owner = "", pid = ""] = /^capstan-(?:pipes|sandbox)-(\d+)-(\d+)-\w+$/.exec(name) ?? []
  if (owner !== space() || runs(Number(pid))) return false
  const stat = fs.lstatSync(path.join(os.tmpdir(), name), { throwIfNoEntry: false })
  return stat !== undefined && stat.isDirectory() && stat.uid === process.getuid?.()
}

const remove = (folder: string): Effect.Effect<void> =>
  // Commands may have left what their own user cannot remove; it is below the system's temporary folder.
  Effect.ignore(Effect.tryPromise(() => fs.promises.rm(folder, { recursive: true, force: true, maxRetries: 2 })))

/** Takes away what killed processes of this user left. */
const sweep: Effect.Effect<void> = Effect.suspend(() => {
  try {
    return Effect.forEach(
      fs.readdirSync(os.tmpdir()).filter(isLeft),
      (name) => remove(path.join(os.tmpdir(), name)),
      { discard: true }
    )
  } catch {
    return Effect.void
  }
})

/** A private folder that goes with the scope; if that never comes, with the next process that makes one. */
export const make = (kind: Kind): Effect.Effect<string, never, Scope.Scope> =>
  Effect.zipRight(
    Effect.forkScoped(sweep),
    Effect.acquireRelease(
      Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), prefix(kind))))),
      remove
    )
  )
