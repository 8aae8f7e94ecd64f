/**
 * How well a tool is described to a model, and what is missing.
 *
 * @since 0.1.0
 */
import type { JsonSchema } from "@capstan/core/JsonSchema"
import type { ToolDefinition } from "@capstan/core/ModelProvider"
import { isObject } from "./internal/jsonObject.js"

/**
 * What a good description has: an `example` of a call, what happens in `edge-cases`, the `input-format` of each parameter,
 * `boundaries` (when not to use the tool, and what instead), and `parameter-names` that say what is meant.
 *
 * @since 0.1.0
 * @category models
 */
export type Criterion = "example" | "edge-cases" | "input-format" | "boundaries" | "parameter-names"

/**
 * How far a criterion is met (0 to 1), and what to add (null: nothing).
 *
 * @since 0.1.0
 * @category models
 */
export interface Mark {
  readonly criterion: Criterion
  readonly score: number
  readonly advice: string | null
}

/**
 * The marks of a description; `score` is their mean, 0 to 1.
 *
 * @since 0.1.0
 * @category models
 */
export interface Audit {
  readonly tool: string
  readonly score: number
  readonly marks: ReadonlyArray<Mark>
}

interface Parameter {
  readonly name: string
  readonly required: boolean
  readonly schema: ParameterSchema
}

interface ParameterSchema {
  readonly type?: unknown
  readonly description?: unknown
  readonly examples?: unknown
  readonly enum?: unknown
}

/**
 * Marks a description by its words and its schema.
 *
 * @since 0.1.0
 * @category constructors
 */
export const audit = (tool: ToolDefinition): Audit => {
  const parameters = parametersOf(tool.parameters)
  const marks = [
    example(tool, parameters),
    edgeCases(tool),
    inputFormat(parameters),
    boundaries(tool),
    parameterNames(parameters)
  ]
  return { tool: tool.name, score: mean(marks.map(({ score }) => score)), marks }
}

/**
 * The definition with what can be made from its schema added behind its own words: the format of its parameters, an example
 * of a call, and what is refused. Nothing is added where it is there already.
 *
 * @since 0.1.0
 * @category combinators
 */
export const enhance = (tool: ToolDefinition): ToolDefinition => {
  const parameters = parametersOf(tool.parameters)
  const lacking = new Set(audit(tool).marks.flatMap(({ criterion, score }) => score < 1 ? [criterion] : []))
  const additions = [
    ...(lacking.has("input-format") && parameters.length > 0
      ? [`Parameters: ${parameters.map(shape).join("; ")}.`]
      : []),
    ...(lacking.has("edge-cases") ? ["If a parameter is missing or unknown, the call fails and nothing happens."] : []),
    ...(lacking.has("example") ? [`Example: ${JSON.stringify(exampleOf(parameters))}`] : [])
  ]
  return additions.length === 0
    ? tool
    : { ...tool, description: [tool.description, ...additions].filter((text) => text !== "").join("\n") }
}

const example = ({ description }: ToolDefinition, parameters: ReadonlyArray<Parameter>): Mark => {
  const inWords = /\be\.g\.|\bexamples?\b|\{\s*"/i.test(description)
  const needed = parameters.filter(({ required }) => required)
  const shown = needed.filter(({ schema }) => schema.examples !== undefined || schema.enum !== undefined)
  const score = inWords || parameters.length === 0 ? 1 : needed.length === 0 ? 0 : 0.5 * shown.length / needed.length
  return mark("example", score, "Add an example of a call, as a JSON object.")
}

const condition =
  /\b(?:if|when|unless|otherwise|once|without|more than|longer than|larger than|above|beyond|at most)\b/i
const trouble =
  /\b(?:fails?|errors?|refus\w+|missing|exists?|empty|large|larger|long|binary|not found|limits?|truncated|cut|times? out|unreadable|denied|unknown|already)\b/i

const edgeCases = ({ description }: ToolDefinition): Mark => {
  const found = sentences(description).filter((sentence) => condition.test(sentence) && trouble.test(sentence)).length
  return mark(
    "edge-cases",
    Math.min(1, found / 2),
    "Say what happens when something is missing, too large or not allowed."
  )
}

const inputFormat = (parameters: ReadonlyArray<Parameter>): Mark => {
  const bare = parameters.filter(({ schema }) =>
    typeof schema.description !== "string" || schema.description.length < 12
  )
  const score = parameters.length === 0 ? 1 : 1 - bare.length / parameters.length
  return mark("input-format", score, `Describe the format of ${bare.map(({ name }) => name).join(", ")}.`)
}

const limits =
  /\b(?:do not|don't|never|not for|instead|rather than|only for|use \w+ (?:to|for|when|if)|for \w[\w -]* use|prefer)\b/i

const boundaries = ({ description }: ToolDefinition): Mark =>
  mark(
    "boundaries",
    sentences(description).some((sentence) => limits.test(sentence)) ? 1 : 0,
    "Say when not to use it, and what to use instead."
  )

const vague = new Set(
  [
    "arg",
    "args",
    "data",
    "input",
    "item",
    "obj",
    "object",
    "param",
    "params",
    "stuff",
    "thing",
    "val",
    "value",
    "x",
    "y"
  ]
)

const parameterNames = (parameters: ReadonlyArray<Parameter>): Mark => {
  const unclear = parameters.filter(({ name }) => name.length < 3 || vague.has(name.toLowerCase()))
  const score = parameters.length === 0 ? 1 : 1 - unclear.length / parameters.length
  return mark(
    "parameter-names",
    score,
    `Rename ${unclear.map(({ name }) => name).join(", ")} to what is meant, such as "path" or "user_id".`
  )
}

const mark = (criterion: Criterion, score: number, advice: string): Mark => ({
  criterion,
  score,
  advice: score >= 1 ? null : advice
})

const mean = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

const sentences = (text: string): ReadonlyArray<string> => text.split(/(?<=[.!?:;])\s+|\n+/)

const parametersOf = (schema: JsonSchema): ReadonlyArray<Parameter> => {
  const { properties, required } = schema
  if (!isObject(properties)) return []
  const names = Array.isArray(required) ? required : []
  return Object.entries(properties).map(([name, value]) => ({
    name,
    required: names.includes(name),
    schema: isObject(value) ? value : {}
  }))
}

const shape = ({ name, required, schema }: Parameter): string =>
  `${name} (${typeof schema.type === "string" ? schema.type : "any"}${required ? ", required" : ""})${
    typeof schema.description === "string" ? ` ${schema.description.replace(/\.$/, "")}` : ""
  }`

const exampleOf = (parameters: ReadonlyArray<Parameter>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    parameters.filter(({ required }) => required).map(({ name, schema }) => [name, valueOf(name, schema)])
  )

const valueOf = (name: string, schema: ParameterSchema): unknown => {
  const [given] = [schema.examples, schema.enum].flatMap((values) => Array.isArray(values) ? values : [])
  if (given !== undefined) return given
  switch (schema.type) {
    case "number":
    case "integer":
      return 1
    case "boolean":
      return true
    case "array":
      return []
    case "object":
      return {}
    default:
      return `<${name}>`
  }
}
