/** What every workspace has to do with several files at once: write them together, copy, move across, and list by glob. */
import type { FileError } from "@capstan/core/FileError"
import { type FilesRequest, Workspace } from "@capstan/core/Workspace"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Content } from "../FakeSandbox.js"

/** Declares one test on a seed. */
export type Test = (
  name: string,
  seed: Readonly<Record<string, Content>>,
  body: Effect.Effect<void, unknown, Workspace>
) => void

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

const reasonOf = <A, R>(effect: Effect.Effect<A, FileError, R>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason)

const readText = (path: string) =>
  Effect.flatMap(
    Workspace,
    (files) => Effect.map(files.read({ path }), ({ bytes }) => new TextDecoder().decode(bytes))
  )

const names = (path: string) =>
  Effect.flatMap(Workspace, (files) => Effect.map(files.list({ path }), (entries) => entries.map(({ name }) => name)))

const writeAll = (
  key: string,
  contents: Readonly<Record<string, string>>,
  expect: Readonly<Record<string, string>> = {}
) =>
  Effect.flatMap(Workspace, (files) =>
    files.writeAll({
      key,
      files: Object.entries(contents).map(([path, content]) => ({
        path,
        content: encode(content),
        ...(expect[path] === undefined ? {} : { expect: expect[path] })
      }))
    }))

const settle = (key: string) => Effect.flatMap(Workspace, (files) => files.settleWriteAll({ key }))

const copy = (from: string, to: string, overwrite = false) =>
  Effect.flatMap(Workspace, (files) => files.copy({ from, to, overwrite }))

const found = (request: Partial<FilesRequest>) =>
  Effect.flatMap(
    Workspace,
    (files) => files.files({ path: ".", glob: undefined, includeHidden: false, limit: 100, ...request })
  )

const pathsOf = (request: Partial<FilesRequest>) =>
  Effect.map(found(request), ({ files }) => files.map(({ path }) => path).sort())

/** Declares the tests. */
export const cases = (test: Test): void => {
  describe("writes several files", () => {
    together(test)
  })
  describe("copies", () => {
    copies(test)
  })
  describe("handles links themselves", () => {
    links(test)
  })
  describe("finds files", () => {
    finds(test)
  })
}

const together = (test: Test): void => {
  test(
    "all of them, and knows it later",
    { "a.txt": "1", "dir/b.txt": "2" },
    Effect.gen(function*() {
      const written = yield* writeAll("one", { "a.txt": "new", "dir/b.txt": "", "new/deep/c.txt": "3" })
      assert.deepStrictEqual(written.map(({ bytes, created, display }) => [display, created, bytes]), [
        ["a.txt", false, 3],
        ["dir/b.txt", false, 0],
        ["new/deep/c.txt", true, 1]
      ])
      assert.strictEqual(yield* readText("a.txt"), "new")
      assert.strictEqual(yield* readText("dir/b.txt"), "")
      assert.strictEqual(yield* readText("new/deep/c.txt"), "3")
      assert.deepStrictEqual(yield* names("."), ["a.txt", "dir", "new"])
      assert.deepStrictEqual([yield* names("dir"), yield* names("new/deep")], [["b.txt"], ["c.txt"]])
      assert.strictEqual(yield* settle("one"), "whole")
      assert.strictEqual(yield* settle("one"), "whole")
      assert.strictEqual(yield* settle("another"), "unknown")
    })
  )

  test(
    "or none of them",
    { "a.txt": "1", folder: { link: "." }, "dir/b.txt": "2", ".env": "s" },
    Effect.gen(function*() {
      const refused = (contents: Readonly<Record<string, string>>, expect?: Readonly<Record<string, string>>) =>
        Effect.gen(function*() {
          const reason = yield* reasonOf(writeAll("one", { "new/x": "x", "a.txt": "changed", ...contents }, expect))
          assert.deepStrictEqual(yield* names("."), ["a.txt", "dir", "folder"])
          assert.strictEqual(yield* readText("a.txt"), "1")
          return reason
        })
      assert.strictEqual(yield* refused({ dir: "x" }), "not-a-file")
      assert.strictEqual(yield* refused({ ".env": "x" }), "denied")
      assert.strictEqual(yield* refused({ "../out": "x" }), "outside")
      assert.strictEqual(yield* refused({ "a.txt/b": "x" }), "not-a-directory")
      assert.strictEqual(yield* refused({ "y/": "x" }), "not-a-file")
      assert.strictEqual(yield* refused({ "dir/b.txt": "x" }, { "dir/b.txt": "0".repeat(64) }), "changed")
      assert.strictEqual(yield* refused({ "dir/b.txt": "x" }, { "dir/b.txt": "absent" }), "exists")
      assert.strictEqual(yield* refused({ "y": "x" }, { y: "0".repeat(64) }), "changed")
      assert.strictEqual(yield* refused({ "folder/a.txt": "x" }), "bad-path")
      assert.notStrictEqual(yield* settle("one"), "whole")
    })
  )

  test(
    "what they are expected to be, under a key again",
    { "a.txt": "1" },
    Effect.gen(function*() {
      const files = yield* Workspace
      const { sha256 } = yield* files.read({ path: "a.txt" })
      yield* writeAll("one", { "a.txt": "2", "b.txt": "2" }, { "a.txt": sha256 ?? "", "b.txt": "absent" })
      assert.strictEqual(yield* reasonOf(writeAll("two", { "a.txt": "3" }, { "a.txt": sha256 ?? "" })), "changed")
      yield* writeAll("one", { "a.txt": "4" })
      assert.strictEqual(yield* readText("a.txt"), "4")
      assert.deepStrictEqual(yield* writeAll("none", {}), [])
    })
  )
}

