import { FileError } from "@capstan/core/FileError"
import type { FileContent, FileWritten, Settled, WriteAllRequest } from "@capstan/core/Workspace"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Fs from "node:fs"
import type { Folder } from "./anchor.js"
import { walk } from "./anchor.js"
import { begin, existing, fileName, fill, keepOwner, linkNew, temporaryName, unlinkable } from "./draft.js"
import { attempt, failure, isCode } from "./fileFailure.js"
import { digest, hashOpen, openRegular } from "./fileReading.js"
import { changed, gone, same, there } from "./fileWriting.js"
import type { Gate, Place } from "./gate.js"
import { enter } from "./gate.js"
import { forget, takeBack } from "./takingBack.js"
import type { UndoLog, UndoRecord } from "./undoLog.js"

/** A file of the set, decided and checked. */
interface Step {
  readonly place: Place
  readonly name: string
  readonly content: Uint8Array
  readonly sha256: string
  /** The file that is there. */
  readonly before: Fs.Stats | undefined
  readonly temporary: string
  readonly backup: string | undefined
}

const parents = (place: Place) => place.segments.slice(0, -1)

const inParent = <A>(gate: Gate, place: Place, use: (folder: Folder) => A): Effect.Effect<A, FileError> =>
  attempt(place, () => {
    const folder = walk(gate.anchor, place.mount.root, parents(place))
    try {
      return use(folder)
    } finally {
      folder.close()
    }
  })

/** The file that is there now, looked at; fails where a write to it could not work. */
const present = (gate: Gate, place: Place, name: string): Effect.Effect<Fs.Stats | undefined, FileError> =>
  attempt(place, () => {
    const known = place.segments.slice(0, Math.min(place.segments.length - 1, place.segments.length - place.missing))
    const folder = walk(gate.anchor, place.mount.root, known)
    try {
      if (known.length < place.segments.length - 1) {
        Fs.accessSync(`${folder.self}/.`, Fs.constants.W_OK | Fs.constants.X_OK)
        return undefined
      }
      const before = existing(place, folder, name)
      if (before !== undefined) Fs.accessSync(folder.at(name), Fs.constants.W_OK)
      return before
    } finally {
      folder.close()
    }
  })

const requireExpected = (gate: Gate, place: Place, name: string, before: Fs.Stats | undefined, expect: string) =>
  expect === "absent"
    ? before === undefined ? Effect.void : there(place)
    : before === undefined
    ? gone(place)
    : Effect.acquireUseRelease(
      inParent(gate, place, (folder) => openRegular(gate, place, folder, name)),
      (file) =>
        Effect.flatMap(
          hashOpen(place, file),
          (hash) => hash === expect.toLowerCase() && same(file.stat, before) ? Effect.void : changed(place)
        ),
      (file) => Effect.sync(() => Fs.closeSync(file.fd))
    )

const check = (gate: Gate, file: FileContent): Effect.Effect<Step, FileError> =>
  Effect.gen(function*() {
    const place = yield* enter(gate, file.path, "write")
    const name = yield* fileName(place)
    const before = yield* present(gate, place, name)
    if (file.expect !== undefined) yield* requireExpected(gate, place, name, before, file.expect)
    return {
      place,
      name,
      content: file.content,
      sha256: digest(file.content),
      before,
      temporary: yield* temporaryName("tmp"),
      backup: before === undefined ? undefined : yield* temporaryName("old")
    }
  })

const requireDistinct = (steps: ReadonlyArray<Step>): Effect.Effect<void, FileError> => {
  const seen = new Set<string>()
  const twice = steps.find(({ place }) => seen.size === seen.add(place.canonical).size)
  return twice === undefined
    ? Effect.void
    : failure(twice.place, "bad-path", `"${twice.place.path}" is named twice. Write each file once.`)
}

const toRecord = (steps: ReadonlyArray<Step>): UndoRecord => {
  const folders = new Map<string, { readonly root: string; readonly segments: ReadonlyArray<string> }>()
  for (const { place } of steps) {
    for (let depth = place.segments.length - place.missing + 1; depth < place.segments.length; depth++) {
      const segments = place.segments.slice(0, depth)
      folders.set([place.mount.root, ...segments].join("/"), { root: place.mount.root, segments })
    }
  }
  return {
    version: 1,
    files: steps.map((step) => ({
      path: step.place.path,
      root: step.place.mount.root,
      segments: step.place.segments,
      temporary: step.temporary,
      backup: step.backup ?? null,
      before: step.before === undefined
        ? null
        : { ino: step.before.ino, size: step.before.size, modified: step.before.mtimeMs },
      after: { size: step.content.length, sha256: step.sha256 }
    })),
    folders: [...folders.values()].sort((left, right) => left.segments.length - right.segments.length)
  }
}

/** The new content beside its file. */
const draft = (gate: Gate, step: Step): Effect.Effect<void, FileError> =>
  Effect.acquireUseRelease(
    attempt(step.place, () => begin(gate, step.place, step.name, step.temporary)),
    ({ fd }) => fill(gate.anchor.calls, step.place, fd, step.content),
    ({ fd, folder }) =>
      Effect.sync(() => {
        Fs.closeSync(fd)
        folder.close()
      })
  )

