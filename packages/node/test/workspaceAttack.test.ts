import type { FileErrorReason } from "@capstan/core/FileError"
import { DenyRules } from "@capstan/node"
import { describe, expect, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import { execFileSync, spawn } from "node:child_process"
import * as Fs from "node:fs"
import * as Net from "node:net"
import { anchored } from "../src/internal/anchor.js"
import { make } from "../src/internal/workspace.js"
import { anchors, bytes, canMount, fastFolder, ground, searching, text, tree } from "./workspaceCases.js"

const linux = process.platform === "linux"
if (!canMount) console.warn("full disk: skipped, a file system can be mounted by root only")
if (!linux) console.warn("link swapping: skipped, names are anchored by the kernel on Linux only")

const attacker = `
import { existsSync, lstatSync, renameSync, rmSync, symlinkSync } from "node:fs"
const [root, outside] = process.argv.slice(1)
const quietly = (body) => { try { body() } catch {} }
process.stdout.write("ready")
for (let round = 0; ; round++) {
  quietly(() => renameSync(root + "/swap", root + "/kept"))
  quietly(() => renameSync(root + "/link", root + "/swap"))
  quietly(() => renameSync(root + "/swap", root + "/link"))
  quietly(() => renameSync(root + "/kept", root + "/swap"))
  if (existsSync(root + "/kept")) quietly(() => {
    if (!lstatSync(root + "/swap", { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(root + "/swap", { recursive: true, force: true })
    else renameSync(root + "/swap", root + "/link")
    renameSync(root + "/kept", root + "/swap")
  })
  quietly(() => symlinkSync(round % 2 === 0 ? outside : root + "/inside", root + "/next"))
  quietly(() => renameSync(root + "/next", root + "/flip"))
}
`

/** Another process that swaps a folder and a link, and turns a link around, as fast as it can. */
const startAttacker = (root: string, outside: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(
    Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, ["--input-type=module", "-e", attacker, root, outside], {
          stdio: ["ignore", "pipe", "inherit"]
        })
      ),
      (child) =>
        Effect.async<void>((resume) => {
          child.once("exit", () => resume(Effect.void))
          child.kill("SIGKILL")
        })
    ),
    (child) =>
      Effect.async<void>((resume) => {
        child.stdout.once("data", () => resume(Effect.void))
      })
  )

const battlefield = Effect.gen(function*() {
  const field = yield* ground({ anchor: anchored, ...(fastFolder === undefined ? {} : { base: fastFolder }) })
  const { outside, put, root } = field
  for (const folder of ["swap", "inside"]) put(`${folder}/target`, "inside")
  Fs.writeFileSync(`${outside}/target`, "outside")
  Fs.mkdirSync(`${outside}/sub`)
  Fs.symlinkSync(outside, `${root}/link`)
  Fs.symlinkSync(`${root}/inside`, `${root}/flip`)
  const before = Fs.statSync(outside, { bigint: true })
  yield* startAttacker(root, outside)
  /** The folder's own times would tell of a file that was there for a moment only. */
  const untouched = () => {
    const now = Fs.statSync(outside, { bigint: true })
    expect([now.mtimeNs, now.ctimeNs]).toEqual([before.mtimeNs, before.ctimeNs])
    expect(tree(outside)).toEqual(["sub", "target"])
    expect(Fs.readFileSync(`${outside}/target`, "utf8")).toBe("outside")
  }
  return { ...field, untouched }
})

const way = (index: number): string => (index % 2 === 0 ? "swap" : "flip")

/** Does something many times against the attacker, and on until both outcomes have occurred: else nothing was tried. */
const repeatedly = (
  times: number,
  each: (index: number) => Effect.Effect<unknown, { readonly reason: FileErrorReason }>
) =>
  Effect.gen(function*() {
    let done = 0
    const refused = new Map<FileErrorReason, number>()
    const tried = () => done > 0 && refused.has("outside")
    for (let index = 0; index < times || (!tried() && index < 50 * times); index++) {
      const outcome = yield* Effect.either(each(index))
      if (Either.isRight(outcome)) done++
      else refused.set(outcome.left.reason, (refused.get(outcome.left.reason) ?? 0) + 1)
    }
    expect(done).toBeGreaterThan(0)
    expect(refused.get("outside") ?? 0).toBeGreaterThan(0)
    return refused
  })

