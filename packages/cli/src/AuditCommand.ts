/**
 * `capstan audit`: who let which call run, exports of it, and whether what is stored was changed.
 *
 * @since 0.1.0
 */
import * as Audit from "@capstan/core/Audit"
import { Journal, type SessionInfo } from "@capstan/core/Journal"
import type * as HashChain from "@capstan/sql/HashChain"
import * as SqlJournal from "@capstan/sql/SqlJournal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as CommandError from "./CommandError.js"
import { Host } from "./Host.js"
import { plural } from "./internal/callLines.js"
import * as JsonOutput from "./JsonOutput.js"
import * as Places from "./Places.js"
import * as Reading from "./Reading.js"

/**
 * Which sessions are meant: one, those of this project, or `all`.
 *
 * @since 0.1.0
 * @category models
 */
export interface AuditFlags extends Reading.ReadFlags {
  readonly all: boolean
  readonly session: Option.Option<string>
}

/** The oldest first, as a log reads. */
const meant = ({ all, session }: AuditFlags, root: string) =>
  Option.match(session, {
    onNone: () => Effect.map(Reading.sessions(all ? undefined : root), (found) => found.toReversed()),
    onSome: (id) => Effect.map(Places.session({ id, root }), (found) => [found])
  })

interface Audited {
  readonly info: SessionInfo
  readonly calls: ReadonlyArray<Audit.AuditCall>
}

/** A session that cannot be read is said, and the others are not affected. */
const audited = (infos: ReadonlyArray<SessionInfo>) =>
  Effect.gen(function*() {
    const host = yield* Host
    const { fingerprint } = yield* Journal
    const read = yield* Effect.forEach(infos, (info) =>
      Reading.rows(info.id).pipe(
        Effect.map((rows): Audited => ({ info, calls: Audit.calls({ session: info.id, rows, digest: fingerprint }) })),
        Effect.asSome,
        Effect.catchAll((error) => Effect.as(host.warn(`✗ ${info.id}: ${error.message}\n`), Option.none<Audited>()))
      ))
    return { sessions: read.flatMap(Option.toArray), complete: read.every(Option.isSome) }
  })

const unlessComplete = (complete: boolean) => complete ? Effect.void : CommandError.ended(1, "JournalError")

/**
 * Lists every call with its decision and its outcome, the oldest first.
 *
 * @since 0.1.0
 * @category constructors
 */
export const list = (flags: AuditFlags): Effect.Effect<void, CommandError.CommandError, Host> =>
  Reading.from(flags, ({ root }) =>
    Effect.gen(function*() {
      const host = yield* Host
      const { complete, sessions } = yield* audited(yield* meant(flags, root))
      const calls = sessions.flatMap(({ calls }) => calls)
      if (flags.json) {
        yield* host.write(JsonOutput.line({ type: "Audit", version: JsonOutput.version, calls }))
      } else if (calls.length === 0) {
        yield* host.warn(`No calls${flags.all || Option.isSome(flags.session) ? "" : ` of ${root}`} yet.\n`)
      } else {
        yield* Effect.forEach(
          sessions.filter(({ calls }) => calls.length > 0),
          ({ calls, info }) => host.write(`${info.id}  ${Reading.clean(info.title)}\n${table(calls)}`)
        )
      }
      yield* unlessComplete(complete)
    }))

