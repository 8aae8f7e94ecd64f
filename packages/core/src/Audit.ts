/**
 * Who let which call run, and what came of it: a projection of the journal without contents, and an export of it that shows
 * whether it was changed.
 *
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { JournalRow } from "./Journal.js"
import { byteLength } from "./OutputLimit.js"
import * as RecordedCall from "./RecordedCall.js"
import { rules } from "./RetryAdvice.js"
import { keyOf } from "./ToolCall.js"

/**
 * The version of the export lines that this package writes.
 *
 * @since 0.1.0
 * @category models
 */
export const version = 1

/**
 * A hash in lower-case hex. Give a keyed one (`Journal`'s `fingerprint`): without its key nobody can change an export so that
 * it still holds, or guess contents by their hashes.
 *
 * @since 0.1.0
 * @category models
 */
export type Digest = (text: string) => string

/**
 * One argument of a call, without its content: `bytes` and `hash` are of its JSON text. A name that cannot be one of a
 * parameter is content, too, and shows as `#` and the beginning of its hash.
 *
 * @since 0.1.0
 * @category models
 */
export const Argument = Schema.Struct({
  name: Schema.String,
  type: Schema.Literal("string", "number", "boolean", "null", "array", "object"),
  bytes: Schema.Number,
  hash: Schema.String
})

/**
 * One argument of a call, without its content.
 *
 * @since 0.1.0
 * @category models
 */
export type Argument = typeof Argument.Type

/**
 * Who decided about a call: nobody had to be asked (`auto`), rules and limits (`policy`), somebody who was asked (`person`), or
 * somebody in another process (`process`).
 *
 * @since 0.1.0
 * @category models
 */
export const Maker = Schema.Literal("auto", "policy", "person", "process")

/**
 * Who decided about a call.
 *
 * @since 0.1.0
 * @category models
 */
export type Maker = typeof Maker.Type

/**
 * One call. `time` is when it was received (ISO 8601), `call` its key (`turn.iteration.position`), `argumentsHash` that of the
 * arguments as they were asked about or ran, before secrets were taken out (null: they never got that far). `decision` is
 * `none` where nothing was decided: a response that broke off, a call that still waits or was cancelled before. `maker` says
 * what kind of decider it was, `by` their own name for themselves. `success` is null as long as there is no result.
 *
 * @since 0.1.0
 * @category models
 */
export const AuditCall = Schema.Struct({
  session: Schema.String,
  call: Schema.String,
  time: Schema.String,
  provider: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  user: Schema.NullOr(Schema.String),
  tool: Schema.String,
  arguments: Schema.Array(Argument),
  argumentsHash: Schema.NullOr(Schema.String),
  decision: Schema.Literal("allowed", "approved", "edited", "denied", "refused", "none"),
  maker: Schema.NullOr(Maker),
  by: Schema.NullOr(Schema.String),
  outcome: Schema.NullOr(
    Schema.Literal("Succeeded", "Failed", "Refused", "Denied", "Cancelled", "TimedOut", "Unknown", "Voided")
  ),
  success: Schema.NullOr(Schema.Boolean),
  durationMillis: Schema.NullOr(Schema.Number),
  errorCode: Schema.NullOr(Schema.String)
})

/**
 * One call.
 *
 * @since 0.1.0
 * @category models
 */
export type AuditCall = typeof AuditCall.Type

/**
 * A line of an export. The first one states the version, the time of the export (ISO 8601) and `key`, by which the digest that
 * it was made with is recognised; the last one the number of calls and the hash of the line before (`head`). `line` counts
 * from 0. On the line itself a field `hash` follows, over the line and the hash of the line before.
 *
 * @since 0.1.0
 * @category models
 */
export const ExportLine = Schema.Union(
  Schema.Struct({
    line: Schema.Number,
    type: Schema.Literal("begin"),
    version: Schema.Number,
    time: Schema.String,
    key: Schema.String
  }),
  Schema.Struct({ line: Schema.Number, type: Schema.Literal("call"), ...AuditCall.fields }),
  Schema.Struct({ line: Schema.Number, type: Schema.Literal("end"), calls: Schema.Number, head: Schema.String })
)

