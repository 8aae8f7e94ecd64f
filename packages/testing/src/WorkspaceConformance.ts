/**
 * What every workspace has to do, as tests: the one in memory and the one on the real machine give the same answers.
 *
 * @since 0.1.0
 */
import type { FileError } from "@capstan/core/FileError"
import { type Access, Workspace } from "@capstan/core/Workspace"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import type { Content } from "./FakeSandbox.js"
import * as FileSetConformance from "./internal/fileSetConformance.js"
import type { Test } from "./internal/fileSetConformance.js"
import * as SearchConformance from "./internal/searchConformance.js"

/**
 * What a workspace holds at the start of a test: content by path. Relative paths lie below the working directory, which is
 * the root of a writable mount; `../outside/…` lies beside it, in no mount.
 *
 * @since 0.1.0
 * @category models
 */
export type Seed = Readonly<Record<string, Content>>

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

const readText = (path: string) =>
  Effect.flatMap(Workspace, (files) => Effect.map(files.read({ path }), ({ bytes }) => decode(bytes)))

const writeText = (path: string, text: string, expect?: string) =>
  Effect.flatMap(
    Workspace,
    (files) => files.write({ path, content: encode(text), ...(expect === undefined ? {} : { expect }) })
  )

const names = (path: string) =>
  Effect.flatMap(Workspace, (files) => Effect.map(files.list({ path }), (entries) => entries.map(({ name }) => name)))

const reasonOf = <A, R>(effect: Effect.Effect<A, FileError, R>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason)

const decided = (path: string, access: Access) =>
  Effect.flatMap(
    Workspace,
    (files) =>
      Effect.map(files.decide({ path, access }), (decision) =>
        decision._tag === "Allowed" ? decision.display : decision.reason)
  )

const remove = (path: string, recursive = false) =>
  Effect.flatMap(Workspace, (files) => files.remove({ path, recursive }))

const move = (from: string, to: string, overwrite = false) =>
  Effect.flatMap(Workspace, (files) => files.move({ from, to, overwrite }))

/**
 * Declares the tests. `layer` makes a workspace with the safe deny rules that holds a {@link Seed}.
 *
 * @since 0.1.0
 * @category constructors
 */
export const suite = <E>(options: {
  readonly name: string
  readonly layer: (seed: Seed) => Layer.Layer<Workspace, E>
}): void => {
  const test = (name: string, seed: Seed, body: Effect.Effect<void, unknown, Workspace>) =>
    it.effect(name, () => Effect.provide(body, options.layer(seed)))

  describe(`${options.name} is a workspace`, () => {
    describe("decides", () => {
      decisions(test)
    })
    describe("reads and writes", () => {
      contents(test)
      it.effect.prop(
        "gives back what was written",
        [FastCheck.uint8Array({ maxLength: 2_000 }), FastCheck.nat({ max: 2_500 }), FastCheck.nat({ max: 2_500 })],
        ([content, offset, length]) =>
          Effect.gen(function*() {
            const files = yield* Workspace
            const written = yield* files.write({ path: "new/file", content })
            const whole = yield* files.read({ path: "new/file" })
            assert.deepStrictEqual(Array.from(whole.bytes), Array.from(content))
            assert.strictEqual(whole.sha256, written.sha256)
            const part = yield* files.read({ path: "new/file", offset, length })
            assert.deepStrictEqual(Array.from(part.bytes), Array.from(content.slice(offset, offset + length)))
            assert.strictEqual(part.size, content.length)
          }).pipe(Effect.provide(options.layer({}))),
        { fastCheck: { numRuns: 20 } }
      )
    })
    describe("lists, moves and removes", () => {
      entries(test)
    })
    FileSetConformance.cases(test)
    describe("searches", () => {
      SearchConformance.cases(test)
    })
  })
}

