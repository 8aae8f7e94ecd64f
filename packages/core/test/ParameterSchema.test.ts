import { type JsonSchema, ParameterSchema } from "@capstan/core"
import { describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"

interface Folder {
  readonly name: string
  readonly folders: ReadonlyArray<Folder>
}

const Folder: Schema.Schema<Folder> = Schema.Struct({
  name: Schema.String,
  folders: Schema.Array(Schema.suspend(() => Folder))
}).annotations({ identifier: "Folder" })

class Range extends Schema.Class<Range>("Range")({ from: Schema.Int, to: Schema.optional(Schema.NonNegativeInt) }) {}

describe("ParameterSchema.fromSchema", () => {
  it("inlines references and drops titles, ids and generated descriptions", () => {
    const schema = ParameterSchema.fromSchema(Schema.Struct({
      path: Schema.String.annotations({ description: "relative to the workspace" }),
      lines: Schema.optional(Range),
      limit: Schema.optionalWith(Schema.Int.pipe(Schema.between(1, 9)), { default: () => 3 }),
      any: Schema.Unknown
    }))
    expect(schema).toEqual({
      type: "object",
      required: ["path", "any"],
      properties: {
        path: { type: "string", description: "relative to the workspace" },
        lines: {
          type: "object",
          required: ["from"],
          properties: { from: { type: "integer" }, to: { type: "integer", minimum: 0 } },
          additionalProperties: false
        },
        limit: { type: "integer", minimum: 1, maximum: 9 },
        any: {}
      },
      additionalProperties: false
    })
  })

  it("keeps a type that contains itself as a definition", () => {
    const schema = ParameterSchema.fromSchema(Schema.Struct({ root: Folder }))
    expect(schema["properties"]).toEqual({ root: { $ref: "#/$defs/Folder" } })
    expect(schema["$defs"]).toMatchObject({
      Folder: { properties: { folders: { items: { $ref: "#/$defs/Folder" } } } }
    })
    expect(ParameterSchema.fromSchema(Folder)).toMatchObject({
      type: "object",
      properties: { folders: { items: { $ref: "#/$defs/Folder" } } }
    })
  })

  it("makes an object of a schema without parameters", () => {
    const empty = { type: "object", properties: {}, additionalProperties: false }
    expect(ParameterSchema.fromSchema(Schema.Struct({}))).toEqual(empty)
    expect(ParameterSchema.fromSchema(Schema.Void)).toEqual(empty)
  })

  it("writes tuples as JSON Schema 2020-12 does", () => {
    const schema = ParameterSchema.fromSchema(Schema.Struct({ pair: Schema.Tuple(Schema.String, Schema.Number) }))
    expect(schema["properties"]).toEqual({
      pair: { type: "array", minItems: 2, prefixItems: [{ type: "string" }, { type: "number" }], items: false }
    })
  })

  it("describes the encoded side", () => {
    expect(ParameterSchema.fromSchema(Schema.Struct({ n: Schema.NumberFromString }))["properties"]).toMatchObject({
      n: { type: "string" }
    })
  })
})

describe("ParameterSchema.clean", () => {
  it("keeps properties that are called like keywords", () => {
    const properties = {
      title: { type: "string" },
      $id: { type: "string" },
      items: { type: "array", items: { title: "x", type: "string" } }
    }
    expect(ParameterSchema.clean({ type: "object", title: "T", properties })["properties"]).toEqual({
      title: { type: "string" },
      $id: { type: "string" },
      items: { type: "array", items: { type: "string" } }
    })
  })

  it("stops inlining before a small schema becomes a huge one", () => {
    const levels = Array.from(
      { length: 40 },
      (_, level) =>
        [`l${level}`, {
          type: "object",
          properties: { a: { $ref: `#/$defs/l${level + 1}` }, b: { $ref: `#/$defs/l${level + 1}` } }
        }] as const
    )
    const schema = {
      type: "object",
      properties: { root: { $ref: "#/$defs/l0" } },
      $defs: { ...Object.fromEntries(levels), l40: { type: "string" } }
    }
    expect(JSON.stringify(ParameterSchema.clean(schema)).length).toBeLessThan(2_000_000)
  })

  it("is done with absurdly deep schemas and chains of references", () => {
    let deep: JsonSchema.JsonSchema = { type: "string" }
    for (let level = 0; level < 50_000; level++) deep = { type: "object", properties: { a: deep } }
    expect(ParameterSchema.clean(deep)).toMatchObject({ type: "object", properties: { a: { type: "object" } } })
    const links = Array.from({ length: 1_000 }, (_, link) => [`l${link}`, { items: { $ref: `#/$defs/l${link + 1}` } }])
    const chain = { type: "object", properties: { a: { $ref: "#/$defs/l0" } }, $defs: Object.fromEntries(links) }
    expect(ParameterSchema.clean(chain)).toHaveProperty("$defs")
  })

  it("does not take what every object has for a definition", () => {
    const schema = { type: "object", properties: { a: { $ref: "#/$defs/constructor" } } }
    expect(ParameterSchema.clean(schema)).toEqual(schema)
  })

  it("leaves references that lead nowhere", () => {
    expect(ParameterSchema.clean({ type: "object", properties: { a: { $ref: "#/$defs/none" } } })["properties"])
      .toEqual({ a: { $ref: "#/$defs/none" } })
  })
})