/**
 * A line of an export.
 *
 * @since 0.1.0
 * @category models
 */
export type ExportLine = typeof ExportLine.Type

/**
 * A place where an export is not what was written; `line` counts from 0. `changed`: the line does not say what was written;
 * `missing`: lines are gone before this one; `moved`: it stands in the wrong place; `cut-off`: the end is gone from this line
 * on; `added`: it comes after the end; `newer`: it was written by a newer version; `key`: it was made with another key.
 *
 * @since 0.1.0
 * @category models
 */
export interface Break {
  readonly kind: "changed" | "missing" | "moved" | "cut-off" | "added" | "newer" | "key"
  readonly line: number
}

/**
 * Every call of a session, also those that were denied, refused or cut off; takes the rows from the first on.
 *
 * @since 0.1.0
 * @category constructors
 */
export const calls = (options: {
  readonly session: string
  readonly rows: ReadonlyArray<JournalRow>
  readonly digest: Digest
}): ReadonlyArray<AuditCall> =>
  RecordedCall.fromRows(options.rows).map((recorded): AuditCall => ({
    session: options.session,
    call: keyOf(recorded.ref),
    time: isoOf(recorded.at),
    provider: recorded.turn?.provider ?? null,
    model: recorded.turn?.model ?? null,
    user: recorded.turn?.user ?? null,
    tool: nameOf(RecordedCall.toolOf(recorded), options.digest),
    arguments: argumentsOf(recorded, options.digest),
    argumentsHash: hashOf(recorded.intent?.argumentsHash ?? recorded.question?.argumentsHash, options.digest),
    ...decisionOf(recorded),
    ...outcomeOf(recorded)
  }))

const isoOf = (millis: number): string => DateTime.formatIso(DateTime.unsafeMake(millis))

/** A journal in memory has texts where others have hashes. */
const hashOf = (hash: string | undefined, digest: Digest): string | null =>
  hash === undefined ? null : /^[0-9a-f]{32,}$/.test(hash) ? hash : digest(hash)

const argumentsOf = ({ call, intent }: RecordedCall.RecordedCall, digest: Digest): ReadonlyArray<Argument> => {
  const args = intent?.edited ?? call.arguments
  return args === null
    ? [{ name: "(unreadable)", type: "string", bytes: byteLength(call.raw), hash: digest(call.raw) }]
    : Object.entries(args).map(([name, value]) => {
      const json = JSON.stringify(value)
      return { name: nameOf(name, digest), type: typeOf(value), bytes: byteLength(json), hash: digest(json) }
    })
}

const nameOf = (name: string, digest: Digest): string =>
  /^[\w.:-]{1,64}$/.test(name) ? name : `#${digest(name).slice(0, 16)}`

const typeOf = (value: unknown): Argument["type"] => {
  if (value === null || value === undefined) return "null"
  if (Array.isArray(value)) return "array"
  if (typeof value === "string") return "string"
  if (typeof value === "number") return "number"
  return typeof value === "boolean" ? "boolean" : "object"
}

const decisionOf = (recorded: RecordedCall.RecordedCall): Pick<AuditCall, "decision" | "maker" | "by"> => {
  const { plan, settled } = recorded
  if (plan === "refused") return { decision: "refused", maker: "policy", by: null }
  const ruling = RecordedCall.ruling(recorded)
  if (ruling !== undefined) {
    return { decision: decisions[ruling.answer._tag], maker: makerOf(ruling.by), by: ruling.by }
  }
  if (plan === "run") return { decision: "allowed", maker: "auto", by: null }
  return settled?.outcome._tag === "Refused"
    ? { decision: "refused", maker: "policy", by: null }
    : { decision: "none", maker: null, by: null }
}

const decisions = { Approve: "approved", Always: "approved", Edit: "edited", Deny: "denied" } as const

/**
 * What kind of decider calls itself so: `policy`, and flags such as `--yes`, are rules; `queue`, and `process:<name>`, answered
 * from another process; everybody else is a person.
 *
 * @since 0.1.0
 * @category combinators
 */
