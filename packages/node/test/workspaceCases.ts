import type { FileError } from "@capstan/core/FileError"
import type { Mount, SearchRequest } from "@capstan/core/Workspace"
import { Workspace } from "@capstan/core/Workspace"
import { DenyRules, NodeWorkspace } from "@capstan/node"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { anchored, watched } from "../src/internal/anchor.js"
import { make } from "../src/internal/workspace.js"

/** Whether tests run as root: then permissions hold nobody back, but file systems can be mounted. */
export const isRoot = process.geteuid?.() === 0

/** Memory-backed, so that fsync costs nothing; undefined where the system has none. */
export const fastFolder = Fs.existsSync("/dev/shm") ? "/dev/shm" : undefined

/** Whether tests can mount a file system of their own. */
export const canMount = (() => {
  if (process.platform !== "linux" || !isRoot) return false
  const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "mount-probe-"))
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]).status === 0
  if (mounted) spawnSync("umount", [folder])
  Fs.rmdirSync(folder)
  return mounted
})()

/** Both ways to hold paths; the kernel's is Linux only. */
export const anchors = process.platform === "linux" ? [anchored, watched] : [watched]

/** A folder that is gone after the test, canonical. */
export const temporaryFolder = (base = Os.tmpdir()): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(Path.join(base, "workspace-")))),
    (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true, force: true }))
  )

/** A folder with a mount in it and things beside it. */
export interface Ground {
  readonly base: string
  readonly root: string
  readonly outside: string
  readonly files: Workspace["Type"]
  /** Writes a file below the mount, its folders made. */
  readonly put: (path: string, content?: string | Uint8Array) => void
  readonly get: (path: string) => string
}

/** A workspace of one writable mount on real folders. */
export const ground = (
  options: Partial<Omit<NodeWorkspace.NodeWorkspaceOptions, "mounts" | "workingDirectory">> & {
    readonly base?: string
    readonly mounts?: (root: string, base: string) => ReadonlyArray<Mount>
    readonly anchor?: typeof anchored
    /** Runs before the mounts are looked at. */
    readonly prepare?: (base: string) => void
  } = {}
): Effect.Effect<Ground, FileError, Scope.Scope> =>
  Effect.gen(function*() {
    const base = yield* temporaryFolder(options.base)
    const root = Path.join(base, "mount")
    const outside = Path.join(base, "outside")
    Fs.mkdirSync(root)
    Fs.mkdirSync(outside)
    options.prepare?.(base)
    const settings = {
      mounts: options.mounts?.(root, base) ?? [{ name: "workspace", root, access: "rw" as const }],
      workingDirectory: root,
      deny: options.deny ?? DenyRules.defaults,
      allowAbsolute: options.allowAbsolute ?? false,
      allowParents: options.allowParents ?? true,
      privateFolders: options.privateFolders ?? [],
      undoFolder: Path.join(base, "undo")
    }
    const files = options.anchor === undefined
      ? yield* Workspace.pipe(Effect.provide(NodeWorkspace.layer(settings)))
      : yield* make({ ...settings, anchor: options.anchor })
    return {
      base,
      root,
      outside,
      files,
      put: (path, content = "") => {
        const file = Path.join(root, path)
        Fs.mkdirSync(Path.dirname(file), { recursive: true })
        Fs.writeFileSync(file, content)
      },
      get: (path) => Fs.readFileSync(Path.join(root, path), "utf8")
    }
  })

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

export const text = (content: Uint8Array): string => new TextDecoder().decode(content)

/** A search with the usual settings. */
export const searching = (pattern: string, more: Partial<SearchRequest> = {}): SearchRequest => ({
  path: ".",
  pattern,
  literal: false,
  caseSensitive: true,
  glob: undefined,
  contextLines: 0,
  limit: 100,
  offset: 0,
  maxFileBytes: 1024 * 1024,
  ...more
})

/** Everything below a folder by path, links not followed. */
export const tree = (folder: string, below = ""): ReadonlyArray<string> =>
  Fs.readdirSync(Path.join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const path = Path.join(below, entry.name)
    return entry.isDirectory() ? [path, ...tree(folder, path)] : [path]
  }).sort()

/** How many descriptors this process has open (Linux). */
export const openDescriptors = (): number => Fs.readdirSync("/proc/self/fd").length
