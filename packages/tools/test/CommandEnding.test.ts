import { BubblewrapProbe, NodeSandbox } from "@capstan/node"
import { RunCommand, ShellSession } from "@capstan/tools"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import { temporaryFolder } from "./machines.js"
import { call, fail, session, text } from "./toolCalls.js"

const probed = await Effect.runPromise(BubblewrapProbe.probe())
if (probed._tag === "Unavailable") process.stderr.write(`No tests in the sandbox: ${probed.message}\n`)

const machine = (osSandbox: "off" | "required") =>
  Layer.unwrapScoped(
    Effect.map(temporaryFolder, (workspace) =>
      NodeSandbox.layer({ mounts: { workspace }, osSandbox, grace: "100 millis" }))
  )

const backends = [
  { name: "on the host", live: machine("off") },
  ...(probed._tag === "Available" ? [{ name: "in the sandbox", live: machine("required") }] : [])
]

/** What runs with the token of a command. */
const leftOf = (token: string) =>
  Fs.readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && Number(name) !== process.pid &&
        Fs.readFileSync(`/proc/${name}/environ`, "latin1").includes(token)
    } catch {
      return false
    }
  })

const misbehaving: ReadonlyArray<readonly [name: string, command: string]> = [
  ["prints for ever", "yes ready"],
  ["prints for ever to both outputs", "yes ready & yes ready >&2"],
  ["forks for ever", "echo ready; while :; do (setsid sleep 100 &); sleep 0.02; done"],
  ["never returns", "echo ready; sleep 100"],
  ["never returns and ignores being asked", "trap '' TERM INT HUP; echo ready; while :; do sleep 100; done"],
  ["waits for input", "echo ready; cat; read -r x; exec sleep 100"]
]

const cases = backends.flatMap(({ live, name }) =>
  [RunCommand.tool, ShellSession.tool].map((tool) => ({ name: `${tool.definition.name} ${name}`, live, tool }))
)

describe.each(cases)("$name", ({ live, tool }) => {
  it.live.each(misbehaving)(
    "a command that %s is ended with all that it started",
    ([, command]) =>
      Effect.gen(function*() {
        const at = session()
        const fiber = yield* Effect.fork(call(tool, { command }, at))
        yield* Effect.iterate(0, {
          while: () => !at.chunks.some((chunk) => chunk.text.includes("ready")),
          body: (n) => Effect.as(Effect.sleep("5 millis"), n + 1)
        })
        yield* Effect.sleep("100 millis")
        yield* fiber.interruptAsFork(fiber.id())
        yield* fiber.await
        expect(at.processes).toHaveLength(1)
        expect(leftOf(at.processes[0]?.token ?? "none")).toEqual([])
      }).pipe(Effect.provide(live))
  )

  it.live("one that prints 50 MB gives a bounded result with both ends, and its exit code", () =>
    Effect.gen(function*() {
      const shown = text(
        yield* fail(
          tool,
          { command: "echo begin; head -c 50000000 /dev/zero | tr '\\0' x; echo end; exit 9" },
          session({ capacity: 4_000, limits: { maxStoredOutputBytes: 4_000 } })
        )
      )
      expect(Buffer.byteLength(shown)).toBeLessThan(4_200)
      expect(shown).toMatch(/exit code 9\.\nbegin\nx[^]*bytes left out here[^]*x*end\n/)
    }).pipe(Effect.provide(live)))
})