const table = (calls: ReadonlyArray<Audit.AuditCall>): string => {
  const cells = calls.map((call) => [
    Reading.moment(Date.parse(call.time)),
    call.call,
    Reading.oneLine(call.tool),
    decisionOf(call),
    outcomeOf(call),
    call.arguments.map(({ bytes, name }) => `${name} ${bytes} B`).join(", ")
  ])
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => (row[column] ?? "").length)))
  return cells.map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()}\n`)
    .join("")
}

const decisionOf = ({ by, decision, maker }: Audit.AuditCall): string => {
  if (decision === "none") return "–"
  const who = by ?? (maker === "policy" ? "policy" : null)
  return who === null ? decision : `${decision} (${Reading.oneLine(who)})`
}

const outcomeOf = ({ durationMillis, errorCode, outcome, success }: Audit.AuditCall): string =>
  outcome === null
    ? "no result"
    : success === true
    ? `✓ ${durationMillis ?? 0} ms`
    : `✗ ${outcome}${errorCode === null || errorCode === outcome ? "" : ` ${errorCode}`}`

/**
 * Writes the calls as JSONL, one line a call, to a new file that only its owner can read, or to stdout.
 *
 * @since 0.1.0
 * @category constructors
 */
export const exported = (
  flags: AuditFlags & { readonly output: Option.Option<string> }
): Effect.Effect<void, CommandError.CommandError, Host> =>
  Reading.from(flags, ({ cwd, root }) =>
    Effect.gen(function*() {
      const host = yield* Host
      const { fingerprint } = yield* Journal
      const { complete, sessions } = yield* audited(yield* meant(flags, root))
      const calls = sessions.flatMap(({ calls }) => calls)
      const at = yield* Clock.currentTimeMillis
      const text = Audit.toLines({ calls, at, digest: fingerprint }).map((line) => `${line}\n`).join("")
      if (Option.isNone(flags.output)) {
        yield* host.write(text)
      } else {
        const file = path.resolve(cwd, flags.output.value)
        yield* newFile(file, text)
        yield* flags.json
          ? host.write(JsonOutput.line({ type: "Export", version: JsonOutput.version, file, calls: calls.length }))
          : host.warn(
            `${plural(calls.length, "call")} of ${
              plural(sessions.length, "session")
            } in ${file}. Check with: capstan audit verify ${file}\n`
          )
      }
      yield* unlessComplete(complete)
    }))

const newFile = (file: string, text: string) =>
  Effect.tryPromise({
    try: () => fs.writeFile(file, text, { flag: "wx", mode: 0o600 }),
    catch: (error) =>
      CommandError.usage(
        isCode(error, "EEXIST")
          ? `${file} is there already and is left as it is. Give another name with --output.`
          : `${file} cannot be written (${reasonOf(error)}). Give another name with --output.`
      )
  })

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code

const reasonOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

/** What was found in one session or file; `place` is a row of the journal or a line of the file, from 1. */
interface Found {
  readonly what: string
  readonly kind: HashChain.Break["kind"] | Audit.Break["kind"]
  readonly place: number
}

const words: { readonly [Kind in Found["kind"]]: string } = {
  changed: "does not say what was written",
  removed: "was removed",
  added: "was added",
  "cut-off": "and what came after it are gone",
  missing: "comes after others that were removed",
  moved: "stands in the wrong place",
  newer: "was written by a newer version: update the program to check it",
  key: "was made with the key of another database: check it where it was exported"
}

/**
 * Checks the chain of hashes: of the sessions, or of an export. Fails with exit code 1 if something is not as it was written.
 *
 * @since 0.1.0
 * @category constructors
 */
export const verify = (
  flags: AuditFlags & { readonly file: Option.Option<string> }
): Effect.Effect<void, CommandError.CommandError, Host> =>
  Reading.from(flags, ({ cwd, root }) =>
    Effect.gen(function*() {
      const host = yield* Host
      const { found, intact } = yield* Option.match(flags.file, {
        onNone: () => Effect.flatMap(meant(flags, root), ofSessions),
        onSome: (file) => ofExport(path.resolve(cwd, file))
      })
      if (flags.json) {
        yield* host.write(JsonOutput.line({
          type: "Verification",
          version: JsonOutput.version,
          intact: found.length === 0,
          found
        }))
      } else {
        yield* host.write(
          found.length === 0
            ? `✓ ${intact}\n`
            : found.map(({ kind, place, what }) => `✗ ${what} ${place} ${words[kind]}\n`).join("")
        )
      }
      if (found.length > 0) return yield* CommandError.ended(1, "changed")
    }))

interface Checked {
  readonly found: ReadonlyArray<Found>
  readonly intact: string
}

const ofSessions = (infos: ReadonlyArray<SessionInfo>) =>
  Effect.forEach(infos, ({ id }) =>
    Effect.mapBoth(SqlJournal.verify({ session: id }), {
      onSuccess: (breaks) => breaks.map(({ kind, seq }): Found => ({ what: `${id}: row`, kind, place: seq })),
      onFailure: CommandError.ofRunError
    })).pipe(Effect.map((all): Checked => ({
      found: all.flat(),
      intact: `As written: ${plural(infos.reduce((sum, { records }) => sum + records, 0), "row")} of ${
        plural(infos.length, "session")
      }.`
    })))

const ofExport = (file: string) =>
  Effect.gen(function*() {
    const { fingerprint } = yield* Journal
    const text = yield* Effect.tryPromise({
      try: () => fs.readFile(file, "utf8"),
      catch: (error) => CommandError.usage(`${file} cannot be read (${reasonOf(error)}). Give the path of an export.`)
    })
    const lines = text.replace(/\n$/, "").split("\n")
    const breaks = Audit.verifyExport({ lines, digest: fingerprint })
    const checked: Checked = {
      found: breaks.map(({ kind, line }) => ({ what: `${file}: line`, kind, place: line + 1 })),
      intact: `As written: ${plural(Math.max(0, lines.length - 2), "call")} in ${file}.`
    }
    return checked
  })
