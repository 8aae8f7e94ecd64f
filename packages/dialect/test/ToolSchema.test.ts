import { JsonSchema, ParameterSchema } from "@capstan/core"
import { ToolSchema } from "@capstan/dialect"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"

type Json = { readonly [key: string]: unknown }

interface Generated {
  readonly schema: Json
  readonly value: FastCheck.Arbitrary<unknown>
}

const leaf = FastCheck.constantFrom<Generated>(
  { schema: { type: "string", minLength: 0 }, value: FastCheck.string() },
  { schema: { type: "integer", minimum: 0 }, value: FastCheck.nat() },
  { schema: { type: "boolean", default: true }, value: FastCheck.boolean() },
  { schema: { type: "string", enum: ["a", "b"] }, value: FastCheck.constantFrom("a", "b") },
  { schema: { anyOf: [{ type: "string" }, { type: "null" }] }, value: FastCheck.option(FastCheck.string()) },
  { schema: { type: ["number", "null"] }, value: FastCheck.option(FastCheck.integer()) },
  { schema: { const: 3 }, value: FastCheck.constant(3) }
)

const nested = FastCheck.letrec<{ node: Generated; object: Generated; array: Generated }>((tie) => ({
  node: FastCheck.oneof({ maxDepth: 3 }, leaf, tie("object"), tie("array")),
  array: tie("node").map(({ schema, value }) => ({
    schema: { type: "array", items: schema, maxItems: 4 },
    value: FastCheck.array(value, { maxLength: 4 })
  })),
  object: FastCheck.array(
    FastCheck.tuple(FastCheck.constantFrom("a", "b", "c", "title", "type"), tie("node"), FastCheck.boolean()),
    { maxLength: 4 }
  ).map((fields) => {
    const unique = [...new Map(fields.map((field) => [field[0], field])).values()]
    const required = unique.filter(([, , isRequired]) => isRequired).map(([name]) => name)
    return {
      schema: {
        type: "object",
        properties: Object.fromEntries(unique.map(([name, node]) => [name, node.schema])),
        ...(required.length === 0 ? {} : { required }),
        additionalProperties: false
      },
      value: FastCheck.record(Object.fromEntries(unique.map(([name, node]) => [name, node.value])), {
        requiredKeys: required
      })
    }
  })
}))

const objects = nested.object.chain(({ schema, value }) => value.map((sample) => ({ schema, sample })))

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** What a model in strict mode has to write: a null for everything that it leaves out. */
const filled = (value: unknown, schema: unknown): unknown => {
  if (!isObject(schema)) return value
  if (Array.isArray(value)) return value.map((item) => filled(item, schema["items"]))
  const properties = schema["properties"]
  if (!isObject(value) || !isObject(properties)) return value
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, name in value ? filled(value[name], property) : null])
  )
}

const everyNode = (node: unknown, visit: (node: Json) => void): void => {
  if (Array.isArray(node)) node.forEach((part) => everyNode(part, visit))
  else if (isObject(node)) {
    visit(node)
    for (const key of ["properties", "$defs"]) {
      if (isObject(node[key])) Object.values(node[key]).forEach((part) => everyNode(part, visit))
    }
    for (const key of ["items", "anyOf"]) everyNode(node[key], visit)
  }
}

const accepts = (schema: Json, value: unknown): boolean => {
  const validate = Either.getOrThrowWith(JsonSchema.validator(schema), (reason) => new Error(reason))
  return Either.isRight(validate(value))
}

