/**
 * `apply_patch`: changes several files by a patch in LP1, all of it or nothing.
 *
 * @since 0.1.0
 */
import type { Assessment } from "@capstan/core/Assessment"
import type { CallContext } from "@capstan/core/CallContext"
import type { FileError } from "@capstan/core/FileError"
import type { FileRead } from "@capstan/core/FileRead"
import { matchesPath } from "@capstan/core/Glob"
import * as OutputLimit from "@capstan/core/OutputLimit"
import * as Sandbox from "@capstan/core/Sandbox"
import * as Tool from "@capstan/core/Tool"
import * as ToolFailure from "@capstan/core/ToolFailure"
import { pathFailure } from "@capstan/core/ToolPlan"
import type { Workspace } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as CurrentFile from "./internal/currentFile.js"
import { asFailure, missing } from "./internal/fileProblem.js"
import * as Reads from "./internal/reads.js"
import { encode } from "./internal/textFile.js"
import { unifiedDiff } from "./internal/unifiedDiff.js"
import * as LinePatch from "./LinePatch.js"

type Files = Workspace["Type"]

/** Of larger files no diff is shown. */
const maxDiffBytes = 1_048_576
/** Files that are refused in one answer, each with what it says. */
const maxRefused = 5
const pathsInSummary = 3

const Parameters = Schema.Struct({
  patch: Schema.String.annotations({
    description: "The whole patch as text in the LP1 format, from its line LP1 to its line END, without a code fence.",
    examples: ["LP1\nF docs/guide.md\nR\ncolour\n.\ncolor\n.\nEND\n"]
  })
})

type Arguments = typeof Parameters.Type

/** A file that a patch names, as it is now: undefined where there is none. */
interface Target {
  readonly section: LinePatch.Section
  readonly file: CurrentFile.TextFile | undefined
}

/** A file that a patch changes, with what the session knows of it. */
interface Edit {
  readonly canonical: string
  readonly change: LinePatch.Change
  readonly file: CurrentFile.TextFile | undefined
  readonly known: FileRead | undefined
  readonly content: Uint8Array
}

const sectionsOf = ({ patch }: Arguments): ReadonlyArray<LinePatch.Section> =>
  Either.match(LinePatch.parse(patch), { onLeft: () => [], onRight: ({ sections }) => sections })

const pathsOf = (args: Arguments): ReadonlyArray<string> => sectionsOf(args).map(({ path }) => path)

const patchFailed = ({ fix, line, message }: LinePatch.PatchError): ToolFailure.ToolFailure => ({
  _tag: "PatchFailed",
  message,
  suggestedFix: fix,
  details: { line }
})

const checkSize = ({ patch }: Arguments, { limits }: CallContext) => {
  const size = OutputLimit.byteLength(patch)
  return size <= limits.maxApplyPatchBytes
    ? Effect.void
    : Effect.fail(ToolFailure.limit(
      "max_apply_patch_bytes",
      limits.maxApplyPatchBytes,
      `The patch has ${size} bytes; up to ${limits.maxApplyPatchBytes} are taken. Nothing was written.`,
      "Send it as several patches, each a complete one from LP1 to END."
    ))
}

/** The canonical path of every path of a patch, where all may be written and no two are the same file. */
const place = (files: Files, patch: LinePatch.Patch) =>
  Effect.gen(function*() {
    const decisions = yield* Effect.forEach(patch.sections, ({ path }) => files.decide({ path, access: "write" }))
    const refused = pathFailure(decisions)
    if (refused !== undefined) return yield* Effect.fail(refused)
    const canonical = new Map(
      decisions.flatMap((decision) => decision._tag === "Allowed" ? [[decision.path, decision.canonical]] : [])
    )
    const twice = LinePatch.repeated(patch, (path) => canonical.get(path) ?? path)
    return twice === undefined ? canonical : yield* Effect.fail(patchFailed(twice))
  })

const readTarget = (files: Files, section: LinePatch.Section, maxBytes: number) =>
  Effect.gen(function*() {
    const file = yield* CurrentFile.read(files, section.path, maxBytes)
    if (file === undefined) return { section, file }
    const { text } = file
    if (text !== undefined) return { section, file: { ...file, text } }
    return yield* Effect.fail(
      file.size > maxBytes
        ? ToolFailure.limit(
          "max_read_file_scan_bytes",
          maxBytes,
          `${file.display} has ${file.size} bytes; files up to ${maxBytes} bytes can be patched. Nothing was written.`,
          "Change it with run_command."
        )
        : ToolFailure.execution(
          `${file.display} is not UTF-8 text and cannot be patched. Nothing was written.`,
          "Leave it out of the patch."
        )
    )
  })

