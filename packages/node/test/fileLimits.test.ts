import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { anchored } from "../src/internal/anchor.js"
import { anchors, bytes, canMount, fastFolder, ground, searching, tree } from "./workspaceCases.js"

if (!canMount) console.warn("moving between file systems: skipped, a file system can be mounted by root only")

const hour = 60 * 60

describe.each(anchors)("files in bulk, $enforcement", (anchor) => {
  it.scopedLive("a hundred thousand are listed in one go, and few are kept in memory", () =>
    Effect.gen(function*() {
      const { files, root } = yield* ground({ anchor, ...(fastFolder === undefined ? {} : { base: fastFolder }) })
      for (let folder = 0; folder < 100; folder++) {
        Fs.mkdirSync(`${root}/${folder}`)
        for (let file = 0; file < 1000; file++) Fs.closeSync(Fs.openSync(`${root}/${folder}/${file}.txt`, "w"))
      }
      Fs.utimesSync(`${root}/50/500.txt`, 4_000_000_000, 4_000_000_000)
      const request = { path: ".", glob: "**/*.txt", includeHidden: false, limit: 100 }
      yield* files.files({ ...request, path: "1" })
      const before = process.cpuUsage()
      const found = yield* files.files(request)
      const { system, user } = process.cpuUsage(before)
      expect(found).toMatchObject({ total: 100_000, more: true })
      expect(found.files).toHaveLength(100)
      expect(found.files[0]).toEqual({ path: "50/500.txt", size: 0, modified: 4_000_000_000_000 })
      // Processor time, in microseconds: on a busy machine the clock measures the others.
      expect(system + user).toBeLessThan(4_000_000)
    }), 60_000)

  it.scopedLive("a large file is copied in parts, with its permission bits", () =>
    Effect.gen(function*() {
      const { files, put, root } = yield* ground({ anchor })
      const content = Buffer.alloc(9 * 1024 * 1024 + 3, "capstan")
      put("large", content)
      Fs.chmodSync(`${root}/large`, 0o751)
      const copied = yield* files.copy({ from: "large", to: "d/copy", overwrite: false })
      expect(copied).toMatchObject({ display: "d/copy", created: true, bytes: content.length })
      expect(copied.sha256).toBe(yield* files.sha256({ path: "large", maxBytes: content.length }))
      expect(Fs.readFileSync(`${root}/d/copy`).equals(content)).toBe(true)
      expect(Fs.statSync(`${root}/d/copy`).mode & 0o777).toBe(0o751)
      put("other", "x")
      Fs.chmodSync(`${root}/other`, 0o640)
      yield* files.copy({ from: "large", to: "other", overwrite: true })
      expect(Fs.statSync(`${root}/other`).mode & 0o777).toBe(0o640)
      put("huge")
      Fs.truncateSync(`${root}/huge`, 10 * 1024 ** 3)
      expect((yield* Effect.flip(files.copy({ from: "huge", to: "h", overwrite: false }))).reason).toBe("too-large")
      execFileSync("mkfifo", [`${root}/pipe`])
      for (const [from, to] of [["pipe", "p"], ["large", "pipe"]] as const) {
        expect((yield* Effect.flip(files.copy({ from, to, overwrite: true }))).reason).toBe("not-a-file")
      }
      expect(tree(root).filter((path) => path.includes(".capstan-"))).toEqual([])
    }))
})

describe.each(anchors)("what killed writes left behind, $enforcement", (anchor) => {
  it.scopedLive("goes with the next write into the folder, when it is old", () =>
    Effect.gen(function*() {
      const { files, put, root } = yield* ground({ anchor })
      const now = Fs.statSync(root).mtimeMs / 1000
      for (
        const [name, age] of [
          [".capstan-old1.tmp", 2 * hour],
          [".capstan-new1.tmp", hour / 2],
          [".capstan-mine.tmp.txt", 2 * hour],
          ["x.capstan-a.tmp", 2 * hour],
          [".capstan-A.tmp", 2 * hour]
        ] as const
      ) {
        put(`d/${name}`, "left")
        Fs.utimesSync(`${root}/d/${name}`, now - age, now - age)
      }
      Fs.mkdirSync(`${root}/d/.capstan-folder.tmp`)
      yield* files.write({ path: "d/a", content: bytes("x") })
      expect(Fs.readdirSync(`${root}/d`).sort()).toEqual([
        ".capstan-A.tmp",
        ".capstan-folder.tmp",
        ".capstan-mine.tmp.txt",
        ".capstan-new1.tmp",
        "a",
        "x.capstan-a.tmp"
      ])
    }))
})

