/**
 * The parameters of a tool as a JSON Schema that is short and free of references, made from an Effect Schema or from
 * a schema that somebody else wrote.
 *
 * @since 0.1.0
 */
import * as JSONSchema from "effect/JSONSchema"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import type { JsonSchema } from "./JsonSchema.js"

const mapsOfSchemas = ["properties", "patternProperties", "dependentSchemas"]
const schemas = [
  "items",
  "additionalProperties",
  "unevaluatedProperties",
  "unevaluatedItems",
  "contains",
  "propertyNames",
  "not",
  "if",
  "then",
  "else"
]
const listsOfSchemas = ["anyOf", "oneOf", "allOf", "prefixItems"]
const noise = ["$schema", "$id", "$comment", "title", "$defs", "definitions"]

/** References are inlined until a schema has grown to this many nodes; what is left keeps them. */
const maxNodes = 2_000
/** References inside of so many others are not inlined. */
const maxInlined = 32
/** What is nested more deeply than this may be anything. */
const maxLevels = 128

const isSchema = (value: unknown): value is JsonSchema => Predicate.isRecord(value) && !Array.isArray(value)

/**
 * The JSON Schema (2020-12) of what a model has to write for `schema`: its encoded side, closed objects, references
 * inlined, without titles and ids. A recursive type stays a reference into `$defs`. The result is always of type
 * `object`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromSchema = <A, I, R>(schema: Schema.Schema<A, I, R>): JsonSchema => clean({ ...JSONSchema.make(schema) })

/**
 * The same schema with local references inlined and without titles, ids and comments. Types that contain themselves
 * stay references into `$defs`; references that cannot be resolved stay as they are.
 *
 * @since 0.1.0
 * @category combinators
 */
export const clean = (schema: JsonSchema): JsonSchema => {
  const definitions = definitionsOf(schema)
  const recursive = recursiveNames(definitions)
  const used = new Set<string>()
  let nodes = 0
  let level = 0

  const visit = (node: unknown): unknown => {
    if (!isSchema(node)) return node
    if (level > maxLevels) return {}
    nodes++
    level++
    const result = resolved(node)
    level--
    return result
  }

  const resolved = (node: JsonSchema): unknown => {
    const reference = referenceOf(node)
    if (reference === undefined || !definitions.has(reference)) return flatten(convert(node))
    const { $ref: _, ...siblings } = node
    if (recursive.has(reference) || nodes > maxNodes || level > maxInlined) {
      used.add(reference)
      return flatten({ ...convert(siblings), $ref: `#/$defs/${escapePointer(reference)}` })
    }
    const target = visit(definitions.get(reference))
    return flatten(isSchema(target) ? { ...target, ...convert(siblings) } : convert(siblings))
  }

  const convert = (node: JsonSchema): JsonSchema => {
    const result: { [key: string]: unknown } = {}
    for (const [key, value] of Object.entries(tuple(node))) {
      if (noise.includes(key) || isNoise(key, value)) continue
      if (mapsOfSchemas.includes(key) && isSchema(value)) {
        result[key] = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, visit(member)]))
      } else if (schemas.includes(key)) {
        result[key] = visit(value)
      } else if (listsOfSchemas.includes(key) && Array.isArray(value)) {
        result[key] = value.map(visit)
      } else {
        result[key] = value
      }
    }
    return result
  }

  const rootReference = referenceOf(schema)
  const rootTarget = rootReference === undefined ? undefined : definitions.get(rootReference)
  const root = isSchema(rootTarget) ? flatten(convert(rootTarget)) : visit(schema)
  const kept: { [key: string]: unknown } = {}
  for (const name of used) {
    const target = definitions.get(name)
    kept[name] = isSchema(target) ? flatten(convert(target)) : target
  }
  const object = asObject(isSchema(root) ? root : {})
  return used.size === 0 ? object : { ...object, $defs: kept }
}

const definitionsOf = (schema: JsonSchema): ReadonlyMap<string, unknown> =>
  new Map([schema["definitions"], schema["$defs"]].flatMap((part) => isSchema(part) ? Object.entries(part) : []))

const escapePointer = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1")

const referenceOf = (node: unknown): string | undefined => {
  if (!isSchema(node) || typeof node["$ref"] !== "string") return undefined
  const name = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(node["$ref"])?.[1]
  return name?.replaceAll("~1", "/").replaceAll("~0", "~")
}

const references = (root: unknown): ReadonlySet<string> => {
  const found = new Set<string>()
  const open: Array<unknown> = [root]
  while (open.length > 0) {
    const node = open.pop()
    const reference = referenceOf(node)
    if (reference !== undefined) found.add(reference)
    if (typeof node === "object" && node !== null) { for (const member of Object.values(node)) open.push(member) }
  }
  return found
}

const recursiveNames = (definitions: ReadonlyMap<string, unknown>): ReadonlySet<string> => {
  const direct = new Map([...definitions].map(([name, node]) => [name, references(node)]))
  const reaches = (start: string): boolean => {
    const seen = new Set<string>()
    const open = [...(direct.get(start) ?? [])]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (next === start) return true
      if (seen.has(next)) continue
      seen.add(next)
      open.push(...(direct.get(next) ?? []))
    }
    return false
  }
  return new Set([...direct.keys()].filter(reaches))
}

const flatten = (node: JsonSchema): JsonSchema => {
  const parts = node["allOf"]
  if (!Array.isArray(parts) || !parts.every(isSchema)) return node
  const { allOf: _, ...rest } = node
  const merged: { [key: string]: unknown } = {}
  for (const part of parts) {
    for (const [key, value] of Object.entries(part)) {
      if (key in merged && JSON.stringify(merged[key]) !== JSON.stringify(value)) return node
      merged[key] = value
    }
  }
  return { ...merged, ...rest }
}

const tuple = (node: JsonSchema): JsonSchema => {
  if (!Array.isArray(node["items"])) return node
  const { additionalItems, items, ...rest } = node
  return { ...rest, prefixItems: items, ...(additionalItems === undefined ? {} : { items: additionalItems }) }
}

const builtInDescription =
  /^(an integer|a non empty string|a (positive|negative|non-negative|non-positive) number|a number (between|greater than|less than) [^.]{0,60})$/

const isNoise = (key: string, value: unknown): boolean =>
  (key === "description" && typeof value === "string" && builtInDescription.test(value)) ||
  (key === "required" && Array.isArray(value) && value.length === 0)

const asObject = (root: JsonSchema): JsonSchema => {
  if (root["type"] === "object") {
    return isSchema(root["properties"]) || root["additionalProperties"] !== undefined
      ? root
      : { ...root, properties: {} }
  }
  const alternatives = root["anyOf"] ?? root["oneOf"]
  const onlyObjects = Array.isArray(alternatives) &&
    alternatives.every((part) => isSchema(part) && isSchema(part["properties"]))
  if (onlyObjects) return { type: "object", ...root }
  return isSchema(root["properties"]) || "$ref" in root
    ? { type: "object", ...root }
    : { type: "object", properties: {}, additionalProperties: false }
}
