import { ToolLoop } from "@capstan/core"
import { Sandbox } from "@capstan/core/Sandbox"
import { FakeSandbox, ScriptedApproval, ScriptedModel, TestLoop } from "@capstan/testing"
import { DeleteFile, FileTools } from "@capstan/tools"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { machines, textOf } from "./machines.js"
import { call, fail, prepare, text } from "./toolCalls.js"

const remove = DeleteFile.tool

const names = Effect.flatMap(
  Sandbox,
  ({ files }) => Effect.map(files.list({ path: "." }), (entries) => entries.map(({ name }) => name))
)

const files = {
  "a.txt": "12345",
  "docs/a.md": "1",
  "docs/deep/b.md": "23",
  link: { link: "docs" },
  "keep/.git/HEAD": "ref",
  "keep/x": ""
}

for (const machine of machines) {
  describe(`delete_file ${machine.name}`, () => {
    it.effect("deletes a file, a link and a folder", () =>
      Effect.gen(function*() {
        expect(yield* call(remove, { path: "a.txt" })).toBe("deleted a.txt.")
        expect(yield* call(remove, { path: "link", recursive: true })).toBe(
          "deleted link (the link, not what it leads to)."
        )
        expect(yield* textOf("docs/a.md")).toBe("1")
        expect(yield* call(remove, { path: "docs", recursive: true })).toBe(
          "deleted docs/ with 2 files and 1 folder in it, 3 bytes."
        )
        expect(yield* names).toEqual(["keep"])
      }).pipe(Effect.provide(machine.layer(files))))

    it.effect("refuses a folder that is not empty, and what is protected", () =>
      Effect.gen(function*() {
        const refused = yield* fail(remove, { path: "docs" })
        expect(text(refused)).toContain(
          "\"docs\" is a folder with 2 files and 1 folder in it, 3 bytes: nothing was deleted"
        )
        expect(text(refused)).toContain("delete_file {\"path\":\"docs\",\"recursive\":true}")
        expect(yield* fail(remove, { path: "keep", recursive: true })).toMatchObject({ _tag: "Permission" })
        expect(yield* fail(remove, { path: "keep/.git", recursive: true })).toMatchObject({ _tag: "Permission" })
        expect(yield* fail(remove, { path: ".", recursive: true })).toMatchObject({ _tag: "Permission" })
        expect(yield* fail(remove, { path: "../x" })).toMatchObject({ _tag: "Permission" })
        expect(yield* fail(remove, { path: "none" })).toMatchObject({ _tag: "NotFound" })
        expect(yield* textOf("keep/x")).toBe("")
      }).pipe(Effect.provide(machine.layer(files))))

    it.effect("always asks, and shows what goes", () =>
      Effect.gen(function*() {
        const folder = prepare(remove, { path: "docs", recursive: true })
        expect(yield* folder.assess).toMatchObject({ risk: "high", approval: "always" })
        expect(folder.summary).toBe("Delete docs and everything in it")
        expect(folder.paths).toEqual([{ path: "docs", access: "delete" }])
        const shown = yield* folder.preview
        expect(shown?.split("\n")[0]).toBe("docs/ with 2 files and 1 folder in it, 3 bytes:")
        expect(shown?.split("\n").slice(1).map((line) => line.trim().replace(/^.*?(docs\/)/, "$1"))).toEqual([
          "docs/a.md",
          "docs/deep/",
          "docs/deep/b.md"
        ])
        expect(yield* prepare(remove, { path: "docs" }).preview).toContain("(not deleted without recursive)")
        expect(yield* prepare(remove, { path: "a.txt" }).preview).toBe("a.txt: 5 bytes")
        expect(yield* prepare(remove, { path: "link" }).preview).toBe("link is a link: only the link is deleted.")
        expect(yield* prepare(remove, { path: "none" }).preview).toBeUndefined()
      }).pipe(Effect.provide(machine.layer(files))))

    it.effect("shows the first names of many", () =>
      Effect.gen(function*() {
        const shown = yield* prepare(remove, { path: "many", recursive: true }).preview
        expect(shown?.split("\n")).toHaveLength(22)
        expect(shown).toContain("… and 30 more")
        yield* call(remove, { path: "many", recursive: true })
        yield* Effect.flatMap(Sandbox, ({ files: workspace }) => workspace.makeDirectory({ path: "empty" }))
        expect(yield* prepare(remove, { path: "empty" }).preview).toBe("empty/ is empty.")
        expect(yield* call(remove, { path: "empty" })).toBe("deleted empty.")
      }).pipe(
        Effect.provide(machine.layer(Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`many/${n}`, ""]))))
      ))
  })
}

describe("in the loop", () => {
  it.effect("delete_file and vault_copy ask although everything is allowed", () =>
    Effect.gen(function*() {
      const turn = yield* ToolLoop.run({ session: "s", message: "tidy up" })
      expect(turn.calls.map(({ outcome }) => outcome._tag)).toEqual(["Denied", "Succeeded", "Denied"])
      expect(yield* FakeSandbox.files).toEqual({ "/vault/v": "v", "b.txt": "a" })
    }).pipe(Effect.provide(TestLoop.layer({
      workingDirectory: "/workspace",
      mounts: [
        { name: "workspace", root: "/workspace", access: "rw" },
        { name: "vault", root: "/vault", access: "ro", seenBy: ["vault"] }
      ],
      model: [
        ScriptedModel.call("delete_file", { path: "a.txt" }),
        ScriptedModel.call("move_file", { from_path: "a.txt", to_path: "b.txt" }),
        ScriptedModel.call("vault_copy", { from_path: "/vault/v", to_path: "c.txt" }),
        ScriptedModel.text("done")
      ],
      approvals: [ScriptedApproval.deny("keep it"), ScriptedApproval.deny("no")],
      files: { "a.txt": "a", "/vault/v": "v" },
      policy: { mode: "auto", denylist: [], allowlist: ["*"], trust: "full" },
      tools: FileTools.all
    }))))
})
