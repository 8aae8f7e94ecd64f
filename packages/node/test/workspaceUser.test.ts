import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { build } from "esbuild"
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import { anchors, isRoot, temporaryFolder, tree } from "./workspaceCases.js"

/** Belongs to nobody. Root passes all permissions, so then the program runs as somebody else. */
const stranger = 54_322

describe.skipIf(process.platform === "win32").each(anchors)(
  "permissions of an ordinary user, $enforcement",
  (anchor) => {
    it.scopedLive("are reported as such, and nothing is left changed", () =>
      Effect.gen(function*() {
        const base = yield* temporaryFolder()
        const program = Path.join(base, "program.mjs")
        const sources = fileURLToPath(new URL("../../", import.meta.url))
        yield* Effect.promise(() =>
          build({
            entryPoints: [fileURLToPath(new URL("workspaceRuntime.ts", import.meta.url))],
            outfile: program,
            bundle: true,
            platform: "node",
            format: "esm",
            target: "node20",
            banner: {
              js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"
            },
            alias: { "@capstan/core": `${sources}core/src` },
            external: ["@vscode/ripgrep"],
            logLevel: "error"
          })
        )
        const root = Path.join(base, "mount")
        for (const folder of ["shut", "open", "own/tree/fixed", "names"]) {
          Fs.mkdirSync(Path.join(root, folder), { recursive: true })
        }
        for (
          const file of [
            "closed",
            "shut/a",
            "open/a",
            "own/a",
            "own/fixed",
            "own/tree/b",
            "own/tree/fixed/a",
            "names/a"
          ]
        ) {
          Fs.writeFileSync(Path.join(root, file), "old")
        }
        const before = tree(root)
        const own = ["own", "own/a", "own/fixed", "own/tree", "own/tree/b", "own/tree/fixed", "own/tree/fixed/a"]
        if (isRoot) { for (const path of own) Fs.chownSync(Path.join(root, path), stranger, stranger) }
        const modes = { closed: 0, shut: 0, open: 0o555, "own/fixed": 0o444, "own/tree/fixed": 0o555, names: 0o444 }
        for (const [path, mode] of Object.entries(modes)) Fs.chmodSync(Path.join(root, path), mode)
        Fs.chmodSync(base, 0o755)
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            for (const path of Object.keys(modes)) Fs.chmodSync(Path.join(root, path), 0o755)
          })
        )
        const reported: unknown = JSON.parse(execFileSync(process.execPath, [program, anchor.enforcement, root], {
          encoding: "utf8",
          cwd: base,
          ...(isRoot ? { uid: stranger, gid: stranger } : {})
        }))
        expect(reported).toEqual({
          detected: process.platform === "linux" ? "anchored" : "best-effort",
          outcomes: {
            "read a closed file": "permission",
            "read in a closed folder": "permission",
            "list a closed folder": "permission",
            "stat in a closed folder": "permission",
            "write a read-only file": "permission",
            "write in a read-only folder": "permission",
            "make a folder in a read-only folder": "permission",
            "remove from a read-only folder": "permission",
            "remove a tree that cannot be emptied": "permission",
            "move into a read-only folder": "permission",
            "go up from a closed folder": "permission",
            "list names without their files": [["unknown", "permission_denied"]],
            "write where it is allowed": 1
          }
        })
        for (const path of Object.keys(modes)) Fs.chmodSync(Path.join(root, path), 0o755)
        expect(tree(root)).toEqual(before)
      }))
  }
)