describe("ToolSchema.openAiStrict", () => {
  it.prop("makes arguments that come back as they were", [objects], ([{ sample, schema }]) => {
    const wire = ToolSchema.openAiStrict(schema)
    expect(wire.strict).toBe(true)
    const written = filled(sample, schema)
    expect(accepts(wire.parameters, written)).toBe(true)
    if (!isObject(written)) throw new Error("an object was expected")
    const read = ToolSchema.removeNulls(written, schema)
    expect(accepts(schema, read)).toBe(true)
    expect(read).toEqual(withoutFreeNulls(sample, schema, read))
  })

  it.prop(
    "closes every object, requires every property and keeps to the keywords of strict mode",
    [objects],
    ([{ schema }]) => {
      everyNode(ToolSchema.openAiStrict(schema).parameters, (node) => {
        for (const refused of ["minLength", "default", "const", "oneOf", "allOf", "title"]) {
          expect(node).not.toHaveProperty([refused])
        }
        if (!isObject(node["properties"])) return
        expect(node["additionalProperties"]).toBe(false)
        expect(node["required"]).toEqual(Object.keys(node["properties"]))
      })
    }
  )

  it("moves what strict mode refuses to the description", () => {
    const wire = ToolSchema.openAiStrict({
      type: "object",
      properties: {
        a: { type: "string", description: "a name", minLength: 2, default: "xy", format: "uri" },
        b: { oneOf: [{ type: "string" }, { const: 1 }] }
      },
      required: ["a"]
    })
    expect(wire).toEqual({
      strict: true,
      parameters: {
        type: "object",
        properties: {
          a: { type: "string", description: "a name (minLength: 2, default: \"xy\", format: \"uri\")" },
          b: { anyOf: [{ type: "string" }, { enum: [1] }, { type: "null" }] }
        },
        required: ["a", "b"],
        additionalProperties: false
      }
    })
  })

  it.each<[string, Json, string]>([
    ["open objects", {
      type: "object",
      properties: { a: { type: "object", additionalProperties: { type: "string" } } }
    }, "\"a\" take properties of any name"],
    [
      "objects without properties",
      { type: "object", properties: { a: { type: "object" } } },
      "\"a\" do not say which properties they have"
    ],
    ["anything", { type: "object", properties: { a: { items: {} } } }, "\"a\" may be anything"],
    [
      "untyped items",
      { type: "object", properties: { a: { type: "array" } } },
      "\"a\" do not say what their items are"
    ],
    ["negation", { type: "object", properties: { a: { not: { type: "string" } } } }, "\"a\" use \"not\""],
    [
      "tuples",
      { type: "object", properties: { a: { type: "array", items: [{ type: "string" }] } } },
      "\"a\" use \"prefixItems\""
    ]
  ])("says why %s cannot be strict and sends them as they are", (_, schema, reason) => {
    const wire = ToolSchema.openAiStrict(schema)
    expect(wire).toEqual({ strict: false, reason, parameters: ParameterSchema.clean(schema) })
  })

  it("keeps recursive types", () => {
    const schema = {
      type: "object",
      properties: { next: { $ref: "#/$defs/Node" } },
      required: [],
      $defs: { Node: { type: "object", properties: { v: { type: "integer" }, next: { $ref: "#/$defs/Node" } } } }
    }
    const wire = ToolSchema.openAiStrict(schema)
    expect(wire).toMatchObject({
      strict: true,
      parameters: {
        properties: { next: { anyOf: [{ $ref: "#/$defs/Node" }, { type: "null" }] } },
        $defs: { Node: { required: ["v", "next"], properties: { v: { type: ["integer", "null"] } } } }
      }
    })
    expect(ToolSchema.removeNulls({ next: { v: 1, next: { v: null, next: null } } }, schema)).toEqual({
      next: { v: 1, next: {} }
    })
  })
})

/** A null that the original schema allows stands for itself; it may also stand for a parameter that was left out. */
const withoutFreeNulls = (sample: unknown, schema: unknown, read: unknown): unknown => {
  if (!isObject(schema)) return sample
  if (Array.isArray(sample)) {
    return sample.map((item, index) =>
      withoutFreeNulls(item, schema["items"], Array.isArray(read) ? read[index] : undefined)
    )
  }
  const properties = schema["properties"]
  if (!isObject(sample) || !isObject(properties) || !isObject(read)) return sample
  const added = Object.keys(read).filter((name) => !(name in sample) && read[name] === null)
  return {
    ...Object.fromEntries(
      Object.entries(sample).map(([name, value]) => [name, withoutFreeNulls(value, properties[name], read[name])])
    ),
    ...Object.fromEntries(added.map((name) => [name, null]))
  }
}

describe("ToolSchema", () => {
  const union = ParameterSchema.fromSchema(Schema.Union(
    Schema.Struct({ kind: Schema.Literal("a"), x: Schema.String }),
    Schema.Struct({ kind: Schema.Literal("b"), y: Schema.optional(Schema.Number) })
  ))

  it("puts alternatives at the root together", () => {
    expect(ToolSchema.compatible(union)).toEqual({
      type: "object",
      properties: { kind: { type: "string", enum: ["a", "b"] }, x: { type: "string" }, y: { type: "number" } },
      required: ["kind"]
    })
    expect(ToolSchema.openAiStrict(union).strict).toBe(true)
  })

  it("closes objects for Anthropic unless they say that they are open", () => {
    expect(
      ToolSchema.anthropic({
        type: "object",
        properties: {
          a: { type: "object", properties: {} },
          b: { type: "object", properties: {}, additionalProperties: true }
        }
      })
    ).toEqual({
      type: "object",
      properties: {
        a: { type: "object", properties: {}, additionalProperties: false },
        b: { type: "object", properties: {}, additionalProperties: true }
      },
      additionalProperties: false
    })
  })

  it("takes nulls out of the alternative that was meant", () => {
    const schema = {
      type: "object",
      required: ["u"],
      properties: {
        u: {
          anyOf: [{ type: "object", required: ["k"], properties: { k: { const: "a" }, x: { type: "string" } } }, {
            type: "object",
            required: ["k"],
            properties: { k: { const: "b" }, x: { type: ["string", "null"] } }
          }]
        }
      }
    }
    expect(ToolSchema.removeNulls({ u: { k: "a", x: null } }, schema)).toEqual({ u: { k: "a" } })
    expect(ToolSchema.removeNulls({ u: { k: "b", x: null } }, schema)).toEqual({ u: { k: "b", x: null } })
  })
})