/** Several refusals as one answer. */
const together = (refused: readonly [ToolFailure.ToolFailure, ...ReadonlyArray<ToolFailure.ToolFailure>]) => {
  const [first, ...others] = refused
  const other = refused.find(({ _tag }) => _tag !== "StaleFile")
  if (other !== undefined) return other
  const fixes = new Set(refused.flatMap(({ suggestedFix }) => suggestedFix ?? []))
  return {
    ...first,
    message: [first, ...others].map(({ message }) => message).join("\n\n"),
    suggestedFix: [...fixes].join("\n")
  }
}

/** All files of a patch that this session knows as they are, or why one is refused; of several unread ones each is shown. */
const readAll = (files: Files, patch: LinePatch.Patch, call: CallContext) =>
  Effect.gen(function*() {
    const targets: Array<Target & { readonly known: FileRead | undefined }> = []
    const refused: Array<ToolFailure.ToolFailure> = []
    for (const section of patch.sections) {
      const one = yield* Effect.either(Effect.gen(function*() {
        const target = yield* readTarget(files, section, call.limits.maxReadFileScanBytes)
        if (target.file === undefined) return { ...target, known: undefined }
        const known = yield* CurrentFile.requireRead(target.file, call, section.path, "patching")
        return { ...target, known }
      }))
      if (Either.isRight(one)) targets.push(one.right)
      else refused.push(one.left)
      if (refused.length >= maxRefused) break
    }
    const [first, ...others] = refused
    return first === undefined ? targets : yield* Effect.fail(together([first, ...others]))
  })

const textsOf = (targets: ReadonlyArray<Target>): ReadonlyMap<string, string> =>
  new Map(targets.flatMap(({ file, section }) => file === undefined ? [] : [[section.path, file.text]]))

/** Why a patch could not be applied; of a file that does not exist, what there is instead. */
const notApplied = (files: Files, patch: LinePatch.Patch, error: LinePatch.PatchError) =>
  Effect.gen(function*() {
    const failure = patchFailed(error)
    const section = patch.sections.findLast(({ line }) => line < error.line)
    if (error.reason !== "missing-file" || section === undefined) return failure
    const near = yield* missing(files, section.path)
    return {
      ...failure,
      message: `${error.message} ${near.message}`,
      suggestedFix: [near.suggestedFix, "To create the file, begin with T and its lines."].join(" ")
    }
  })

/** What the patch changes, each file checked against what was read of it. */
const editsOf = (files: Files, patch: LinePatch.Patch, call: CallContext) =>
  Effect.gen(function*() {
    const canonical = yield* place(files, patch)
    const targets = yield* readAll(files, patch, call)
    const changes = yield* Effect.catchAll(
      LinePatch.apply(patch, textsOf(targets)),
      (error) => Effect.flatMap(notApplied(files, patch, error), Effect.fail)
    )
    const byPath = new Map(targets.map((target) => [target.section.path, target]))
    return yield* Effect.forEach(changes.filter(({ after, before }) => after !== before), (change) => {
      const { after, path, touched } = change
      const { file, known } = byPath.get(path) ?? {}
      const edit: Edit = {
        canonical: canonical.get(path) ?? path,
        change,
        file,
        known,
        content: encode(after, file?.bom === true)
      }
      return file === undefined || known === undefined ? Effect.succeed(edit) : Effect.as(
        CurrentFile.requireSeen({ file, known, touched: Reads.grouped(touched), call, path, verb: "patching" }),
        edit
      )
    })
  })

/** What the session knows of a file afterwards: what it knew before, and the lines that it has put there. */
const knownAfter = ({ change, known }: Edit, written: { readonly canonical: string; readonly sha256: string }) => {
  const { canonical: path, sha256 } = written
  const lines = known === undefined || known.lines === null ? null : Reads.carried(known.lines, change.origins)
  return Reads.add(undefined, { path, sha256, total: change.origins.length }, lines)
}

const writeFailed = (files: Files) => (error: FileError): Effect.Effect<never, ToolFailure.ToolFailure> =>
  error.reason === "changed" || error.reason === "exists"
    ? Effect.fail({
      _tag: "StaleFile",
      message: `File content changed since last read. ${error.message}`,
      suggestedFix: `Read it first: read_file ${JSON.stringify({ path: error.path })}. Then send the patch again.`,
      details: { path: error.path }
    })
    : asFailure(files)(Effect.fail(error))

const nothingApplied = "No changes applied."