describe("between mounts", () => {
  it.scopedLive("one file is copied and removed; folders and links stay", () =>
    Effect.gen(function*() {
      const { base, files, put, root } = yield* ground({
        mounts: (root, base) => [
          { name: "workspace", root, access: "rw" },
          { name: "shared", root: `${base}/outside`, access: "rw" },
          { name: "vault", root: `${base}/vault`, access: "ro" }
        ],
        prepare: (base) => {
          Fs.mkdirSync(`${base}/vault`)
          Fs.writeFileSync(`${base}/vault/v`, "v")
        }
      })
      put("a", "a")
      put("b", "b")
      put("dir/x", "x")
      Fs.symlinkSync("a", `${root}/link`)
      const move = (from: string, to: string, overwrite = false) => files.move({ from, to, overwrite })
      const refused = (from: string, to: string) => Effect.map(Effect.flip(move(from, to)), ({ reason }) => reason)
      yield* move("a", `${base}/outside/new/a`)
      expect(Fs.readFileSync(`${base}/outside/new/a`, "utf8")).toBe("a")
      expect(Fs.existsSync(`${root}/a`)).toBe(false)
      expect(yield* refused("b", `${base}/outside/new/a`)).toBe("exists")
      yield* move("b", `${base}/outside/new/a`, true)
      expect(yield* refused("dir", `${base}/outside/dir`)).toBe("bad-path")
      expect(yield* refused("link", `${base}/outside/link`)).toBe("bad-path")
      expect(yield* refused(`${base}/vault/v`, "v")).toBe("read-only")
      expect(yield* refused("dir/x", `${base}/vault/x`)).toBe("read-only")
      expect(tree(root)).toEqual(["dir", "dir/x", "link"])
    }))

  it.scopedLive.skipIf(!canMount)("and between file systems within one mount", () =>
    Effect.gen(function*() {
      const { files, put, root } = yield* ground({ anchor: anchored })
      Fs.mkdirSync(Path.join(root, "other"))
      yield* Effect.acquireRelease(
        Effect.sync(() => execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", Path.join(root, "other")])),
        () => Effect.sync(() => execFileSync("umount", [Path.join(root, "other")]))
      )
      put("a", "a")
      put("dir/x", "x")
      yield* files.move({ from: "a", to: "other/a", overwrite: false })
      expect(Fs.existsSync(Path.join(root, "a"))).toBe(false)
      expect((yield* Effect.flip(files.move({ from: "dir", to: "other/dir", overwrite: false }))).reason).toBe(
        "bad-path"
      )
      yield* files.writeAll({
        key: "key",
        files: [{ path: "other/a", content: bytes("new") }, { path: "dir/x", content: bytes("new") }]
      })
      expect(Fs.readFileSync(Path.join(root, "other/a"), "utf8")).toBe("new")
      yield* files.move({ from: "other/a", to: "a", overwrite: false })
      expect(tree(root)).toEqual(["a", "dir", "dir/x", "other"])
    }))
})

describe("a mount for one class of tools", () => {
  it.scopedLive("is seen by no other, also inside of another mount", () =>
    Effect.gen(function*() {
      const { files, put, root } = yield* ground({
        mounts: (root) => [
          { name: "workspace", root, access: "rw" },
          { name: "vault", root: `${root}/vault`, access: "ro", seenBy: ["vault"] },
          { name: "runs", root: `${root}/runs`, access: "rw", seenBy: ["commands"] }
        ],
        prepare: (base) => {
          for (const folder of ["vault", "runs"]) Fs.mkdirSync(`${base}/mount/${folder}`)
          Fs.writeFileSync(`${base}/mount/vault/v`, "v")
          Fs.writeFileSync(`${base}/mount/vault/x.pem`, "key")
        }
      })
      put("a", "v")
      Fs.symlinkSync("vault/v", `${root}/link`)
      expect((yield* files.list({ path: "." })).map(({ name }) => name)).toEqual(["a", "link"])
      expect((yield* files.files({ path: ".", glob: "**", includeHidden: true, limit: 9 })).files).toHaveLength(1)
      expect((yield* files.search(searching("v"))).total).toBe(1)
      for (const path of ["vault/v", "link", "vault", "runs/x"]) {
        expect(yield* Effect.map(Effect.flip(files.read({ path })), ({ reason }) => reason), path).toBe("outside")
        expect((yield* Effect.flip(files.stat({ path }))).reason, path).toBe("outside")
        expect((yield* Effect.flip(files.copy({ from: path, to: "b", overwrite: true }))).reason).not.toBe("io")
      }
      expect((yield* files.stat({ path: "vault/v", vault: true })).size).toBe(1)
      const out = (from: string) => files.copy({ from, to: "taken", overwrite: false, vault: true })
      expect((yield* out("vault/v")).bytes).toBe(1)
      expect((yield* Effect.flip(out("vault/x.pem"))).reason).toBe("denied")
      expect((yield* Effect.flip(out("a"))).reason).toBe("outside")
      expect((yield* Effect.flip(files.remove({ path: ".", recursive: true }))).reason).toBe("denied")
      expect(yield* files.decide({ path: "runs/x", access: "vault" })).toMatchObject({ reason: "outside" })
    }))
})
