import type { FileErrorReason } from "@capstan/core/FileError"
import { DenyRules } from "@capstan/node"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import { fromThrown, Swapped } from "../src/internal/fileFailure.js"
import { anchors, bytes, ground, openDescriptors, text, tree } from "./workspaceCases.js"

const sha = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex")

const reasonOf = <A>(effect: Effect.Effect<A, { readonly reason: FileErrorReason }>) =>
  Effect.map(Effect.flip(effect), (error) => error.reason)

describe.each(anchors)("files, $enforcement", (anchor) => {
  it.scoped("reading gives bytes, size, time and hash, and parts without a hash", () =>
    Effect.gen(function*() {
      const { files, put, root } = yield* ground({ anchor })
      put("dir/a b.txt", "0123456789")
      const whole = yield* files.read({ path: "dir/a b.txt" })
      expect(whole).toMatchObject({
        canonical: `${root}/dir/a b.txt`,
        display: "dir/a b.txt",
        size: 10,
        sha256: sha("0123456789"),
        modified: Fs.statSync(`${root}/dir/a b.txt`).mtimeMs
      })
      const part = (offset?: number, length?: number) =>
        files.read({
          path: "dir/a b.txt",
          ...(offset === undefined ? {} : { offset }),
          ...(length === undefined ? {} : { length })
        })
          .pipe(Effect.map((read) => [text(read.bytes), read.size, read.sha256 !== null]))
      expect(yield* part(2, 3)).toEqual(["234", 10, false])
      expect(yield* part(8)).toEqual(["89", 10, false])
      expect(yield* part(undefined, 99)).toEqual(["0123456789", 10, true])
      expect(yield* part(99)).toEqual(["", 10, false])
      expect(yield* part(0, 0)).toEqual(["", 10, false])
      put("empty")
      expect(yield* files.read({ path: "empty" })).toMatchObject({ size: 0, sha256: sha("") })
      expect(yield* files.sha256({ path: "dir/a b.txt", maxBytes: 10 })).toBe(sha("0123456789"))
      expect(yield* reasonOf(files.sha256({ path: "dir/a b.txt", maxBytes: 9 }))).toBe("too-large")
    }))

  it.scoped("large files go through in chunks, both ways", () =>
    Effect.gen(function*() {
      const { files, root } = yield* ground({ anchor })
      const content = Buffer.alloc(9 * 1024 * 1024 + 7, "0123456789abcde\n")
      const written = yield* files.write({ path: "large", content })
      expect(written).toMatchObject({ created: true, bytes: content.length, sha256: sha(content) })
      const read = yield* files.read({ path: "large" })
      expect(read.sha256).toBe(written.sha256)
      expect(Buffer.compare(read.bytes, content)).toBe(0)
      expect(yield* files.sha256({ path: "large", maxBytes: content.length })).toBe(written.sha256)
      yield* files.write({ path: "large", content: bytes("small"), expect: written.sha256 })
      expect(tree(root)).toEqual(["large"])
    }))

  it.scoped("writing creates folders, keeps the mode, leaves nothing behind", () =>
    Effect.gen(function*() {
      const { files, get, put, root } = yield* ground({ anchor })
      expect(yield* files.write({ path: "new/deep/ä.txt", content: bytes("1") })).toEqual({
        canonical: `${root}/new/deep/ä.txt`,
        display: "new/deep/ä.txt",
        created: true,
        bytes: 1,
        sha256: sha("1")
      })
      put("run.sh", "old")
      Fs.chmodSync(`${root}/run.sh`, 0o750)
      expect(yield* files.write({ path: "run.sh", content: bytes("new") })).toMatchObject({ created: false })
      expect(get("run.sh")).toBe("new")
      expect(Fs.statSync(`${root}/run.sh`).mode & 0o7777).toBe(0o750)
      expect(Fs.statSync(`${root}/new/deep/ä.txt`).mode & 0o777).toBe(0o666 & ~process.umask())
      expect(tree(root)).toEqual(["new", "new/deep", "new/deep/ä.txt", "run.sh"])
    }))

  it.scoped("what is expected is checked before anything is replaced", () =>
    Effect.gen(function*() {
      const { files, get, put, root } = yield* ground({ anchor })
      put("a", "one")
      expect(yield* reasonOf(files.write({ path: "a", content: bytes("x"), expect: sha("other") }))).toBe("changed")
      expect(yield* reasonOf(files.write({ path: "a", content: bytes("x"), expect: "absent" }))).toBe("exists")
      expect(yield* reasonOf(files.write({ path: "new/b", content: bytes("x"), expect: sha("one") }))).toBe("changed")
      expect(get("a")).toBe("one")
      expect(tree(root)).toEqual(["a"])
      yield* files.write({ path: "a", content: bytes("two"), expect: sha("one").toUpperCase() })
      yield* files.write({ path: "new/b", content: bytes("b"), expect: "absent" })
      expect(get("a")).toBe("two")
      expect(tree(root)).toEqual(["a", "new", "new/b"])
    }))

  it.scoped("only one of many that expect the same wins", () =>
    Effect.gen(function*() {
      const { files, get, put, root } = yield* ground({ anchor })
      put("a", "start")
      for (const expected of [sha("start"), "absent"]) {
        const path = expected === "absent" ? "fresh" : "a"
        const done = yield* Effect.forEach(
          Array.from({ length: 20 }, (_, index) => `${index}`),
          (content) => Effect.either(files.write({ path, content: bytes(content), expect: expected })),
          { concurrency: "unbounded" }
        )
        expect(done.filter(Either.isRight)).toHaveLength(1)
        expect(done.findIndex(Either.isRight)).toBe(Number(get(path)))
      }
      expect(tree(root)).toEqual(["a", "fresh"])
    }))

  it.scoped("a hard link is read, and writing replaces the name only", () =>
    Effect.gen(function*() {
      const { files, get, outside, root } = yield* ground({ anchor })
      Fs.writeFileSync(`${outside}/original`, "original")
      Fs.linkSync(`${outside}/original`, `${root}/linked`)
      expect(text((yield* files.read({ path: "linked" })).bytes)).toBe("original")
      expect((yield* files.stat({ path: "linked" })).links).toBe(2)
      yield* files.write({ path: "linked", content: bytes("new") })
      expect(get("linked")).toBe("new")
      expect(Fs.readFileSync(`${outside}/original`, "utf8")).toBe("original")
    }))

  it.scoped("folders, missing parents and odd names are told apart", () =>
    Effect.gen(function*() {
      const { files, put, root } = yield* ground({ anchor })
      put("file", "x")
      put("dir/inner", "x")
      expect(yield* reasonOf(files.read({ path: "dir" }))).toBe("not-a-file")
      expect(yield* reasonOf(files.read({ path: "." }))).toBe("not-a-file")
      expect(yield* reasonOf(files.read({ path: "file/x" }))).toBe("not-a-directory")
      expect(yield* reasonOf(files.read({ path: "file/" }))).toBe("not-a-directory")
      expect(yield* reasonOf(files.read({ path: "none/x" }))).toBe("not-found")
      expect(yield* reasonOf(files.read({ path: "x".repeat(300) }))).toBe("bad-path")
      expect(yield* reasonOf(files.write({ path: "dir", content: bytes("x") }))).toBe("not-a-file")
      expect(yield* reasonOf(files.write({ path: "fresh/", content: bytes("x") }))).toBe("not-a-file")
      expect(yield* reasonOf(files.write({ path: ".", content: bytes("x") }))).toBe("not-a-file")
      expect(yield* reasonOf(files.write({ path: "file/x", content: bytes("x") }))).toBe("not-a-directory")
      expect(yield* reasonOf(files.write({ path: `made/${"x".repeat(300)}`, content: bytes("x") }))).toBe("bad-path")
      expect(yield* reasonOf(files.list({ path: "file" }))).toBe("not-a-directory")
      expect(yield* reasonOf(files.list({ path: "none" }))).toBe("not-found")
      expect(yield* reasonOf(files.stat({ path: "none" }))).toBe("not-found")
      expect(yield* reasonOf(files.makeDirectory({ path: "file" }))).toBe("not-a-directory")
      expect(yield* reasonOf(files.makeDirectory({ path: "a/b/file/../../../file/c" }))).toBe("not-found")
      expect(tree(root)).toEqual(["dir", "dir/inner", "file"])
      yield* files.makeDirectory({ path: "x/y/z/" })
      yield* files.makeDirectory({ path: "x/y" })
      expect((yield* files.stat({ path: "x/y/z" })).kind).toBe("dir")
      expect(yield* files.stat({ path: "." })).toMatchObject({ kind: "dir", canonical: root })
    }))

  it.scoped("a missing path names what is there, without what is denied", () =>
    Effect.gen(function*() {
      const { files, put } = yield* ground({ anchor })
      for (const name of ["main.ts", "Main.test.ts", "zebra.md", "manual/x", ".env"]) put(`src/${name}`)
      const { message } = yield* Effect.flip(files.read({ path: "src/mian.ts" }))
      expect(message).toMatch(/no "src\/mian\.ts"\. "src" has: main\.ts, /)
      expect(message).toContain("manual/")
      expect(message).not.toContain(".env")
      expect((yield* Effect.flip(files.read({ path: "scr/main.ts" }))).message).toBe(
        "There is no folder \"scr\" in \".\". \".\" has: src/."
      )
      yield* files.makeDirectory({ path: "empty" })
      expect((yield* Effect.flip(files.stat({ path: "empty/x" }))).message).toContain("\"empty\" is empty")
      for (let index = 0; index < 20; index++) put(`many/${index}`)
      expect((yield* Effect.flip(files.remove({ path: "many/x", recursive: false }))).message).toContain("and more")
    }))

  it.scoped("a listing has links as links, denied entries not at all, in code unit order", () =>
    Effect.gen(function*() {
      const { files, put, root } = yield* ground({ anchor })
      for (const path of ["b", "a", "B", "ä", "secrets/x", "k.pem", ".env", ".git/config", ".git/HEAD", "dir/x"]) {
        put(path, "12")
      }
      Fs.symlinkSync("/etc/passwd", `${root}/link`)
      const entries = yield* files.list({ path: "." })
      expect(entries.map(({ kind, name }) => [name, kind])).toEqual([
        [".git", "dir"],
        ["B", "file"],
        ["a", "file"],
        ["b", "file"],
        ["dir", "dir"],
        ["link", "symlink"],
        ["ä", "file"]
      ])
      expect(entries[1]).toEqual({
        name: "B",
        kind: "file",
        size: 2,
        modified: Fs.statSync(`${root}/B`).mtimeMs,
        error: null
      })
      expect((yield* files.list({ path: ".git" })).map(({ name }) => name)).toEqual(["HEAD"])
    }))

  it.scoped("an entry that cannot be looked at stays in the listing", () =>
    Effect.gen(function*() {
      const { files, root } = yield* ground({ anchor })
      Fs.writeFileSync(Buffer.concat([Buffer.from(`${root}/bad-`), Buffer.from([0xff])]), "")
      expect(yield* files.list({ path: "." })).toEqual([
        {
          name: "bad-\ufffd",
          kind: "unknown",
          size: null,
          modified: null,
          error: { code: "metadata_unavailable", message: expect.any(String) }
        }
      ])
    }))

  it.scoped("removing takes a link, not what it leads to, and folders only on purpose", () =>
    Effect.gen(function*() {
      const { files, outside, put, root } = yield* ground({ anchor })
      put("dir/sub/a", "x")
      put("file", "x")
      Fs.writeFileSync(`${outside}/x`, "x")
      Fs.symlinkSync(outside, `${root}/out`)
      Fs.symlinkSync(outside, `${root}/dir/out`)
      Fs.symlinkSync("file", `${root}/link`)
      yield* files.remove({ path: "link", recursive: false })
      yield* files.remove({ path: "out", recursive: true })
      expect(yield* reasonOf(files.remove({ path: "dir", recursive: false }))).toBe("not-empty")
      expect(yield* reasonOf(files.remove({ path: "none", recursive: true }))).toBe("not-found")
      expect(yield* reasonOf(files.remove({ path: ".", recursive: true }))).toBe("denied")
      expect(tree(root)).toEqual(["dir", "dir/out", "dir/sub", "dir/sub/a", "file"])
      yield* files.remove({ path: "dir", recursive: true })
      expect(tree(root)).toEqual(["file"])
      expect(tree(outside)).toEqual(["x"])
    }))

  it.scoped("a folder with something protected is neither removed nor moved", () =>
    Effect.gen(function*() {
      const { files, put, root } = yield* ground({
        anchor,
        deny: Either.getOrThrow(
          DenyRules.compile([...DenyRules.defaultRules, { pattern: "plans/hidden.md", access: ["read"] }])
        )
      })
      put("project/a", "x")
      put("project/sub/.env", "x")
      put("repository/.git/HEAD", "x")
      put("plans/hidden.md", "x")
      const before = tree(root)
      for (const path of ["project", "repository", "plans"]) {
        for (
          const effect of [
            files.remove({ path, recursive: true }),
            files.move({ from: path, to: "moved", overwrite: false })
          ]
        ) {
          expect(yield* Effect.flip(effect), path).toMatchObject({ reason: "denied", pattern: expect.any(String) })
        }
      }
      expect(yield* reasonOf(files.move({ from: "plans/hidden.md", to: "a.md", overwrite: false }))).toBe("denied")
      expect(yield* reasonOf(files.move({ from: "project/a", to: ".env", overwrite: true }))).toBe("denied")
      const { message } = yield* Effect.flip(files.remove({ path: "project", recursive: true }))
      expect(message).not.toContain("(.env)")
      expect(tree(root)).toEqual(before)
    }))

  it.scoped("moving renames within a mount and overwrites only on purpose", () =>
    Effect.gen(function*() {
      const { files, get, outside, put, root } = yield* ground({ anchor })
      put("a", "a")
      put("b", "b")
      put("dir/x", "x")
      put("full/y", "y")
      Fs.symlinkSync(outside, `${root}/out`)
      expect(yield* reasonOf(files.move({ from: "a", to: "b", overwrite: false }))).toBe("exists")
      expect(yield* reasonOf(files.move({ from: "a", to: "dir", overwrite: true }))).toBe("exists")
      expect(yield* reasonOf(files.move({ from: "dir", to: "full", overwrite: true }))).toBe("not-empty")
      expect(yield* reasonOf(files.move({ from: "dir", to: "b", overwrite: true }))).toBe("not-a-directory")
      expect(yield* reasonOf(files.move({ from: "dir", to: "dir/in/side", overwrite: false }))).toBe("bad-path")
      expect(yield* reasonOf(files.move({ from: "none", to: "made/up", overwrite: false }))).toBe("not-found")
      expect(yield* reasonOf(files.move({ from: "a", to: "out/a", overwrite: false }))).toBe("outside")
      expect(tree(root)).toEqual(["a", "b", "dir", "dir/x", "full", "full/y", "out"])
      yield* files.move({ from: "a", to: "b", overwrite: true })
      expect(get("b")).toBe("a")
      yield* files.move({ from: "b", to: "new/deep/c", overwrite: false })
      yield* files.move({ from: "dir", to: "new/dir", overwrite: false })
      yield* files.move({ from: "new/deep/c", to: "new/deep/c", overwrite: false })
      yield* files.move({ from: "new/deep/c", to: "out", overwrite: true })
      expect(tree(root)).toEqual(["full", "full/y", "new", "new/deep", "new/dir", "new/dir/x", "out"])
      expect(tree(outside)).toEqual([])
    }))

  it.scoped("moving onto another name of the same file leaves one", () =>
    Effect.gen(function*() {
      const { files, put, root } = yield* ground({ anchor })
      put("a", "a")
      Fs.linkSync(`${root}/a`, `${root}/b`)
      yield* files.move({ from: "a", to: "b", overwrite: true })
      expect(tree(root)).toEqual(["b"])
      Fs.linkSync(`${root}/b`, `${root}/c`)
      yield* files.move({ from: "b", to: "b", overwrite: true })
      expect(tree(root)).toEqual(["b", "c"])
    }))

  it.scoped("a path in another mount is shown whole", () =>
    Effect.gen(function*() {
      const { base, files } = yield* ground({
        anchor,
        mounts: (root, base) => [
          { name: "workspace", root, access: "rw" },
          { name: "shared", root: `${base}/outside`, access: "rw" }
        ]
      })
      expect(yield* files.decide({ path: `${base}/outside/a`, access: "write" })).toMatchObject({
        _tag: "Allowed",
        display: `${base}/outside/a`
      })
    }))

  it.scopedLive("no descriptor and no temporary file stays, whatever fails or is interrupted", () =>
    Effect.gen(function*() {
      const { files, put, root } = yield* ground({ anchor })
      put("dir/a", "x")
      const large = new Uint8Array(12 * 1024 * 1024)
      const round = Effect.gen(function*() {
        yield* files.write({ path: "b/c", content: bytes("x") })
        yield* files.read({ path: "b/c" })
        yield* files.list({ path: "dir" })
        yield* files.move({ from: "b/c", to: "b/d", overwrite: true })
        yield* files.remove({ path: "b", recursive: true })
        yield* Effect.flip(files.read({ path: "dir" }))
        yield* Effect.flip(files.read({ path: "dir/a/x" }))
        yield* Effect.flip(files.write({ path: "dir", content: bytes("x") }))
        yield* Effect.flip(files.write({ path: "x/y", content: bytes("x"), expect: "0" }))
        yield* Effect.flip(files.list({ path: "dir/a" }))
        yield* Effect.flip(files.move({ from: "dir/a", to: "dir/a/b", overwrite: true }))
      })
      const interrupted = Effect.gen(function*() {
        const fiber = yield* Effect.fork(files.write({ path: "made/large", content: large }))
        yield* Effect.yieldNow()
        yield* Effect.sleep("1 millis")
        yield* Fiber.interrupt(fiber)
      })
      yield* round
      const before = openDescriptors()
      yield* Effect.repeatN(round, 20)
      yield* Effect.repeatN(interrupted, 5)
      expect(openDescriptors()).toBe(before)
      expect(tree(root).filter((path) => path.includes(".tmp"))).toEqual([])
    }))
})

