/**
 * Whether the next request fits into a model's context, and what to do if it does not: shorten old results, let a summary stand
 * for old messages, or give up. Pure.
 *
 * @since 0.1.0
 */
import type { ContentPart } from "./Content.js"
import type { JournalRecord } from "./JournalRecord.js"
import type { AssistantPart, Message } from "./Message.js"
import { answerReserve, byteLength } from "./OutputLimit.js"

/**
 * How full a context is: the `bytes` of all messages, and what they were when a provider last `counted` the tokens of a request
 * and its answer (null: not yet).
 *
 * @since 0.1.0
 * @category models
 */
export interface Use {
  readonly bytes: number
  readonly counted: { readonly bytes: number; readonly tokens: number } | null
}

/**
 * A context without messages.
 *
 * @since 0.1.0
 * @category constructors
 */
export const empty: Use = { bytes: 0, counted: null }

/**
 * What there is to send: `overheadBytes` are those of instructions and tool definitions.
 *
 * @since 0.1.0
 * @category models
 */
export interface Load {
  readonly messages: ReadonlyArray<Message>
  readonly use: Use
  readonly overheadBytes: number
}

/**
 * The tokens of a request and its answer together (`window`), and the most that the model answers (null: unknown).
 *
 * @since 0.1.0
 * @category models
 */
export interface Room {
  readonly window: number
  readonly maxOutput: number | null
}

/**
 * What to do before the next request. `Shorten`: put these results (by wire id) away under handles; `Compact`: have all
 * messages but the last `kept` summarised; `Full`: nothing helps.
 *
 * @since 0.1.0
 * @category models
 */
export type Measure =
  | { readonly _tag: "Fits" }
  | { readonly _tag: "Shorten"; readonly ids: ReadonlyArray<string> }
  | { readonly _tag: "Compact"; readonly kept: number }
  | { readonly _tag: "Full" }

/** A result below this is not worth a handle, which takes about 150 bytes itself. */
const leastResultBytes = 1_024
const handleBytes = 150

/** Messages below this are not worth a summary. */
const leastSummarisedBytes = 1_024

/** An image is billed by its area, most services at about this much at most. */
const imageBytes = 6_400

/** Files other than texts are read page by page: their bytes say little, an eighth of them is a cautious guess. */
const fileShare = 1 / 8

/** Once there is no room, enough is made for a while: each change of old messages costs the provider's cache. */
const roomyShare = 3 / 4

/** Up to this share of the room the latest messages stay as they are when the others are summarised. */
const keptShare = 1 / 4

const bytesPerToken = 4
const mostBytesPerToken = 8

/**
 * How full the context is after one more record, given the messages before and after it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const follow = (
  use: Use,
  record: JournalRecord,
  before: ReadonlyArray<Message>,
  after: ReadonlyArray<Message>
): Use => {
  if (record._tag === "Shortened" || record._tag === "Compacted") return { ...use, bytes: bytesOf(after) }
  const bytes = before === after ? use.bytes : use.bytes + bytesOf(after.slice(before.length))
  if (record._tag === "Responded" && record.usage !== null) {
    return { bytes, counted: { bytes, tokens: record.usage.input + record.usage.output } }
  }
  return bytes === use.bytes ? use : { ...use, bytes }
}

/**
 * The tokens in use, by the last count and what came since at four bytes a token; null: no provider has counted yet.
 *
 * @since 0.1.0
 * @category combinators
 */
export const tokensInUse = ({ bytes, counted }: Use): number | null =>
  counted === null ? null : Math.max(0, counted.tokens + Math.ceil((bytes - counted.bytes) / bytesPerToken))

/**
 * An estimate of the tokens that `bytes` of messages take in a request: four bytes a token, corrected by what the provider
 * counted last. Never below what was counted for what is still there.
 *
 * @since 0.1.0
 * @category combinators
 */
export const estimate = (
  { overheadBytes, use: { counted } }: Omit<Load, "messages">,
  bytes: number
): number => {
  if (counted === null) return Math.ceil((overheadBytes + bytes) / bytesPerToken)
  const observed = (overheadBytes + counted.bytes) / Math.max(1, counted.tokens)
  const change = bytes - counted.bytes
  const each = Math.min(change > 0 ? bytesPerToken : mostBytesPerToken, Math.max(1, observed))
  return Math.max(0, counted.tokens + Math.ceil(change / each))
}

/**
 * The most tokens that a request may have: the window without the reserve for the answer and the margin.
 *
 * @since 0.1.0
 * @category combinators
 */
