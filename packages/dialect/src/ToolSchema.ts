/**
 * A tool's parameters in the form that each wire wants, and arguments back from it.
 *
 * @since 0.1.0
 */
import type { JsonSchema } from "@capstan/core/JsonSchema"
import * as ParameterSchema from "@capstan/core/ParameterSchema"
import { isObject, type JsonObject } from "./internal/jsonObject.js"

/**
 * Parameters for a wire. `strict` says whether the service may be asked to enforce them; where it may not although
 * that was wanted, `reason` says why.
 *
 * @since 0.1.0
 * @category models
 */
export interface WireSchema {
  readonly parameters: JsonSchema
  readonly strict: boolean
  readonly reason?: string
}

/**
 * OpenAI's strict mode: objects closed, all properties required, optional ones nullable ({@link removeNulls} takes
 * those nulls out again), keywords that it refuses moved to the description. A schema that cannot be made strict
 * comes back non-strict, with the reason.
 *
 * @since 0.1.0
 * @category constructors
 */
export const openAiStrict = (schema: JsonSchema): WireSchema => {
  const plain = withoutRootAlternatives(ParameterSchema.clean(schema))
  const state: Strictness = { properties: 0, reason: undefined }
  const parameters = strictly(plain, state, 0, "")
  return state.reason === undefined && isObject(parameters)
    ? { parameters, strict: true }
    : { parameters: plain, strict: false, reason: state.reason ?? "the parameters are not an object" }
}

/**
 * For OpenAI-compatible servers and OpenAI without strict mode: references inlined, no alternatives at the root,
 * everything else as it was.
 *
 * @since 0.1.0
 * @category constructors
 */
export const compatible = (schema: JsonSchema): JsonSchema => withoutRootAlternatives(ParameterSchema.clean(schema))

/**
 * Anthropic's `input_schema`: references inlined, no alternatives at the root, objects closed that do not say that
 * they are open.
 *
 * @since 0.1.0
 * @category constructors
 */
export const anthropic = (schema: JsonSchema): JsonSchema => {
  const closed = close(compatible(schema))
  return isObject(closed) ? closed : { type: "object", properties: {}, additionalProperties: false }
}

/**
 * Takes out the nulls that strict mode made a model write for parameters that `schema` (the original one) does not
 * require. A null that the original allows stays.
 *
 * @since 0.1.0
 * @category combinators
 */
export const removeNulls = (args: JsonObject, schema: JsonSchema): JsonObject => {
  const plain = withoutRootAlternatives(ParameterSchema.clean(schema))
  const definitions = isObject(plain["$defs"]) ? plain["$defs"] : {}
  const result = pruned(args, plain, definitions)
  return isObject(result) ? result : args
}

