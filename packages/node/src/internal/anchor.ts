import * as Fs from "node:fs"
import * as Path from "node:path"
import { isCode, Swapped } from "./fileFailure.js"
import type { SystemCalls } from "./systemCalls.js"
import { system } from "./systemCalls.js"

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = Fs.constants

/**
 * An open folder: what is done to the names in it through `at` happens in this folder, wherever its path leads by now.
 */
export interface Folder {
  readonly self: string
  readonly at: (name: string) => string
  readonly stat: () => Fs.Stats
  /** Throws {@link Swapped} where the path no longer leads to this folder and the kernel does not see to it. */
  readonly verify: () => void
  /** Makes created and renamed names durable. */
  readonly flush: () => void
  readonly close: () => void
}

/** How folders are opened so that a link swapped in cannot lead an operation away. */
export interface Anchor {
  readonly enforcement: "anchored" | "best-effort"
  readonly calls: SystemCalls
  readonly root: (path: string) => Folder
  readonly into: (folder: Folder, name: string) => Folder
  /** Opens a file in a folder, never through a link. */
  readonly open: (folder: Folder, name: string, flags: number, mode?: number) => number
}

const isLink = (path: string): boolean => Fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true

const orSwapped = <A>(path: string, body: () => A): A => {
  try {
    return body()
  } catch (cause) {
    if (isLink(path)) throw new Swapped(path)
    throw cause
  }
}

const openFolder = (calls: SystemCalls, path: string): Folder => {
  const fd = orSwapped(path, () => Fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK))
  const self = `/proc/self/fd/${fd}`
  return {
    self,
    at: (name) => `${self}/${name}`,
    stat: () => Fs.fstatSync(fd),
    verify: () => {},
    flush: () => calls.fsync(fd),
    close: () => Fs.closeSync(fd)
  }
}

/** Linux: names are resolved by the kernel from an open folder, one component at a time. */
export const anchoredWith = (calls: SystemCalls): Anchor => ({
  enforcement: "anchored",
  calls,
  root: (path) => openFolder(calls, path),
  into: (folder, name) => openFolder(calls, folder.at(name)),
  open: (folder, name, flags, mode) => {
    const path = folder.at(name)
    return orSwapped(path, () => calls.open(path, flags | O_NOFOLLOW, mode))
  }
})

export const anchored = anchoredWith(system)

const flushFolder = (calls: SystemCalls, path: string): void => {
  if (process.platform === "win32") return
  const fd = Fs.openSync(path, O_RDONLY)
  try {
    calls.fsync(fd)
  } finally {
    Fs.closeSync(fd)
  }
}

/** macOS refuses a link anywhere in a path with this flag; elsewhere only in the last component, if at all. */
const noFollowAny = process.platform === "darwin" ? 0x20000000 : O_NOFOLLOW ?? 0

const watchedFolder = (calls: SystemCalls, path: string): Folder => {
  const before = Fs.lstatSync(path)
  const verify = () => {
    const now = Fs.lstatSync(path, { throwIfNoEntry: false })
    if (
      now === undefined || now.ino !== before.ino || now.dev !== before.dev || Fs.realpathSync.native(path) !== path
    ) {
      throw new Swapped(path)
    }
  }
  if (before.isSymbolicLink()) throw new Swapped(path)
  if (!before.isDirectory()) throw Object.assign(new Error(`ENOTDIR: ${path}`), { code: "ENOTDIR" })
  verify()
  return {
    self: path,
    at: (name) => Path.join(path, name),
    stat: () => Fs.lstatSync(path),
    verify,
    flush: () => flushFolder(calls, path),
    close: () => {}
  }
}

/** Everywhere else: the path is verified before and after. */
export const watchedWith = (calls: SystemCalls): Anchor => ({
  enforcement: "best-effort",
  calls,
  root: (path) => watchedFolder(calls, path),
  into: (folder, name) => watchedFolder(calls, folder.at(name)),
  open: (folder, name, flags, mode) => {
    const path = folder.at(name)
    folder.verify()
    const fd = orSwapped(path, () => calls.open(path, flags | noFollowAny, mode))
    try {
      folder.verify()
      const opened = Fs.fstatSync(fd)
      const named = Fs.lstatSync(path, { throwIfNoEntry: false })
      if (named === undefined || named.ino !== opened.ino || named.dev !== opened.dev) throw new Swapped(path)
      return fd
    } catch (cause) {
      Fs.closeSync(fd)
      throw cause
    }
  }
})

export const watched = watchedWith(system)

/** The strongest that this system has. */
export const detect = (): Anchor => {
  if (process.platform !== "linux") return watched
  try {
    openFolder(system, "/proc/self/fd").close()
    return anchored
  } catch {
    return watched
  }
}

/** Opens the folder at `segments` below a mount's root; `create` makes missing ones and counts them in `made`. */
export const walk = (
  anchor: Anchor,
  root: string,
  segments: ReadonlyArray<string>,
  create?: { made: number }
): Folder => {
  let folder = anchor.root(root)
  try {
    for (const name of segments) {
      const next = create === undefined ? anchor.into(folder, name) : intoOrMake(anchor, folder, name, create)
      folder.close()
      folder = next
    }
    return folder
  } catch (cause) {
    folder.close()
    throw cause
  }
}

const intoOrMake = (anchor: Anchor, folder: Folder, name: string, create: { made: number }): Folder => {
  try {
    return anchor.into(folder, name)
  } catch (cause) {
    if (!isCode(cause, "ENOENT")) throw cause
  }
  folder.verify()
  try {
    anchor.calls.mkdir(folder.at(name))
    create.made++
    folder.flush()
  } catch (cause) {
    if (!isCode(cause, "EEXIST")) throw cause
  }
  return anchor.into(folder, name)
}

/** Takes back the last `made` folders of `segments`, as far as they are empty. */
export const unmake = (anchor: Anchor, root: string, segments: ReadonlyArray<string>, made: number): void => {
  for (let depth = segments.length; depth > segments.length - made; depth--) {
    try {
      const parent = walk(anchor, root, segments.slice(0, depth - 1))
      try {
        anchor.calls.rmdir(parent.at(segments[depth - 1] ?? ""))
      } finally {
        parent.close()
      }
    } catch {
      return
    }
  }
}
