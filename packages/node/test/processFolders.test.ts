import { ProcessRunner } from "@capstan/core/ProcessRunner"
import { HostProcessRunner } from "@capstan/node"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

const space = process.platform === "linux" ? /\d+/.exec(fs.readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0" : "0"
const deadPid = spawnSync("true").pid

const plant = (name: string) => {
  const folder = path.join(os.tmpdir(), name)
  fs.mkdirSync(path.join(folder, "deep/er"), { recursive: true })
  fs.writeFileSync(path.join(folder, "deep/er/file"), "x")
  return folder
}

it.live("folders that killed processes left are taken away at the next start, and no others", () =>
  Effect.gen(function*() {
    const left = [`capstan-pipes-${space}-${deadPid}-abcdef`, `capstan-sandbox-${space}-${deadPid}-abcdef`].map(plant)
    const others = [
      `capstan-pipes-${space}-${process.pid}-abcdef`,
      `capstan-pipes-1${space}-${deadPid}-abcdef`,
      `capstan-pipes-${deadPid}-abcdef`,
      `capstan-other-${space}-${deadPid}-abcdef`
    ].map(plant)
    const link = path.join(os.tmpdir(), `capstan-pipes-${space}-${deadPid}-linked`)
    fs.symlinkSync(others[3] ?? "", link)
    const isRoot = process.getuid?.() === 0
    const foreign = plant(`capstan-pipes-${space}-${deadPid}-others`)
    if (isRoot) fs.chownSync(foreign, 65_534, 65_534)
    yield* Effect.addFinalizer(() =>
      Effect.sync(() =>
        [...left, ...others, link, foreign].forEach((name) => fs.rmSync(name, { recursive: true, force: true }))
      )
    )
    yield* Effect.gen(function*() {
      const { run } = yield* ProcessRunner
      yield* run({ command: "true", cwd: "/", keepBytes: 10 })
      yield* Effect.iterate(0, {
        while: (n) => n < 400 && left.some((name) => fs.existsSync(name)),
        body: (n) => Effect.as(Effect.sleep("10 millis"), n + 1)
      })
    }).pipe(Effect.provide(HostProcessRunner.layer()))
    expect(left.filter((name) => fs.existsSync(name))).toEqual([])
    expect([...others, link].filter((name) => !fs.existsSync(name))).toEqual([])
    expect(fs.existsSync(foreign)).toBe(isRoot)
  }).pipe(Effect.scoped))
