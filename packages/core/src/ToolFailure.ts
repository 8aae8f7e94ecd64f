/**
 * What goes wrong with a tool call, as values that a model reads. They are never in the error channel of the loop.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Finding, toLine } from "./Finding.js"

const failure = <Tag extends string, Details extends Schema.Struct.Fields>(tag: Tag, details: Details) =>
  Schema.TaggedStruct(tag, {
    message: Schema.String,
    suggestedFix: Schema.NullOr(Schema.String),
    details: Schema.Struct(details)
  })

/**
 * A tool call that did not succeed: what happened (`message`), what to do about it (`suggestedFix`) and the facts
 * (`details`). Code and advice belong to the tag, see `RetryAdvice.rules`.
 *
 * @since 0.1.0
 * @category models
 */
export const ToolFailure = Schema.Union(
  failure("Validation", { findings: Schema.Array(Finding) }),
  failure("UnknownTool", { name: Schema.String, closest: Schema.Array(Schema.String) }),
  failure("DuplicateCall", { first: Schema.Number }),
  failure("CutOff", {}),
  failure("Limit", { limit: Schema.String, value: Schema.Number }),
  failure("Disabled", {}),
  failure("Permission", {
    kind: Schema.Literal(
      "denied",
      "denylist",
      "trust",
      "not-allowed",
      "outside-sandbox",
      "denied-pattern",
      "read-only"
    ),
    attempted: Schema.NullOr(Schema.String),
    resolved: Schema.NullOr(Schema.String),
    pattern: Schema.NullOr(Schema.String)
  }),
  failure("StaleFile", { path: Schema.String }),
  failure("PatchFailed", { line: Schema.NullOr(Schema.Number) }),
  failure("NotFound", { what: Schema.String }),
  failure("Timeout", { elapsedMillis: Schema.Number }),
  failure("RateLimit", { retryAfterMillis: Schema.Number }),
  failure("Cancelled", {}),
  failure("Network", { url: Schema.String }),
  failure("ModelRefusal", {}),
  failure("Unknown", { started: Schema.Boolean }),
  failure("Repeated", { attempts: Schema.Number, original: Schema.String }),
  failure("Execution", { defect: Schema.Boolean })
)

/**
 * A tool call that did not succeed.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolFailure = typeof ToolFailure.Type

/**
 * Whether a value is a tool failure.
 *
 * @since 0.1.0
 * @category guards
 */
export const is = Schema.is(ToolFailure)

/**
 * Arguments that do not fit: one line per finding, and what was expected.
 *
 * @since 0.1.0
 * @category constructors
 */
export const validation = (
  tool: string,
  findings: ReadonlyArray<Finding>,
  suggestedFix: string | null
): ToolFailure => ({
  _tag: "Validation",
  message: `The arguments of ${tool} do not fit:\n${findings.map(toLine).join("\n")}`,
  suggestedFix,
  details: { findings }
})

/**
 * A handler that could not do what was asked.
 *
 * @since 0.1.0
 * @category constructors
 */
export const execution = (message: string, suggestedFix: string | null = null): ToolFailure => ({
  _tag: "Execution",
  message,
  suggestedFix,
  details: { defect: false }
})

/**
 * A handler that threw, which is a bug of the tool.
 *
 * @since 0.1.0
 * @category constructors
 */
export const panicked = (message: string): ToolFailure => ({
  _tag: "Execution",
  message: `Tool panicked: ${message}`,
  suggestedFix: "This is a fault of the tool. Do the step in another way.",
  details: { defect: true }
})

/**
 * Something that was asked for does not exist.
 *
 * @since 0.1.0
 * @category constructors
 */
export const notFound = (what: string, message: string, suggestedFix: string | null = null): ToolFailure => ({
  _tag: "NotFound",
  message,
  suggestedFix,
  details: { what }
})

/**
 * Something that may not be done. `attempted` and `resolved` are paths, where it is about one.
 *
 * @since 0.1.0
 * @category constructors
 */
export const permission = (options: {
  readonly kind: Extract<ToolFailure, { readonly _tag: "Permission" }>["details"]["kind"]
  readonly message: string
  readonly suggestedFix?: string
  readonly attempted?: string | undefined
  readonly resolved?: string | undefined
  readonly pattern?: string | undefined
}): ToolFailure => ({
  _tag: "Permission",
  message: options.message,
  suggestedFix: options.suggestedFix ?? null,
  details: {
    kind: options.kind,
    attempted: options.attempted ?? null,
    resolved: options.resolved ?? null,
    pattern: options.pattern ?? null
  }
})

/**
 * A call that the limit of the answer cut off.
 *
 * @since 0.1.0
 * @category constructors
 */
export const cutOff: ToolFailure = {
  _tag: "CutOff",
  message: "This call was cut off by the limit of the answer and did not run.",
  suggestedFix: "Send it again, smaller.",
  details: {}
}

/**
 * A limit that was reached.
 *
 * @since 0.1.0
 * @category constructors
 */
export const limit = (
  name: string,
  value: number,
  message: string,
  suggestedFix: string | null = null
): ToolFailure => ({
  _tag: "Limit",
  message,
  suggestedFix,
  details: { limit: name, value }
})

/**
 * The failure as the text that a model reads. A message that is a JSON object stays byte for byte as it is.
 *
 * @since 0.1.0
 * @category combinators
 */
export const toText = (failure: ToolFailure): string =>
  failure.suggestedFix === null || isJsonObject(failure.message)
    ? failure.message
    : `${failure.message}\n${failure.suggestedFix}`

/**
 * Whether a text is a JSON object: such a message of a handler reaches the model byte for byte.
 *
 * @since 0.1.0
 * @category guards
 */
export const isJsonObject = (text: string): boolean => {
  if (!text.trimStart().startsWith("{")) return false
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null
  } catch {
    return false
  }
}
