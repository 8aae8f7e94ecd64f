/**
 * The sandbox of the real machine: files below named folders, and commands that see no more than these.
 *
 * @since 0.1.0
 */
import type { FileError } from "@capstan/core/FileError"
import type { ProcessRunner } from "@capstan/core/ProcessRunner"
import * as Sandbox from "@capstan/core/Sandbox"
import { isSeenBy, type Mount, type Workspace } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import process from "node:process"
import * as DenyRules from "./DenyRules.js"
import * as DeniedFiles from "./internal/deniedFiles.js"
import * as SandboxLayout from "./internal/sandboxLayout.js"
import * as NodeProcessRunner from "./NodeProcessRunner.js"
import * as NodeWorkspace from "./NodeWorkspace.js"
import type { SandboxOptions } from "./SandboxedProcessRunner.js"

/**
 * What tools see of this machine.
 *
 * - `mounts`: named folders, relative to the current directory. A bare path is writable when its name is `workspace` or
 *   `tmp`, read-only otherwise, and `vault` is seen by `vault_copy` alone unless `seenBy` says otherwise.
 * - `workingDirectory`: where relative paths start and commands run. Default: the mount `workspace`, or the first one.
 * - `deny`: which files are out of reach, for file tools and commands alike. Default: `DenyRules.defaults`.
 * - `privateFolders`: absolute folders that neither sees, like the program's own data.
 * - `osSandbox`: default `required`.
 *
 * @since 0.1.0
 * @category models
 */
export interface NodeSandboxOptions
  extends
    Omit<SandboxOptions, "mounts" | "deniedFiles">,
    Omit<NodeWorkspace.NodeWorkspaceOptions, "mounts" | "workingDirectory">
{
  readonly mounts: Readonly<Record<string, string | Omit<Mount, "name" | "root"> & { readonly path: string }>>
  readonly workingDirectory?: string
  readonly osSandbox?: NodeProcessRunner.OsSandbox
}

const writable = new Set(["workspace", "tmp"])

const toMounts = (mounts: NodeSandboxOptions["mounts"]): ReadonlyArray<Mount> =>
  Object.entries(mounts).map(([name, mount]) => {
    const { path: root, ...grant } = typeof mount === "string"
      ? { path: mount, access: writable.has(name) ? "rw" as const : "ro" as const }
      : mount
    return { name, root: path.resolve(root), ...(name === "vault" ? { seenBy: ["vault"] } : {}), ...grant }
  })

const canonicalMounts = (mounts: ReadonlyArray<Mount>): ReadonlyArray<Mount> =>
  mounts.map((mount) => ({ ...mount, root: SandboxLayout.canonical(mount.root) ?? mount.root }))

/**
 * Files, processes and both together as `Sandbox`. Fails where a mount's folder does not exist; a missing OS sandbox is
 * told by the commands (see `NodeProcessRunner`).
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: NodeSandboxOptions
): Layer.Layer<Sandbox.Sandbox | Workspace | ProcessRunner, FileError> =>
  Layer.unwrapEffect(Effect.sync(() => {
    const mounts = toMounts(options.mounts)
    const start = mounts.find((mount) => mount.name === "workspace") ?? mounts[0]
    const workingDirectory = options.workingDirectory === undefined
      ? start?.root ?? process.cwd()
      : path.resolve(options.workingDirectory)
    const undoFolder = options.undoFolder ?? NodeWorkspace.defaultUndoFolder()
    const privateFolders = [...options.privateFolders ?? [], undoFolder]
    const denied = DeniedFiles.make({ mounts: canonicalMounts(mounts), rules: options.deny ?? DenyRules.defaults })
    const hidden = mounts.filter((mount) => !isSeenBy(mount, "commands")).map(({ root }) => root)
    const workspace = NodeWorkspace.layer({ ...options, mounts, workingDirectory, undoFolder })
    const processes = NodeProcessRunner.layer({
      ...options,
      mounts: mounts.filter((mount) => isSeenBy(mount, "commands")),
      deniedFiles: Effect.map(
        denied,
        (found) => [...[...privateFolders, ...hidden].filter((folder) => fs.existsSync(folder)), ...found]
      )
    })
    return Layer.provideMerge(Sandbox.layer, Layer.merge(workspace, processes))
  }))
