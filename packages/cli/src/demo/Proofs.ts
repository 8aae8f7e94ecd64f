/**
 * What the demo claims, each claim decided by what the journal, the files and the process table say.
 *
 * @since 0.1.0
 */
import type { JournalRow } from "@capstan/core/Journal"
import type { JournalRecord } from "@capstan/core/JournalRecord"
import type { Message, ToolResultPart } from "@capstan/core/Message"
import * as SessionState from "@capstan/core/SessionState"
import { type CallRef, keyOf } from "@capstan/core/ToolCall"
import * as HistoryValidator from "@capstan/testing/HistoryValidator"
import type { Traces } from "./Project.js"
import * as Script from "./Script.js"

/**
 * What was found. `atCrash` are the rows of the session after the kill and before it was opened again, `rows` those at the
 * end, `breaks` places where the chain of hashes is broken, `alive` pids of what the session started.
 *
 * @since 0.1.0
 * @category models
 */
export interface Facts {
  readonly signal: string | null
  readonly atCrash: ReadonlyArray<JournalRow>
  readonly rows: ReadonlyArray<JournalRow>
  readonly breaks: number
  readonly traces: Traces
  readonly alive: ReadonlyArray<number>
  readonly passedBefore: boolean
  readonly passesNow: boolean
}

/**
 * A claim, and whether it holds; `because` says what was looked at, or what was found instead.
 *
 * @since 0.1.0
 * @category models
 */
export interface Proof {
  readonly holds: boolean
  readonly claim: string
  readonly because: string
}

/**
 * All claims of the demo.
 *
 * @since 0.1.0
 * @category constructors
 */
export const of = (facts: Facts): ReadonlyArray<Proof> => [
  killed(facts),
  answered(facts),
  once(facts),
  approved(facts),
  refused(facts),
  truthful(facts),
  valid(facts),
  unbroken(facts),
  processes(facts),
  green(facts)
]

type Tagged<Tag extends JournalRecord["_tag"]> = Extract<JournalRecord, { readonly _tag: Tag }>

const only = <Tag extends JournalRecord["_tag"]>(
  rows: ReadonlyArray<JournalRow>,
  tag: Tag
): ReadonlyArray<Tagged<Tag>> => {
  const is = (record: JournalRecord): record is Tagged<Tag> => record._tag === tag
  return rows.map(({ record }) => record).filter(is)
}

const keys = (records: ReadonlyArray<{ readonly ref: CallRef }>): ReadonlyArray<string> =>
  records.map(({ ref }) => keyOf(ref))

const twice = (all: ReadonlyArray<string>): ReadonlyArray<string> =>
  all.filter((key, index) => all.indexOf(key) !== index)

const fold = (rows: ReadonlyArray<JournalRow>): SessionState.SessionState =>
  rows.reduce((state, { record }) => SessionState.step(state, record), SessionState.empty)

const killed = ({ atCrash, signal }: Facts): Proof => {
  const { batch } = fold(atCrash)
  const calls = batch?.calls ?? []
  const running = calls.filter((call) => call.started && call.settled === null)
  return {
    holds: signal === "SIGKILL" && running.length === 1 && running.length < calls.length,
    claim: "The process died by SIGKILL in the middle of a call.",
    because: `ended by ${signal ?? "itself"}, ${running.length} of ${calls.length} calls was running`
  }
}

const answered = ({ rows }: Facts): Proof => {
  const calls = keys(only(rows, "CallReceived"))
  const results = keys(only(rows, "Settled"))
  const missing = calls.filter((key) => !results.includes(key))
  return {
    holds: calls.length > 0 && missing.length === 0 && results.length === calls.length && twice(results).length === 0,
    claim: "Every call has exactly one result.",
    because: `${calls.length} calls, ${results.length} results in the journal`
  }
}

const once = ({ rows, traces: { apple, conversions } }: Facts): Proof => {
  const again = twice(keys(only(rows, "Intent")))
  return {
    holds: again.length === 0 && conversions === 1 && apple === 50,
    claim: "Nothing ran twice, the conversion neither.",
    because: `${again.length} calls started again; migrations.log has ${conversions} line${
      conversions === 1 ? "" : "s"
    }, an apple costs ${apple ?? "nothing"}`
  }
}

