/**
 * The messages that a model is sent, built from what the journal says of responses and results.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Content from "./Content.js"
import type { JournalRecord, ResponsePart } from "./JournalRecord.js"
import type { AssistantPart, Message, ToolResultPart } from "./Message.js"
import type { Outcome } from "./Outcome.js"
import type { CallRef, ToolCall } from "./ToolCall.js"
import * as ToolFailure from "./ToolFailure.js"

/**
 * A call of a response as far as messages need it.
 *
 * @since 0.1.0
 * @category models
 */
export interface SaidCall {
  readonly ref: CallRef
  readonly call: ToolCall
  readonly settled: { readonly outcome: Outcome; readonly note: string | null } | null
}

/**
 * What a model reads of an outcome; never nothing, since an empty result is not valid everywhere.
 *
 * @since 0.1.0
 * @category combinators
 */
export const contentOf = (outcome: Outcome): ReadonlyArray<Content.ContentPart> => {
  if (outcome._tag !== "Succeeded") return [Content.text(ToolFailure.toText(outcome.failure))]
  const said = outcome.content.filter((part) => part.type !== "text" || part.text !== "")
  return said.length === 0 ? [Content.text("(no output)")] : said
}

/**
 * The parts of a response in the form that providers take, its calls under ids that are legal and unique in the session
 * (`taken`).
 *
 * @since 0.1.0
 * @category constructors
 */
export const assistantParts = (
  parts: ReadonlyArray<ResponsePart>,
  calls: ReadonlyArray<SaidCall>,
  taken: HashMap.HashMap<string, CallRef>
) => {
  let wireIds = taken
  const out: Array<AssistantPart> = []
  for (const part of parts) {
    if (part.type !== "call") {
      out.push(part)
      continue
    }
    const found = calls.find((call) => call.ref.position === part.position)
    if (found === undefined) continue
    const id = wireId(found, wireIds)
    wireIds = HashMap.set(wireIds, id, found.ref)
    out.push({ type: "tool-call", id, name: found.call.name, arguments: argumentsText(found.call) })
  }
  return { parts: out, wireIds }
}

const wireId = ({ call, ref }: SaidCall, taken: HashMap.HashMap<string, CallRef>): string =>
  /^[a-zA-Z0-9_-]{1,40}$/.test(call.id) && !HashMap.has(taken, call.id)
    ? call.id
    : fresh(`call_${ref.turn}_${ref.iteration}_${ref.position}`, taken)

const fresh = (id: string, taken: HashMap.HashMap<string, CallRef>): string =>
  HashMap.has(taken, id) ? fresh(`${id}_`, taken) : id

const argumentsText = (call: ToolCall): string => {
  if (call.arguments === null) return "{}"
  return call.repairs.length === 0 && call.raw.trim() !== "" ? call.raw : JSON.stringify(call.arguments)
}

/**
 * The results of a batch, each under the id of its call in the message before, in call order. `discarded`: the user threw
 * them away after a crash.
 *
 * @since 0.1.0
 * @category constructors
 */
export const results = (options: {
  readonly message: Message | undefined
  readonly calls: ReadonlyArray<SaidCall>
  readonly discarded: boolean
}): ReadonlyArray<ToolResultPart> => {
  const { calls, discarded, message } = options
  const parts = message?.role === "assistant" ? message.content.filter((part) => part.type === "tool-call") : []
  return calls.flatMap((call, i) => {
    const part = parts[i]
    return part === undefined
      ? []
      : [{ type: "tool-result", id: part.id, name: part.name, ...resultOf(call, discarded) }]
  })
}

const resultOf = ({ settled }: SaidCall, discarded: boolean): Pick<ToolResultPart, "content" | "isError"> => {
  if (settled === null) return { content: [], isError: true }
  const note = [
    ...(settled.note === null ? [] : [settled.note]),
    ...(discarded
      ? ["The user discarded the results of this batch after a crash; treat this call as failed."]
      : [])
  ]
  return {
    content: [...contentOf(settled.outcome), ...note.map(Content.text)],
    isError: discarded || settled.outcome._tag !== "Succeeded"
  }
}

/**
 * The messages after old results gave way to their handles.
 *
 * @since 0.1.0
 * @category combinators
 */
export const shorten = (
  messages: ReadonlyArray<Message>,
  { results }: Extract<JournalRecord, { readonly _tag: "Shortened" }>
): ReadonlyArray<Message> => {
  const handles = new Map(results.map((result) => [result.id, result]))
  return messages.map((message) =>
    message.role !== "tool" || !message.results.some(({ id }) => handles.has(id)) ? message : {
      ...message,
      results: message.results.map((result) => {
        const stored = handles.get(result.id)
        return stored === undefined ? result : {
          ...result,
          content: [Content.text(
            `[This result of ${stored.bytes} bytes was taken out to make room. read_file reads it again as "${stored.handle}".]`
          )]
        }
      })
    }
  )
}

/**
 * The messages after a summary took the place of all but the last `kept`. The user's latest message stays word for word.
 *
 * @since 0.1.0
 * @category combinators
 */
export const compact = (
  messages: ReadonlyArray<Message>,
  { kept, summary }: Pick<Extract<JournalRecord, { readonly _tag: "Compacted" }>, "kept" | "summary">
): ReadonlyArray<Message> => {
  const cut = messages.length - kept
  const latest = messages.findLastIndex(({ role }) => role === "user")
  return [
    {
      role: "user",
      content: [Content.text(
        `[Earlier messages of this conversation were taken out to make room. This is a summary of them:]\n${summary}`
      )]
    },
    ...messages.slice(latest, latest < cut ? latest + 1 : latest),
    ...messages.slice(cut)
  ]
}
