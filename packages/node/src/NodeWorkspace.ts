/**
 * The files of the real machine as {@link Workspace}: named folders, deny rules, and operations that a link swapped in
 * between cannot lead out of them.
 *
 * @since 0.1.0
 */
import type { FileError } from "@capstan/core/FileError"
import type { Mount } from "@capstan/core/Workspace"
import { Workspace } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Os from "node:os"
import * as Path from "node:path"
import process from "node:process"
import type { DenyRules } from "./DenyRules.js"
import * as Deny from "./DenyRules.js"
import { detect } from "./internal/anchor.js"
import { make } from "./internal/workspace.js"

/**
 * Which folders tools see and what in them is out of reach.
 *
 * - `mounts`: their roots have to exist; each name and each root once; the deepest one around a path decides.
 * - `workingDirectory`: the folder inside of a mount that relative paths start from.
 * - `deny`: default `DenyRules.defaults`.
 * - `allowAbsolute`: accept absolute paths that are not written below a mount, if links lead them into one. Default
 *   false.
 * - `allowParents`: accept `..` in a path, as far as it stays in its mount. Default true.
 * - `privateFolders`: absolute folders that no tool sees, like the program's own data. A mount inside of one is open.
 * - `undoFolder`: absolute folder for what it takes to bring an interrupted `writeAll` to an end, made with mode 0700 when
 *   first needed, seen by no tool. Default: `capstan/undo` in the user's data folder.
 *
 * @since 0.1.0
 * @category models
 */
export interface NodeWorkspaceOptions {
  readonly mounts: ReadonlyArray<Mount>
  readonly workingDirectory: string
  readonly deny?: DenyRules
  readonly allowAbsolute?: boolean
  readonly allowParents?: boolean
  readonly privateFolders?: ReadonlyArray<string>
  readonly undoFolder?: string
}

/**
 * `capstan/undo` in the folder where programs of this user keep their data.
 *
 * @since 0.1.0
 * @category constants
 */
export const defaultUndoFolder = (): string => {
  const { LOCALAPPDATA, XDG_DATA_HOME } = process.env
  const home = Os.homedir()
  const data = process.platform === "win32"
    ? LOCALAPPDATA ?? Path.join(home, "AppData", "Local")
    : XDG_DATA_HOME !== undefined && Path.isAbsolute(XDG_DATA_HOME)
    ? XDG_DATA_HOME
    : Path.join(home, ".local", "share")
  return Path.join(data, "capstan", "undo")
}

/**
 * The files of this machine. Fails where a mount's folder or the working directory does not exist, lies in a protected
 * folder, or is named twice; the message says what to do.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: NodeWorkspaceOptions): Layer.Layer<Workspace, FileError> =>
  Layer.effect(
    Workspace,
    Effect.suspend(() =>
      make({
        anchor: detect(),
        mounts: options.mounts,
        workingDirectory: options.workingDirectory,
        deny: options.deny ?? Deny.defaults,
        allowAbsolute: options.allowAbsolute ?? false,
        allowParents: options.allowParents ?? true,
        privateFolders: options.privateFolders ?? [],
        undoFolder: options.undoFolder ?? defaultUndoFolder()
      })
    )
  )
