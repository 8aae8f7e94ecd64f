/**
 * Arguments of a tool call: from the text that a model wrote to an object, with every change named.
 *
 * @since 0.1.0
 */
import type * as JsonSchema from "@capstan/core/JsonSchema"
import type * as ToolCall from "@capstan/core/ToolCall"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { jsonrepair } from "jsonrepair"
import { isObject } from "./internal/jsonObject.js"
import { isUnreadable, maxDepth, rewrite } from "./internal/relaxedJson.js"

/**
 * Arguments as an object, with what was changed to read them. Nothing was changed when `repairs` is empty.
 *
 * @since 0.1.0
 * @category models
 */
export interface JsonArguments {
  readonly arguments: Readonly<Record<string, unknown>>
  readonly repairs: ReadonlyArray<ToolCall.Repair>
}

/**
 * What made a text unreadable: too long, nested too deeply, no JSON after all repairs, or JSON that is not an object.
 *
 * @since 0.1.0
 * @category errors
 */
export const ArgumentsErrorReason = Schema.Literal("too-long", "too-deep", "not-json", "not-an-object")

/**
 * What made a text unreadable.
 *
 * @since 0.1.0
 * @category errors
 */
export type ArgumentsErrorReason = typeof ArgumentsErrorReason.Type

/**
 * Text that cannot be read as arguments. `position` is an offset in UTF-16 units, `found` what stands there.
 *
 * @since 0.1.0
 * @category errors
 */
export class ArgumentsError
  extends Schema.TaggedError<ArgumentsError>("@capstan/dialect/ArgumentsError")("ArgumentsError", {
    reason: ArgumentsErrorReason,
    position: Schema.Number,
    found: Schema.String,
    message: Schema.String
  })
{}

/**
 * How text is read. `parameters` is the tool's JSON Schema: with it a parameter that is itself called `arguments` is
 * not taken for a wrapper. `maxLength` (default 4 MiB) is in UTF-16 units.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly parameters?: JsonSchema.JsonSchema
  readonly maxLength?: number
}

/** The library is asked last and only about short text: it needs quadratic time on some inputs. */
const maxLibraryLength = 8_192
const maxEncodings = 3

type Parsed = { readonly value: unknown; readonly repairs: ReadonlyArray<ToolCall.Repair> }

/**
 * Reads a tool call's arguments. Valid JSON is taken as it is; else text is repaired, in linear time. Nothing at all
 * means no arguments.
 *
 * @since 0.1.0
 * @category constructors
 */
export const parse = (text: string, options: Options = {}): Either.Either<JsonArguments, ArgumentsError> => {
  if (text.length > (options.maxLength ?? 4_194_304)) {
    return failure("too-long", 0, "", `The arguments are ${text.length} characters long. Send them in smaller pieces.`)
  }
  if (text.trim() === "") {
    return Either.right({
      arguments: {},
      repairs: text === ""
        ? [repair("empty", "no arguments were written")]
        : [repair("empty", "only white space was written")]
    })
  }
  return Either.flatMap(parseValue(text), (parsed) => fromValue(parsed, options))
}

/**
 * Reads any JSON value with the same repairs, for text that may be more than arguments.
 *
 * @since 0.1.0
 * @category constructors
 */
export const parseValue = (text: string): Either.Either<Parsed, ArgumentsError> => {
  const strict = strictly(text)
  if (strict !== undefined) return exceedsDepth(text) ? tooDeep(text) : Either.right(strict)
  const unfenced = withoutFence(text)
  const rewritten = rewrite(unfenced)
  const fence = unfenced === text ? [] : [repair("fence", "a code fence around the arguments was taken off")]
  if (!isUnreadable(rewritten)) {
    const parsed = strictly(rewritten.json)
    if (parsed !== undefined) return Either.right({ value: parsed.value, repairs: [...fence, ...rewritten.repairs] })
  }
  if (exceedsDepth(unfenced)) return tooDeep(unfenced)
  const mended = unfenced.length > maxLibraryLength ? undefined : byLibrary(unfenced)
  if (mended !== undefined) {
    return Either.right({
      value: mended.value,
      repairs: [...fence, repair("rebuilt", "broken JSON was rebuilt as far as its structure could be seen")]
    })
  }
  const place = isUnreadable(rewritten) ? rewritten : { position: 0, found: unfenced.slice(0, 20) }
  return failure(
    "not-json",
    place.position,
    place.found,
    `The arguments are not JSON: unexpected ${JSON.stringify(place.found)} at character ${place.position}.`
  )
}