const decisions = (test: Test): void => {
  test(
    "that paths in the mount may be used, shown from the working directory",
    { "a/b.txt": "1" },
    Effect.gen(function*() {
      const { workingDirectory } = yield* Workspace
      assert.strictEqual(yield* decided("a/b.txt", "read"), "a/b.txt")
      assert.strictEqual(yield* decided("./a//b.txt", "write"), "a/b.txt")
      assert.strictEqual(yield* decided("a/../a/b.txt", "read"), "a/b.txt")
      assert.strictEqual(yield* decided("not/yet", "write"), "not/yet")
      assert.strictEqual(yield* decided(".", "list"), ".")
      assert.strictEqual(yield* decided(`${workingDirectory}/a`, "list"), "a")
    })
  )

  test(
    "that nothing leads outside",
    {
      "../outside/secret": "s",
      out: { link: "../outside" },
      in: { link: "a" },
      a: "1",
      gone: { link: "../outside/new" }
    },
    Effect.gen(function*() {
      for (const path of ["..", "../outside/secret", "/etc/passwd", "out/secret", "out", "gone"]) {
        assert.strictEqual(yield* decided(path, "read"), "outside", path)
        assert.strictEqual(yield* reasonOf(readText(path)), "outside", path)
      }
      assert.strictEqual(yield* reasonOf(writeText("gone", "x")), "outside")
      assert.strictEqual(yield* readText("in"), "1")
    })
  )

  test(
    "that paths which lead nowhere are none",
    { loop: { link: "loop" }, file: "1" },
    Effect.gen(function*() {
      assert.strictEqual(yield* decided("loop", "read"), "bad-path")
      assert.strictEqual(yield* decided("none/../file", "read"), "not-found")
      assert.strictEqual(yield* decided("file/../file", "read"), "not-a-directory")
      assert.strictEqual(yield* decided("loop", "delete"), "loop")
    })
  )

  test(
    "that names with secrets are out of reach, and that .git is not to be changed",
    {
      ".env": "s",
      "deep/.ENV": "s",
      ".env.example": "1",
      "a.pem": "s",
      ".git/HEAD": "1",
      ".gitignore": "",
      ".ssh/x": "s"
    },
    Effect.gen(function*() {
      for (const path of [".env", "deep/.ENV", "a.pem", ".ssh/x", ".git/config", "new/id_rsa", "secrets/a"]) {
        assert.strictEqual(yield* decided(path, "read"), "denied", path)
        assert.strictEqual(yield* reasonOf(writeText(path, "x")), "denied", path)
      }
      assert.strictEqual(yield* decided(".git/HEAD", "read"), ".git/HEAD")
      assert.strictEqual(yield* decided(".git/HEAD", "write"), "denied")
      assert.strictEqual(yield* decided("node_modules/a", "delete"), "denied")
      assert.strictEqual(yield* decided(".gitignore", "write"), ".gitignore")
      assert.strictEqual(yield* decided(".env.example", "write"), ".env.example")
    })
  )

  test(
    "that some texts are no paths",
    {},
    Effect.gen(function*() {
      for (
        const path of ["", "a\0b", "a\nb", "a\u202eb", "file:///etc/passwd", "https://x/y", "~/a", "a".repeat(5_000)]
      ) {
        assert.strictEqual(yield* decided(path, "read"), "bad-path", JSON.stringify(path.slice(0, 20)))
      }
    })
  )
}

const contents = (test: Test): void => {
  test(
    "creates and replaces files, and says which",
    { "there.txt": "old" },
    Effect.gen(function*() {
      const created = yield* writeText("a/b/new.txt", "1")
      assert.deepInclude(created, { display: "a/b/new.txt", created: true, bytes: 1 })
      const replaced = yield* writeText("there.txt", "new")
      assert.deepInclude(replaced, { display: "there.txt", created: false, bytes: 3 })
      assert.strictEqual(yield* readText("there.txt"), "new")
      const files = yield* Workspace
      assert.deepInclude(yield* files.stat({ path: "there.txt" }), {
        kind: "file",
        size: 3,
        canonical: replaced.canonical
      })
      assert.deepInclude(yield* files.stat({ path: "a" }), { kind: "dir" })
    })
  )

  test(
    "writes only over what is expected",
    { "a.txt": "1" },
    Effect.gen(function*() {
      const files = yield* Workspace
      const { sha256 } = yield* files.read({ path: "a.txt" })
      assert.strictEqual(yield* reasonOf(writeText("a.txt", "2", "absent")), "exists")
      assert.strictEqual(yield* reasonOf(writeText("a.txt", "2", "0".repeat(64))), "changed")
      assert.strictEqual(yield* reasonOf(writeText("new.txt", "2", "0".repeat(64))), "changed")
      assert.strictEqual(yield* readText("a.txt"), "1")
      yield* writeText("a.txt", "2", sha256 ?? "")
      yield* writeText("new.txt", "3", "absent")
      assert.strictEqual(yield* readText("a.txt"), "2")
      assert.deepStrictEqual(yield* names("."), ["a.txt", "new.txt"])
    })
  )

  test(
    "knows the hash of whole files up to a size",
    { "a.txt": "1234" },
    Effect.gen(function*() {
      const files = yield* Workspace
      const whole = yield* files.read({ path: "a.txt" })
      assert.strictEqual(yield* files.sha256({ path: "a.txt", maxBytes: 4 }), whole.sha256)
      assert.strictEqual(yield* reasonOf(files.sha256({ path: "a.txt", maxBytes: 3 })), "too-large")
      assert.isNull((yield* files.read({ path: "a.txt", offset: 1 })).sha256)
      assert.strictEqual((yield* files.read({ path: "a.txt", offset: 9 })).bytes.length, 0)
    })
  )

  test(
    "says what is not a file",
    { "dir/a.txt": "1", file: "1" },
    Effect.gen(function*() {
      const files = yield* Workspace
      assert.strictEqual(yield* reasonOf(readText("none")), "not-found")
      assert.strictEqual(yield* reasonOf(readText("dir")), "not-a-file")
      assert.strictEqual(yield* reasonOf(readText("file/below")), "not-a-directory")
      assert.strictEqual(yield* reasonOf(writeText("dir", "x")), "not-a-file")
      assert.strictEqual(yield* reasonOf(writeText("new/", "x")), "not-a-file")
      assert.strictEqual(yield* reasonOf(writeText("file/below", "x")), "not-a-directory")
      assert.strictEqual(yield* reasonOf(files.stat({ path: "none" })), "not-found")
      assert.strictEqual(yield* reasonOf(files.makeDirectory({ path: "file/below" })), "not-a-directory")
    })
  )

  test(
    "writes through a link that stays inside",
    { "real/a.txt": "1", link: { link: "real/a.txt" } },
    Effect.gen(function*() {
      const written = yield* writeText("link", "2")
      assert.deepInclude(written, { display: "real/a.txt", created: false })
      assert.strictEqual(yield* readText("real/a.txt"), "2")
      const files = yield* Workspace
      const links = (yield* files.list({ path: "." })).filter(({ kind }) => kind === "symlink")
      assert.deepStrictEqual(links.map(({ name }) => name), ["link"])
    })
  )
}

