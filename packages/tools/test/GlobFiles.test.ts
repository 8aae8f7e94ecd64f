import { Sandbox } from "@capstan/core/Sandbox"
import { NodeSandbox } from "@capstan/node"
import { FakeSandbox } from "@capstan/testing"
import { GlobFiles } from "@capstan/tools"
import { describe, expect, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { machines, temporaryFolder } from "./machines.js"
import { call, fail, findings, session, text } from "./toolCalls.js"

const glob = GlobFiles.tool

const files = {
  "src/a.ts": "1",
  "src/deep/b.ts": "1",
  "src/c.md": "1",
  ".github/d.yml": "1",
  ".env": "s",
  "node.log": "1",
  ".gitignore": "*.log\n"
}

const sorted = (output: string) => output.split("\n").slice(0, -1).sort()

for (const machine of machines) {
  describe(`glob ${machine.name}`, () => {
    it.effect("finds files by their paths", () =>
      Effect.gen(function*() {
        const found = yield* call(glob, { pattern: "**/*.ts" })
        expect(sorted(found)).toEqual(["src/a.ts", "src/deep/b.ts"])
        expect(found.split("\n").at(-1)).toBe("[2 files, newest first]")
        expect(sorted(yield* call(glob, { pattern: "*.ts", path: "src" }))).toEqual(["src/a.ts", "src/deep/b.ts"])
        expect(sorted(yield* call(glob, { pattern: "src/*.{ts,md}" }))).toEqual(["src/a.ts", "src/c.md"])
        expect(sorted(yield* call(glob, { pattern: "**", include_hidden: true }))).toEqual([
          ".github/d.yml",
          ".gitignore",
          "src/a.ts",
          "src/c.md",
          "src/deep/b.ts"
        ])
        expect(yield* call(glob, { pattern: "src/a.ts" })).toBe("src/a.ts\n[1 file, newest first]")
      }).pipe(Effect.provide(machine.layer(files))))

    it.effect("says that nothing fits, that there is more, and what cannot be", () =>
      Effect.gen(function*() {
        expect(yield* call(glob, { pattern: "*.log" })).toContain("No file fits \"*.log\" in .")
        expect(yield* call(glob, { pattern: "*.ts", max_results: 1 })).toMatch(
          /^src\/.*\n\[the newest 1 of 2 files; narrow pattern or path/
        )
        expect(text(yield* fail(glob, { pattern: "*", path: "srs" }))).toContain("src/")
        expect(yield* fail(glob, { pattern: "*", path: ".." })).toMatchObject({ _tag: "Permission" })
        expect(findings(glob, { pattern: "" })).toHaveLength(1)
        expect(findings(glob, { pattern: "*", max_results: 1_001 })).toHaveLength(1)
      }).pipe(Effect.provide(machine.layer(files))))

    it.effect("keeps to its budget", () =>
      Effect.gen(function*() {
        const output = yield* call(glob, { pattern: "many/*", max_results: 500 }, session({ capacity: 1_000 }))
        expect(Buffer.byteLength(output)).toBeLessThanOrEqual(1_000)
        expect(output).toMatch(/\[the newest \d+ of 200 files/)
      }).pipe(
        Effect.provide(machine.layer(Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`many/file-${n}`, ""]))))
      ))
  })
}

describe("glob", () => {
  it.effect("names the newest first", () =>
    Effect.gen(function*() {
      const { files: workspace } = yield* Sandbox
      for (const path of ["b", "a"]) {
        yield* TestClock.adjust("1 second")
        yield* workspace.write({ path, content: new Uint8Array() })
      }
      expect(yield* call(glob, { pattern: "*" })).toBe("a\nb\nc\n[3 files, newest first]")
    }).pipe(Effect.provide(FakeSandbox.layer({ files: { c: "" } }))))

  it.scoped("explains a pattern that is none", () =>
    Effect.gen(function*() {
      const workspace = yield* temporaryFolder
      const failure = yield* Effect.provide(
        fail(glob, { pattern: "../*" }),
        NodeSandbox.layer({ mounts: { workspace }, osSandbox: "off" })
      )
      expect(failure._tag).toBe("Execution")
      expect(text(failure)).toContain("../*")
    }))
})
