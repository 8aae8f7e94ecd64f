/**
 * Takes secrets out of what is stored, logged and sent to a model. Applied once, before data enters history.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Patterns from "./internal/secretPatterns.js"

/** Shorter values occur in ordinary text by chance. */
const minSecretLength = 16

/** JSON that is nested deeper than this is not looked through, and so not let through either. */
const maxDepth = 256

/** How much of an unfinished line, and of an unfinished key block, a stream holds back; UTF-16 code units. */
const maxHeldLine = 16_384
const maxHeldBlock = 65_536

/**
 * Where a stream of text stands: what is held back because a secret may not be complete yet.
 *
 * @since 0.1.0
 * @category models
 */
export interface StreamState {
  readonly held: string
}

/**
 * Takes secrets out. A secret becomes a marker such as `[redacted:github-token]`; what says that there is one (`Bearer`, the
 * name of a setting) stays. Redacting twice is the same as redacting once, and takes time in proportion to the text.
 *
 * @since 0.1.0
 * @category models
 */
export interface Redactor {
  readonly redact: (text: string) => string
  /**
   * Redacts each string of a JSON value, names of fields included. An object that is not plain is taken as JSON would see
   * it.
   */
  readonly redactJson: (value: unknown) => unknown
  /** Whether text holds a marker, so that writing it would destroy what the marker stands for. */
  readonly containsMarker: (text: string) => boolean
  /**
   * Takes the next piece of a stream and gives what can be shown: whole lines, key blocks only when complete. Begin with
   * `streamStart`.
   */
  readonly redactStreaming: (state: StreamState, chunk: string) => readonly [StreamState, string]
  /** What was held back at the end of a stream. */
  readonly endStreaming: (state: StreamState) => string
}

/**
 * The state before the first piece of a stream.
 *
 * @since 0.1.0
 * @category constructors
 */
export const streamStart: StreamState = { held: "" }

const markerPattern = /\[redacted:[a-z][a-z0-9-]*\]/
const marker = (name: string): string => `[redacted:${name}]`

const blockBegin = /-----BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----/g
const blockEnd = /^-----END (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----/
const keyMaterial = /[A-Za-z0-9+/]{24}/

/** What follows the beginning of a block that has no end: lines of base64, in whatever quotes and escapes. */
const blockLines = /(?:(?:\s|\\[nrt]|["',>|])+(?:[A-Za-z-]{1,20}: [^\n]{0,100}|[A-Za-z0-9+/=]{8,})){0,4096}/y

/** Private key blocks, whole, or as far as they look like one when the end is missing. */
const redactBlocks = (text: string): string => {
  if (!text.includes("-----BEGIN ")) {
    return text
  }
  let out = ""
  let index = 0
  for (const { 0: begin, index: from } of text.matchAll(blockBegin)) {
    if (from < index) {
      continue
    }
    const body = from + begin.length
    const dashes = text.indexOf("-----", body)
    const close = dashes < 0 ? null : blockEnd.exec(text.slice(dashes, dashes + 120))
    blockLines.lastIndex = body
    const until = close === null ? body + (blockLines.exec(text)?.[0].length ?? 0) : dashes + close[0].length
    if (keyMaterial.test(text.slice(body, close === null ? until : dashes))) {
      out += text.slice(index, from) + marker("private-key")
      index = until
    }
  }
  return out + text.slice(index)
}

/** A secret in the forms in which it turns up: as it is, in JSON, in a URL, and each long line of it. */
const formsOf = (secret: string): ReadonlyArray<string> =>
  [secret, ...secret.split(/\r?\n/).filter((line) => !line.startsWith("-----"))]
    .map((form) => form.trim())
    .filter((form) => form.length >= minSecretLength)
    .flatMap((
      form
    ) => [form, JSON.stringify(form).slice(1, -1), encodeURIComponent(form.replace(/\p{Surrogate}/gu, "\uFFFD"))])

const anyOf = (literals: ReadonlyArray<string>): RegExp | undefined =>
  literals.length === 0
    ? undefined
    : new RegExp(
      [...new Set(literals)]
        .sort((a, b) => b.length - a.length)
        .map((literal) => literal.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"))
        .join("|"),
      "g"
    )

const redactJson = (redact: (text: string) => string) => {
  const go = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") {
      return redact(value)
    }
    if (typeof value !== "object" || value === null) {
      return value
    }
    if (depth >= maxDepth) {
      return marker("too-deep")
    }
    if (Array.isArray(value)) {
      return value.map((item) => go(item, depth + 1))
    }
    if ("toJSON" in value && typeof value.toJSON === "function") {
      return go(value.toJSON(), depth + 1)
    }
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [redact(name), go(item, depth + 1)]))
  }
  return (value: unknown): unknown => go(value, 0)
}

/** Where what can be shown ends: after the last whole line, or word of a line that is too long, outside of key blocks. */
const safeEnd = (text: string): number => {
  const line = text.lastIndexOf("\n") + 1
  const word = Math.max(...[" ", ",", "\"", "'", ";"].map((separator) => text.lastIndexOf(separator))) + 1
  const whole = text.length - line <= maxHeldLine ? line : text.length - word <= maxHeldLine ? word : text.length
  const begin = text.lastIndexOf("-----BEGIN ")
  const end = text.indexOf("-----END ", Math.max(0, begin))
  const isOpen = begin >= 0 && (end < 0 || end >= whole)
  return isOpen && text.length - begin <= maxHeldBlock ? Math.min(whole, begin) : whole
}

/**
 * A redactor for the common formats of keys and tokens, private key blocks, JWTs, `Bearer` and `Basic` credentials, strong
 * passwords in URLs, and for the values given as `secrets` (those of sensitive environment variables), also where they stand
 * escaped in JSON or in a URL. Values shorter than 16 characters are left out.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: { readonly secrets?: ReadonlyArray<string> } = {}): Redactor => {
  const values = anyOf((options.secrets ?? []).flatMap(formsOf))
  const redact = (text: string): string => {
    const blocks = redactBlocks(text)
    const known = values === undefined ? blocks : blocks.replace(values, marker("secret"))
    return Patterns.replace(known, marker)
  }
  return {
    redact,
    redactJson: redactJson(redact),
    containsMarker: (text) => markerPattern.test(text),
    redactStreaming: (state, chunk) => {
      const text = state.held + chunk
      const end = safeEnd(text)
      return [{ held: text.slice(end) }, redact(text.slice(0, end))]
    },
    endStreaming: (state) => redact(state.held)
  }
}

/**
 * A redactor that finds more in a text or a value than another; streams are redacted as before.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withRedact = (redactor: Redactor, redact: Redactor["redact"]): Redactor => ({
  ...redactor,
  redact,
  redactJson: redactJson(redact)
})

/**
 * Knows the formats only, no values.
 *
 * @since 0.1.0
 * @category constructors
 */
export const patternsOnly: Redactor = make()

/**
 * The redactor in use. Default: `patternsOnly`, so that nothing has to be set up to be safe.
 *
 * @since 0.1.0
 * @category services
 */
export class Redaction extends Context.Reference<Redaction>()("@capstan/core/Redaction", {
  defaultValue: () => patternsOnly
}) {}

/**
 * The arguments of a call without secrets.
 *
 * @since 0.1.0
 * @category combinators
 */
export const redactRecord = (
  redactor: Redactor,
  record: Readonly<Record<string, unknown>>
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]) => [redactor.redact(name), redactor.redactJson(value)])
  )