const entries = (test: Test): void => {
  test(
    "entries by name, denied ones left out",
    { "b/x": "1", "B.txt": "22", "a.txt": "1", ".env": "s", ".hidden": "", "ä": "1", node_modules: { link: "b" } },
    Effect.gen(function*() {
      const files = yield* Workspace
      const listed = yield* files.list({ path: "." })
      assert.deepStrictEqual(
        listed.map(({ kind, name }) => [name, kind]),
        [
          [".hidden", "file"],
          ["B.txt", "file"],
          ["a.txt", "file"],
          ["b", "dir"],
          ["node_modules", "symlink"],
          ["ä", "file"]
        ]
      )
      assert.strictEqual(listed.find(({ name }) => name === "B.txt")?.size, 2)
      assert.strictEqual(yield* reasonOf(files.list({ path: "none" })), "not-found")
      assert.strictEqual(yield* reasonOf(files.list({ path: "a.txt" })), "not-a-directory")
    })
  )

  test(
    "makes folders, also where they are",
    { "a/x": "1" },
    Effect.gen(function*() {
      const files = yield* Workspace
      yield* files.makeDirectory({ path: "a/b/c" })
      yield* files.makeDirectory({ path: "a" })
      assert.deepStrictEqual(yield* names("a"), ["b", "x"])
      assert.strictEqual(yield* reasonOf(files.makeDirectory({ path: "a/x" })), "not-a-directory")
    })
  )

  test(
    "removes files, links and folders",
    { "a.txt": "1", "dir/x": "1", link: { link: "dir" }, "keep/.env": "s", "empty/x": "" },
    Effect.gen(function*() {
      yield* remove("a.txt")
      yield* remove("link")
      assert.strictEqual(yield* readText("dir/x"), "1")
      assert.strictEqual(yield* reasonOf(remove("dir")), "not-empty")
      yield* remove("dir", true)
      yield* remove("empty/x")
      yield* remove("empty")
      assert.strictEqual(yield* reasonOf(remove("a.txt")), "not-found")
      assert.strictEqual(yield* reasonOf(remove("keep", true)), "denied")
      assert.strictEqual(yield* reasonOf(remove(".", true)), "denied")
      assert.deepStrictEqual(yield* names("."), ["keep"])
    })
  )

  test(
    "moves files and folders",
    { "a.txt": "1", "b.txt": "2", "dir/x": "3", "full/y": "4", "with/.env": "s" },
    Effect.gen(function*() {
      yield* move("a.txt", "new/place.txt")
      assert.strictEqual(yield* readText("new/place.txt"), "1")
      assert.strictEqual(yield* reasonOf(readText("a.txt")), "not-found")
      assert.strictEqual(yield* reasonOf(move("new/place.txt", "b.txt")), "exists")
      yield* move("new/place.txt", "b.txt", true)
      assert.strictEqual(yield* readText("b.txt"), "1")
      yield* move("dir", "moved")
      assert.strictEqual(yield* readText("moved/x"), "3")
      yield* move("b.txt", "b.txt")
      assert.strictEqual(yield* readText("b.txt"), "1")
    })
  )

  test(
    "refuses moves that lose something",
    { "b.txt": "2", "dir/x": "3", "full/y": "4", "with/.env": "s" },
    Effect.gen(function*() {
      assert.strictEqual(yield* reasonOf(move("none", "x")), "not-found")
      assert.strictEqual(yield* reasonOf(move("b.txt", "full", true)), "exists")
      assert.strictEqual(yield* reasonOf(move("dir", "full", true)), "not-empty")
      assert.strictEqual(yield* reasonOf(move("dir", "b.txt", true)), "not-a-directory")
      assert.strictEqual(yield* reasonOf(move("dir", "dir/inside")), "bad-path")
      assert.strictEqual(yield* reasonOf(move("with", "without")), "denied")
      assert.strictEqual(yield* reasonOf(move("b.txt", ".env.local")), "denied")
      assert.strictEqual(yield* reasonOf(move("b.txt", "../outside")), "outside")
      assert.deepStrictEqual(yield* names("."), ["b.txt", "dir", "full", "with"])
    })
  )
}