describe.skipIf(!linux)("somebody swaps links", () => {
  it.scopedLive("20,000 writes: none lands outside", () =>
    Effect.gen(function*() {
      const { files, untouched } = yield* battlefield
      yield* repeatedly(
        20_000,
        (index) => files.write({ path: `${way(index)}/f${index % 40}`, content: bytes("mine") })
      )
      untouched()
    }), 120_000)

  it.scopedLive("20,000 reads: none comes from outside", () =>
    Effect.gen(function*() {
      const { files, untouched } = yield* battlefield
      yield* repeatedly(20_000, (index) =>
        files.read({ path: `${way(index)}/target` }).pipe(
          Effect.tap((read) => expect(text(read.bytes)).toBe("inside"))
        ))
      untouched()
    }), 120_000)

  it.scopedLive("folders, moves, removals, listings and hashes stay inside too", () =>
    Effect.gen(function*() {
      const { files, put, untouched } = yield* battlefield
      put("inside/only", "")
      yield* repeatedly(1500, (index) => files.makeDirectory({ path: `${way(index)}/sub/d${index % 20}` }))
      yield* repeatedly(1500, (index) =>
        files.remove({ path: `${way(index)}/sub`, recursive: true }).pipe(
          Effect.zipRight(files.makeDirectory({ path: `${way(index)}/sub/x` }))
        ))
      yield* repeatedly(1500, (index) =>
        Effect.zipRight(
          files.write({ path: "inside/mover", content: bytes("x") }),
          files.move({ from: "inside/mover", to: `${way(index)}/moved`, overwrite: true })
        ))
      yield* repeatedly(
        1500,
        (index) => files.copy({ from: "inside/only", to: `${way(index)}/copied`, overwrite: true })
      )
      yield* repeatedly(1500, (index) =>
        files.copy({ from: `${way(index)}/target`, to: "inside/copy", overwrite: true }).pipe(
          Effect.tap(({ bytes }) =>
            expect(bytes).toBe(6)
          )
        ))
      yield* repeatedly(500, (index) =>
        files.writeAll({
          key: `key ${index % 10}`,
          files: [{ path: "inside/one", content: bytes("x") }, { path: `${way(index)}/new/two`, content: bytes("x") }]
        }))
      yield* repeatedly(1500, (index) =>
        files.list({ path: way(index) }).pipe(
          Effect.tap((entries) => expect(entries.every(({ name, size }) => name !== "target" || size === 6)).toBe(true))
        ))
      yield* repeatedly(1500, (index) =>
        files.stat({ path: `${way(index)}/target` }).pipe(Effect.tap(({ size }) =>
          expect(size).toBe(6)
        )))
      untouched()
    }), 120_000)

  it.scopedLive("a search shows nothing from outside", () =>
    Effect.gen(function*() {
      const { files, outside, untouched } = yield* battlefield
      Fs.writeFileSync(`${outside}/target`, "outside")
      for (let round = 0; round < 25; round++) {
        expect((yield* files.search(searching("outside"))).total).toBe(0)
        const found = yield* Effect.either(files.search(searching("outside|inside", { path: "swap" })))
        if (Either.isRight(found)) expect(found.right.lines.map((line) => line.text)).not.toContain("outside")
      }
      untouched()
    }), 120_000)
})

/** The answer, which has to come within a second. */
const swiftly = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(
    Effect.timed(effect),
    ([took, answer]) => Effect.as(Effect.sync(() => expect(Duration.toMillis(took)).toBeLessThan(1000)), answer)
  )

const refusal = <A>(effect: Effect.Effect<A, { readonly reason: FileErrorReason }>) =>
  swiftly(Effect.map(Effect.flip(effect), (error) => error.reason))

