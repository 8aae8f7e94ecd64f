import type { FileError } from "@capstan/core/FileError"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { attempt, failure, isCode } from "./fileFailure.js"
import type { SystemCalls } from "./systemCalls.js"

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = Fs.constants

/** One file of a write of several: enough to tell how far it got, and to put back what was there. */
export const UndoFile = Schema.Struct({
  path: Schema.String,
  /** The root of the mount, and the names below it. */
  root: Schema.String,
  segments: Schema.Array(Schema.String),
  temporary: Schema.String,
  /** The second name that the old file gets; null: there was none. */
  backup: Schema.NullOr(Schema.String),
  before: Schema.NullOr(Schema.Struct({ ino: Schema.Number, size: Schema.Number, modified: Schema.Number })),
  after: Schema.Struct({ size: Schema.Number, sha256: Schema.String })
})

/** One file of a write of several. */
export type UndoFile = typeof UndoFile.Type

/** What is kept of a write of several files. `folders` are those that it makes, outer ones first. */
export const UndoRecord = Schema.Struct({
  version: Schema.Literal(1),
  files: Schema.Array(UndoFile),
  folders: Schema.Array(Schema.Struct({ root: Schema.String, segments: Schema.Array(Schema.String) }))
})

/** What is kept of a write of several files. */
export type UndoRecord = typeof UndoRecord.Type

/** How far a write of several files got: under way (or cut off), complete, or taken back. */
type UndoState = "open" | "done" | "back"

const states: ReadonlyArray<UndoState> = ["open", "done", "back"]
const encode = Schema.encodeSync(Schema.parseJson(UndoRecord))
const decode = Schema.decodeUnknown(Schema.parseJson(UndoRecord))

/** Milliseconds: nobody asks for a finished write after this. */
const keptFor = 7 * 24 * 60 * 60 * 1000

/**
 * Records of writes of several files in a folder that only this user may enter, each in a file whose ending is its state: a
 * state changes by one rename.
 */
export interface UndoLog {
  readonly find: (
    key: string
  ) => Effect.Effect<{ readonly state: UndoState; readonly record: UndoRecord } | undefined, FileError>
  readonly open: (key: string, record: UndoRecord) => Effect.Effect<void, FileError>
  readonly mark: (key: string, from: UndoState, to: UndoState) => Effect.Effect<void, FileError>
}

/** Makes the folder when it is first used. */
export const make = (folder: string, calls: SystemCalls): UndoLog => {
  const asked = { path: folder, canonical: folder }
  let swept = false
  const file = (key: string, state: UndoState) =>
    Path.join(folder, `${createHash("sha256").update(key).digest("hex")}.${state}`)

  const flush = () => {
    if (process.platform === "win32") return
    const fd = Fs.openSync(folder, Fs.constants.O_RDONLY)
    try {
      calls.fsync(fd)
    } finally {
      Fs.closeSync(fd)
    }
  }

  const enter = () => {
    Fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
    const stat = Fs.lstatSync(folder)
    const own = process.geteuid === undefined || stat.uid === process.geteuid()
    if (!stat.isDirectory() || !own || (process.platform !== "win32" && (stat.mode & 0o077) !== 0)) {
      throw failure(
        asked,
        "permission",
        `The folder for undo records, ${folder}, is open to other users. Make it your own (chmod 700), or name another one.`
      )
    }
  }

  /** Forgets what was finished long ago, by the clock of the file system. */
  const sweep = (now: number) => {
    if (swept) return
    swept = true
    for (const name of Fs.readdirSync(folder)) {
      if (!/\.(?:done|back|new)$/.test(name)) continue
      const path = Path.join(folder, name)
      const stat = Fs.lstatSync(path, { throwIfNoEntry: false })
      if (stat !== undefined && now - stat.mtimeMs > keptFor) Fs.unlinkSync(path)
    }
  }

  return {
    find: (key) =>
      Effect.gen(function*() {
        for (const state of states) {
          const text = yield* attempt(asked, () => {
            try {
              return Fs.readFileSync(file(key, state), "utf8")
            } catch (cause) {
              if (isCode(cause, "ENOENT", "ENOTDIR")) return undefined
              throw cause
            }
          })
          if (text === undefined) continue
          const record = yield* Effect.mapError(decode(text), (cause) =>
            failure(asked, "io", `The undo record ${file(key, state)} cannot be read. Look at its files yourself.`, {
              cause
            }))
          return { state, record }
        }
        return undefined
      }),
    open: (key, record) =>
      attempt(asked, () => {
        enter()
        for (const state of ["done", "back"] as const) Fs.rmSync(file(key, state), { force: true })
        const path = file(key, "open")
        Fs.rmSync(`${path}.new`, { force: true })
        const fd = calls.open(`${path}.new`, O_WRONLY | O_CREAT | O_EXCL | (O_NOFOLLOW ?? 0), 0o600)
        try {
          const content = new TextEncoder().encode(encode(record))
          for (let at = 0; at < content.length;) at += calls.write(fd, content, at)
          calls.fsync(fd)
          sweep(Fs.fstatSync(fd).mtimeMs)
          calls.rename(`${path}.new`, path)
          flush()
        } catch (cause) {
          Fs.rmSync(`${path}.new`, { force: true })
          Fs.rmSync(path, { force: true })
          throw cause
        } finally {
          Fs.closeSync(fd)
        }
      }),
    mark: (key, from, to) =>
      attempt(asked, () => {
        calls.rename(file(key, from), file(key, to))
        flush()
      })
  }
}
