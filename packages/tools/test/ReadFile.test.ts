import { FakeSandbox } from "@capstan/testing"
import { ReadFile } from "@capstan/tools"
import { describe, expect, it } from "@effect/vitest"
import { Effect, FastCheck } from "effect"
import { machines } from "./machines.js"
import { call, fail, findings, prepare, session, text } from "./toolCalls.js"

const read = ReadFile.tool
const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join("")

for (const machine of machines) {
  describe(`read_file ${machine.name}`, () => {
    it.effect("gives a text exactly, and records it as read", () =>
      Effect.gen(function*() {
        const at = session()
        expect(yield* call(read, { path: "a.txt" }, at)).toBe("one\n\ttwo\r\nthree")
        expect([...at.reads.values()]).toMatchObject([{ lines: null }])
        expect([...at.reads.keys()][0]).toMatch(/workspace\/a\.txt$/)
      }).pipe(Effect.provide(machine.layer({ "a.txt": "one\n\ttwo\r\nthree" }))))

    it.effect("says that a file is empty", () =>
      Effect.gen(function*() {
        expect(yield* call(read, { path: "a" })).toBe("[the file is empty: 0 bytes]")
        expect(yield* call(read, { path: "a", start_line: 1 })).toBe("[the file is empty: 0 bytes]")
      }).pipe(Effect.provide(machine.layer({ a: "" }))))

    it.effect("keeps the byte order mark apart", () =>
      Effect.gen(function*() {
        expect(yield* call(read, { path: "a" })).toBe("x\n")
      }).pipe(Effect.provide(machine.layer({ a: "\uFEFFx\n" }))))

    it.effect("gives a range and says how to get the rest", () =>
      Effect.gen(function*() {
        const at = session()
        const first = yield* call(read, { path: "a", start_line: 1, end_line: 1 }, at)
        expect(first).toBe(
          "line 1\n[line 1 of 5 in a. 4 lines after these: read_file {\"path\":\"a\",\"start_line\":2}. Whole file: read_file {\"path\":\"a\"}.]"
        )
        expect([...at.reads.values()][0]?.lines).toEqual([[1, 1]])
        expect(yield* call(read, { path: "a", start_line: 4, end_line: 99 }, at)).toMatch(
          /^line 4\nline 5\n\[lines 4-5 of 5 in a\. Whole/
        )
        expect([...at.reads.values()][0]?.lines).toEqual([[1, 1], [4, 5]])
        expect(yield* call(read, { path: "a", start_line: 1 }, at)).toContain("This is the whole file.")
        expect([...at.reads.values()][0]?.lines).toBeNull()
      }).pipe(Effect.provide(machine.layer({ a: lines(5) }))))

    it.effect("forgets ranges of other content", () =>
      Effect.gen(function*() {
        const at = session()
        yield* call(read, { path: "a", end_line: 1 }, at)
        for (const [path, known] of at.reads) at.reads.set(path, { ...known, sha256: "other" })
        yield* call(read, { path: "a", start_line: 3, end_line: 3 }, at)
        expect([...at.reads.values()][0]?.lines).toEqual([[3, 3]])
      }).pipe(Effect.provide(machine.layer({ a: lines(5) }))))

    it.effect("refuses ranges that cannot be", () =>
      Effect.gen(function*() {
        expect(findings(read, { path: "a", start_line: 0 })).toMatchObject([{ path: "start_line" }])
        expect(findings(read, { path: "a", end_line: 1.5 })).toMatchObject([{ path: "end_line" }])
        expect(yield* fail(read, { path: "a", start_line: 3, end_line: 2 })).toMatchObject({ _tag: "Validation" })
        const beyond = yield* fail(read, { path: "a", start_line: 3 })
        expect(beyond).toMatchObject({ _tag: "Validation" })
        expect(text(beyond)).toContain("a has 2 lines")
      }).pipe(Effect.provide(machine.layer({ a: lines(2) }))))

    it.effect("refuses a large text with its size and how to ask for a part, which then fits", () =>
      Effect.gen(function*() {
        const at = session({ limits: { maxFileReadBytes: 2_000 } })
        const refused = yield* fail(read, { path: "a" }, at)
        expect(refused).toMatchObject({ _tag: "Limit" })
        expect(text(refused)).toContain("1000 lines, 8893 bytes; 2000 bytes fit")
        expect(at.reads.size).toBe(0)
        const range: unknown = JSON.parse(/read_file (\{.*?\})/.exec(text(refused))?.[1] ?? "")
        expect(range).toMatchObject({ path: "a", start_line: 1 })
        expect(yield* call(read, { path: "a", start_line: 1, end_line: 50 }, at)).toContain("[lines 1-50 of 1000 in a.")
      }).pipe(Effect.provide(machine.layer({ a: lines(1_000) }))))

    it.effect("gives of a range what the budget holds", () =>
      Effect.gen(function*() {
        const at = session({ capacity: 1_000 })
        const part = yield* call(read, { path: "a", start_line: 10, end_line: 900 }, at)
        expect(Buffer.byteLength(part)).toBeLessThanOrEqual(1_000)
        expect(part).toMatch(/^line 10\n/)
        const last = Number(/\[lines 10-(\d+) of 1000/.exec(part)?.[1])
        expect(part).toContain(`"start_line":${last + 1}`)
      }).pipe(Effect.provide(machine.layer({ a: lines(1_000) }))))

    it.effect("gives the beginning of a line that is too long, and does not count it as read", () =>
      Effect.gen(function*() {
        const at = session({ capacity: 1_000 })
        const part = yield* call(read, { path: "a", start_line: 1 }, at)
        expect(Buffer.byteLength(part)).toBeLessThanOrEqual(1_000)
        expect(part).toContain("[the beginning of line 1 of 2 in a: this line alone has 5000 bytes]")
        expect([...at.reads.values()][0]?.lines).toEqual([])
      }).pipe(Effect.provide(machine.layer({ a: `${"x".repeat(5_000)}\nb\n` }))))

    it.effect("looks through so many bytes only", () =>
      Effect.gen(function*() {
        const at = session({ limits: { maxReadFileScanBytes: 500, maxFileReadBytes: 100 } })
        expect(yield* call(read, { path: "a", start_line: 2, end_line: 3 }, at)).toMatch(
          /^line 2\nline 3\n\[lines 2-3 of more than \d+ in a\. More/
        )
        expect([...at.reads.values()][0]?.sha256).toMatch(/^[0-9a-f]{64}$/)
        expect(text(yield* fail(read, { path: "a", start_line: 900 }, at))).toContain("further ones are not read")
        expect(text(yield* fail(read, { path: "a" }, at))).toContain("more than")
      }).pipe(Effect.provide(machine.layer({ a: lines(1_000) }))))

    it.effect("gives binary content as base64 that decodes", () =>
      Effect.gen(function*() {
        const whole = yield* call(read, { path: "b" })
        expect(whole).toMatch(/^\[binary:base64\]\n/)
        expect([...Buffer.from(whole.split("\n")[1] ?? "", "base64")]).toEqual([0, 1, 2, 255])
        expect(yield* call(read, { path: "latin" })).toMatch(/^\[binary:base64\]\n/)
        expect(yield* fail(read, { path: "b", start_line: 1 })).toMatchObject({ _tag: "Validation" })
        for (const capacity of [40, 41, 42, 43, 100, 999]) {
          const part = yield* call(read, { path: "big" }, session({ capacity }))
          const [header, base64 = ""] = part.split("\n")
          expect(header).toBe("[binary:base64] [truncated]")
          expect(part.length).toBeLessThanOrEqual(capacity)
          expect(Buffer.from(base64, "base64").toString("base64")).toBe(base64)
          expect(base64.length).toBeGreaterThan(capacity - 34)
        }
      }).pipe(Effect.provide(machine.layer({
        b: new Uint8Array([0, 1, 2, 255]),
        latin: new Uint8Array([0x67, 0x72, 0xFC, 0xDF]),
        big: new Uint8Array(2_000)
      }))))

    it.effect("names hidden characters and leaves them", () =>
      Effect.gen(function*() {
        const found = yield* call(read, { path: "a" })
        expect(found).toBe("ok\nx\u202Ey\n[warning: hidden characters, left as they are, in line 2 (U+202E)]")
        expect(yield* call(read, { path: "a", start_line: 2 })).toContain("in line 2 (U+202E)")
        expect(read.verbatim).toBe(true)
      }).pipe(Effect.provide(machine.layer({ a: "ok\nx\u202Ey\n" }))))

    it.effect("says what is there instead of a missing file, and where the name is", () =>
      Effect.gen(function*() {
        const missing = yield* fail(read, { path: "main.ts" })
        expect(missing).toMatchObject({ _tag: "NotFound" })
        expect(text(missing)).toBe(
          "There is no \"main.ts\". \".\" has: readme.md, src/.\nDid you mean \"src/main.ts\"?"
        )
        expect(text(yield* fail(read, { path: "lib/x/y.ts" }))).toContain("There is no folder \"lib\" in \".\".")
      }).pipe(Effect.provide(machine.layer({ "src/main.ts": "1", "readme.md": "2" }))))

    it.effect("refuses folders, denied files and paths outside", () =>
      Effect.gen(function*() {
        expect(text(yield* fail(read, { path: "src" }))).toContain("folder")
        expect(yield* fail(read, { path: ".env" })).toMatchObject({
          _tag: "Permission",
          details: { kind: "denied-pattern" }
        })
        expect(yield* fail(read, { path: "../x" })).toMatchObject({
          _tag: "Permission",
          details: { kind: "outside-sandbox" }
        })
      }).pipe(Effect.provide(machine.layer({ "src/a": "1", ".env": "S=1" }))))
  })
}

describe("read_file", () => {
  it.effect.prop(
    "a range is the slice of the lines",
    [
      FastCheck.array(FastCheck.string({ maxLength: 5, unit: FastCheck.constantFrom("a", "ß", "\r", " ", "😀") }), {
        minLength: 1,
        maxLength: 12
      }),
      FastCheck.boolean(),
      FastCheck.integer({ min: 1, max: 14 }),
      FastCheck.integer({ min: 0, max: 14 })
    ],
    ([content, ended, start, more]) =>
      Effect.gen(function*() {
        const file = content.join("\n") + (ended ? "\n" : "")
        const all = file === "" ? [] : file.replace(/\n$/, "").split("\n")
        const range = { path: "a", start_line: start, end_line: start + more }
        if (all.length === 0) return
        if (start > all.length) {
          expect(yield* fail(read, range)).toMatchObject({ _tag: "Validation" })
          return
        }
        const given = yield* call(read, range)
        expect(given.slice(0, given.lastIndexOf("\n[line"))).toBe(
          all.slice(start - 1, start + more).join("\n") +
            (given.includes("[warning") ? given.slice(given.indexOf("\n[warning"), given.lastIndexOf("\n[line")) : "")
        )
      }).pipe(Effect.provide(FakeSandbox.layer({ files: { a: content.join("\n") + (ended ? "\n" : "") } }))),
    { fastCheck: { numRuns: 100 } }
  )
})

describe("read_file and earlier outputs", () => {
  const handle = "output:0.1.2"
  const at = (stored: string) => {
    const known = session({ capacity: 2_000 })
    known.outputs.set(handle, stored)
    return known
  }

  it.effect("reads an output by its handle, by lines, and touches no path", () =>
    Effect.gen(function*() {
      const known = at(lines(5))
      expect(yield* call(read, { path: handle }, known)).toBe(lines(5))
      expect(yield* call(read, { path: handle, start_line: 2, end_line: 3 }, known)).toMatch(
        /^line 2\nline 3\n\[lines 2-3 of 5 in output:0\.1\.2\. 2 lines after these: read_file \{"path":"output:0\.1\.2","start_line":4\}/
      )
      expect(prepare(read, { path: handle }).paths).toEqual([])
      expect(known.reads.size).toBe(0)
    }).pipe(Effect.provide(FakeSandbox.layer())))

  it.effect("says how to read one that is too large, and one that is not there", () =>
    Effect.gen(function*() {
      expect(text(yield* fail(read, { path: handle }, at(lines(1_000))))).toContain(
        "Ask for a part of it: read_file {\"path\":\"output:0.1.2\",\"start_line\":1"
      )
      expect(yield* fail(read, { path: "output:9.9.9" }, at(""))).toMatchObject({ _tag: "NotFound" })
      expect(yield* call(read, { path: handle }, at(""))).toBe("[the file is empty: 0 bytes]")
    }).pipe(Effect.provide(FakeSandbox.layer())))
})