/** A second name for the old file, so that putting it back is one rename, which needs no room on the disk. */
const backUp = (gate: Gate, { backup, before, name, place }: Step): Effect.Effect<void, FileError> =>
  inParent(gate, place, (folder) => {
    if (backup !== undefined && before !== undefined) {
      if (!same(before, existing(place, folder, name))) throw changed(place)
      try {
        gate.anchor.calls.link(folder.at(name), folder.at(backup))
      } catch (cause) {
        if (!isCode(cause, ...unlinkable)) throw cause
        copyOld(gate, place, folder, name, backup, before)
      }
    }
    folder.flush()
  })

/** Where there are no hard links. Its time is set last: a copy that was cut off does not pass for the old file. */
const copyOld = (gate: Gate, place: Place, folder: Folder, name: string, backup: string, before: Fs.Stats): void => {
  const { calls } = gate.anchor
  const { O_CREAT, O_EXCL, O_WRONLY } = Fs.constants
  const from = openRegular(gate, place, folder, name).fd
  try {
    const to = gate.anchor.open(folder, backup, O_WRONLY | O_CREAT | O_EXCL, 0o600)
    try {
      const buffer = Buffer.allocUnsafe(1024 * 1024)
      for (let got = Fs.readSync(from, buffer); got > 0; got = Fs.readSync(from, buffer)) {
        for (let at = 0; at < got;) at += calls.write(to, buffer.subarray(0, got), at)
      }
      keepOwner(to, before)
      Fs.futimesSync(to, before.atimeMs / 1000, before.mtimeMs / 1000)
      calls.fsync(to)
    } finally {
      Fs.closeSync(to)
    }
  } finally {
    Fs.closeSync(from)
  }
}

const sameContent = (before: Fs.Stats, now: Fs.Stats | undefined): boolean =>
  now !== undefined && before.ino === now.ino && before.dev === now.dev && before.size === now.size
  && before.mtimeMs === now.mtimeMs

/** The new content in its place, if what is there still is what was checked. */
const replace = (gate: Gate, { before, name, place, temporary }: Step): Effect.Effect<void, FileError> =>
  inParent(gate, place, (folder) => {
    const { calls } = gate.anchor
    const now = existing(place, folder, name)
    if (before !== undefined && !sameContent(before, now)) throw changed(place)
    if (before === undefined && now !== undefined) throw there(place)
    folder.verify()
    if (before === undefined && linkNew(calls, folder, temporary, name)) return
    calls.rename(folder.at(temporary), folder.at(name))
  })

const withMessage = (error: FileError, more: string): FileError =>
  new FileError({ ...error, message: `${error.message} ${more}` })

/** After a failure: everything as it was, and the error says so, or that this failed as well. */
const undo = (gate: Gate, log: UndoLog, key: string, record: UndoRecord) =>
  Effect.gen(function*() {
    const found = yield* log.find(key)
    if (found?.state === "done") yield* log.mark(key, "done", "open")
    yield* takeBack(gate, record)
    yield* log.mark(key, "open", "back")
  })

/** Runs the changes; whatever ends them before the last one leads to {@link undo}. */
const orUndone = (
  gate: Gate,
  log: UndoLog,
  key: string,
  record: UndoRecord,
  changes: Effect.Effect<void, FileError>
): Effect.Effect<void, FileError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      Effect.exit(restore(changes)),
      (exit) =>
        Exit.isSuccess(exit) ? Effect.void : Effect.matchEffect(undo(gate, log, key, record), {
          onSuccess: () =>
            Effect.failCause(
              Cause.map(exit.cause, (error) => withMessage(error, "No file was changed: all are as they were before."))
            ),
          onFailure: (failed) =>
            Option.match(Cause.failureOption(exit.cause), {
              onNone: () => failed,
              onSome: (error) =>
                withMessage(
                  error,
                  `Putting back the files written before failed as well: ${failed.message} It is tried again when the session goes on.`
                )
            })
        })
    )
  )

export const settleWriteAll = (gate: Gate, log: UndoLog, key: string): Effect.Effect<Settled, FileError> =>
  Effect.uninterruptible(Effect.gen(function*() {
    const found = yield* log.find(key)
    if (found === undefined) return "unknown"
    yield* found.state === "open" ? takeBack(gate, found.record) : Effect.void
    if (found.state === "open") yield* log.mark(key, "open", "back")
    if (found.state !== "done") return "taken-back"
    yield* forget(gate, found.record)
    return "whole"
  }))

export const writeAll = (
  gate: Gate,
  log: UndoLog,
  { files, key }: WriteAllRequest
): Effect.Effect<ReadonlyArray<FileWritten>, FileError> =>
  Effect.gen(function*() {
    yield* settleWriteAll(gate, log, key)
    const steps = yield* Effect.forEach(files, (file) => check(gate, file))
    yield* requireDistinct(steps)
    const record = toRecord(steps)
    yield* log.open(key, record)
    const changes = Effect.gen(function*() {
      yield* Effect.forEach(steps, (step) => draft(gate, step), { discard: true })
      yield* Effect.uninterruptible(Effect.gen(function*() {
        yield* Effect.forEach(steps, (step) => backUp(gate, step), { discard: true })
        yield* Effect.forEach(steps, (step) => replace(gate, step), { discard: true })
        yield* Effect.forEach(steps, ({ place }) => inParent(gate, place, (folder) => folder.flush()), {
          discard: true
        })
        yield* log.mark(key, "open", "done")
      }))
    })
    yield* orUndone(gate, log, key, record, changes)
    yield* forget(gate, record)
    return steps.map(({ before, content, place, sha256 }) => ({
      canonical: place.canonical,
      display: place.display,
      created: before === undefined,
      bytes: content.length,
      sha256
    }))
  })