export const limitOf = ({ maxOutput, window }: Room): number => window - answerReserve(window, maxOutput)

/**
 * The first measure that helps: nothing if the request fits, else old results give way (unless they did `shortened` already),
 * else old messages do.
 *
 * @since 0.1.0
 * @category combinators
 */
export const decide = (load: Load, room: Room, options: { readonly shortened: boolean }): Measure => {
  const limit = limitOf(room)
  if (estimate(load, load.use.bytes) <= limit) return { _tag: "Fits" }
  const ids = options.shortened ? [] : shortenable(load, limit * roomyShare)
  if (ids.length > 0) return { _tag: "Shorten", ids }
  const kept = keptOf(load, limit, (limit + room.window) / 2)
  return kept === undefined ? { _tag: "Full" } : { _tag: "Compact", kept }
}

/** Results of the batch that the model has not seen yet are the last message; they stay. */
const shortenable = (load: Load, target: number): ReadonlyArray<string> => {
  const ids: Array<string> = []
  let bytes = load.use.bytes
  for (const message of load.messages.slice(0, -1)) {
    if (message.role !== "tool") continue
    const big = message.results
      .filter(({ content }) => content.every((part) => part.type === "text"))
      .map(({ content, id }) => ({ id, bytes: contentBytes(content) }))
      .filter(({ bytes }) => bytes > leastResultBytes)
      .sort((a, b) => b.bytes - a.bytes)
    for (const result of big) {
      if (estimate(load, bytes) <= target) return ids
      ids.push(result.id)
      bytes -= result.bytes - handleBytes
    }
  }
  return ids
}

/**
 * How many of the last messages stay: the latest step at least, more as long as they are small, and more still if the rest is
 * too much for the request that asks for the summary, which may take half of the reserve. Undefined: too little would be left
 * to summarise.
 */
const keptOf = (load: Load, limit: number, summaryLimit: number): number | undefined => {
  const { messages } = load
  const sizes = messages.map(messageBytes)
  const before = sizes.map(sumUpTo())
  const bytesFrom = (index: number) => load.use.bytes - (before[index] ?? 0)
  const starts = messages.flatMap(({ role }, index) => role === "tool" ? [] : [index])
  const last = starts.at(-1) ?? 0
  const small = starts.find((start) => bytesFrom(start) <= limit * bytesPerToken * keptShare) ?? last
  const cut = starts.findLast((start) => start <= small && estimate(load, before[start] ?? 0) <= summaryLimit) ?? 0
  return (before[cut] ?? 0) > summarisedAtLeast(messages, sizes, cut) ? messages.length - cut : undefined
}

/** Sums of all before each. */
const sumUpTo = () => {
  let sum = 0
  return (size: number): number => {
    sum += size
    return sum - size
  }
}

/** The user's latest message stays anyway. */
const summarisedAtLeast = (
  messages: ReadonlyArray<Message>,
  sizes: ReadonlyArray<number>,
  cut: number
): number => {
  const latest = messages.findLastIndex(({ role }) => role === "user")
  return leastSummarisedBytes + (latest < cut ? sizes[latest] ?? 0 : 0)
}

/**
 * The bytes of some messages as far as a model reads them; images and files by a guess.
 *
 * @since 0.1.0
 * @category combinators
 */
export const bytesOf = (messages: ReadonlyArray<Message>): number =>
  messages.reduce((sum, message) => sum + messageBytes(message), 0)

const messageBytes = (message: Message): number => {
  switch (message.role) {
    case "user":
      return contentBytes(message.content)
    case "assistant":
      return message.content.reduce((sum, part) => sum + assistantBytes(part), 0)
    case "tool":
      return message.results.reduce((sum, { content, name }) => sum + name.length + contentBytes(content), 0)
  }
}

const assistantBytes = (part: AssistantPart): number => {
  switch (part.type) {
    case "text":
      return byteLength(part.text)
    case "reasoning":
      return part.data.length
    case "tool-call":
      return part.name.length + byteLength(part.arguments)
  }
}

const contentBytes = (content: ReadonlyArray<ContentPart>): number =>
  content.reduce((sum, part) => sum + partBytes(part), 0)

const partBytes = (part: ContentPart): number => {
  switch (part.type) {
    case "text":
      return byteLength(part.text)
    case "image":
      return imageBytes
    case "file":
      return Math.ceil(part.data.length * 3 / 4 * (part.mediaType.startsWith("text/") ? 1 : fileShare))
  }
}
