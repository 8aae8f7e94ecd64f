import { FileError } from "@capstan/core/FileError"
import { DenyRules } from "@capstan/node"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Fs from "node:fs"
import * as Path from "node:path"
import type { Anchor } from "../src/internal/anchor.js"
import { anchoredWith, watchedWith } from "../src/internal/anchor.js"
import type { SystemCalls } from "../src/internal/systemCalls.js"
import { system } from "../src/internal/systemCalls.js"
import { make } from "../src/internal/workspace.js"
import { counted, newContents, plant, snapshot } from "./fileSetCases.js"
import { bytes, fastFolder, temporaryFolder } from "./workspaceCases.js"

const ways: ReadonlyArray<(calls: SystemCalls) => Anchor> = process.platform === "linux"
  ? [anchoredWith, watchedWith]
  : [watchedWith]

const workspace = (base: string, anchor: Anchor) =>
  make({
    anchor,
    mounts: [{ name: "workspace", root: Path.join(base, "mount"), access: "rw" }],
    workingDirectory: Path.join(base, "mount"),
    deny: DenyRules.defaults,
    allowAbsolute: false,
    privateFolders: [],
    undoFolder: Path.join(base, "undo")
  })

/** A folder with old files, and what they look like. */
const ground = Effect.map(temporaryFolder(fastFolder), (base) => {
  const root = Path.join(base, "mount")
  Fs.mkdirSync(root)
  plant(root)
  return { base, root, before: snapshot(root) }
})

const broken = (code: string) => Object.assign(new Error(code), { code })

const noLinks: SystemCalls = {
  ...system,
  link: () => {
    throw broken("EPERM")
  }
}

const noted = (error: unknown) => error instanceof FileError ? error.message : String(error)