const maxProperties = 5_000
const maxLevels = 10
const kept = new Set([
  "type",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "enum",
  "anyOf",
  "$ref",
  "$defs",
  "description",
  "pattern",
  "multipleOf",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minItems",
  "maxItems"
])
const formats = new Set(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"])
const structural = [
  "allOf",
  "not",
  "if",
  "then",
  "else",
  "patternProperties",
  "prefixItems",
  "dependentRequired",
  "dependentSchemas",
  "unevaluatedProperties",
  "contains"
]

interface Strictness {
  properties: number
  reason: string | undefined
}

const strictly = (node: unknown, state: Strictness, level: number, path: string): unknown => {
  if (state.reason !== undefined) return node
  const refuse = (reason: string) => {
    state.reason = `${path === "" ? "the parameters" : `"${path}"`} ${reason}`
    return node
  }
  if (!isObject(node)) return refuse("may be anything")
  if (level > maxLevels) return refuse(`are nested deeper than ${maxLevels} levels`)
  const blocking = structural.find((key) => key in node)
  if (blocking !== undefined) return refuse(`use "${blocking}"`)
  const named = "const" in node ? { ...without(node, ["const"]), enum: [node["const"]] } : node
  const alternatives = named["oneOf"] ?? named["anyOf"]
  const { moved, rest } = moveKeywords(without(named, ["oneOf", "anyOf"]))
  const result: { [key: string]: unknown } = {
    ...rest,
    ...(moved === "" ? {} : { description: described(rest["description"], moved) })
  }
  if (Array.isArray(alternatives)) {
    result["anyOf"] = alternatives.map((part) => strictly(part, state, level, path))
    return result
  }
  if ("$ref" in result) return result
  if (isObject(node["$defs"])) {
    result["$defs"] = Object.fromEntries(
      Object.entries(node["$defs"]).map(([name, part]) => [name, strictly(part, state, level + 1, name)])
    )
  }
  if (includesType(node, "object") || isObject(node["properties"])) {
    if (node["additionalProperties"] !== undefined && node["additionalProperties"] !== false) {
      return refuse("take properties of any name")
    }
    if (!isObject(node["properties"])) return refuse("do not say which properties they have")
    return { ...result, ...strictObject(node, node["properties"], state, level, path) }
  }
  if (includesType(node, "array")) {
    if (!isObject(node["items"])) return refuse("do not say what their items are")
    return { ...result, items: strictly(node["items"], state, level + 1, joined(path, "items")) }
  }
  return node["type"] === undefined && !Array.isArray(result["enum"]) ? refuse("may be anything") : result
}

const strictObject = (
  node: JsonObject,
  properties: JsonObject,
  state: Strictness,
  level: number,
  path: string
): JsonObject => {
  const required = Array.isArray(node["required"]) ? node["required"] : []
  const names = Object.keys(properties)
  state.properties += names.length
  if (state.properties > maxProperties) state.reason = `there are more than ${maxProperties} properties`
  return {
    type: node["type"] ?? "object",
    properties: Object.fromEntries(names.map((name) => {
      const property = strictly(properties[name], state, level + 1, joined(path, name))
      return [name, required.includes(name) ? property : nullable(property)]
    })),
    required: names,
    additionalProperties: false
  }
}

const nullable = (node: unknown): unknown => {
  if (!isObject(node) || (!("$ref" in node) && allowsNull(node, {}))) return node
  if (Array.isArray(node["anyOf"])) return { ...node, anyOf: [...node["anyOf"], { type: "null" }] }
  if (typeof node["type"] === "string" || Array.isArray(node["type"])) {
    const types = typeof node["type"] === "string" ? [node["type"]] : node["type"]
    return {
      ...node,
      type: [...types, "null"],
      ...(Array.isArray(node["enum"]) ? { enum: [...node["enum"], null] } : {})
    }
  }
  if (Array.isArray(node["enum"])) return { ...node, enum: [...node["enum"], null] }
  const { description, ...rest } = node
  return { anyOf: [rest, { type: "null" }], ...(description === undefined ? {} : { description }) }
}

const moveKeywords = (node: JsonObject): { readonly rest: JsonObject; readonly moved: string } => {
  const entries = Object.entries(node)
  const stays = ([key, value]: readonly [string, unknown]) =>
    kept.has(key) || (key === "format" && typeof value === "string" && formats.has(value))
  return {
    rest: Object.fromEntries(entries.filter(stays)),
    moved: entries.filter((entry) => !stays(entry)).map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(", ")
  }
}

const described = (description: unknown, moved: string): string =>
  typeof description === "string" && description !== "" ? `${description} (${moved})` : `(${moved})`

const joined = (path: string, name: string): string => path === "" ? name : `${path}.${name}`

const without = (node: JsonObject, keys: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(Object.entries(node).filter(([key]) => !keys.includes(key)))

const includesType = (node: JsonObject, type: string): boolean =>
  node["type"] === type || (Array.isArray(node["type"]) && node["type"].includes(type))

/** No service takes alternatives at the root: their properties are put together, what all require stays required. */
const withoutRootAlternatives = (schema: JsonSchema): JsonSchema => {
  const alternatives = schema["anyOf"] ?? schema["oneOf"]
  if (!Array.isArray(alternatives)) return schema
  const parts = [without(schema, ["anyOf", "oneOf"]), ...alternatives].filter(isObject).filter((part) =>
    isObject(part["properties"]) || part === schema
  )
  const properties: { [key: string]: unknown } = {}
  for (const part of parts) {
    for (const [name, property] of Object.entries(isObject(part["properties"]) ? part["properties"] : {})) {
      properties[name] = eitherOf(properties[name], property)
    }
  }
  const lists = alternatives.filter(isObject).map((part) => Array.isArray(part["required"]) ? part["required"] : [])
  const common = (lists[0] ?? []).filter((name) => lists.every((list) => list.includes(name)))
  const own = Array.isArray(schema["required"]) ? schema["required"] : []
  return {
    ...without(schema, ["anyOf", "oneOf"]),
    type: "object",
    properties,
    required: [...new Set([...own, ...common])]
  }
}

const eitherOf = (known: unknown, other: unknown): unknown => {
  if (known === undefined || JSON.stringify(known) === JSON.stringify(other)) return other
  if (
    isObject(known) && isObject(other) && Array.isArray(known["enum"]) && Array.isArray(other["enum"]) &&
    known["type"] === other["type"]
  ) {
    return { ...known, enum: [...new Set([...known["enum"], ...other["enum"]])] }
  }
  return { anyOf: [...(isObject(known) && Array.isArray(known["anyOf"]) ? known["anyOf"] : [known]), other] }
}

const close = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(close)
  if (!isObject(node)) return node
  const inner = (key: string, value: unknown): unknown => {
    if ((key === "properties" || key === "$defs") && isObject(value)) {
      return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, close(part)]))
    }
    return ["items", "anyOf", "oneOf", "prefixItems"].includes(key) ? close(value) : value
  }
  const result = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, inner(key, value)]))
  const isClosable = isObject(node["properties"]) && !("additionalProperties" in node) && !("patternProperties" in node)
  return isClosable ? { ...result, additionalProperties: false } : result
}

