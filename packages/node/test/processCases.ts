import type { OutputChunk, ProcessIdentity } from "@capstan/core/ProcessRunner"
import { ProcessRunner } from "@capstan/core/ProcessRunner"
import { BubblewrapProbe } from "@capstan/node"
import { expect } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as fs from "node:fs"

const probed = await Effect.runPromise(BubblewrapProbe.probe())
if (probed._tag === "Unavailable") process.stderr.write(`No sandbox tests: ${probed.message}\n`)

/** Whether commands can be confined here. */
export const confines = probed._tag === "Available"

/** Command lines of living processes that carry a token or a marker, read without the code under test. */
export const leftOver = (token: string, marker: string): ReadonlyArray<string> =>
  fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid).flatMap((pid) => {
    try {
      const command = fs.readFileSync(`/proc/${pid}/cmdline`, "latin1")
      const environment = fs.readFileSync(`/proc/${pid}/environ`, "latin1")
      const state = /\) (\S)/.exec(fs.readFileSync(`/proc/${pid}/stat`, "latin1"))?.[1]
      return state !== "Z" && (environment.includes(token) || command.includes(marker)) ? [command] : []
    } catch {
      return []
    }
  })

/** A duration for `sleep` that no other test uses, so that its process can be recognised by it. */
let markers = 0
export const makeMarker = () => `7${process.pid}.${++markers}`

/** Commands that resist being ended; each prints `ready` once it does. */
export const stubborn: ReadonlyArray<readonly [name: string, command: (marker: string) => string]> = [
  ["a leader that ignores TERM", (marker) => `trap '' TERM; echo ready; sleep ${marker}`],
  [
    "a grandchild that ignores TERM",
    (marker) => `bash -c "trap '' TERM; echo ready; sleep ${marker}; sleep ${marker}" & wait`
  ],
  ["setsid", (marker) => `setsid bash -c "trap '' TERM; echo ready; sleep ${marker}; sleep ${marker}" & wait`],
  [
    "a double fork",
    (marker) => `(setsid bash -c "trap '' TERM; echo ready; sleep ${marker}; sleep ${marker}" &) ; sleep ${marker}`
  ],
  [
    "a background child after a clean exit",
    (marker) => `bash -c "trap '' TERM; echo ready; sleep ${marker}; sleep ${marker}" & sleep 0.3; exit 0`
  ],
  [
    "a detached background child after a clean exit",
    (marker) => `(setsid bash -c "trap '' TERM; echo ready; sleep ${marker}; sleep ${marker}" &) ; sleep 0.3; exit 0`
  ],
  ["endless output", (marker) => `exec -a ready-${marker} yes ready`],
  ["closed stdin", (marker) => `cat; echo ready; sleep ${marker}`],
  ["a stopped child", (marker) => `sleep ${marker} & kill -STOP $!; echo ready; wait`]
]

/** The ways in which a run is cut short. Each returns once the run has completed. */
export const endings: ReadonlyArray<
  readonly [
    name: string,
    end: <A, E>(run: Effect.Effect<A, E>, ready: Deferred.Deferred<void>) => Effect.Effect<unknown>
  ]
> = [
  ["timeout", (run, ready) =>
    // The timer starts with the run, as it does for a tool; a busy machine gets more time to come to the point.
    Effect.gen(function*() {
      for (const duration of [400, 1600, 6400]) {
        const outcome = yield* Effect.exit(Effect.timeoutFail(run, { duration, onTimeout: () => "timeout" }))
        // A command that exits by itself can be over by then.
        if (Exit.isFailure(outcome)) expect(outcome).toStrictEqual(Exit.fail("timeout"))
        if (yield* Deferred.isDone(ready)) return
      }
      expect.fail("the command never got ready")
    })],
  ["interrupt", (run, ready) =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(run)
      yield* Deferred.await(ready)
      const outcome = yield* Fiber.interrupt(fiber)
      expect(Exit.isInterrupted(outcome)).toBe(true)
    })],
  ["scope end", (run, ready) =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const fiber = yield* Effect.forkIn(run, scope)
      yield* Deferred.await(ready)
      yield* Scope.close(scope, Exit.void)
      expect(Exit.isInterrupted(yield* Fiber.await(fiber))).toBe(true)
    })]
]

/** Runs a command until it says `ready`, ends it in one of the ways, and tells what is still there. */
export const cutShort = (options: {
  readonly command: (marker: string) => string
  readonly end: (typeof endings)[number][1]
  readonly cwd: string
  readonly session?: string
}) =>
  Effect.gen(function*() {
    const runner = yield* ProcessRunner
    const marker = makeMarker()
    const ready = yield* Deferred.make<void>()
    let identity: ProcessIdentity | undefined
    yield* options.end(
      runner.run({
        command: options.command(marker),
        cwd: options.cwd,
        ...(options.session === undefined ? {} : { session: options.session }),
        keepBytes: 1000,
        onStart: (started) => Effect.sync(() => (identity = started)),
        onOutput: (chunk: OutputChunk) =>
          chunk.text.includes("ready") ? Deferred.succeed(ready, undefined) : Effect.void
      }),
      ready
    )
    return leftOver(identity?.token ?? "no identity", marker)
  })
