import { ProcessRunner } from "@capstan/core/ProcessRunner"
import { HostProcessRunner } from "@capstan/node"
import { expect, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as OutputRing from "../src/internal/outputRing.js"

const runner = HostProcessRunner.layer({ grace: "100 millis" })

it.prop(
  "keeps the first and last bytes of any chunks, in whole characters",
  {
    text: FastCheck.array(FastCheck.constantFrom("a", "é", "€", "🙂", "\n"), { maxLength: 200 }).map((all) =>
      all.join("")
    ),
    cuts: FastCheck.array(FastCheck.nat({ max: 40 }), { maxLength: 20 }),
    keep: FastCheck.nat({ max: 120 })
  },
  ({ cuts, keep, text }) => {
    const bytes = Buffer.from(text)
    const ring = OutputRing.make(keep)
    let at = 0
    for (const cut of [...cuts, bytes.length]) {
      ring.push(bytes.subarray(at, at + cut))
      at += cut
    }
    const { droppedBytes, head, tail, totalBytes } = ring.capture()
    expect(totalBytes).toBe(bytes.length)
    if (bytes.length <= keep) {
      expect({ droppedBytes, head, tail }).toEqual({ droppedBytes: 0, head: text, tail: "" })
      return
    }
    expect(text.startsWith(head) && text.endsWith(tail)).toBe(true)
    const kept = Buffer.byteLength(head) + Buffer.byteLength(tail)
    expect(kept + droppedBytes).toBe(bytes.length)
    expect(kept).toBeLessThanOrEqual(keep)
    expect(kept).toBeGreaterThan(keep - 7)
  },
  { fastCheck: { numRuns: 300 } }
)

/** A temporary folder that only this test uses. */
const ownTemporary = Effect.acquireRelease(
  Effect.sync(() => {
    const before = process.env["TMPDIR"]
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "capstan-own-"))
    process.env["TMPDIR"] = folder
    return { before, folder }
  }),
  ({ before, folder }) =>
    Effect.sync(() => {
      if (before === undefined) delete process.env["TMPDIR"]
      else process.env["TMPDIR"] = before
      fs.rmSync(folder, { recursive: true })
    })
)

it.scopedLive("goes on when its prepared pipes were cleaned away, and fails typed when it can make none", () =>
  Effect.gen(function*() {
    const { folder } = yield* ownTemporary
    yield* Effect.gen(function*() {
      const { run } = yield* ProcessRunner
      const echo = Effect.map(run({ command: "echo a", cwd: "/", keepBytes: 10 }), (result) => result.stdout.head)
      const place = path.join(folder, fs.readdirSync(folder)[0] ?? "none")
      expect(yield* echo).toBe("a\n")
      fs.rmSync(place, { recursive: true })
      expect(yield* echo).toBe("a\n")
      fs.rmSync(place, { recursive: true })
      fs.writeFileSync(place, "")
      const error = yield* Effect.flip(echo)
      expect(error).toMatchObject({ _tag: "ProcessError", reason: "spawn" })
      expect(error.message).toContain("No pipe")
    }).pipe(Effect.provide(runner))
    expect(fs.readdirSync(folder)).toEqual([])
  }))

it("decodes what is not UTF-8 without losing its place", () => {
  const ring = OutputRing.make(8)
  ring.push(Buffer.from([0xff, 0xfe, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x41]))
  const captured = ring.capture()
  expect(captured.head).toBe("\ufffd\ufffd\ufffd\ufffd")
  expect(captured.tail).toBe("A")
  expect(captured.droppedBytes).toBe(7)
})

layer(runner, { excludeTestServices: true })("output", (it) => {
  it.effect("joins characters that are split between writes", () =>
    Effect.gen(function*() {
      const { run } = yield* ProcessRunner
      const chunks: Array<string> = []
      const result = yield* run({
        command:
          `printf '\\xf0\\x9f'; sleep 0.1; printf '\\x99\\x82 \\xe2'; sleep 0.1; printf '\\x82\\xac'; printf '\\xe2\\x82'`,
        cwd: "/",
        keepBytes: 1000,
        onOutput: ({ text }) => Effect.sync(() => chunks.push(text))
      })
      expect(chunks.join("")).toBe("🙂 €\ufffd")
      expect(chunks.some((chunk) => chunk.slice(0, -1).includes("\ufffd"))).toBe(false)
      expect(result.stdout).toMatchObject({ head: "🙂 €\ufffd", totalBytes: 10 })
    }))

  it.effect("waits for a slow reader, which gets every byte, also what was printed last", () =>
    Effect.gen(function*() {
      const { run } = yield* ProcessRunner
      let received = 0
      let last = ""
      let largest = 0
      const result = yield* run({
        command: `head -c 3000000 /dev/zero | tr '\\0' a; echo end`,
        cwd: "/",
        keepBytes: 10,
        onOutput: ({ text }) =>
          Effect.sync(() => {
            received += text.length
            largest = Math.max(largest, text.length)
            last = text.slice(-4)
          }).pipe(Effect.zipRight(Effect.sleep("5 millis")))
      })
      expect(received).toBe(3_000_004)
      expect(last).toBe("end\n")
      expect(largest).toBeLessThanOrEqual(65_536)
      expect(result.stdout).toMatchObject({ head: "aaaaa", tail: "aend\n", droppedBytes: 2_999_994 })
    }))

  it.effect("holds the command back while nothing is taken", () =>
    Effect.gen(function*() {
      const { run } = yield* ProcessRunner
      let received = 0
      const outcome = yield* run({
        command: "yes",
        cwd: "/",
        keepBytes: 10,
        onOutput: ({ text }) => {
          received += text.length
          return Effect.never
        }
      }).pipe(Effect.timeoutOption("300 millis"))
      expect(outcome._tag).toBe("None")
      expect(received).toBeLessThanOrEqual(65_536)
    }))

  it.effect("gives the identity before any output", () =>
    Effect.gen(function*() {
      const { run } = yield* ProcessRunner
      const order: Array<string> = []
      yield* run({
        command: "echo a",
        cwd: "/",
        keepBytes: 10,
        onStart: (identity) =>
          Effect.sleep("50 millis").pipe(Effect.zipRight(Effect.sync(() => order.push(`start ${identity.pid > 0}`)))),
        onOutput: () => Effect.sync(() => order.push("output"))
      })
      expect(order).toEqual(["start true", "output"])
    }))

  it.effect("ends the command when a callback fails unexpectedly", () =>
    Effect.gen(function*() {
      const { run } = yield* ProcessRunner
      const exit = yield* Effect.exit(
        run({ command: "yes", cwd: "/", keepBytes: 10, onOutput: () => Effect.die("broken") })
      )
      expect(exit._tag).toBe("Failure")
    }))
})
