import { Sandbox } from "@capstan/core/Sandbox"
import { NodeSandbox } from "@capstan/node"
import { FakeSandbox } from "@capstan/testing"
import { CopyFile, EditFile, MoveFile, ReadFile, VaultCopy, WriteFile } from "@capstan/tools"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { machines, temporaryFolder, textOf } from "./machines.js"
import { call, fail, prepare, session, text } from "./toolCalls.js"

const files = { "a.txt": "one\ntwo\n", "b.txt": "b", "docs/c.md": "c", link: { link: "a.txt" } }

for (const machine of machines) {
  describe(`copy_file ${machine.name}`, () => {
    it.effect("copies a file, and takes its size from the quota", () =>
      Effect.gen(function*() {
        const at = session()
        expect(yield* call(CopyFile.tool, { from_path: "a.txt", to_path: "new/a.txt" }, at)).toMatch(
          /^copied a\.txt to new\/a\.txt: 8 bytes\. SHA-256 [0-9a-f]{64}\.$/
        )
        expect(yield* textOf("new/a.txt")).toBe("one\ntwo\n")
        expect(at.written).toEqual([8])
        expect(yield* call(WriteFile.tool, { path: "new/a.txt", content: "mine" }, at)).toMatch(/^overwritten/)
        expect(yield* call(CopyFile.tool, { from_path: "a.txt", to_path: "b.txt", overwrite: true }, at)).toContain(
          "replacing what was there"
        )
      }).pipe(Effect.provide(machine.layer(files))))

    it.effect("copies what was seen of a file with it", () =>
      Effect.gen(function*() {
        const at = session()
        yield* call(ReadFile.tool, { path: "a.txt", start_line: 1, end_line: 1 }, at)
        yield* call(CopyFile.tool, { from_path: "a.txt", to_path: "z.txt" }, at)
        expect([...at.reads.values()].map(({ lines }) => lines)).toEqual([[[1, 1]], [[1, 1]]])
      }).pipe(Effect.provide(machine.layer(files))))

    it.effect("says what to do instead", () =>
      Effect.gen(function*() {
        const explain = (from_path: string, to_path: string) =>
          Effect.map(fail(CopyFile.tool, { from_path, to_path }), text)
        expect(yield* explain("a.txt", "b.txt")).toContain(
          "copy_file {\"from_path\":\"a.txt\",\"to_path\":\"b.txt\",\"overwrite\":true}"
        )
        expect(yield* explain("a.txt", "docs")).toContain("\"to_path\":\"docs/a.txt\"")
        expect(yield* explain("docs", "x")).toContain("is a folder")
        expect(yield* explain("link", "x")).toContain("is a link")
        expect(yield* explain("a.tx", "x")).toContain("a.txt")
        expect(yield* fail(CopyFile.tool, { from_path: "a.txt", to_path: ".env" })).toMatchObject({
          _tag: "Permission"
        })
        const tight = session({ limits: { bytesWrittenPerSession: 7 } })
        expect(yield* fail(CopyFile.tool, { from_path: "a.txt", to_path: "x" }, tight)).toMatchObject({ _tag: "Limit" })
        expect(yield* fail(WriteFile.tool, { path: "x", content: "12345678" }, tight)).toMatchObject({ _tag: "Limit" })
        yield* call(ReadFile.tool, { path: "a.txt" }, tight)
        const edit = { path: "a.txt", old_text: "one", new_text: "three" }
        expect(yield* fail(EditFile.tool, edit, tight)).toMatchObject({ _tag: "Limit" })
        expect(yield* textOf("a.txt")).toBe("one\ntwo\n")
      }).pipe(Effect.provide(machine.layer(files))))

    it.effect("is covered by a pattern of a list only with both paths", () =>
      Effect.sync(() => {
        const prepared = prepare(CopyFile.tool, { from_path: "./docs/c.md", to_path: "docs/../docs/d.md" })
        expect(prepared.allowedBy("docs/**")).toBe(true)
        expect(prepare(CopyFile.tool, { from_path: "a", to_path: "docs/d.md" }).allowedBy("docs/**")).toBe(false)
        expect(prepare(MoveFile.tool, { from_path: "a", to_path: "./docs/d.md" }).deniedBy("docs/**")).toBe(true)
        expect(prepared.summary).toBe("Copy ./docs/c.md to docs/../docs/d.md")
      }))

    it.effect("shows what would be replaced", () =>
      Effect.gen(function*() {
        const shown = (args: Readonly<Record<string, unknown>>) => prepare(CopyFile.tool, args).preview
        expect(yield* shown({ from_path: "a.txt", to_path: "x" })).toBe("a.txt: 8 bytes")
        expect(yield* shown({ from_path: "a.txt", to_path: "b.txt" })).toContain("the call will fail")
        expect(yield* shown({ from_path: "a.txt", to_path: "b.txt", overwrite: true })).toContain("is replaced")
        expect(yield* shown({ from_path: "none", to_path: "b.txt" })).toBeUndefined()
      }).pipe(Effect.provide(machine.layer(files))))
  })

  describe(`move_file ${machine.name}`, () => {
    it.effect("moves a file, which counts as read as it did before", () =>
      Effect.gen(function*() {
        const at = session()
        yield* call(ReadFile.tool, { path: "a.txt" }, at)
        expect(yield* call(MoveFile.tool, { from_path: "./a.txt", to_path: "new/x.txt" }, at)).toBe(
          "moved a.txt to new/x.txt."
        )
        expect(yield* call(EditFile.tool, { path: "new/x.txt", old_text: "one", new_text: "1" }, at)).toMatch(/^edited/)
        yield* call(MoveFile.tool, { from_path: "b.txt", to_path: "c.txt" }, at)
        expect(yield* fail(WriteFile.tool, { path: "c.txt", content: "" }, at)).toMatchObject({ _tag: "StaleFile" })
      }).pipe(Effect.provide(machine.layer(files))))

    it.effect("moves folders and links, and refuses what would be lost", () =>
      Effect.gen(function*() {
        yield* call(MoveFile.tool, { from_path: "docs", to_path: "texts" })
        expect(yield* textOf("texts/c.md")).toBe("c")
        yield* call(MoveFile.tool, { from_path: "link", to_path: "link2" })
        expect(yield* textOf("a.txt")).toBe("one\ntwo\n")
        const explain = (from_path: string, to_path: string) =>
          Effect.map(fail(MoveFile.tool, { from_path, to_path }), text)
        expect(yield* explain("a.txt", "b.txt")).toContain("\"overwrite\":true")
        expect(yield* explain("a.txt", "texts")).toContain("\"to_path\":\"texts/a.txt\"")
        expect(yield* fail(MoveFile.tool, { from_path: "a.txt", to_path: "../a.txt" })).toMatchObject({
          _tag: "Permission"
        })
        expect(yield* call(MoveFile.tool, { from_path: "a.txt", to_path: "b.txt", overwrite: true })).toContain("moved")
      }).pipe(Effect.provide(machine.layer(files))))
  })
}

