import { Sandbox } from "@capstan/core/Sandbox"
import { DenyRules, NodeSandbox } from "@capstan/node"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll } from "vitest"
import * as DeniedFiles from "../src/internal/deniedFiles.js"
import { confines } from "./processCases.js"

const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "capstan-composition-test-")))
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))
const workspace = path.join(root, "workspace")
const vault = path.join(root, "vault")
const put = (name: string, text = name) => {
  const file = path.join(root, name)
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, text)
}
put("workspace/open.txt")
put("workspace/.env")
put("workspace/.env.example")
put("workspace/deep/er/SERVER.PEM")
put("workspace/secrets/a")
put("workspace/data/journal.db")
put("vault/note")
const inner = path.join(root, "unseen")
put("unseen/unseen", "hidden")
put("vault/id_rsa")

const denied = DeniedFiles.make({
  mounts: [{ name: "workspace", root: workspace, access: "rw" }, { name: "vault", root: vault, access: "ro" }],
  rules: DenyRules.defaults
})
const names = Effect.map(denied, (all) => all.map((name) => path.relative(root, name)).sort())
const first = ["vault/id_rsa", "workspace/.env", "workspace/deep/er/SERVER.PEM", "workspace/secrets"]

describe("denied files", () => {
  it.live("are found by the rules, and again after changes", () =>
    Effect.gen(function*() {
      expect(yield* names).toEqual(first)
      yield* Effect.sleep("100 millis")
      expect(yield* names).toEqual(first)
      put("workspace/deep/er/new.key")
      expect(yield* names).toEqual([...first, "workspace/deep/er/new.key"].sort())
      fs.renameSync(path.join(workspace, "deep"), path.join(workspace, "moved"))
      expect(yield* names).toEqual(
        [
          "vault/id_rsa",
          "workspace/.env",
          "workspace/moved/er/SERVER.PEM",
          "workspace/moved/er/new.key",
          "workspace/secrets"
        ]
      )
      fs.rmSync(path.join(workspace, "moved/er/new.key"))
      fs.renameSync(path.join(workspace, "moved"), path.join(workspace, "deep"))
      expect(yield* names).toEqual(first)
    }))
})

describe("the sandbox of the machine", () => {
  const live = NodeSandbox.layer({
    mounts: { workspace, library: vault, vault: inner },
    privateFolders: [path.join(workspace, "data"), path.join(root, "elsewhere")],
    grace: "100 millis"
  })
  const run = (command: string) =>
    Effect.flatMap(
      Sandbox,
      ({ files, processes }) => processes.run({ command, cwd: files.workingDirectory, keepBytes: 10_000 })
    )

  it.live.skipIf(!confines)(
    "denies commands what it denies file tools",
    () =>
      Effect.gen(function*() {
        const { files, weakened } = yield* Sandbox
        expect(weakened).toEqual([])
        for (const name of [".env", "deep/er/SERVER.PEM", "secrets/a", "data/journal.db", `${vault}/id_rsa`]) {
          expect(yield* Effect.flip(files.read({ path: name }))).toMatchObject({ reason: "denied" })
        }
        const result = yield* run(
          `pwd; cat open.txt .env.example ${vault}/note; cat ${inner}/unseen .env deep/er/SERVER.PEM secrets/a data/journal.db ${vault}/id_rsa 2>/dev/null; echo x > ${vault}/new; echo x > made; true`
        )
        expect(result.stdout.head).toBe(`${workspace}\nworkspace/open.txtworkspace/.env.examplevault/note`)
        expect(fs.existsSync(path.join(vault, "new"))).toBe(false)
        expect(fs.readFileSync(path.join(workspace, "made"), "utf8")).toBe("x\n")
      }).pipe(Effect.provide(live))
  )

  it.live.skipIf(!confines)(
    "holds git folders at any depth, submodules among them",
    () =>
      Effect.gen(function*() {
        const git = (folder: string, ...args: ReadonlyArray<string>) =>
          execFileSync("git", [
            "-C",
            folder,
            "-c",
            "protocol.file.allow=always",
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@b",
            ...args
          ], {
            stdio: "pipe"
          })
        const inner = path.join(root, "inner")
        const outer = path.join(workspace, "packages/outer")
        for (const folder of [inner, outer]) {
          fs.mkdirSync(folder, { recursive: true })
          git(folder, "init", "-q")
          git(folder, "commit", "-q", "--allow-empty", "-m", "first")
        }
        git(outer, "submodule", "--quiet", "add", inner, "sub")
        const result = yield* run(
          `cd packages/outer; git -c user.name=A -c user.email=a@b commit -q -m second && git log --format=%s; git -C sub log --format=%s; for g in .git .git/modules/sub; do echo evil >> $g/config; echo evil > $g/hooks/post-checkout; mv $g away; done 2>/dev/null; true`
        )
        expect(result.stdout.head).toBe("second\nfirst\nfirst\n")
        for (const folder of [".git", ".git/modules/sub"]) {
          expect(fs.readFileSync(path.join(outer, folder, "config"), "utf8")).not.toContain("evil")
          expect(fs.existsSync(path.join(outer, folder, "hooks/post-checkout"))).toBe(false)
        }
      }).pipe(Effect.provide(live))
  )

  it.live("fails where a mount does not exist", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        Effect.provide(Sandbox, NodeSandbox.layer({ mounts: { workspace: path.join(root, "none") } }))
      )
      expect(error).toMatchObject({ _tag: "FileError", reason: "not-found" })
    }))

  it.live("takes access, folder and fallback as they are given, and says what is weaker", () =>
    Effect.gen(function*() {
      const { files, processes, weakened } = yield* Sandbox
      expect(files.mounts).toEqual([{ name: "shared", root: workspace, access: "rw" }, {
        name: "library",
        root: vault,
        access: "ro"
      }])
      expect(files.workingDirectory).toBe(path.join(workspace, "deep"))
      expect(weakened.length).toBeGreaterThan(0)
      expect(processes.enforcement.backend).toBe("host")
    }).pipe(Effect.provide(NodeSandbox.layer({
      mounts: { shared: { path: workspace, access: "rw" }, library: vault },
      workingDirectory: path.join(workspace, "deep"),
      osSandbox: "off"
    }))))
})