export const makerOf = (by: string): Maker => {
  if (by === "policy" || by.startsWith("--")) return "policy"
  return by === "queue" || by.startsWith("process:") ? "process" : "person"
}

const outcomeOf = (
  { settled, voided }: RecordedCall.RecordedCall
): Pick<AuditCall, "outcome" | "success" | "durationMillis" | "errorCode"> => {
  if (settled === null) {
    return { outcome: voided ? "Voided" : null, success: voided ? false : null, durationMillis: null, errorCode: null }
  }
  const { durationMillis, outcome } = settled
  return {
    outcome: outcome._tag,
    success: outcome._tag === "Succeeded",
    durationMillis,
    errorCode: outcome._tag === "Succeeded" ? null : rules[outcome.failure._tag].code
  }
}

/**
 * The lines of an export (JSON each, without line ends), one for each call between the first and the last. `at` in
 * milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category constructors
 */
export const toLines = (options: {
  readonly calls: ReadonlyArray<AuditCall>
  readonly at: number
  readonly digest: Digest
}): ReadonlyArray<string> => {
  const { digest } = options
  let head = genesis
  const chained = (line: ExportLine): string => {
    const body = JSON.stringify(encodeLine(line)).slice(0, -1)
    head = digest(`${head}\n${body}`)
    return `${body},"hash":"${head}"}`
  }
  return [
    chained({ line: 0, type: "begin", version, time: isoOf(options.at), key: keyId(digest) }),
    ...options.calls.map((call, index) => chained({ line: index + 1, type: "call", ...call })),
    chained({ line: options.calls.length + 1, type: "end", calls: options.calls.length, head })
  ]
}

const genesis = "capstan audit"
const keyId = (digest: Digest): string => digest(`${genesis} key`).slice(0, 16)
const encodeLine = Schema.encodeSync(ExportLine)

/**
 * Every place where an export is not what {@link toLines} wrote with this digest: none if it is intact. Takes the lines
 * without their ends.
 *
 * @since 0.1.0
 * @category combinators
 */
export const verifyExport = (options: {
  readonly lines: ReadonlyArray<string>
  readonly digest: Digest
}): ReadonlyArray<Break> => {
  const { digest, lines } = options
  const first = read(lines[0] ?? "")
  if (first !== undefined && isNewer(first.value)) return [{ kind: "newer", line: 0 }]
  const begin = first === undefined ? undefined : decode(first.value)
  if (begin?.type === "begin" && begin.key !== keyId(digest)) return [{ kind: "key", line: 0 }]

  const breaks: Array<Break> = []
  let previous: string | undefined = genesis
  let expected = 0
  let ended = false
  lines.forEach((text, line) => {
    const found = read(text)
    const content = found === undefined ? undefined : decode(found.value)
    if (ended) {
      breaks.push({ kind: "added", line })
    } else if (found === undefined || content === undefined) {
      breaks.push({ kind: "changed", line })
      previous = found?.hash
      expected += 1
    } else if (content.line < expected) {
      breaks.push({ kind: "moved", line })
    } else {
      if (content.line > expected) breaks.push({ kind: "missing", line })
      else if (previous !== undefined && digest(`${previous}\n${found.body}`) !== found.hash) {
        breaks.push({ kind: "changed", line })
      }
      ended = content.type === "end"
      previous = found.hash
      expected = content.line + 1
    }
  })
  return ended ? breaks : [...breaks, { kind: "cut-off", line: lines.length }]
}

const decodeLine = Schema.decodeUnknownEither(ExportLine)
const decode = (value: unknown): ExportLine | undefined => Either.getOrUndefined(decodeLine(value))
const isNewer = Schema.is(
  Schema.Struct({ type: Schema.Literal("begin"), version: Schema.Number.pipe(Schema.greaterThan(version)) })
)

const read = (text: string): { readonly body: string; readonly hash: string; readonly value: unknown } | undefined => {
  const [, body, hash] = /^(\{.*),"hash":"([0-9a-f]+)"\}$/.exec(text) ?? []
  if (body === undefined || hash === undefined) return undefined
  try {
    return { body, hash, value: JSON.parse(text) }
  } catch {
    return undefined
  }
}