describe("what the file system says", () => {
  it.each<readonly [string, FileErrorReason]>([
    ["ENOENT", "not-found"],
    ["EACCES", "permission"],
    ["EPERM", "permission"],
    ["ENOSPC", "no-space"],
    ["EDQUOT", "quota"],
    ["EROFS", "read-only"],
    ["EEXIST", "exists"],
    ["ENOTDIR", "not-a-directory"],
    ["EISDIR", "not-a-file"],
    ["ENOTEMPTY", "not-empty"],
    ["ENAMETOOLONG", "bad-path"],
    ["EINVAL", "bad-path"],
    ["ELOOP", "changed"],
    ["ENXIO", "not-a-file"],
    ["EFBIG", "too-large"],
    ["EXDEV", "io"],
    ["EIO", "io"],
    ["EMFILE", "io"]
  ])("%s is %s, with what to do next", (code, reason) => {
    const error = fromThrown({ path: "a", canonical: "/work/a" }, Object.assign(new Error(code), { code }))
    expect(error).toMatchObject({ reason, path: "a", resolved: "/work/a" })
    expect(error?.message).toMatch(/"a".*[.:] .+\.$/)
  })

  it("something swapped is a change, anything else a defect", () => {
    expect(fromThrown({ path: "a", canonical: "" }, new Swapped("a"))?.reason).toBe("changed")
    expect(fromThrown({ path: "a", canonical: "" }, new TypeError("bug"))).toBeUndefined()
  })
})