/** A workspace and a read-only folder beside it. */
const vaults = [
  {
    name: "in memory",
    vault: "/vault",
    layer: FakeSandbox.layer({
      files: { "/vault/t.md": "t", "/vault/key.pem": "s", "/shared/s.md": "s", "a.txt": "a" },
      workingDirectory: "/work",
      mounts: [
        { name: "workspace", root: "/work", access: "rw" },
        { name: "shared", root: "/shared", access: "ro" },
        { name: "vault", root: "/vault", access: "ro", seenBy: ["vault"] }
      ]
    })
  },
  {
    name: "on the machine",
    vault: "../vault",
    layer: Layer.unwrapScoped(Effect.map(temporaryFolder, (folder) => {
      const [workspace, shared, vault] = ["work", "shared", "vault"].map((name) => Path.join(folder, name))
      if (workspace === undefined || shared === undefined || vault === undefined) throw new Error("no folders")
      for (const one of [workspace, shared, vault]) Fs.mkdirSync(one)
      Fs.writeFileSync(Path.join(shared, "s.md"), "s")
      Fs.writeFileSync(Path.join(vault, "t.md"), "t")
      Fs.writeFileSync(Path.join(vault, "key.pem"), "s")
      Fs.writeFileSync(Path.join(workspace, "a.txt"), "a")
      return NodeSandbox.layer({ mounts: { workspace, shared, vault }, osSandbox: "off" })
    }))
  }
]

for (const machine of vaults) {
  describe(`vault_copy ${machine.name}`, () => {
    const root = Effect.map(Sandbox, ({ files }) => files.mounts.find(({ name }) => name === "vault")?.root ?? "")

    it.effect("copies a file out of a read-only folder, and always asks", () =>
      Effect.gen(function*() {
        const at = session()
        const from_path = `${yield* root}/t.md`
        const args = { from_path, to_path: "docs/t.md" }
        expect(yield* prepare(VaultCopy.tool, args).assess).toMatchObject({ risk: "medium", approval: "always" })
        expect(yield* prepare(VaultCopy.tool, args).preview).toBe(`${from_path}: 1 byte`)
        expect(yield* call(VaultCopy.tool, args, at)).toContain("to docs/t.md: 1 byte.")
        expect(at.written).toEqual([1])
        expect(yield* textOf("docs/t.md")).toBe("t")
        expect(text(yield* fail(VaultCopy.tool, args))).toContain("Choose another to_path")
      }).pipe(Effect.provide(machine.layer)))

    it.effect("copies from a read-only folder that all tools see, too", () =>
      Effect.gen(function*() {
        const shared = (yield* Sandbox).files.mounts.find(({ name }) => name === "shared")?.root ?? ""
        expect(yield* call(ReadFile.tool, { path: `${shared}/s.md` })).toBe("s")
        expect(yield* call(CopyFile.tool, { from_path: `${shared}/s.md`, to_path: "c" })).toContain("copied")
        expect(yield* call(VaultCopy.tool, { from_path: `${shared}/s.md`, to_path: "d" })).toContain("copied")
      }).pipe(Effect.provide(machine.layer)))

    it.effect("copies nothing else, and the other tools leave the folder to it", () =>
      Effect.gen(function*() {
        const vault = yield* root
        expect(text(yield* fail(VaultCopy.tool, { from_path: "a.txt", to_path: "b" }))).toContain(
          "no vault: copy_file copies from there"
        )
        expect(yield* fail(VaultCopy.tool, { from_path: `${vault}/key.pem`, to_path: "b" })).toMatchObject({
          _tag: "Permission"
        })
        expect(yield* fail(VaultCopy.tool, { from_path: `${vault}/none`, to_path: "b" })).toMatchObject({
          _tag: "NotFound"
        })
        expect(yield* fail(VaultCopy.tool, { from_path: `${vault}/t.md`, to_path: `${vault}/u.md` })).toMatchObject({
          _tag: "Permission"
        })
        for (
          const [tool, args] of [
            [CopyFile.tool, { from_path: `${vault}/t.md`, to_path: "b" }],
            [ReadFile.tool, { path: `${vault}/t.md` }]
          ] as const
        ) expect(text(yield* fail(tool, args))).toContain("can only be copied with vault_copy")
        expect(yield* fail(MoveFile.tool, { from_path: `${vault}/t.md`, to_path: "b" })).toMatchObject({
          _tag: "Permission"
        })
      }).pipe(Effect.provide(machine.layer)))
  })
}
