import type { FileError } from "@capstan/core/FileError"
import * as SandboxService from "@capstan/core/Sandbox"
import { NodeSandbox } from "@capstan/node"
import { FakeSandbox } from "@capstan/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"

export type Files = Readonly<Record<string, FakeSandbox.Content>>

const plant = (root: string, files: Files): void => {
  for (const [path, content] of Object.entries(files)) {
    const file = Path.join(root, path)
    Fs.mkdirSync(Path.dirname(file), { recursive: true })
    if (typeof content === "string" || content instanceof Uint8Array) Fs.writeFileSync(file, content)
    else Fs.symlinkSync(content.link, file)
  }
}

export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "capstan-tools-")))),
  (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true, force: true }))
)

/** A real folder, with commands on the host. */
const real = (files: Files): Layer.Layer<SandboxService.Sandbox, FileError> =>
  Layer.unwrapScoped(Effect.map(temporaryFolder, (folder) => {
    const workspace = Path.join(folder, "workspace")
    Fs.mkdirSync(workspace)
    plant(workspace, files)
    return NodeSandbox.layer({ mounts: { workspace }, undoFolder: Path.join(folder, "undo"), osSandbox: "off" })
  }))

/** Both machines that tools have to work on. */
export const machines: ReadonlyArray<{
  readonly name: string
  readonly layer: (files: Files) => Layer.Layer<SandboxService.Sandbox, FileError>
}> = [
  { name: "in memory", layer: (files) => FakeSandbox.layer({ files }) },
  { name: "on the machine", layer: real }
]

/** The text of a file, past the tools. */
export const textOf = (path: string) =>
  Effect.flatMap(
    SandboxService.Sandbox,
    ({ files }) =>
      Effect.map(files.read({ path }), ({ bytes }) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes))
  )

/** Changes a file as another program would. */
export const change = (path: string, text: string) =>
  Effect.flatMap(SandboxService.Sandbox, ({ files }) => files.write({ path, content: new TextEncoder().encode(text) }))
