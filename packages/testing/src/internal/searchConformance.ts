/** What every workspace has to do when it searches. */
import type { FileError } from "@capstan/core/FileError"
import { type SearchRequest, Workspace } from "@capstan/core/Workspace"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Test } from "./fileSetConformance.js"

const reasonOf = <A, R>(effect: Effect.Effect<A, FileError, R>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason)

const searching = (request: Partial<SearchRequest>) =>
  Effect.flatMap(Workspace, (files) =>
    files.search({
      path: ".",
      pattern: "",
      literal: false,
      caseSensitive: true,
      glob: undefined,
      contextLines: 0,
      limit: 100,
      offset: 0,
      maxFileBytes: 1_000,
      ...request
    }))

/** Declares the tests. */
export const cases = (test: Test): void => {
  const seed = {
    "a.txt": "one\ntwo\nthree\nTwo\n",
    "src/b.ts": "two + two\r\nlast",
    "src/c.md": "two",
    ".env": "two",
    ".hidden": "two",
    "binary": "two\0",
    "large.txt": `two ${"x".repeat(2_000)}`,
    "ignored.log": "two",
    ".gitignore": "*.log\n"
  }

  test(
    "by expression or text, in files that may be seen",
    seed,
    Effect.gen(function*() {
      const found = yield* searching({ pattern: "tw." })
      assert.deepStrictEqual(found.lines.map(({ line, path, text }) => [path, line, text]), [
        ["a.txt", 2, "two"],
        ["src/b.ts", 1, "two + two"],
        ["src/c.md", 1, "two"]
      ])
      assert.deepInclude(found, { matches: 3, total: 3, files: 3, more: false, skippedLarge: 1 })
      assert.strictEqual((yield* searching({ pattern: "two + two", literal: true })).total, 1)
      assert.strictEqual((yield* searching({ pattern: "two + two" })).total, 0)
      assert.strictEqual((yield* searching({ pattern: "TWO", caseSensitive: false })).total, 4)
      assert.strictEqual((yield* searching({ pattern: "two$", path: "src" })).total, 2)
      assert.strictEqual((yield* searching({ pattern: "two", path: "a.txt" })).total, 1)
    })
  )

  test(
    "with globs, context and pages",
    seed,
    Effect.gen(function*() {
      const ofGlob = (glob: string) =>
        Effect.map(searching({ pattern: "two", glob }), ({ lines }) => lines.map(({ path }) => path))
      assert.deepStrictEqual(yield* ofGlob("*.ts"), ["src/b.ts"])
      assert.deepStrictEqual(yield* ofGlob("src/**"), ["src/b.ts", "src/c.md"])
      assert.deepStrictEqual(yield* ofGlob("*.{ts,md}"), ["src/b.ts", "src/c.md"])
      assert.deepStrictEqual(yield* ofGlob("!*.ts"), ["a.txt", "src/c.md"])
      const near = yield* searching({ pattern: "two", path: "a.txt", contextLines: 1 })
      assert.deepStrictEqual(near.lines.map(({ line, match }) => [line, match]), [[1, false], [2, true], [3, false]])
      const page = yield* searching({ pattern: "two", offset: 1, limit: 1 })
      assert.deepStrictEqual(page.lines.map(({ path }) => path), ["src/b.ts"])
      assert.deepInclude(page, { matches: 1, total: 3, more: true })
      assert.isFalse((yield* searching({ pattern: "two", offset: 2, limit: 1 })).more)
    })
  )

  test(
    "and says what cannot be searched",
    seed,
    Effect.gen(function*() {
      assert.strictEqual(yield* reasonOf(searching({ pattern: "(" })), "bad-pattern")
      assert.strictEqual(yield* reasonOf(searching({ pattern: "x", path: "none" })), "not-found")
      assert.strictEqual(yield* reasonOf(searching({ pattern: "x", path: "../outside" })), "outside")
      assert.strictEqual(yield* reasonOf(searching({ pattern: "x", path: ".env" })), "denied")
    })
  )
}
