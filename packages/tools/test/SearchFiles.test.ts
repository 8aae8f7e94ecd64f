import { SearchFiles } from "@capstan/tools"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { machines } from "./machines.js"
import { call, fail, findings, prepare, session, text } from "./toolCalls.js"

const search = SearchFiles.tool
const many = Array.from({ length: 120 }, (_, index) => `hit ${index + 1}`).join("\n")

for (const machine of machines) {
  describe(`search_files ${machine.name}`, () => {
    it.effect("gives path, line and text, and how many there are", () =>
      Effect.gen(function*() {
        expect(yield* call(search, { pattern: "fo+" })).toBe(
          "a.ts:2: foo()\nsrc/b.ts:1: const foo = 1\n[2 matches in 2 files.]"
        )
        expect(yield* call(search, { pattern: "foo", path: "src" })).toContain("[1 match in 1 file.]")
        expect(yield* call(search, { pattern: "foo", glob: "a.*" })).toContain("[1 match in 1 file.]")
        expect(yield* call(search, { pattern: "foo", path: "a.ts" })).toContain("a.ts:2: foo()")
      }).pipe(Effect.provide(machine.layer({ "a.ts": "x\nfoo()\ny\n", "src/b.ts": "const foo = 1\n", ".env": "foo" }))))

    it.effect("shows context, and breaks between places", () =>
      Effect.gen(function*() {
        expect(yield* call(search, { pattern: "x", context_lines: 1 })).toBe(
          "a-1- 1\na:2: x\na-3- 3\n--\na-5- 5\na:6: x\n[2 matches in 1 file.]"
        )
      }).pipe(Effect.provide(machine.layer({ a: "1\nx\n3\n4\n5\nx\n" }))))

    it.effect("pages through many matches", () =>
      Effect.gen(function*() {
        const first = yield* call(search, { pattern: "hit" })
        expect(first).toMatch(/^a:1: hit 1\n/)
        expect(first).toContain(
          "[matches 1-50 of 120 matches in 1 file. More: send the same call with \"offset\": 50.]"
        )
        expect(yield* call(search, { pattern: "hit", offset: 100 })).toMatch(
          /^a:101: hit 101\n[^]*\[matches 101-120 of 120 matches in 1 file; these are the last\.\]$/
        )
        expect(yield* call(search, { pattern: "hit", offset: 200 })).toBe(
          "[no more matches: there are 120 in all, and offset is 200]"
        )
        const small = yield* call(search, { pattern: "hit" }, session({ capacity: 500 }))
        expect(small.length).toBeLessThanOrEqual(500)
        const shown = Number(/"offset": (\d+)/.exec(small)?.[1])
        expect(yield* call(search, { pattern: "hit", offset: shown, max_results: 1 })).toContain(
          `a:${shown + 1}: hit ${shown + 1}\n`
        )
      }).pipe(Effect.provide(machine.layer({ a: many }))))

    it.effect("says how to search wider where nothing was found, and counts what was skipped", () =>
      Effect.gen(function*() {
        const found = yield* call(search, { pattern: "nope", path: "src", glob: "*.ts" })
        expect(found).toContain(
          "No line matches \"nope\" in src (files *.ts). To widen the search: \"case_sensitive\": false"
        )
        expect(yield* call(search, { pattern: "nope" })).toContain("1 file above 1 MiB skipped.")
        expect(yield* call(search, { pattern: "HIT", case_sensitive: false })).toContain("src/a.ts:1: hit")
      }).pipe(Effect.provide(machine.layer({ "src/a.ts": "hit", big: "nope".repeat(300_000) }))))

    it.effect("explains a pattern that cannot be read, and finds it as text", () =>
      Effect.gen(function*() {
        const refused = yield* fail(search, { pattern: "foo(" })
        expect(text(refused)).toContain("The pattern cannot be read")
        expect(text(refused)).toContain("\"literal\": true")
        expect(yield* call(search, { pattern: "foo(", literal: true })).toContain("a:1: foo()")
        expect(yield* call(search, { pattern: "--files", literal: true })).toContain("No line matches")
        expect(findings(search, { pattern: "" })).toMatchObject([{ path: "pattern" }])
      }).pipe(Effect.provide(machine.layer({ a: "foo()" }))))

    it.effect("says what is there instead of a missing folder", () =>
      Effect.gen(function*() {
        expect(text(yield* fail(search, { pattern: "x", path: "lib" }))).toContain(
          "There is no \"lib\". \".\" has: src/."
        )
        expect(yield* fail(search, { pattern: "x", path: "../.." })).toMatchObject({ _tag: "Permission" })
      }).pipe(Effect.provide(machine.layer({ "src/a": "x" }))))
  })
}

describe("search_files", () => {
  it("names what it touches", () => {
    expect(prepare(search, { pattern: "x" })).toMatchObject({
      paths: [{ path: ".", access: "read" }],
      summary: "Search . for \"x\"",
      detail: "x\nin ."
    })
  })
})
