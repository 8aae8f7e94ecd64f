import { ReadFile, WriteFile } from "@capstan/tools"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { change, machines, textOf } from "./machines.js"
import { call, fail, prepare, session, text } from "./toolCalls.js"

const write = WriteFile.tool

for (const machine of machines) {
  describe(`write_file ${machine.name}`, () => {
    it.effect("creates a file with its folders, and may overwrite what it wrote", () =>
      Effect.gen(function*() {
        const at = session()
        expect(yield* call(write, { path: "d/e/a.txt", content: "one\ntwo\n" }, at)).toBe(
          "created d/e/a.txt: 8 bytes, 2 lines. The file now exists with exactly the content you sent; this step is done."
        )
        expect(yield* textOf("d/e/a.txt")).toBe("one\ntwo\n")
        expect(yield* call(write, { path: "d/e/a.txt", content: "ä" }, at)).toMatch(
          /^overwritten d\/e\/a\.txt: 2 bytes, 1 line\./
        )
        expect(yield* call(write, { path: "d/e/a.txt", content: "ä" }, at)).toContain(
          "nothing changed; do not send it again"
        )
        expect(yield* call(write, { path: "empty", content: "" }, at)).toMatch(/^created empty: 0 bytes, 0 lines\./)
      }).pipe(Effect.provide(machine.layer({}))))

    it.effect("refuses to overwrite what was not read, shows it if it is small, and then does", () =>
      Effect.gen(function*() {
        const at = session()
        const refused = yield* fail(write, { path: "a", content: "new" }, at)
        expect(refused).toMatchObject({ _tag: "StaleFile" })
        expect(text(refused)).toContain(
          "a has 8 bytes, 2 lines; this is its content, which now counts as read:\none\ntwo\n"
        )
        expect(yield* textOf("a")).toBe("one\ntwo\n")
        expect(yield* call(write, { path: "a", content: "new" }, at)).toMatch(/^overwritten/)
      }).pipe(Effect.provide(machine.layer({ a: "one\ntwo\n" }))))

    it.effect("does not show a large or binary file, and asks to read it", () =>
      Effect.gen(function*() {
        const at = session()
        for (const path of ["large", "binary"]) {
          for (const _ of [1, 2]) {
            const refused = yield* fail(write, { path, content: "new" }, at)
            expect(text(refused)).toMatch(new RegExp(`${path} has \\d+ bytes(, 1 line)?\\. Nothing was written`))
            expect(text(refused)).toContain(`read_file {"path":"${path}"}`)
          }
          yield* call(ReadFile.tool, { path }, at)
          expect(yield* call(write, { path, content: "new" }, at)).toMatch(/^overwritten/)
        }
      }).pipe(Effect.provide(machine.layer({ large: "x".repeat(4_097), binary: new Uint8Array([0, 1]) }))))

    it.effect("refuses to overwrite a file of which only a part was read", () =>
      Effect.gen(function*() {
        const at = session()
        yield* call(ReadFile.tool, { path: "a", end_line: 1 }, at)
        const refused = yield* fail(write, { path: "a", content: "one\n" }, at)
        expect(text(refused)).toContain("Only a part of the file was read before overwriting (lines 1-1)")
        expect(yield* textOf("a")).toBe("1\n2\n3\n")
      }).pipe(Effect.provide(machine.layer({ a: "1\n2\n3\n" }))))

    it.effect("overwrites what is too large to be read whole, after a part of it was read", () =>
      Effect.gen(function*() {
        const at = session({ limits: { maxReadFileScanBytes: 100, maxFileReadBytes: 50 } })
        yield* fail(write, { path: "a", content: "new" }, at)
        yield* call(ReadFile.tool, { path: "a", end_line: 1 }, at)
        expect(yield* call(write, { path: "a", content: "new" }, at)).toMatch(/^overwritten/)
      }).pipe(Effect.provide(machine.layer({ a: "line\n".repeat(100) }))))

    it.effect("refuses a file that has changed since it was read", () =>
      Effect.gen(function*() {
        const at = session()
        yield* call(ReadFile.tool, { path: "a" }, at)
        yield* change("a", "theirs")
        for (const _ of [1, 2]) {
          const refused = yield* fail(write, { path: "a", content: "mine" }, at)
          expect(refused).toMatchObject({ _tag: "StaleFile", details: { path: "a" } })
          expect(text(refused)).toContain("File content changed since last read")
        }
        expect(yield* textOf("a")).toBe("theirs")
      }).pipe(Effect.provide(machine.layer({ a: "1" }))))

    it.effect("refuses folders, denied files and paths outside", () =>
      Effect.gen(function*() {
        expect(text(yield* fail(write, { path: "src", content: "" }))).toContain("folder")
        expect(yield* fail(write, { path: ".git/config", content: "" })).toMatchObject({ _tag: "Permission" })
        expect(yield* fail(write, { path: "/etc/passwd", content: "" })).toMatchObject({ _tag: "Permission" })
        expect(text(yield* fail(write, { path: "src/a/b", content: "" }))).toContain("src/a")
      }).pipe(Effect.provide(machine.layer({ "src/a": "1" }))))

    it.effect("shows what it would change, and says what it touches", () =>
      Effect.gen(function*() {
        const overwriting = prepare(write, { path: "a", content: "one\nTWO\n" })
        expect(overwriting).toMatchObject({
          paths: [{ path: "a", access: "write" }],
          detail: "a",
          summary: "Write a (8 characters)"
        })
        expect(yield* overwriting.preview).toBe("--- a\n+++ a\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n")
        expect(yield* prepare(write, { path: "b", content: "x\n" }).preview).toBe(
          "--- /dev/null\n+++ b\n@@ -0,0 +1,1 @@\n+x\n"
        )
        expect(yield* prepare(write, { path: "binary", content: "x\n" }).preview).toContain(
          "2 bytes that are not shown"
        )
        expect(yield* prepare(write, { path: "../b", content: "x\n" }).preview).toBeUndefined()
      }).pipe(Effect.provide(machine.layer({ a: "one\ntwo\n", binary: new Uint8Array([0, 1]) }))))
  })
}

describe("write_file", () => {
  it("is covered by a pattern however its path is written, and not by going out of it", () => {
    const covered = (path: string) => prepare(write, { path, content: "" }).allowedBy("docs/**")
    expect(["docs/a", "./docs/a", "docs//a", "docs/x/../a"].map(covered)).toEqual([true, true, true, true])
    expect(["docs/../src/a", "src/a", "../docs/a"].map(covered)).toEqual([false, false, false])
    expect(prepare(write, { path: "./", content: "" }).allowedBy(".")).toBe(true)
  })
})