/**
 * Makes an object of a value that was read already: text that holds JSON is read again, a wrapper around the
 * arguments is taken off.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromValue = (parsed: Parsed, options: Options = {}): Either.Either<JsonArguments, ArgumentsError> => {
  let { repairs, value } = parsed
  for (let encodings = 0; typeof value === "string" && encodings < maxEncodings; encodings++) {
    if (value.trim() === "") {
      return Either.right({ arguments: {}, repairs: [...repairs, repair("empty", "no arguments were written")] })
    }
    const inner = parseValue(value)
    if (Either.isLeft(inner)) return Either.left(inner.left)
    repairs = [
      ...repairs,
      repair("encoded-twice", "arguments that were JSON inside a text were read"),
      ...inner.right.repairs
    ]
    value = inner.right.value
  }
  if (value === null || value === undefined) {
    return Either.right({ arguments: {}, repairs: [...repairs, repair("empty", "null was read as no arguments")] })
  }
  if (!isObject(value)) {
    const found = (JSON.stringify(value) ?? "nothing").slice(0, 40)
    return failure("not-an-object", 0, found, `The arguments have to be a JSON object, not ${found}.`)
  }
  return unwrap(value, repairs, options)
}

const unwrap = (
  value: Readonly<Record<string, unknown>>,
  repairs: ReadonlyArray<ToolCall.Repair>,
  options: Options
): Either.Either<JsonArguments, ArgumentsError> => {
  const inner = wrapped(value, options)
  if (inner === undefined) return Either.right({ arguments: value, repairs })
  return Either.match(
    fromValue({
      value: inner,
      repairs: [...repairs, repair("wrapped-twice", "arguments inside a second wrapper were taken out")]
    }, options),
    {
      onLeft: () => Either.right({ arguments: value, repairs }),
      onRight: Either.right
    }
  )
}

const wrappers = ["arguments", "args", "parameters", "params", "kwargs", "input"]
const companions = ["name", "tool", "function", "type", "id", "tool_name", "function_name"]

const wrapped = (value: Readonly<Record<string, unknown>>, options: Options): unknown => {
  const keys = Object.keys(value)
  const wrapper = keys.find((key) => wrappers.includes(key))
  if (wrapper === undefined || keys.some((key) => key !== wrapper && !companions.includes(key))) return undefined
  const declared = options.parameters?.["properties"]
  if (isObject(declared) ? keys.some((key) => key in declared) : wrapper === "input") return undefined
  const inner = value[wrapper]
  return isObject(inner) || (typeof inner === "string" && inner.trimStart().startsWith("{")) ? inner : undefined
}

const repair = (kind: string, detail: string): ToolCall.Repair => ({ kind, detail })

const failure = (reason: ArgumentsErrorReason, position: number, found: string, message: string) =>
  Either.left(new ArgumentsError({ reason, position, found, message }))

const strictly = (text: string): Parsed | undefined => {
  try {
    return { value: JSON.parse(text), repairs: [] }
  } catch {
    return undefined
  }
}

const byLibrary = (text: string): Parsed | undefined => {
  try {
    return strictly(jsonrepair(text))
  } catch {
    return undefined
  }
}

const withoutFence = (text: string): string => {
  const trimmed = text.trim()
  if (!trimmed.startsWith("```")) return trimmed
  const line = trimmed.indexOf("\n")
  const inner = line < 0 ? trimmed.slice(3) : trimmed.slice(line + 1)
  return (inner.endsWith("```") ? inner.slice(0, -3) : inner).trim()
}

const tooDeep = (text: string) =>
  failure("too-deep", 0, text.slice(0, 20), `The arguments are nested deeper than ${maxDepth} levels.`)

/** Whether brackets outside of double quotes are nested too deeply. */
const exceedsDepth = (text: string): boolean => {
  let depth = 0
  let quoted = false
  for (let position = 0; position < text.length; position++) {
    const char = text.charCodeAt(position)
    if (quoted) {
      if (char === 92) position++
      else if (char === 34) quoted = false
    } else if (char === 34) quoted = true
    else if (char === 123 || char === 91) depth++
    else if (char === 125 || char === 93) depth--
    if (depth > maxDepth) return true
  }
  return false
}