describe.skipIf(process.platform === "win32").each(anchors)("what is no ordinary file, $enforcement", (anchor) => {
  it.scopedLive("pipes, sockets and devices are refused at once", () =>
    Effect.gen(function*() {
      const { files, root } = yield* ground({ anchor })
      execFileSync("mkfifo", [`${root}/pipe`])
      yield* Effect.acquireRelease(
        Effect.async<Net.Server>((resume) => {
          const server = Net.createServer().listen(`${root}/socket`, () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      Fs.symlinkSync("/dev/zero", `${root}/zero`)
      Fs.symlinkSync("/dev/zero", `${root}/zero2`)
      for (const path of ["pipe", "socket"]) {
        expect(yield* refusal(files.read({ path })), path).toBe("not-a-file")
        expect(yield* refusal(files.sha256({ path, maxBytes: 1 }))).toBe("not-a-file")
        expect(yield* refusal(files.write({ path, content: bytes("x") }))).toBe("not-a-file")
        expect(yield* refusal(files.search(searching("x", { path })))).toBe("not-a-file")
        expect(yield* swiftly(files.stat({ path }))).toMatchObject({ kind: "other" })
      }
      expect(yield* refusal(files.move({ from: "zero", to: "pipe", overwrite: true }))).toBe("not-a-file")
      expect(yield* refusal(files.read({ path: "zero" }))).toBe("outside")
      expect((yield* swiftly(files.search(searching("x")))).total).toBe(0)
      expect((yield* swiftly(files.list({ path: "." }))).map(({ kind, name }) => [name, kind])).toEqual([
        ["pipe", "other"],
        ["socket", "other"],
        ["zero", "symlink"],
        ["zero2", "symlink"]
      ])
    }))

  it.scopedLive("a device inside of a mount is refused as well", () =>
    Effect.gen(function*() {
      const files = yield* make({
        anchor,
        mounts: [{ name: "devices", root: "/dev", access: "rw" }],
        workingDirectory: "/dev",
        deny: DenyRules.defaults,
        allowAbsolute: false,
        privateFolders: [],
        undoFolder: "/dev/shm/capstan-undo"
      })
      expect(yield* refusal(files.read({ path: "zero" }))).toBe("not-a-file")
      expect(yield* refusal(files.write({ path: "null", content: bytes("x") }))).toBe("not-a-file")
    }))

  it.scopedLive("a file of 10 GB has a size, parts, and no hash", () =>
    Effect.gen(function*() {
      const { files, put, root } = yield* ground({ anchor })
      put("sparse")
      const size = 10 * 1024 ** 3
      Fs.truncateSync(`${root}/sparse`, size)
      expect(yield* swiftly(files.stat({ path: "sparse" }))).toMatchObject({ size })
      expect(yield* refusal(files.sha256({ path: "sparse", maxBytes: 64 * 1024 * 1024 }))).toBe("too-large")
      expect(yield* refusal(files.read({ path: "sparse" }))).toBe("too-large")
      expect(yield* swiftly(files.read({ path: "sparse", offset: size - 5, length: 10 }))).toMatchObject({
        bytes: new Uint8Array(5),
        size,
        sha256: null
      })
      expect(yield* swiftly(files.search(searching("x")))).toMatchObject({ total: 0, skippedLarge: 1 })
    }))

  it.scopedLive("a path of 5,000 characters is refused", () =>
    Effect.gen(function*() {
      const { files } = yield* ground({ anchor })
      const path = "a/".repeat(2500)
      expect(yield* refusal(files.read({ path }))).toBe("bad-path")
      expect(yield* refusal(files.write({ path, content: bytes("x") }))).toBe("bad-path")
      expect(yield* refusal(files.read({ path: "a/".repeat(2000) }))).toBe("not-found")
    }))

  it.scopedLive("a folder of 100,000 entries is listed, and others run meanwhile", () =>
    Effect.gen(function*() {
      const { files, root } = yield* ground({ anchor, ...(fastFolder === undefined ? {} : { base: fastFolder }) })
      for (let index = 0; index < 100_000; index++) Fs.closeSync(Fs.openSync(`${root}/${index}`, "w"))
      const before = process.cpuUsage()
      let turns = 0
      const others = yield* Effect.fork(
        Effect.forever(Effect.zipRight(Effect.sleep("1 millis"), Effect.sync(() => turns++)))
      )
      const entries = yield* files.list({ path: "." })
      yield* Fiber.interrupt(others)
      const { system, user } = process.cpuUsage(before)
      expect(entries).toHaveLength(100_000)
      expect(entries[1]?.name).toBe("1")
      expect(turns).toBeGreaterThan(5)
      // Processor time, in microseconds: on a busy machine the clock measures the others.
      expect(system + user).toBeLessThan(2_000_000)
    }), 60_000)
})

describe.skipIf(!canMount).each(anchors)("a full disk, $enforcement", (anchor) => {
  it.scopedLive("leaves the old content, and nothing else", () =>
    Effect.gen(function*() {
      const { base, files, put, root } = yield* ground({
        anchor,
        mounts: (root) => {
          execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", root])
          return [{ name: "workspace", root, access: "rw" }]
        }
      }).pipe(Effect.tap(({ root }) => Effect.addFinalizer(() => Effect.sync(() => execFileSync("umount", [root])))))
      put("a", "old content")
      for (const path of ["a", "new/deep/b"]) {
        expect(yield* refusal(files.write({ path, content: new Uint8Array(2 * 1024 * 1024) }))).toBe("no-space")
      }
      expect(yield* refusal(files.write({ path: "a", content: new Uint8Array(9 * 1024 * 1024) }))).toBe("no-space")
      expect(tree(root)).toEqual(["a"])
      expect(Fs.readFileSync(`${root}/a`, "utf8")).toBe("old content")
      yield* files.write({ path: "a", content: bytes("fits") })
      expect(base).not.toBe(root)
    }))
})
