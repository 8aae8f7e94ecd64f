import type { FileError } from "@capstan/core/FileError"
import type { Mount, Workspace } from "@capstan/core/Workspace"
import { isSeenBy } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import type { DenyRules } from "../DenyRules.js"
import type { PathStyle } from "../PathRules.js"
import type { Anchor } from "./anchor.js"
import * as FileCopying from "./fileCopying.js"
import { attempt, failure } from "./fileFailure.js"
import * as FileNames from "./fileNames.js"
import * as FileReading from "./fileReading.js"
import * as FileSearch from "./fileSearch.js"
import * as FileSet from "./fileSet.js"
import * as FileTree from "./fileTree.js"
import * as FileWriting from "./fileWriting.js"
import * as Gate from "./gate.js"
import * as UndoLog from "./undoLog.js"

const style: PathStyle = process.platform === "win32" ? "windows" : "posix"

const existingFolder = (path: string, what: string, advice: string): Effect.Effect<string, FileError> => {
  const asked = { path, canonical: "" }
  const refuse = (reason: "not-found" | "not-a-directory", why: string) =>
    failure(asked, reason, `${what} "${path}" ${why}. ${advice}`)
  return Path.isAbsolute(path) && !path.includes("\0")
    ? attempt(asked, () => {
      const real = Fs.realpathSync.native(path)
      if (!Fs.statSync(real).isDirectory()) throw refuse("not-a-directory", "is not a folder")
      return real
    }).pipe(
      Effect.mapError((error) => error.reason === "not-found" ? refuse("not-found", "does not exist") : error)
    )
    : failure(asked, "bad-path", `${what} "${path}" is not an absolute path. ${advice}`)
}

/** As far as a private folder exists its links are resolved; it may be made later. */
const privateFolder = (path: string): string => {
  try {
    return Fs.realpathSync.native(path)
  } catch {
    const parent = Path.dirname(path)
    return parent === path ? path : Path.join(privateFolder(parent), Path.basename(path))
  }
}

const resolveMount = (mount: Mount) =>
  Effect.map(
    existingFolder(
      mount.root,
      `The folder of the mount "${mount.name}"`,
      "Create it, or correct the mount in the configuration."
    ),
    (root) => ({ mount: { ...mount, root }, configured: mount.root })
  )

const requireDistinct = (mounts: ReadonlyArray<Mount>): Effect.Effect<void, FileError> => {
  const twice = mounts.find((mount, index) =>
    mounts.findIndex((other) => other.name === mount.name || other.root === mount.root) < index
  )
  return mounts.length === 0
    ? failure(
      { path: "", canonical: "" },
      "bad-path",
      "There is no mount. Name at least one folder that tools may use."
    )
    : twice === undefined
    ? Effect.void
    : failure(
      { path: twice.root, canonical: twice.root },
      "bad-path",
      `The mount "${twice.name}" (${twice.root}) has the name or the folder of another one. Keep one of them.`
    )
}

/** The service, with a way to open folders and everything decided. */
export const make = (options: {
  readonly anchor: Anchor
  readonly mounts: ReadonlyArray<Mount>
  readonly workingDirectory: string
  readonly deny: DenyRules
  readonly allowAbsolute: boolean
  readonly allowParents?: boolean
  readonly privateFolders: ReadonlyArray<string>
  readonly undoFolder: string
}): Effect.Effect<Workspace["Type"], FileError> =>
  Effect.gen(function*() {
    const roots = yield* Effect.forEach(options.mounts, resolveMount)
    yield* requireDistinct(roots.map(({ mount }) => mount))
    const workingDirectory = yield* existingFolder(
      options.workingDirectory,
      "The working directory",
      "Create it, or start from another one."
    )
    const gate = Gate.make({
      anchor: options.anchor,
      style,
      roots,
      workingDirectory,
      deny: options.deny,
      allowAbsolute: options.allowAbsolute,
      allowParents: options.allowParents ?? true,
      privateFolders: [...options.privateFolders, options.undoFolder].map(privateFolder)
    })
    const log = UndoLog.make(options.undoFolder, options.anchor.calls)
    for (const { mount } of roots) {
      if (isSeenBy(mount, "files")) yield* Gate.enter(gate, mount.root, "list")
      else if (isSeenBy(mount, "vault")) yield* Gate.enter(gate, mount.root, "vault")
    }
    yield* Gate.enter(gate, workingDirectory, "list")
    return {
      mounts: gate.mounts,
      workingDirectory,
      enforcement: options.anchor.enforcement,
      decide: ({ access, path }) => Effect.sync(() => Gate.toDecision(gate.decide(path, access))),
      stat: (request) => FileReading.stat(gate, request),
      read: (request) => FileReading.read(gate, request),
      sha256: Effect.fn("NodeWorkspace.sha256")((request) => FileReading.sha256(gate, request)),
      write: (request) => FileWriting.write(gate, request),
      list: Effect.fn("NodeWorkspace.list")((request) => FileTree.list(gate, request)),
      makeDirectory: Effect.fn("NodeWorkspace.makeDirectory")((request) => FileTree.makeDirectory(gate, request)),
      remove: Effect.fn("NodeWorkspace.remove")((request) => FileTree.remove(gate, request)),
      writeAll: Effect.fn("NodeWorkspace.writeAll")((request) => FileSet.writeAll(gate, log, request)),
      settleWriteAll: Effect.fn("NodeWorkspace.settleWriteAll")(({ key }) => FileSet.settleWriteAll(gate, log, key)),
      copy: Effect.fn("NodeWorkspace.copy")((request) => FileCopying.copy(gate, request)),
      move: Effect.fn("NodeWorkspace.move")((request) => FileTree.move(gate, request)),
      search: Effect.fn("NodeWorkspace.search")((request) => FileSearch.search(gate, request)),
      files: Effect.fn("NodeWorkspace.files")((request) => FileNames.files(gate, request))
    }
  })
