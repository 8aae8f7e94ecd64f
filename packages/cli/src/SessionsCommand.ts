/**
 * `capstan sessions` and `capstan show`: what happened, read from the journal without touching it.
 *
 * @since 0.1.0
 */
import type { Spent } from "@capstan/core/Budget"
import * as CallStatistics from "@capstan/core/CallStatistics"
import * as Content from "@capstan/core/Content"
import type { JournalRow, SessionInfo } from "@capstan/core/Journal"
import type { JournalRecord } from "@capstan/core/JournalRecord"
import * as Replay from "@capstan/core/Replay"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as CommandError from "./CommandError.js"
import * as Decisions from "./Decisions.js"
import { Host } from "./Host.js"
import { count, duration, plural } from "./internal/callLines.js"
import * as JsonOutput from "./JsonOutput.js"
import * as Places from "./Places.js"
import * as Reading from "./Reading.js"
import * as Renderer from "./Renderer.js"

const { clean } = Reading

const clock = new Intl.DateTimeFormat("sv-SE", { timeStyle: "medium" })

/**
 * Lists sessions, the latest first.
 *
 * @since 0.1.0
 * @category constructors
 */
export const sessions = (
  flags: Reading.ReadFlags & { readonly all: boolean }
): Effect.Effect<void, CommandError.CommandError, Host> =>
  Reading.from(flags, ({ root }) =>
    Effect.gen(function*() {
      const host = yield* Host
      const found = yield* Reading.sessions(flags.all ? undefined : root)
      if (flags.json) {
        return yield* host.write(
          JsonOutput.line({ type: "Sessions", version: JsonOutput.version, sessions: found.map(described) })
        )
      }
      if (found.length === 0) {
        return yield* host.warn(
          `No sessions${flags.all ? "" : ` of ${root}`} yet. Start one with: capstan run "your task"\n`
        )
      }
      const widest = Math.max(...found.map((info) => Reading.standing(info).length))
      yield* host.write(found.map((info) => sessionLine(info, widest, flags.all)).join(""))
      const open = found.filter((info) => ["cut off", "waits"].includes(Reading.standing(info)))
      if (open.length > 0) yield* host.warn(`Go on with one that waits or was cut off: capstan resume ID\n`)
    }))

const described = ({ isOpen, last, ...info }: SessionInfo) => ({
  ...info,
  state: Reading.standing({ ...info, isOpen, last })
})

const sessionLine = (info: SessionInfo, widest: number, all: boolean): string =>
  [
    info.id,
    Reading.moment(info.updated),
    String(info.records).padStart(5),
    ...(widest === 0 ? [] : [Reading.standing(info).padEnd(widest)]),
    `${clean(info.title)}${all ? `  (${clean(info.project)})` : ""}`
  ].join("  ") + "\n"

/**
 * Shows the log of one session.
 *
 * @since 0.1.0
 * @category constructors
 */
export const show = (
  flags: Reading.ReadFlags & { readonly id: Option.Option<string>; readonly verbose: boolean }
): Effect.Effect<void, CommandError.CommandError, Host> =>
  Reading.from(flags, ({ root }) =>
    Effect.gen(function*() {
      const host = yield* Host
      const { isOpen, last, ...info } = yield* Places.session({ id: Option.getOrUndefined(flags.id), root })
      const rows = yield* Reading.rows(info.id)
      const statistics = CallStatistics.fromRows(rows)
      const { spent } = Replay.state(rows)
      if (flags.json) {
        return yield* host.write(
          JsonOutput.line({ type: "Session", version: JsonOutput.version, ...info, statistics, spent, rows })
        )
      }
      yield* host.write(`Session ${info.id} of ${clean(info.project)}\n`)
      yield* Effect.forEach(rows, (row) => host.write(rowText(row, flags.verbose)))
      yield* host.write(`\n${spentText(spent)}\n${statistics.map(statisticsText).join("")}`)
      const standing = Reading.standing({ ...info, isOpen, last })
      if (standing === "waits" || standing === "cut off") {
        yield* host.warn(
          `It ${standing === "waits" ? "waits" : "was cut off"}. Go on with: capstan resume ${info.id}\n`
        )
      }
    }))

const spentText = ({ calls, cost, millis, usage }: Spent): string =>
  [
    `Spent: ${count(usage.input)} tokens in, ${count(usage.output)} out`,
    cost === null ? "cost unknown" : `$${cost.toFixed(cost < 0.1 ? 4 : 2)}`,
    `${plural(calls, "call")} started`,
    ...(millis === 0 ? [] : [`${duration(millis)} at work`])
  ].join(", ")

const statisticsText = (of: CallStatistics.ToolCounters): string => {
  const failures = Object.entries(of.failures).map(([code, times]) => `${times} ${code}`)
  return `${clean(of.tool)} with ${clean(of.model)}: ${
    [
      plural(of.calls, "call"),
      `${of.firstAttemptSuccesses} right at once`,
      ...(of.retries === 0 ? [] : [`${of.retries} corrected`]),
      ...(of.repairs === 0 ? [] : [`${of.repairs} repaired`]),
      ...(failures.length === 0 ? [] : [`failed: ${failures.join(", ")}`])
    ].join(", ")
  }\n`
}

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
      return `${record.by}: ${Decisions.toText(record.decision)}`
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

const shortened = (text: string, verbose: boolean): string => {
  const characters = [...text.replace(/\s+/g, " ")]
  return verbose || characters.length <= 200 ? characters.join("") : `${characters.slice(0, 199).join("")}…`
}
