import type { ProcessIdentity } from "@capstan/core/ProcessRunner"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import process from "node:process"
import * as ProcessTable from "./processTable.js"

/** How patiently runs are ended. */
export interface Manner {
  /** From SIGTERM to SIGKILL. */
  readonly grace: Duration.Duration
  /** Asked while waiting: true cuts the grace short. */
  readonly hurry: Effect.Effect<boolean>
}

/** How a sweep goes about it. */
export interface SweepOptions extends Manner {
  /** Whether the leader's group number is known to be still its own. */
  readonly byGroup: boolean
  /** The leader is the wall of a sandbox: it is not asked to end, because it would take all the others with it at once. */
  readonly spareLeader: boolean
}

/** What a sweep did: who was found, and who is still there (`survivors`). */
export interface Swept {
  readonly ended: ReadonlyArray<ProcessTable.Member>
  readonly survivors: ReadonlyArray<ProcessTable.Member>
}

/** Milliseconds: what does not go away this long after SIGKILL hangs in the kernel or belongs to somebody else. */
const killFor = 5000

const send = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch {
    // Gone already, or not ours: the next scan tells.
  }
}

const signalAll = (
  identity: ProcessIdentity,
  members: ReadonlyArray<ProcessTable.Member>,
  signal: NodeJS.Signals,
  options: { readonly byGroup: boolean; readonly spareLeader: boolean }
): void => {
  const asGroup = options.byGroup && !options.spareLeader
  if (asGroup && members.some((member) => member.group === identity.pid)) send(-identity.pid, signal)
  for (const member of members) {
    if (asGroup && member.group === identity.pid) continue
    if (options.spareLeader && member.pid === identity.pid) continue
    send(member.pid, signal)
  }
}

/**
 * Ends everything that belongs to a run: SIGTERM, the grace, then SIGKILL until a scan finds nothing. Runs on the real
 * clock, which is the one that processes live by.
 */
export const sweep = (identity: ProcessIdentity, options: SweepOptions): Effect.Effect<Swept> =>
  Effect.gen(function*() {
    const seen = new Map<number, ProcessTable.Member>()
    let inconclusive = 0
    const look = Effect.gen(function*() {
      while (true) {
        const found = yield* ProcessTable.scan(identity, options)
        for (const member of found.members) seen.set(member.pid, member)
        if (found.members.length > 0 || found.conclusive || inconclusive++ > 3) return found.members
      }
    })

    const asked = new Set<number>()
    let members = yield* look
    const giveUp = (yield* Clock.currentTimeMillis) + Duration.toMillis(options.grace)
    for (let wait = 5; members.length > 0; wait = Math.min(wait * 2, 100)) {
      const left = giveUp - (yield* Clock.currentTimeMillis)
      if (left <= 0 || (yield* options.hurry)) break
      const fresh = members.filter((member) => !asked.has(member.pid))
      for (const member of fresh) asked.add(member.pid)
      signalAll(identity, fresh, "SIGTERM", options)
      signalAll(identity, fresh, "SIGCONT", options)
      yield* Effect.sleep(Math.min(wait, left))
      members = yield* look
    }

    const stop = (yield* Clock.currentTimeMillis) + killFor
    for (let wait = 2; members.length > 0 && (yield* Clock.currentTimeMillis) < stop; wait = Math.min(wait * 2, 50)) {
      signalAll(identity, members, "SIGKILL", { byGroup: options.byGroup, spareLeader: false })
      yield* Effect.sleep(wait)
      members = yield* look
    }

    const left = new Set(members.map((member) => member.pid))
    return { ended: [...seen.values()].filter((member) => !left.has(member.pid)), survivors: members }
  }).pipe(Effect.withClock(Clock.make()), Effect.uninterruptible)

/** A process as a line for people. */
export const line = (member: ProcessTable.Member): string => `${member.pid} ${member.command}`

/**
 * Ends what crashed runs left behind; one line for each process that was ended. An identity of another boot has nothing
 * left, and a group number counts only while its first process is still the same one.
 */
export const reap =
  (manner: Manner) => (identities: ReadonlyArray<ProcessIdentity>): Effect.Effect<ReadonlyArray<string>> =>
    Effect.forEach(
      identities.filter(ProcessTable.sameBoot),
      (identity) =>
        Effect.suspend(() =>
          sweep(identity, { ...manner, byGroup: ProcessTable.leaderRuns(identity), spareLeader: false })
        ),
      { concurrency: "unbounded" }
    ).pipe(Effect.map((swept) => [...new Set(swept.flatMap(({ ended }) => ended.map(line)))]))
