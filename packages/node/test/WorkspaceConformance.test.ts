import { Workspace } from "@capstan/core/Workspace"
import { DenyRules } from "@capstan/node"
import * as WorkspaceConformance from "@capstan/testing/WorkspaceConformance"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { make } from "../src/internal/workspace.js"
import { anchors, temporaryFolder } from "./workspaceCases.js"

const plant = (root: string, seed: WorkspaceConformance.Seed): void => {
  for (const [path, content] of Object.entries(seed)) {
    const file = Path.join(root, path)
    Fs.mkdirSync(Path.dirname(file), { recursive: true })
    if (typeof content === "string" || content instanceof Uint8Array) Fs.writeFileSync(file, content)
    else Fs.symlinkSync(content.link, file)
  }
}

for (const anchor of anchors) {
  WorkspaceConformance.suite({
    name: `NodeWorkspace (${anchor.enforcement})`,
    layer: (seed) =>
      Layer.scoped(
        Workspace,
        Effect.gen(function*() {
          const base = yield* temporaryFolder()
          const root = Path.join(base, "mount")
          yield* Effect.sync(() => {
            Fs.mkdirSync(root)
            plant(root, seed)
          })
          return yield* make({
            anchor,
            mounts: [{ name: "workspace", root, access: "rw" }],
            workingDirectory: root,
            deny: DenyRules.defaults,
            allowAbsolute: false,
            privateFolders: [],
            undoFolder: Path.join(base, "undo")
          })
        })
      )
  })
}
