import { OutputStore } from "@capstan/core"
import { FileOutputStore } from "@capstan/node"
import * as OutputStoreConformance from "@capstan/testing/OutputStoreConformance"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"

const temporary = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "capstan-outputs-"))),
  (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true, force: true }))
)

OutputStoreConformance.suite(
  "FileOutputStore",
  Layer.unwrapScoped(Effect.map(temporary, (folder) => FileOutputStore.layer({ folder: Path.join(folder, "outputs") })))
)

const handle = OutputStore.handleOf({ turn: 0, iteration: 0, position: 0 })

const stored = (
  folder: string,
  options: { readonly session: string; readonly handle: string; readonly text: string }
) =>
  Effect.flatMap(OutputStore.OutputStore, (store) => store.put(options)).pipe(
    Effect.provide(FileOutputStore.layer({ folder }))
  )

const everything = (folder: string): ReadonlyArray<string> =>
  Fs.readdirSync(folder, { recursive: true, encoding: "utf8" })

describe("FileOutputStore", () => {
  it.scoped("keeps files that only their owner can read, under no name from outside", () =>
    Effect.gen(function*() {
      const root = yield* temporary
      const folder = Path.join(root, "outputs")
      Fs.mkdirSync(folder, { mode: 0o755 })
      yield* stored(folder, { session: "../../escape", handle, text: "x" })
      assert.deepStrictEqual(Fs.readdirSync(root), ["outputs"])
      const [session] = Fs.readdirSync(folder)
      assert.match(session ?? "", /^[0-9a-f]{64}$/)
      const file = Path.join(folder, session ?? "", "0.0.0.txt")
      assert.strictEqual(Fs.statSync(folder).mode & 0o777, 0o700)
      assert.strictEqual(Fs.statSync(Path.dirname(file)).mode & 0o777, 0o700)
      assert.strictEqual(Fs.statSync(file).mode & 0o777, 0o600)
    }))

  it.scoped("refuses what is no handle, and leaves nothing behind", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const error = yield* Effect.flip(stored(folder, { session: "s", handle: "output:../../x", text: "x" }))
      assert.strictEqual(error._tag, "OutputStoreError")
      assert.deepStrictEqual(everything(folder), [])
    }))

  it.scoped("fails where it cannot write, and follows no link", () =>
    Effect.gen(function*() {
      const root = yield* temporary
      Fs.mkdirSync(Path.join(root, "elsewhere"))
      Fs.symlinkSync(Path.join(root, "elsewhere"), Path.join(root, "link"))
      const linked = yield* Effect.flip(stored(Path.join(root, "link"), { session: "s", handle, text: "x" }))
      assert.strictEqual(linked._tag, "OutputStoreError")
      assert.deepStrictEqual(everything(Path.join(root, "elsewhere")), [])
      Fs.writeFileSync(Path.join(root, "file"), "")
      const file = yield* Effect.flip(stored(Path.join(root, "file"), { session: "s", handle, text: "x" }))
      assert.strictEqual(file._tag, "OutputStoreError")
    }))

  it.scoped("says what cannot be read", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      yield* stored(folder, { session: "s", handle, text: "x" })
      const [session] = Fs.readdirSync(folder)
      const file = Path.join(folder, session ?? "", "0.0.0.txt")
      Fs.rmSync(file)
      Fs.mkdirSync(file)
      const error = yield* Effect.flip(
        Effect.flatMap(OutputStore.OutputStore, (store) => store.get({ session: "s", handle })).pipe(
          Effect.provide(FileOutputStore.layer({ folder }))
        )
      )
      assert.strictEqual(error._tag, "OutputStoreError")
    }))
})
