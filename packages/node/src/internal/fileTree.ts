import type { FileError } from "@capstan/core/FileError"
import type { DirectoryEntry, FileKind } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import type { Anchor, Folder } from "./anchor.js"
import { unmake, walk } from "./anchor.js"
import { linkNew } from "./draft.js"
import { copy } from "./fileCopying.js"
import { attempt, failure, isCode } from "./fileFailure.js"
import { kindOf, openParent, settle } from "./fileReading.js"
import type { Gate, Place } from "./gate.js"
import { enter } from "./gate.js"
import { orNearby } from "./nearby.js"
import type { SystemCalls } from "./systemCalls.js"

/** How many entries are looked at before others get their turn. */
const batch = 1000

/** Lets timers and I/O run. */
const breathe = Effect.async<void>((resume) => {
  const handle = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(handle))
})

const inBatches = <A>(items: ReadonlyArray<A>, each: (item: A) => void, place: Place): Effect.Effect<void, FileError> =>
  Effect.gen(function*() {
    for (let start = 0; start < items.length; start += batch) {
      if (start > 0) yield* breathe
      yield* attempt(place, () => items.slice(start, start + batch).forEach(each))
    }
  })

const names = (place: Place, folder: Folder): Effect.Effect<ReadonlyArray<string>, FileError> =>
  Effect.uninterruptible(
    Effect.async<ReadonlyArray<string>, FileError>((resume) =>
      Fs.readdir(folder.self, (cause, entries) => {
        resume(cause === null ? Effect.succeed(entries) : settle(place, cause))
      })
    )
  )

const typed = (place: Place, folder: Folder): Effect.Effect<ReadonlyArray<Fs.Dirent>, FileError> =>
  Effect.uninterruptible(
    Effect.async<ReadonlyArray<Fs.Dirent>, FileError>((resume) =>
      Fs.readdir(folder.self, { withFileTypes: true }, (cause, entries) => {
        resume(cause === null ? Effect.succeed(entries) : settle(place, cause))
      })
    )
  )

const byName = (left: { readonly name: string }, right: { readonly name: string }): number =>
  left.name < right.name ? -1 : left.name > right.name ? 1 : 0

const describe = (folder: Folder, name: string): DirectoryEntry => {
  try {
    const stat = Fs.lstatSync(folder.at(name))
    return { name, kind: kindOf(stat), size: stat.size, modified: stat.mtimeMs, error: null }
  } catch (cause) {
    const [code, message] = isCode(cause, "ENOENT")
      ? ["metadata_unavailable", "The entry is gone, or its name is not valid UTF-8."] as const
      : isCode(cause, "EACCES", "EPERM")
      ? ["permission_denied", "The system does not permit looking at this entry."] as const
      : ["io_error", `The file system failed on this entry: ${String(cause)}`] as const
    return { name, kind: "unknown", size: null, modified: null, error: { code, message } }
  }
}

const openPlace = (gate: Gate, place: Place): Folder => walk(gate.anchor, place.mount.root, place.segments)

export const list = (
  gate: Gate,
  options: { readonly path: string }
): Effect.Effect<ReadonlyArray<DirectoryEntry>, FileError> =>
  Effect.flatMap(enter(gate, options.path, "list"), (place) =>
    orNearby(
      gate,
      place,
      Effect.acquireUseRelease(
        attempt(place, () => openPlace(gate, place)),
        (folder) =>
          Effect.gen(function*() {
            const entries: Array<DirectoryEntry> = []
            const denied = gate.denials(place.mount, place.segments, "list")
            yield* inBatches(yield* names(place, folder), (name) => {
              if (denied(name) === undefined) entries.push(describe(folder, name))
            }, place)
            yield* attempt(place, folder.verify)
            return entries.sort(byName)
          }),
        (folder) => Effect.sync(folder.close)
      )
    ))

export const makeDirectory = (gate: Gate, options: { readonly path: string }): Effect.Effect<void, FileError> =>
  Effect.flatMap(
    enter(gate, options.path, "write"),
    (place) => attempt(place, () => makePath(gate.anchor, place.mount.root, place.segments).folder.close())
  )

/** Opens a folder, made where it is missing; on failure what was made is taken back. */
const makePath = (anchor: Anchor, root: string, segments: ReadonlyArray<string>) => {
  const made = { made: 0 }
  try {
    return { folder: walk(anchor, root, segments, made), made: made.made }
  } catch (cause) {
    unmake(anchor, root, segments, made.made)
    throw cause
  }
}

