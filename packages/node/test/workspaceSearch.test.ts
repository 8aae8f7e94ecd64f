import { describe, expect, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Fs from "node:fs"
import { anchors, ground, openDescriptors, searching } from "./workspaceCases.js"

/** Programs that this process started and that still run (Linux). */
const children = (): ReadonlyArray<string> =>
  Fs.readdirSync(`/proc/${process.pid}/task`).flatMap((task) => {
    try {
      return Fs.readFileSync(`/proc/${process.pid}/task/${task}/children`, "utf8").split(" ").filter((pid) =>
        pid !== ""
      )
    } catch {
      return []
    }
  })

describe.each(anchors)("search, $enforcement", (anchor) => {
  it.scoped("finds lines by path and number, in order", () =>
    Effect.gen(function*() {
      const { files, put } = yield* ground({ anchor })
      put("b.txt", "one\ntwo needle\r\nthree\nneedle four")
      put("a/ä b.txt", "needle\n")
      put("c.txt", "nothing")
      expect(yield* files.search(searching("needle"))).toEqual({
        lines: [
          { path: "a/ä b.txt", line: 1, text: "needle", match: true },
          { path: "b.txt", line: 2, text: "two needle", match: true },
          { path: "b.txt", line: 4, text: "needle four", match: true }
        ],
        matches: 3,
        total: 3,
        files: 2,
        more: false,
        skippedLarge: 0
      })
      expect((yield* files.search(searching("needle$"))).total).toBe(2)
      expect((yield* files.search(searching("NEEDLE"))).total).toBe(0)
      expect((yield* files.search(searching("NEEDLE", { caseSensitive: false }))).total).toBe(3)
      expect((yield* files.search(searching("needle", { path: "b.txt" }))).total).toBe(2)
      expect((yield* files.search(searching("needle", { path: "a" }))).lines).toEqual([
        { path: "a/ä b.txt", line: 1, text: "needle", match: true }
      ])
    }))

  it.scoped("a window of the matches, with lines around, and the whole count", () =>
    Effect.gen(function*() {
      const { files, put } = yield* ground({ anchor })
      for (const name of ["a", "b", "c"]) put(name, "1\nx2\n3\n4\nx5\n6\nx7\n8\n")
      const shown = (offset: number, limit: number, contextLines = 0) =>
        files.search(searching("x", { offset, limit, contextLines })).pipe(
          Effect.map(({ lines, matches, more, total }) => ({
            lines: lines.map((line) => `${line.path}${line.match ? ":" : "-"}${line.text}`).join(" "),
            matches,
            total,
            more
          }))
        )
      expect(yield* shown(0, 2)).toEqual({ lines: "a:x2 a:x5", matches: 2, total: 9, more: true })
      expect(yield* shown(2, 3)).toEqual({ lines: "a:x7 b:x2 b:x5", matches: 3, total: 9, more: true })
      expect(yield* shown(7, 5)).toEqual({ lines: "c:x5 c:x7", matches: 2, total: 9, more: false })
      expect(yield* shown(9, 5)).toEqual({ lines: "", matches: 0, total: 9, more: false })
      expect(yield* shown(0, 0)).toEqual({ lines: "", matches: 0, total: 9, more: true })
      expect(yield* shown(1, 1, 1)).toEqual({ lines: "a-4 a:x5 a-6", matches: 1, total: 9, more: true })
      expect(yield* shown(1, 3, 1)).toEqual({
        lines: "a-4 a:x5 a-6 a:x7 a-8 b-1 b:x2 b-3",
        matches: 3,
        total: 9,
        more: true
      })
    }))

  it.scoped("windows reach over batches of files", () =>
    Effect.gen(function*() {
      const { files, put } = yield* ground({ anchor })
      for (let index = 0; index < 600; index++) put(`f${String(index).padStart(3, "0")}`, "x\ny\nx\n")
      const found = yield* files.search(searching("x", { offset: 1023, limit: 3 }))
      expect(found.lines.map(({ line, path }) => `${path}:${line}`)).toEqual(["f511:3", "f512:1", "f512:3"])
      expect(found).toMatchObject({ total: 1200, files: 600, more: true, matches: 3 })
    }))

  it.scoped("a pattern is never an option, and no other program runs", () =>
    Effect.gen(function*() {
      const { files, put } = yield* ground({ anchor })
      put("a.txt", "--pre=sh\n-e x\n--files\n-\n$(id)\n")
      for (const pattern of ["--pre=sh", "-e x", "--files", "-", "$(id)"]) {
        const { lines } = yield* files.search(searching(pattern, { literal: true }))
        expect(lines.map((line) => line.text), pattern).toContain(pattern)
      }
      expect((yield* files.search(searching("--pre=sh"))).total).toBe(1)
      put("--pre=sh", "odd name")
      put("-", "odd name")
      expect((yield* files.search(searching("odd name"))).lines.map(({ path }) => path)).toEqual(["-", "--pre=sh"])
      expect((yield* files.search(searching("odd name", { path: "--pre=sh" }))).total).toBe(1)
      expect((yield* files.search(searching("odd name", { glob: "--pre=*" }))).total).toBe(1)
      expect((yield* files.search(searching(".", { literal: true }))).total).toBe(0)
    }))

  it.scoped("the environment cannot configure it", () =>
    Effect.gen(function*() {
      const { base, files, put } = yield* ground({ anchor })
      put("a.txt", "needle")
      Fs.writeFileSync(`${base}/config`, "--invert-match\n")
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          process.env["RIPGREP_CONFIG_PATH"] = `${base}/config`
        }),
        () =>
          Effect.sync(() => {
            delete process.env["RIPGREP_CONFIG_PATH"]
          })
      )
      expect((yield* files.search(searching("needle"))).total).toBe(1)
      expect((yield* files.search(searching("other"))).total).toBe(0)
    }))

  it.scoped("denied, ignored, hidden and binary files are not searched; links are not followed", () =>
    Effect.gen(function*() {
      const { files, outside, put, root } = yield* ground({ anchor })
      const paths = [
        "plain.ts",
        "sub/plain.md",
        ".env",
        "server.pem",
        "secrets/x.md",
        ".git/HEAD",
        ".hidden",
        ".github/ci.yml",
        "ignored.log",
        "sub/ignored.log",
        "build/out.ts"
      ]
      for (const path of paths) put(path, "needle")
      put("binary", "needle\0")
      put(".gitignore", "*.log\nbuild/\n")
      Fs.writeFileSync(`${outside}/x.ts`, "needle")
      Fs.symlinkSync(outside, `${root}/out`)
      Fs.symlinkSync(`${outside}/x.ts`, `${root}/out.ts`)
      const found = (more: Parameters<typeof searching>[1] = {}) =>
        files.search(searching("needle", more)).pipe(Effect.map(({ lines }) => lines.map(({ path }) => path)))
      expect(yield* found()).toEqual(["plain.ts", "sub/plain.md"])
      expect(yield* found({ glob: "*.ts" })).toEqual(["plain.ts"])
      expect(yield* found({ glob: "./plain.{ts,md}" })).toEqual(["plain.ts"])
      expect(yield* found({ glob: "plain.{ts,md}" })).toEqual(["plain.ts", "sub/plain.md"])
      expect(yield* found({ glob: "sub/**" })).toEqual(["sub/plain.md"])
      expect(yield* found({ glob: "!*.ts" })).toEqual(["sub/plain.md"])
      expect(yield* found({ glob: "*.log" })).toEqual([])
      expect(yield* found({ glob: ".github/**" })).toEqual([".github/ci.yml"])
      expect(yield* found({ glob: ".*" })).toEqual([".github/ci.yml", ".hidden"])
      expect(yield* found({ glob: ".git/**" })).toEqual([".git/HEAD"])
      expect(yield* found({ glob: "*.pem" })).toEqual([])
      expect(yield* found({ path: ".github" })).toEqual([".github/ci.yml"])
      expect(yield* found({ path: "ignored.log" })).toEqual(["ignored.log"])
      for (const path of [".env", "secrets", "secrets/x.md"]) {
        expect((yield* Effect.flip(files.search(searching("needle", { path })))).reason).toBe("denied")
      }
      expect((yield* Effect.flip(files.search(searching("needle", { path: "out" })))).reason).toBe("outside")
    }))

  it.scoped("large files are skipped and counted, where they would have been searched", () =>
    Effect.gen(function*() {
      const { files, put } = yield* ground({ anchor })
      put("small", "needle")
      put("exact", "needle".padEnd(100, "."))
      put("large", "needle".padEnd(101, "."))
      put("large.ignored", "needle".padEnd(101, "."))
      put(".env", "needle".padEnd(101, "."))
      put(".ignore", "*.ignored")
      expect(yield* files.search(searching("needle", { maxFileBytes: 100 }))).toMatchObject({
        total: 2,
        skippedLarge: 1
      })
      expect(yield* files.search(searching("needle", { maxFileBytes: 100, path: "large" }))).toMatchObject({
        total: 0,
        skippedLarge: 1
      })
    }))

  it.scoped("what cannot be read as a pattern says why", () =>
    Effect.gen(function*() {
      const { files, put } = yield* ground({ anchor })
      put("a", "(")
      for (const pattern of ["(", "a\\nb", "a\nb", "x(?=y)", "a\0b", "[z-a]", "(".repeat(2000)]) {
        const error = yield* Effect.flip(files.search(searching(pattern)))
        expect(error, pattern).toMatchObject({ reason: "bad-pattern" })
        expect(error.message.length).toBeLessThan(5000)
      }
      for (const glob of ["{a", "[", "a\\b", "/"]) {
        expect(yield* Effect.flip(files.search(searching("a", { glob }))), glob).toMatchObject({
          reason: "bad-pattern"
        })
      }
      expect((yield* files.search(searching("(", { literal: true }))).total).toBe(1)
      expect((yield* files.search(searching("a\nb", { literal: true })).pipe(Effect.flip)).reason).toBe("bad-pattern")
    }))

  it.scoped("a missing path names what is there; what is no file is refused at once", () =>
    Effect.gen(function*() {
      const { files, put } = yield* ground({ anchor })
      put("src/main.ts", "")
      expect(yield* Effect.flip(files.search(searching("x", { path: "scr" })))).toMatchObject({
        reason: "not-found",
        message: expect.stringContaining("src/")
      })
    }))

  it.scoped("long lines come as the part around the match, odd bytes as they can be shown", () =>
    Effect.gen(function*() {
      const { files, put } = yield* ground({ anchor })
      put("long", `${"ä".repeat(50_000)}needle${"b".repeat(50_000)}`)
      put("odd", Buffer.concat([Buffer.from("needle "), Buffer.from([0xff, 0xfe]), Buffer.from("\n")]))
      const { lines } = yield* files.search(searching("needle"))
      expect(lines[0]?.text).toMatch(/^\[… 49500 characters\] ä{500}needleb+ \[… \d+ characters\]$/)
      expect(lines[0]?.text.length).toBeLessThan(2100)
      expect(lines[1]?.text).toMatch(/^needle /)
    }))

  it.scopedLive("an interrupted search leaves no process and no descriptor", () =>
    Effect.gen(function*() {
      const { files, put } = yield* ground({ anchor })
      for (let index = 0; index < 300; index++) put(`f${index}`, "some text needle\n".repeat(3000))
      yield* files.search(searching("needle", { limit: 1 }))
      yield* Effect.sleep("20 millis")
      const before = openDescriptors()
      expect(children()).toEqual([])
      for (const delay of [0, 2, 5, 10, 20, 40]) {
        const fiber = yield* Effect.fork(files.search(searching("(n|e|d|l)+$", { limit: 100_000 })))
        yield* Effect.sleep(delay)
        const [took] = yield* Effect.timed(Fiber.interrupt(fiber))
        expect(Duration.toMillis(took)).toBeLessThan(500)
        expect(children()).toEqual([])
      }
      const settled = Effect.suspend(() => openDescriptors() === before ? Effect.void : Effect.fail("open"))
      yield* Effect.retry(Effect.zipRight(Effect.sleep("5 millis"), settled), { times: 100 })
    }))
})
