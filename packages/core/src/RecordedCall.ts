/**
 * The calls of a session with all that its journal says of each: what listings, audits and statistics are made from.
 *
 * @since 0.1.0
 */
import type { Answer, Question } from "./Approval.js"
import type { JournalRow } from "./Journal.js"
import type { JournalRecord } from "./JournalRecord.js"
import { type CallRef, keyOf, type ToolCall } from "./ToolCall.js"

type Of<Tag extends JournalRecord["_tag"]> = Extract<JournalRecord, { readonly _tag: Tag }>

/**
 * A call and what happened to it. `at` is when it was received (milliseconds since the epoch), `plan` what was planned (null:
 * it was not planned, or not yet), `corrected` the tool that was meant by another name, `intent` the first start of its handler, `voided` whether its response broke off.
 *
 * @since 0.1.0
 * @category models
 */
export interface RecordedCall {
  readonly ref: CallRef
  readonly at: number
  readonly turn: Of<"TurnStarted"> | null
  readonly call: ToolCall
  readonly plan: "refused" | "asked" | "run" | null
  readonly corrected: string | null
  readonly question: Question | null
  readonly decided: Of<"Decided"> | null
  readonly intent: Of<"Intent"> | null
  readonly settled: Of<"Settled"> | null
  readonly voided: boolean
}

/**
 * The name of the tool that a call was for: the tool's own where it is known, else what the model wrote.
 *
 * @since 0.1.0
 * @category accessors
 */
export const toolOf = (
  { call, corrected, intent, question }: Pick<RecordedCall, "call" | "corrected" | "intent" | "question">
): string => intent?.tool ?? question?.tool ?? corrected ?? call.name

/**
 * What was decided about a call, and who did; undefined: nobody was asked about it, and nobody said anything of it. A denial
 * among several answers holds, and a question without an answer is denied.
 *
 * @since 0.1.0
 * @category accessors
 */
export const ruling = (
  { decided, plan, ref }: Pick<RecordedCall, "decided" | "plan" | "ref">
): { readonly answer: Answer; readonly by: string } | undefined => {
  if (decided === null) return undefined
  const { by, decision } = decided
  switch (decision._tag) {
    case "ApproveAll":
      return plan === "asked" ? { answer: { _tag: "Approve" }, by } : undefined
    case "DenyAll":
      return { answer: { _tag: "Deny", reason: decision.reason }, by }
    case "Each": {
      const given = decision.answers.filter(({ position }) => position === ref.position)
      const found = given.find(({ answer }) => answer._tag === "Deny") ?? given[0]
      if (found !== undefined) return { answer: found.answer, by: found.by ?? by }
      return plan === "asked" ? { answer: { _tag: "Deny", reason: null }, by } : undefined
    }
    case "Later":
      return undefined
  }
}

/**
 * Every call of a session in the order in which they were received, those of responses that broke off included. Takes the
 * rows from the first on.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromRows = (rows: ReadonlyArray<JournalRow>): ReadonlyArray<RecordedCall> => {
  const done: Array<RecordedCall> = []
  let batch = new Map<string, RecordedCall>()
  let turn: Of<"TurnStarted"> | null = null
  const change = (ref: CallRef, to: (call: RecordedCall) => Partial<RecordedCall>) => {
    const call = batch.get(keyOf(ref))
    if (call !== undefined) batch.set(keyOf(ref), { ...call, ...to(call) })
  }
  const changeAll = (to: (call: RecordedCall) => Partial<RecordedCall>) => {
    for (const { ref } of batch.values()) change(ref, to)
  }
  const close = () => {
    done.push(...batch.values())
    batch = new Map()
  }
  for (const { at, record } of rows) {
    switch (record._tag) {
      case "TurnStarted":
        close()
        turn = record
        break
      case "CallReceived": {
        const [first] = batch.values()
        if (first !== undefined && first.ref.iteration !== record.ref.iteration) close()
        batch.set(keyOf(record.ref), { ...untouched, ref: record.ref, at, turn, call: record.call })
        break
      }
      case "Voided":
        changeAll(() => ({ voided: true }))
        close()
        break
      case "Planned":
        changeAll(({ ref: { position } }) => ({
          plan: record.refused.includes(position) ? "refused" : record.asked.includes(position) ? "asked" : "run",
          corrected: record.corrected?.find((found) => found.position === position)?.tool ?? null
        }))
        break
      case "Asked":
        for (const question of record.questions) change(question.ref, () => ({ question }))
        break
      case "Decided":
        changeAll(() => ({ decided: record }))
        break
      case "Intent":
        change(record.ref, ({ intent }) => ({ intent: intent ?? record }))
        break
      case "Settled":
        change(record.ref, () => ({ settled: record }))
        break
      default:
    }
  }
  close()
  return done
}

const untouched: Omit<RecordedCall, "ref" | "at" | "turn" | "call"> = {
  plan: null,
  corrected: null,
  question: null,
  decided: null,
  intent: null,
  settled: null,
  voided: false
}
