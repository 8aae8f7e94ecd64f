import type { FileError } from "@capstan/core/FileError"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import type { Folder } from "./anchor.js"
import { walk } from "./anchor.js"
import { attempt, failure, isCode, Swapped } from "./fileFailure.js"
import { openRegular } from "./fileReading.js"
import type { Gate } from "./gate.js"
import type { UndoFile, UndoRecord } from "./undoLog.js"

const asked = (file: UndoFile) => ({ path: file.path, canonical: [file.root, ...file.segments].join("/") })

/** Does something in the folder of a file; undefined where the folder does not exist. */
const inFolder = <A>(
  gate: Gate,
  root: string,
  segments: ReadonlyArray<string>,
  use: (folder: Folder) => A
): A | undefined => {
  if (!gate.mounts.some((mount) => mount.root === root && mount.access === "rw")) {
    throw failure(
      { path: [root, ...segments].join("/"), canonical: "" },
      "outside",
      `The write to ${[root, ...segments].join("/")} cannot be settled: ${root} is no writable mount now. Add it again.`
    )
  }
  let folder: Folder
  try {
    folder = walk(gate.anchor, root, segments)
  } catch (cause) {
    if (isCode(cause, "ENOENT", "ENOTDIR")) return undefined
    throw cause
  }
  try {
    return use(folder)
  } finally {
    folder.close()
  }
}

const look = (folder: Folder, name: string | null): Fs.Stats | undefined =>
  name === null ? undefined : Fs.lstatSync(folder.at(name), { throwIfNoEntry: false })

/** Whether a file has the content that was to be written. */
const isOurs = (gate: Gate, folder: Folder, name: string, stat: Fs.Stats, file: UndoFile): boolean => {
  if (!stat.isFile() || stat.size !== file.after.size) return false
  const { fd } = openRegular(gate, asked(file), folder, name)
  try {
    const hash = createHash("sha256")
    const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(1024 * 1024, stat.size)))
    for (let got = Fs.readSync(fd, buffer); got > 0; got = Fs.readSync(fd, buffer)) hash.update(buffer.subarray(0, got))
    return hash.digest("hex") === file.after.sha256
  } finally {
    Fs.closeSync(fd)
  }
}

/** What has to happen to one file. `foreign`: somebody else wrote it since, so nothing must. */
type Remedy = "none" | "restore" | "remove" | "foreign"

const judge = (gate: Gate, folder: Folder, file: UndoFile): Remedy => {
  const name = file.segments.at(-1) ?? ""
  const [target, draft, backup] = [name, file.temporary, file.backup].map((one) => look(folder, one))
  if (file.before === null) {
    // A new file gets its name while the temporary one still exists, and loses that a moment later.
    if (target === undefined) return "none"
    if (draft !== undefined) return draft.ino === target.ino && draft.dev === target.dev ? "remove" : "none"
    return isOurs(gate, folder, name, target, file) ? "remove" : "foreign"
  }
  // A file is replaced by renaming the temporary one: as long as that is there, or no second name was made, it was not.
  if (draft !== undefined || backup === undefined || target?.ino === file.before.ino) return "none"
  const whole = backup.isFile() && backup.size === file.before.size &&
    Math.abs(backup.mtimeMs - file.before.modified) < 1
  if (!whole) throw new Swapped(file.path)
  return target !== undefined && isOurs(gate, folder, name, target, file) ? "restore" : "foreign"
}

const drop = (gate: Gate, folder: Folder, name: string | null): void => {
  if (name === null || look(folder, name) === undefined) return
  folder.verify()
  gate.anchor.calls.unlink(folder.at(name))
}

const mend = (gate: Gate, folder: Folder, file: UndoFile, remedy: Remedy): void => {
  const { calls } = gate.anchor
  const name = file.segments.at(-1) ?? ""
  folder.verify()
  if (remedy === "remove") calls.unlink(folder.at(name))
  if (remedy === "restore" && file.backup !== null) calls.rename(folder.at(file.backup), folder.at(name))
  drop(gate, folder, file.temporary)
  drop(gate, folder, file.backup)
  folder.flush()
}

/**
 * Puts everything back as it was before a write of several files, however far it got, and can be cut off and begun again
 * itself. Where somebody else wrote one of the files since nothing is touched.
 */
export const takeBack = (gate: Gate, record: UndoRecord): Effect.Effect<void, FileError> =>
  Effect.gen(function*() {
    const remedies = yield* Effect.forEach(record.files, (file) =>
      Effect.map(
        attempt(
          asked(file),
          () => inFolder(gate, file.root, file.segments.slice(0, -1), (folder) => judge(gate, folder, file)) ?? "none"
        ),
        (remedy) => ({ file, remedy })
      ))
    const foreign = remedies.filter(({ remedy }) => remedy === "foreign").map(({ file }) => file)
    if (foreign[0] !== undefined) {
      return yield* failure(
        asked(foreign[0]),
        "changed",
        `${
          foreign.map(({ path }) => `"${path}"`).join(", ")
        } changed after an unfinished write of several files, which is left as it is. Look at them, and correct what is wrong.`
      )
    }
    for (const { file, remedy } of remedies) {
      yield* attempt(
        asked(file),
        () => inFolder(gate, file.root, file.segments.slice(0, -1), (folder) => mend(gate, folder, file, remedy))
      )
    }
    for (const { root, segments } of [...record.folders].reverse()) {
      yield* attempt({ path: segments.join("/"), canonical: "" }, () =>
        inFolder(gate, root, segments.slice(0, -1), (folder) => {
          try {
            gate.anchor.calls.rmdir(folder.at(segments.at(-1) ?? ""))
          } catch (cause) {
            if (!isCode(cause, "ENOENT", "ENOTEMPTY", "EEXIST", "ENOTDIR")) {
              throw cause
            }
          }
        }))
    }
  })

/** Takes away the second names of the old files after a write that is complete. */
export const forget = (gate: Gate, record: UndoRecord): Effect.Effect<void> =>
  Effect.forEach(
    record.files,
    (file) =>
      Effect.ignore(attempt(asked(file), () =>
        inFolder(gate, file.root, file.segments.slice(0, -1), (folder) => {
          drop(gate, folder, file.backup)
        }))),
    { discard: true }
  )
