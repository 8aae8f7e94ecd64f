import type { Mount } from "@capstan/core/Workspace"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as DenyRules from "../DenyRules.js"

interface Listing {
  /** Device, inode and time of the last change: a folder with the same ones has the same names in it. */
  readonly version: string
  readonly denied: ReadonlyArray<string>
  readonly folders: ReadonlyArray<string>
}

/** Two changes this close (milliseconds) can bear the same time, so a listing this fresh is not relied on. */
const clockStep = 50

const segments = (path: string): ReadonlyArray<string> => path.split("/").filter((part) => part !== "")

const join = (folder: string, name: string): string => folder === "/" ? `/${name}` : `${folder}/${name}`

/** Objects of git: many, and named by their hashes. */
const isObjects = (folder: string): boolean => folder.endsWith("/.git/objects")

/**
 * Finds what may not be read in the mounts, as absolute paths; a denied folder stands for all that is in it. Links are
 * reported, not followed. The first search reads every folder, later ones only those that changed.
 */
export const make = (options: {
  readonly mounts: ReadonlyArray<Mount>
  readonly rules: DenyRules.DenyRules
}): Effect.Effect<ReadonlyArray<string>> => {
  const known = new Map<string, Listing>()

  const list = (folder: string, below: ReadonlyArray<string>, version: string): Listing => {
    const absolute = segments(folder)
    const denied: Array<string> = []
    const folders: Array<string> = []
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const path = { below: [[...below, entry.name]], absolute: [...absolute, entry.name], access: "read" as const }
      if (DenyRules.match(options.rules, path) !== undefined) denied.push(entry.name)
      else if (entry.isDirectory() && !isObjects(join(folder, entry.name))) folders.push(entry.name)
    }
    return { version, denied, folders }
  }

  const look = (folder: string, below: ReadonlyArray<string>, now: number): Listing | undefined => {
    try {
      const stat = fs.lstatSync(folder, { bigint: true })
      if (!stat.isDirectory()) return undefined
      const version = `${stat.dev}:${stat.ino}:${stat.ctimeNs}`
      const before = known.get(folder)
      if (before?.version === version) return before
      const listing = list(folder, below, version)
      if (now - Number(stat.ctimeMs) > clockStep) known.set(folder, listing)
      else known.delete(folder)
      return listing
    } catch {
      // Gone, or not readable for us and so not for commands either.
      known.delete(folder)
      return undefined
    }
  }

  const walk = (mount: Mount, now: number) =>
    Effect.gen(function*() {
      const found: Array<string> = []
      const pending: Array<{ readonly folder: string; readonly below: ReadonlyArray<string> }> = [
        { folder: mount.root, below: [] }
      ]
      let looked = 0
      let breath = now
      for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
        const { below, folder } = next
        const listing = look(folder, below, now)
        if (listing !== undefined) {
          found.push(...listing.denied.map((name) => join(folder, name)))
          pending.push(...listing.folders.map((name) => ({ folder: join(folder, name), below: [...below, name] })))
        }
        if (++looked % 50 === 0) {
          const moment = yield* Clock.currentTimeMillis
          if (moment - breath > 20) {
            yield* Effect.sleep(0)
            breath = moment
          }
        }
      }
      return found
    })

  return Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const found = yield* Effect.forEach(options.mounts, (mount) => walk(mount, now))
    return [...new Set(found.flat())]
  }).pipe(Effect.withClock(Clock.make()))
}