const approved = ({ rows }: Facts): Proof => {
  const asked = rows.flatMap(({ record, seq }) =>
    record._tag === "Asked" ? record.questions.map(({ ref }) => ({ key: keyOf(ref), ref, seq })) : []
  )
  const isEarly = ({ key, ref }: (typeof asked)[number]) => {
    const decided = rows.find(({ record }) =>
      record._tag === "Decided" && record.turn === ref.turn && record.iteration === ref.iteration
    )
    const started = rows.find(({ record }) => record._tag === "Intent" && keyOf(record.ref) === key)
    return started !== undefined && (decided === undefined || started.seq < decided.seq)
  }
  const early = asked.filter(isEarly)
  return {
    holds: asked.length > 0 && early.length === 0,
    claim: "Nothing that needs approval ran before the answer.",
    because: `${asked.length} calls were asked about, ${early.length} started early`
  }
}

const refused = ({ rows }: Facts): Proof => {
  const call = only(rows, "CallReceived").find(({ call }) => call.name === Script.invented)
  const outcome = call === undefined
    ? undefined
    : only(rows, "Settled").find(({ ref }) => keyOf(ref) === keyOf(call.ref))?.outcome
  const started = call !== undefined && keys(only(rows, "Intent")).includes(keyOf(call.ref))
  const said = outcome?._tag === "Refused" ? `${outcome.failure.message} ${outcome.failure.suggestedFix ?? ""}` : ""
  return {
    holds: !started && said.includes("read_file"),
    claim: "The tool that the model made up never ran; the error names the right one.",
    because: said === "" ? "it was not refused" : `"${said.trim()}"`
  }
}

const resultsOf = (messages: ReadonlyArray<Message>): ReadonlyArray<ToolResultPart> =>
  messages.flatMap((message) => message.role === "tool" ? message.results : [])

const textOf = (result: ToolResultPart | undefined): string =>
  (result?.content ?? []).map((part) => part.type === "text" ? part.text : "").join("\n")

const truthful = ({ atCrash, rows }: Facts): Proof => {
  const before = fold(atCrash)
  const after = fold(rows)
  const calls = before.batch?.calls ?? []
  const told = resultsOf(after.messages.slice(before.messages.length, before.messages.length + 1))
  const isTold = calls.map((call, index) => {
    const text = textOf(told[index])
    if (call.settled !== null) return told[index]?.isError === (call.settled.outcome._tag !== "Succeeded")
    return text.includes(call.started ? "outcome is unknown" : "It did not run")
  })
  const isSame = same(atCrash, rows.slice(0, atCrash.length)) &&
    same(before.messages, after.messages.slice(0, before.messages.length))
  return {
    holds: isSame && calls.length > 0 && told.length === calls.length && isTold.every((yes) => yes),
    claim: "The history after the crash is the one before it, plus the truth.",
    because: `${before.messages.length} messages ${isSame ? "unchanged" : "changed"}, then ${
      isTold.filter((yes) => yes).length
    } of ${calls.length} results say what happened`
  }
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

const valid = ({ rows }: Facts): Proof => {
  const requests = rows.flatMap(({ record }, index) =>
    record._tag === "Responded" ? [fold(rows.slice(0, index)).messages] : []
  )
  const broken = requests.flatMap((messages) =>
    HistoryValidator.dialects.flatMap((dialect) => HistoryValidator.validate(messages, dialect))
  )
  return {
    holds: requests.length > 0 && broken.length === 0,
    claim: "Every request was valid by the strict rules of OpenAI and Anthropic.",
    because: broken[0] === undefined ? `${requests.length} requests, rebuilt from the journal` : broken[0].message
  }
}

const unbroken = ({ breaks, rows }: Facts): Proof => ({
  holds: breaks === 0,
  claim: "The journal's chain of hashes is unbroken.",
  because: `${rows.length} records, ${breaks} breaks`
})

const processes = ({ alive, rows }: Facts): Proof => ({
  holds: alive.length === 0,
  claim: "No process is left.",
  because: `${only(rows, "ProcessStarted").length} commands were started, ${
    alive.length === 0 ? "0 processes live" : `these processes live: ${alive.join(", ")}`
  }`
})

const green = ({ passedBefore, passesNow }: Facts): Proof => ({
  holds: !passedBefore && passesNow,
  claim: "The tests failed before and pass now.",
  because: `node --test, run by the demo itself: ${passedBefore ? "passed" : "failed"}, then ${
    passesNow ? "passed" : "failed"
  }`
})