/** Refuses to take away the root of a mount, or a folder that holds one. */
const requireMovable = (gate: Gate, place: Place): Effect.Effect<string, FileError> => {
  const name = place.segments.at(-1)
  const mount = gate.mountInside(place)
  return name === undefined || mount !== undefined
    ? failure(
      place,
      "denied",
      `"${place.path}" holds the sandbox folder "${(mount ?? place.mount).name}" and stays. Name something inside.`
    )
    : Effect.succeed(name)
}

/** Does something with each entry of a folder, and with the open folder where the entry is one. Links are not followed. */
const eachEntry = (
  gate: Gate,
  place: Place,
  folder: Folder,
  each: (entry: Fs.Dirent, inner: Folder | undefined) => Effect.Effect<void, FileError>
): Effect.Effect<void, FileError> =>
  Effect.gen(function*() {
    let seen = 0
    for (const entry of yield* typed(place, folder)) {
      if (++seen % batch === 0) yield* breathe
      yield* entry.isDirectory()
        ? Effect.acquireUseRelease(
          attempt(place, () => gate.anchor.into(folder, entry.name)),
          (inner) => each(entry, inner),
          (inner) => Effect.sync(inner.close)
        )
        : each(entry, undefined)
    }
  })

/** Fails where something below a folder is protected, or could not be taken away: before anything is. */
const requireFree = (
  gate: Gate,
  place: Place,
  folder: Folder,
  segments: ReadonlyArray<string>,
  emptied: boolean
): Effect.Effect<void, FileError> =>
  Effect.gen(function*() {
    if (emptied) {
      yield* attempt(place, () => Fs.accessSync(`${folder.self}/.`, Fs.constants.W_OK | Fs.constants.X_OK))
    }
    const [deletion, reading, listing] = (["delete", "read", "list"] as const)
      .map((access) => gate.denials(place.mount, segments, access))
    yield* eachEntry(gate, place, folder, ({ name }, inner) => {
      const pattern = deletion?.(name) ?? reading?.(name)
      if (pattern !== undefined) {
        const shown = listing?.(name) === undefined ? ` (${name})` : ""
        return failure(
          place,
          "denied",
          `"${place.path}" holds something protected${shown} by the deny pattern "${pattern}": nothing was done. Name what to take away one by one.`,
          { pattern }
        )
      }
      return inner === undefined ? Effect.void : requireFree(gate, place, inner, [...segments, name], emptied)
    })
  })

const empty = (gate: Gate, place: Place, folder: Folder): Effect.Effect<void, FileError> =>
  eachEntry(gate, place, folder, ({ name }, inner) =>
    Effect.zipRight(
      inner === undefined ? Effect.void : empty(gate, place, inner),
      attempt(place, () => removeEntry(folder, name, inner !== undefined))
    ))

const withFolder = (
  gate: Gate,
  place: Place,
  use: (folder: Folder) => Effect.Effect<void, FileError>
): Effect.Effect<void, FileError> =>
  Effect.acquireUseRelease(
    attempt(place, () => openPlace(gate, place)),
    use,
    (folder) => Effect.sync(folder.close)
  )

export const remove = (
  gate: Gate,
  options: { readonly path: string; readonly recursive: boolean }
): Effect.Effect<void, FileError> =>
  Effect.gen(function*() {
    const place = yield* enter(gate, options.path, "delete")
    const name = yield* requireMovable(gate, place)
    const kind = yield* orNearby(gate, place, attempt(place, () => kindAt(gate, place, name)))
    if (kind === "dir" && options.recursive) {
      yield* withFolder(gate, place, (folder) =>
        Effect.zipRight(requireFree(gate, place, folder, place.segments, true), empty(gate, place, folder)))
    }
    yield* attempt(place, () =>
      takeAway(gate, place, name, kind === "dir"))
  })

const removeEntry = (folder: Folder, name: string, isFolder: boolean): void => {
  folder.verify()
  if (isFolder) Fs.rmdirSync(folder.at(name))
  else Fs.unlinkSync(folder.at(name))
}

const kindAt = (gate: Gate, place: Place, name: string) => {
  const parent = openParent(gate, place)
  try {
    return kindOf(Fs.lstatSync(parent.at(name)))
  } finally {
    parent.close()
  }
}