const copies = (test: Test): void => {
  test(
    "one file",
    { "a.txt": "1", "b.txt": "2", "dir/x": "3", ".env": "s" },
    Effect.gen(function*() {
      assert.deepInclude(yield* copy("a.txt", "new/place.txt"), {
        display: "new/place.txt",
        created: true,
        bytes: 1
      })
      assert.strictEqual(yield* readText("new/place.txt"), "1")
      assert.strictEqual(yield* readText("a.txt"), "1")
      assert.strictEqual(yield* reasonOf(copy("a.txt", "b.txt")), "exists")
      assert.strictEqual(yield* readText("b.txt"), "2")
      assert.deepInclude(yield* copy("a.txt", "b.txt", true), { created: false })
      assert.strictEqual(yield* readText("b.txt"), "1")
      assert.strictEqual(yield* reasonOf(copy("a.txt", "a.txt", true)), "exists")
    })
  )

  test(
    "nothing else",
    { "a.txt": "1", "dir/x": "3", ".env": "s", link: { link: "a.txt" } },
    Effect.gen(function*() {
      assert.strictEqual(yield* reasonOf(copy("none", "b")), "not-found")
      assert.strictEqual(yield* reasonOf(copy("dir", "b")), "not-a-file")
      assert.strictEqual(yield* reasonOf(copy("dir/", "b")), "not-a-file")
      assert.strictEqual(yield* reasonOf(copy("a.txt", "dir", true)), "not-a-file")
      assert.strictEqual(yield* reasonOf(copy("a.txt", "b/")), "not-a-file")
      assert.strictEqual(yield* reasonOf(copy(".env", "b")), "denied")
      assert.strictEqual(yield* reasonOf(copy("a.txt", ".env.local")), "denied")
      assert.strictEqual(yield* reasonOf(copy("a.txt", "../b")), "outside")
      assert.strictEqual(yield* reasonOf(copy("link", "b")), "not-a-file")
      assert.strictEqual(yield* reasonOf(copy("dir/x", "link", true)), "not-a-file")
      assert.deepStrictEqual(yield* names("."), ["a.txt", "dir", "link"])
    })
  )
}