for (const way of ways) {
  const name = way(system).enforcement

  describe(`several files at once (${name})`, () => {
    for (const [kind, base] of [["", system], [" without hard links", noLinks]] as const) {
      const look = (root: string) => snapshot(root, base === system)
      it.scopedLive(`are written or as they were, whichever call fails${kind}`, () =>
        Effect.gen(function*() {
          for (let failing = 1;; failing++) {
            const { base: folder, root } = yield* ground
            const before = look(root)
            let failed = false
            let over = false
            const { calls } = counted(base, (number, run) => {
              if (number !== failing || over) return run()
              failed = true
              throw broken(failing % 2 === 0 ? "EIO" : "ENOSPC")
            })
            const files = yield* workspace(folder, way(calls))
            const exit = yield* Effect.either(files.writeAll({ key: "key", files: newContents }))
            over = true
            const after = look(root)
            if (exit._tag === "Left") {
              expect(after, `call ${failing}: ${noted(exit.left)}`).toEqual(before)
              expect(yield* files.settleWriteAll({ key: "key" }), String(failing)).not.toBe("whole")
              expect(look(root)).toEqual(before)
            } else {
              expect(after["a.sh"], String(failing)).toContain(Buffer.from("new a").toString("hex"))
              expect(yield* files.settleWriteAll({ key: "key" })).toBe("whole")
            }
            yield* files.writeAll({ key: "key", files: newContents })
            expect(Object.keys(snapshot(root)).filter((path) => path.includes(".capstan-"))).toEqual([])
            if (!failed) {
              expect(failing).toBeGreaterThan(30)
              break
            }
          }
        }), 30_000)

      it.scopedLive(
        `are taken back later, when the call that puts them back fails as well${kind}`,
        () =>
          Effect.gen(function*() {
            for (let failing = 1; failing < 12; failing++) {
              const { base: folder, root } = yield* ground
              const before = look(root)
              let renames = 0
              let since = 0
              const calls = counted({
                ...base,
                rename: (from, to) => {
                  // The record of the undo log is the first; the third file fails.
                  if (++renames === 3) {
                    since = 1
                    throw broken("EIO")
                  }
                  base.rename(from, to)
                }
              }, (_, run) => {
                if (since > 0 && since++ === failing) throw broken("ENOSPC")
                return run()
              }).calls
              const files = yield* workspace(folder, way(calls))
              const error = yield* Effect.flip(files.writeAll({ key: "key", files: newContents }))
              expect(error.message).toMatch(/as they were before|tried again when the session goes on/)
              since = 0
              renames = 10
              expect(yield* files.settleWriteAll({ key: "key" })).toBe("taken-back")
              expect(look(root), String(failing)).toEqual(before)
            }
          }),
        30_000
      )
    }

    it.scopedLive("keep what somebody else wrote after a crash", () =>
      Effect.gen(function*() {
        const { base, root } = yield* ground
        const stopped = counted(system, (_, run) => run()).calls
        let renames = 0
        const files = yield* workspace(
          base,
          way({
            ...stopped,
            rename: (from, to) => {
              if (++renames === 3) throw broken("EIO")
              system.rename(from, to)
            },
            unlink: () => {
              throw broken("EIO")
            }
          })
        )
        yield* Effect.flip(files.writeAll({ key: "key", files: newContents }))
        Fs.writeFileSync(Path.join(root, "a.sh"), "edited since")
        const later = yield* workspace(base, way(system))
        const error = yield* Effect.flip(later.settleWriteAll({ key: "key" }))
        expect([error.reason, error.message]).toEqual(["changed", expect.stringContaining("a.sh")])
        expect(Fs.readFileSync(Path.join(root, "a.sh"), "utf8")).toBe("edited since")
      }))

    it.scopedLive("are taken back when interrupted", () =>
      Effect.gen(function*() {
        const { base, before, root } = yield* ground
        const files = yield* workspace(base, way(system))
        const large = new Uint8Array(48 * 1024 * 1024)
        const fiber = yield* Effect.fork(
          files.writeAll({ key: "key", files: [...newContents, { path: "large", content: large }] })
        )
        yield* Effect.repeat(Effect.sleep("1 millis"), { until: () => Fs.readdirSync(root).length > 5 })
        const exit = yield* Fiber.interrupt(fiber)
        expect(Exit.isInterrupted(exit)).toBe(true)
        expect(snapshot(root)).toEqual(before)
        expect(yield* files.settleWriteAll({ key: "key" })).toBe("taken-back")
      }))

    it.scopedLive("leave a record that only its owner can read, in a folder that is his", () =>
      Effect.gen(function*() {
        const { base } = yield* ground
        const files = yield* workspace(base, way(system))
        yield* files.writeAll({ key: "../../key", files: newContents })
        const [record, ...others] = Fs.readdirSync(Path.join(base, "undo"))
        expect(record).toMatch(/^[0-9a-f]{64}\.done$/)
        expect(others).toEqual([])
        expect(Fs.statSync(Path.join(base, "undo")).mode & 0o777).toBe(0o700)
        expect(Fs.statSync(Path.join(base, "undo", record ?? "")).mode & 0o777).toBe(0o600)
        Fs.writeFileSync(Path.join(base, "undo", record ?? ""), "{")
        expect((yield* Effect.flip(files.settleWriteAll({ key: "../../key" }))).reason).toBe("io")
        Fs.chmodSync(Path.join(base, "undo"), 0o755)
        expect((yield* Effect.flip(files.writeAll({ key: "new", files: newContents }))).reason).toBe("permission")
      }))

    it.scopedLive("are refused where the record's folder is somebody's link", () =>
      Effect.gen(function*() {
        const { base, before, root } = yield* ground
        Fs.mkdirSync(Path.join(base, "elsewhere"), { mode: 0o700 })
        const files = yield* workspace(base, way(system))
        Fs.symlinkSync(Path.join(base, "elsewhere"), Path.join(base, "undo"))
        expect((yield* Effect.flip(files.writeAll({ key: "key", files: newContents }))).reason).toBe("permission")
        expect(snapshot(root)).toEqual(before)
        expect(Fs.readdirSync(Path.join(base, "elsewhere"))).toEqual([])
      }))

    it.scopedLive("cannot be settled without their mount", () =>
      Effect.gen(function*() {
        const { base } = yield* ground
        let renames = 0
        const files = yield* workspace(
          base,
          way({
            ...system,
            rename: (from, to) => {
              if (++renames > 1) throw broken("EIO")
              system.rename(from, to)
            },
            unlink: () => {
              throw broken("EIO")
            }
          })
        )
        yield* Effect.flip(files.writeAll({ key: "key", files: [{ path: "a.sh", content: bytes("x") }] }))
        Fs.mkdirSync(Path.join(base, "other"))
        const other = yield* make({
          anchor: way(system),
          mounts: [{ name: "other", root: Path.join(base, "other"), access: "rw" }],
          workingDirectory: Path.join(base, "other"),
          deny: DenyRules.defaults,
          allowAbsolute: false,
          privateFolders: [],
          undoFolder: Path.join(base, "undo")
        })
        expect((yield* Effect.flip(other.settleWriteAll({ key: "key" }))).reason).toBe("outside")
      }))
  })
}