export const move = (
  gate: Gate,
  options: { readonly from: string; readonly to: string; readonly overwrite: boolean }
): Effect.Effect<void, FileError> =>
  Effect.gen(function*() {
    yield* enter(gate, options.from, "read", false)
    const from = yield* enter(gate, options.from, "delete")
    const to = yield* enter(gate, options.to, "write", false)
    const fromName = yield* requireMovable(gate, from)
    const toName = yield* requireMovable(gate, to)
    const kind = yield* orNearby(gate, from, attempt(from, () => kindAt(gate, from, fromName)))
    if (from.mount.name !== to.mount.name) return yield* carry(gate, from, fromName, to, kind, options)
    if (kind === "dir") yield* withFolder(gate, from, (folder) => requireFree(gate, from, folder, from.segments, false))
    yield* attempt(to, () => rename(gate, from, fromName, to, toName, options.overwrite)).pipe(
      Effect.catchIf(
        ({ cause }) => isCode(cause, "EXDEV"),
        () => carry(gate, from, fromName, to, kind, options)
      )
    )
  })

/** Copies a file to where it cannot be renamed to, then takes the original away. */
const carry = (
  gate: Gate,
  from: Place,
  fromName: string,
  to: Place,
  kind: FileKind,
  options: { readonly from: string; readonly to: string; readonly overwrite: boolean }
): Effect.Effect<void, FileError> =>
  kind !== "file"
    ? failure(
      to,
      "bad-path",
      `"${from.path}" and "${to.path}" lie in different mounts or file systems, between which only single files move. Move the files in it one by one.`
    )
    : Effect.gen(function*() {
      yield* attempt(from, () => {
        const parent = openParent(gate, from)
        try {
          Fs.accessSync(`${parent.self}/.`, Fs.constants.W_OK | Fs.constants.X_OK)
        } finally {
          parent.close()
        }
      })
      const copied = yield* copy(gate, options)
      yield* attempt(from, () => takeAway(gate, from, fromName, false)).pipe(
        Effect.catchAll((error) =>
          Effect.fail(
            failure(
              from,
              error.reason,
              `"${from.path}" was copied to "${copied.display}" but could not be removed: both are there. ${error.message}`,
              { cause: error }
            )
          )
        )
      )
    })

const takeAway = (gate: Gate, place: Place, name: string, isFolder: boolean): void => {
  const parent = openParent(gate, place)
  try {
    removeEntry(parent, name, isFolder)
    parent.flush()
  } finally {
    parent.close()
  }
}

const rename = (gate: Gate, from: Place, fromName: string, to: Place, toName: string, overwrite: boolean): void => {
  const source = openParent(gate, from)
  try {
    const parents = to.segments.slice(0, -1)
    const { folder: target, made } = makePath(gate.anchor, to.mount.root, parents)
    try {
      place(gate.anchor.calls, source, fromName, target, toName, to, overwrite)
      target.flush()
      source.flush()
    } catch (cause) {
      unmake(gate.anchor, to.mount.root, parents, made)
      throw cause
    } finally {
      target.close()
    }
  } finally {
    source.close()
  }
}

const place = (
  calls: SystemCalls,
  source: Folder,
  fromName: string,
  target: Folder,
  toName: string,
  to: Place,
  overwrite: boolean
): void => {
  const from = Fs.lstatSync(source.at(fromName))
  const there = Fs.lstatSync(target.at(toName), { throwIfNoEntry: false })
  const itself = there !== undefined && there.ino === from.ino && there.dev === from.dev
  if (there !== undefined && !itself) {
    if (!overwrite) {
      throw failure(to, "exists", `"${to.path}" exists already. Choose another name, or overwrite it on purpose.`)
    }
    if (there.isDirectory() && !from.isDirectory()) {
      throw failure(to, "exists", `"${to.path}" is a folder. Name a file in it.`)
    }
    if (!there.isFile() && !there.isDirectory() && !there.isSymbolicLink()) {
      throw failure(to, "not-a-file", `"${to.path}" is a pipe, socket or device. Choose another name.`)
    }
  }
  if (there === undefined && from.isFile() && !overwrite && linkNew(calls, source, fromName, toName, target)) return
  source.verify()
  target.verify()
  calls.rename(source.at(fromName), target.at(toName))
  // Two names of one file: the system leaves both, so the old one is taken away here.
  const left = Fs.lstatSync(source.at(fromName), { throwIfNoEntry: false })
  const samePlace = source.stat().ino === target.stat().ino && source.stat().dev === target.stat().dev
  if (itself && from.nlink > 1 && left?.ino === from.ino && !(samePlace && fromName === toName)) {
    Fs.unlinkSync(source.at(fromName))
  }
}