const run = (args: Arguments, call: CallContext) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    yield* checkSize(args, call)
    const patch = yield* Either.mapLeft(LinePatch.parse(args.patch), patchFailed)
    const edits = yield* editsOf(files, patch, call)
    if (edits.length === 0) return nothingApplied
    yield* call.reserveWrite(edits.reduce((sum, { content }) => sum + content.length, 0))
    const written = yield* files.writeAll({
      key: call.idempotencyKey,
      files: edits.map(({ change, content, file }) => ({
        path: change.path,
        content,
        expect: file?.sha256 ?? "absent"
      }))
    }).pipe(Effect.catchAll(writeFailed(files)))
    const lines = yield* Effect.forEach(written, (file, index) => {
      const edit = edits[index]
      const line = `${file.created ? "created" : "modified"}: ${file.display}`
      return edit === undefined ? Effect.succeed(line) : Effect.as(call.recordRead(knownAfter(edit, file)), line)
    })
    return lines.join("\n")
  })

const reconcile = (args: Arguments, call: CallContext) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    const settled = yield* files.settleWriteAll({ key: call.idempotencyKey })
    switch (settled) {
      case "whole":
        return [
          "The program was stopped, but the patch was applied as a whole before. Do not send it again.",
          ...pathsOf(args).map((path) => `modified or created: ${path}`)
        ].join("\n")
      case "taken-back":
        return `${nothingApplied} The program was stopped in the middle of the patch; every file is as it was before. `
          + "Send it again if it is still wanted."
      case "unknown":
        return undefined
    }
  }).pipe(Effect.catchAll((error) => Effect.as(Effect.logWarning("A patch could not be settled", error), undefined)))

const preview = (args: Arguments) =>
  Effect.gen(function*() {
    const { files } = yield* Sandbox.Sandbox
    const patch = yield* LinePatch.parse(args.patch)
    const targets = yield* Effect.forEach(patch.sections, (section) => readTarget(files, section, maxDiffBytes))
    const changes = yield* LinePatch.apply(patch, textsOf(targets))
    return changes.filter(({ after, before }) => after !== before).map((change) =>
      unifiedDiff(change) ?? `${change.path}: the change is too large to be shown.\n`
    ).join("")
  }).pipe(Effect.orElseSucceed(() => undefined))

const summary = (args: Arguments): string => {
  const paths = pathsOf(args)
  return paths.length === 0
    ? "Patch without a change"
    : `Patch ${paths.slice(0, pathsInSummary).join(", ")}${
      paths.length > pathsInSummary ? ` and ${paths.length - pathsInSummary} more` : ""
    }`
}

/** Nobody is asked about a patch that cannot be read: it changes nothing. */
const assess = ({ patch }: Arguments): Assessment => ({
  risk: "medium",
  approval: Either.isRight(LinePatch.parse(patch)) ? "by-policy" : "never",
  warnings: []
})

/**
 * Changes several files by a patch in LP1 (see {@link LinePatch}), all or none: files that this session has read and that
 * have not changed since, and new ones.
 *
 * @since 0.1.0
 * @category tools
 */
export const tool: Tool.Tool<Sandbox.Sandbox> = Tool.make("apply_patch", {
  description: "Changes one or several files by whole lines, all of the patch or nothing. "
    + "The format is LP1, not diff. Example of a patch that changes a line, appends one, and creates a file:\n"
    + "LP1\nF docs/guide.md\nR\ncolour\n.\ncolor\n.\nT\nlast line\n.\nF docs/new.md\nT\nfirst line\n.\nEND\n"
    + "Format: a line LP1; for each file a line F <path> (with blanks: F \"a path\") and its operations; a line END. "
    + "A block is lines of a file, closed by a line with one dot; a line of it that begins with a dot gets one more dot in front.\n"
    + "R: block to find, block to put in its place. I: block to find, block to insert after it. "
    + "P: block to find, block to insert before it. E: block to delete. T: block to append at the end of the file. "
    + "B: block to put at its beginning. N + or N -: the file ends with a newline or not.\n"
    + "Lines to find are whole lines, copied exactly with their indentation. "
    + "If they occur more than once the patch is refused, unless a number says which: R 2 takes the second. "
    + "If one operation fails, nothing is written, and the error names its line. "
    + "Operations see what the ones before have left; name each file only once. "
    + "T or B creates a file that does not exist. "
    + "Existing files must have been read with read_file in this session and be unchanged since, otherwise the patch is refused. "
    + "Not for one small change (use edit_file), and not for replacing a whole file (use write_file).",
  aliases: ["patch"],
  parameters: Parameters,
  verbatim: true,
  paths: (args) => pathsOf(args).map((path) => ({ path, access: "write" })),
  allowedTogether: (args, patterns) => {
    const paths = pathsOf(args)
    return paths.length > 0 && paths.every((path) => patterns.some((pattern) => matchesPath(pattern, path)))
  },
  summary,
  detail: (args) => pathsOf(args).join("\n"),
  assess: (args) => Effect.succeed(assess(args)),
  preview,
  reconcile,
  handler: run
})
