import { ProcessRunner } from "@capstan/core/ProcessRunner"
import { HostProcessRunner } from "@capstan/node"
import { expect, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

const bytes = 2 * 1024 ** 3
/** What goes through in 1.5 s when the machine has nothing else to do: the collector has found its pace by then. */
const warm = 400 * 1024 ** 2

it.live("2 GB of output take less than 32 MB of memory", () =>
  Effect.gen(function*() {
    const { run } = yield* ProcessRunner
    const started = yield* Clock.currentTimeMillis
    let length = 0
    let baseline: number | undefined
    let peak = 0
    const measure = Effect.gen(function*() {
      const elapsed = (yield* Clock.currentTimeMillis) - started
      if (elapsed < 1500 || length < warm) return
      const { rss } = process.memoryUsage()
      baseline ??= rss
      peak = Math.max(peak, rss)
    })
    yield* run({
      command: `yes 'a line of output that is neither short nor long' | head -c ${bytes}`,
      cwd: "/",
      keepBytes: 200_000,
      onOutput: ({ text }) => {
        length += text.length
        return measure
      }
    })
    const seconds = ((yield* Clock.currentTimeMillis) - started) / 1000
    expect(length).toBe(bytes)
    expect(baseline, "the load ended before there was something to measure").toBeDefined()
    expect((peak - (baseline ?? 0)) / 1024 ** 2).toBeLessThan(32)
    yield* Console.log(
      `2 GB in ${seconds.toFixed(1)} s, ${((peak - (baseline ?? 0)) / 1024 ** 2).toFixed(1)} MB of growth`
    )
  }).pipe(Effect.provide(HostProcessRunner.layer())), 60_000)
