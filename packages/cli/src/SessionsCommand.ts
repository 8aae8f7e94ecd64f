/**
 * `capstan sessions` and `capstan show`: what happened, read from the journal without touching it.
 *
 * @since 0.1.0
 */
import * as Content from "@capstan/core/Content"
import { Journal, type JournalRow, type SessionInfo } from "@capstan/core/Journal"
import type { JournalRecord } from "@capstan/core/JournalRecord"
import * as Sanitiser from "@capstan/core/Sanitiser"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as CommandError from "./CommandError.js"
import * as Composition from "./Composition.js"
import { Host } from "./Host.js"
import * as JsonOutput from "./JsonOutput.js"
import * as Places from "./Places.js"
import * as Renderer from "./Renderer.js"

interface ReadFlags {
  readonly cwd: Option.Option<string>
  readonly json: boolean
}

const reading = <A, R>(
  flags: ReadFlags,
  read: (places: Places.Places) => Effect.Effect<A, CommandError.CommandError, R>
) =>
  Effect.flatMap(
    Places.find({ cwd: Option.getOrUndefined(flags.cwd) }),
    (places) => Effect.provide(read(places), Composition.journal(places))
  )

const clean = (text: string): string => Sanitiser.sanitise(text).text

const moment = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "short" })
const clock = new Intl.DateTimeFormat("sv-SE", { timeStyle: "medium" })

/**
 * Lists sessions, the latest first.
 *
 * @since 0.1.0
 * @category constructors
 */
export const sessions = (
  flags: ReadFlags & { readonly all: boolean }
): Effect.Effect<void, CommandError.CommandError, Host> =>
  reading(flags, ({ root }) =>
    Effect.gen(function*() {
      const host = yield* Host
      const journal = yield* Journal
      const found = yield* Effect.mapError(
        journal.sessions({ project: flags.all ? undefined : root }),
        CommandError.ofRunError
      )
      if (flags.json) {
        return yield* host.write(JsonOutput.line({ type: "Sessions", version: JsonOutput.version, sessions: found }))
      }
      if (found.length === 0) {
        return yield* host.warn(
          `No sessions${flags.all ? "" : ` of ${root}`} yet. Start one with: capstan run "your task"\n`
        )
      }
      yield* host.write(found.map((info) => sessionLine(info, flags.all)).join(""))
    }))

const sessionLine = ({ id, project, records, title, updated }: SessionInfo, all: boolean): string =>
  `${id}  ${moment.format(updated)}  ${String(records).padStart(5)}  ${clean(title)}${
    all ? `  (${clean(project)})` : ""
  }\n`

/**
 * Shows the log of one session.
 *
 * @since 0.1.0
 * @category constructors
 */
export const show = (
  flags: ReadFlags & { readonly id: Option.Option<string>; readonly verbose: boolean }
): Effect.Effect<void, CommandError.CommandError, Host> =>
  reading(flags, ({ root }) =>
    Effect.gen(function*() {
      const host = yield* Host
      const journal = yield* Journal
      const info = yield* Places.session({ id: Option.getOrUndefined(flags.id), root })
      const rows = yield* Effect.mapError(journal.read({ session: info.id }), CommandError.ofRunError)
      if (flags.json) {
        return yield* host.write(JsonOutput.line({ type: "Session", version: JsonOutput.version, ...info, rows }))
      }
      yield* host.write(`Session ${info.id} of ${clean(info.project)}\n`)
      yield* Effect.forEach(rows, (row) => host.write(rowText(row, flags.verbose)))
    }))

const rowText = ({ at, record }: JournalRow, verbose: boolean): string => {
  const text = recordText(record, verbose)
  return text === "" ? "" : `${clock.format(at)}  ${clean(text).trimEnd().replace(/\n/g, "\n          ")}\n`
}

const recordText = (record: JournalRecord, verbose: boolean): string => {
  switch (record._tag) {
    case "TurnStarted":
      return `> ${Content.toText(record.content)}\n  (${record.provider}/${record.model})`
    case "CallReceived":
      return `call ${record.call.name} ${shortened(record.call.raw, verbose)}`
    case "Responded":
      return record.parts.flatMap((part) => part.type === "text" ? [part.text] : []).join("")
    case "Voided":
      return `the answer broke off: ${record.reason}`
    case "Planned":
      return verbose
        ? `plan: ask [${record.asked}], refuse [${record.refused}], run ${
          record.stages.map((stage) => `[${stage}]`).join(" ")
        }`
        : ""
    case "Asked":
      return `asked: ${record.questions.map(({ detail, tool }) => `${tool} ${detail}`).join("; ")}`
    case "Decided":
      return `${record.by}: ${decisionText(record.decision)}`
    case "Intent":
      return verbose ? `started ${record.tool}` : ""
    case "ProcessStarted":
      return verbose ? `process ${record.process.pid}` : ""
    case "Settled": {
      const line = Renderer.outcomeLine(`call ${record.ref.position}`, "", record.outcome, record.durationMillis)
      return verbose && record.outcome._tag === "Succeeded"
        ? `${line}\n${Content.toText(record.outcome.content)}`
        : line
    }
    case "Recovered":
      return `recovered after a crash: ${record.choice}${
        record.ended.length === 0 ? "" : `; ended ${record.ended.join(", ")}`
      }`
    case "ChildSpent":
      return verbose ? `session ${record.session} spent from this budget` : ""
    case "BudgetReached":
      return record.message
    case "Shortened":
      return verbose ? `old results give way to ${record.results.map(({ handle }) => handle).join(", ")}` : ""
    case "Compacted":
      return `summary of what came before:\n${record.summary}`
    case "TurnEnded":
      return `end: ${record.end}${record.reason === null ? "" : ` (${record.reason})`}`
  }
}

const decisionText = (decision: Extract<JournalRecord, { readonly _tag: "Decided" }>["decision"]): string => {
  switch (decision._tag) {
    case "ApproveAll":
      return "approved"
    case "DenyAll":
      return `denied${decision.reason === null ? "" : `: ${decision.reason}`}`
    case "Each":
      return decision.answers.map(({ answer, position }) => `call ${position} ${answer._tag}`).join(", ")
    case "Later":
      return "later"
  }
}

const shortened = (text: string, verbose: boolean): string => {
  const characters = [...text.replace(/\s+/g, " ")]
  return verbose || characters.length <= 200 ? characters.join("") : `${characters.slice(0, 199).join("")}…`
}
