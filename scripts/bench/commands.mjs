// @ts-check
import { BubblewrapProbe, HostProcessRunner, SandboxedProcessRunner } from "@capstan/node"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { mkdirSync, realpathSync } from "node:fs"
import { join } from "node:path"

const batches = 6
const rounds = 9

const median = (/** @type {ReadonlyArray<number>} */ values) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

const plain = Effect.async((/** @type {(effect: Effect.Effect<void>) => void} */ resume) => {
  spawn("/bin/bash", ["--noprofile", "--norc", "-c", "true"], { stdio: ["ignore", "pipe", "pipe"] })
    .on("close", () => resume(Effect.void))
})

/**
 * Milliseconds of running `true` in bash: spawned by hand, and by each backend. One after the other in turn, so that all see
 * the same machine; the smallest of several medians, because other work only ever makes it slower.
 *
 * @param {string} folder
 */
export const commands = (folder) => {
  const root = join(realpathSync(folder), "commands")
  mkdirSync(root)
  return Effect.runPromise(Effect.scoped(Effect.gen(function*() {
    const request = { command: "true", cwd: root, keepBytes: 1000 }
    const host = yield* HostProcessRunner.make()
    const found = yield* BubblewrapProbe.probe()
    const sandboxed = found._tag === "Available"
      ? yield* SandboxedProcessRunner.make({ mounts: [{ name: "workspace", root, access: "rw" }] }, found)
      : undefined
    /** @type {ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown>]>} */
    const ways = [
      ["a plain spawn", plain],
      ["on the host", host.run(request)],
      ["in a session on the host", host.run({ ...request, session: "bench" })],
      ...(sandboxed === undefined ? [] : [
        /** @type {const} */ (["in the sandbox", sandboxed.run(request)]),
        /** @type {const} */ (["in a session in the sandbox", sandboxed.run({ ...request, session: "bench" })])
      ])
    ]
    const none = () => /** @type {Array<number>} */ ([])
    const medians = ways.map(none)
    for (let batch = 0; batch < batches; batch++) {
      const times = ways.map(none)
      for (let round = 0; round < rounds; round++) {
        for (const [index, [, run]] of ways.entries()) {
          const begin = process.hrtime.bigint()
          yield* run
          times[index]?.push(Number(process.hrtime.bigint() - begin) / 1e6)
        }
      }
      for (const [index, values] of times.entries()) medians[index]?.push(median(values))
    }
    const best = medians.map((values) => Math.min(...values))
    const [least = 0] = best
    return ways.map(([name], index) => ({ name, millis: best[index] ?? 0, over: (best[index] ?? 0) - least }))
  })))
}