const links = (test: Test): void => {
  const seed = {
    "real/a.txt": "1",
    "b.txt": "2",
    "../outside/secret": "s",
    file: { link: "real/a.txt" },
    folder: { link: "real" },
    out: { link: "../outside" },
    gone: { link: "nowhere" }
  }

  test(
    "removes them, and nothing that they lead to",
    seed,
    Effect.gen(function*() {
      const files = yield* Workspace
      for (const path of ["file", "folder", "out", "gone"]) yield* files.remove({ path, recursive: true })
      assert.deepStrictEqual(yield* names("."), ["b.txt", "real"])
      assert.strictEqual(yield* readText("real/a.txt"), "1")
      yield* files.remove({ path: "real", recursive: true })
    })
  )

  test(
    "moves them, and nothing that they lead to",
    seed,
    Effect.gen(function*() {
      const files = yield* Workspace
      const move = (from: string, to: string, overwrite = false) => files.move({ from, to, overwrite })
      yield* move("file", "renamed")
      yield* move("folder", "also")
      yield* move("out", "still-out")
      assert.strictEqual(yield* readText("renamed"), "1")
      assert.strictEqual(yield* readText("also/a.txt"), "1")
      assert.strictEqual(yield* reasonOf(readText("still-out/secret")), "outside")
      assert.strictEqual(yield* reasonOf(move("b.txt", "renamed")), "exists")
      yield* move("b.txt", "renamed", true)
      assert.strictEqual(yield* readText("renamed"), "2")
      assert.strictEqual(yield* readText("real/a.txt"), "1")
      yield* move("gone", "gone2")
      assert.deepStrictEqual(yield* names("."), ["also", "gone2", "real", "renamed", "still-out"])
    })
  )
}

const finds = (test: Test): void => {
  const seed = {
    "a.txt": "123",
    "src/b.ts": "1",
    "src/c.md": "12",
    "src/deep/d.ts": "1",
    ".env": "s",
    ".hidden": "1",
    ".github/e.yml": "1",
    ".git/HEAD": "1",
    "ignored.log": "1",
    ".gitignore": "*.log\n",
    link: { link: "a.txt" }
  }

  test(
    "by glob, ignored and denied ones left out",
    seed,
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* pathsOf({}), ["a.txt", "src/b.ts", "src/c.md", "src/deep/d.ts"])
      assert.deepStrictEqual(yield* pathsOf({ glob: "*.ts" }), ["src/b.ts", "src/deep/d.ts"])
      assert.deepStrictEqual(yield* pathsOf({ glob: "src/*.ts" }), ["src/b.ts"])
      assert.deepStrictEqual(yield* pathsOf({ glob: "**/*.{ts,md}", path: "src" }), [
        "src/b.ts",
        "src/c.md",
        "src/deep/d.ts"
      ])
      assert.deepStrictEqual(yield* pathsOf({ glob: "!src/**" }), ["a.txt"])
      assert.deepStrictEqual(yield* pathsOf({ glob: ".github/**" }), [".github/e.yml"])
      assert.deepStrictEqual(yield* pathsOf({ glob: "*.none" }), [])
      assert.deepStrictEqual(yield* pathsOf({ includeHidden: true }), [
        ".github/e.yml",
        ".gitignore",
        ".hidden",
        "a.txt",
        "src/b.ts",
        "src/c.md",
        "src/deep/d.ts"
      ])
      assert.strictEqual((yield* found({ glob: "a.txt" })).files[0]?.size, 3)
    })
  )

  test(
    "up to a limit, and says what cannot be listed",
    seed,
    Effect.gen(function*() {
      const two = yield* found({ limit: 2 })
      assert.strictEqual(two.files.length, 2)
      assert.deepInclude(two, { total: 4, more: true })
      assert.deepInclude(yield* found({ limit: 4 }), { total: 4, more: false })
      assert.strictEqual(yield* reasonOf(found({ path: "none" })), "not-found")
      assert.strictEqual(yield* reasonOf(found({ path: "a.txt" })), "not-a-directory")
      assert.strictEqual(yield* reasonOf(found({ path: "../outside" })), "outside")
      assert.strictEqual(yield* reasonOf(found({ path: ".ssh" })), "denied")
      assert.strictEqual(yield* reasonOf(found({ path: ".git/config" })), "denied")
    })
  )
}