const definition = (node: unknown, definitions: JsonObject): unknown => {
  if (!isObject(node) || typeof node["$ref"] !== "string") return node
  const name = node["$ref"].replace(/^#\/\$defs\//, "").replaceAll("~1", "/").replaceAll("~0", "~")
  return definitions[name]
}

const allowsNull = (schema: unknown, definitions: JsonObject): boolean => {
  const node = definition(schema, definitions)
  if (!isObject(node)) return true
  const alternatives = node["anyOf"] ?? node["oneOf"]
  if (Array.isArray(alternatives)) return alternatives.some((part) => allowsNull(part, definitions))
  if (Array.isArray(node["enum"])) return node["enum"].includes(null)
  if ("const" in node) return node["const"] === null
  return "$ref" in node ? false : node["type"] === undefined || includesType(node, "null")
}

const pruned = (value: unknown, schema: unknown, definitions: JsonObject): unknown => {
  const node = definition(schema, definitions)
  if (!isObject(node)) return value
  const alternatives = node["anyOf"] ?? node["oneOf"]
  if (Array.isArray(alternatives)) {
    const fitting = alternatives.find((part) => fits(value, part, definitions))
    return fitting === undefined ? value : pruned(value, fitting, definitions)
  }
  if (Array.isArray(value)) {
    return isObject(node["items"])
      ? value.map((item) => pruned(item, node["items"], definitions))
      : value
  }
  const properties = node["properties"]
  if (!isObject(value) || !isObject(properties)) return value
  const required = Array.isArray(node["required"]) ? node["required"] : []
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      const property = properties[name]
      if (property === undefined) return [[name, inner]]
      if (inner === null && !required.includes(name) && !allowsNull(property, definitions)) return []
      return [[name, pruned(inner, property, definitions)]]
    })
  )
}

/** Whether an alternative could have produced a value: by kind, and for objects by their keys and literal values. */
const fits = (value: unknown, schema: unknown, definitions: JsonObject): boolean => {
  const node = definition(schema, definitions)
  if (!isObject(node)) return false
  if (Array.isArray(node["enum"])) return node["enum"].includes(value)
  if ("const" in node) return node["const"] === value
  if (Array.isArray(value)) return includesType(node, "array")
  if (!isObject(value)) return false
  const properties = node["properties"]
  if (!isObject(properties)) return false
  const literal = (part: unknown) => isObject(part) && (Array.isArray(part["enum"]) || "const" in part)
  const required = Array.isArray(node["required"]) ? node["required"] : []
  return Object.keys(value).every((key) => key in properties) && required.every((key) => key in value) &&
    Object.entries(properties).every(([key, part]) =>
      !literal(part) || !(key in value) || value[key] === null || fits(value[key], part, definitions)
    )
}
