import type { ToolDefinition } from "@capstan/core/ModelProvider"
import * as ToolDescription from "@capstan/dialect/ToolDescription"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"

const tool = (description: string, parameters: ToolDefinition["parameters"]): ToolDefinition => ({
  name: "get_weather",
  description,
  parameters
})

const described = tool(
  "Tells the weather in one city right now. Use get_forecast for other days. "
    + "If the city is unknown, the call fails with the nearest names. When the service is down, an error says since when. "
    + "Example: {\"city\":\"Oslo\"}",
  {
    type: "object",
    required: ["city"],
    properties: { city: { type: "string", description: "Name of a city, in English.", examples: ["Oslo"] } }
  }
)

const bare = tool("Weather.", {
  type: "object",
  required: ["x"],
  properties: { x: { type: "string" }, data: { type: "integer" } }
})

const marks = (definition: ToolDefinition) =>
  Object.fromEntries(ToolDescription.audit(definition).marks.map(({ criterion, score }) => [criterion, score]))

describe("the audit of a description", () => {
  it("is content with one that says all", () => {
    const audit = ToolDescription.audit(described)
    assert.strictEqual(audit.score, 1)
    assert.isTrue(audit.marks.every(({ advice }) => advice === null))
  })

  it("says what each criterion lacks", () => {
    const audit = ToolDescription.audit(bare)
    assert.strictEqual(audit.score, 0)
    assert.deepStrictEqual(audit.marks.map(({ criterion }) => criterion), [
      "example",
      "edge-cases",
      "input-format",
      "boundaries",
      "parameter-names"
    ])
    assert.include(audit.marks[2]?.advice, "x, data")
    assert.include(audit.marks[4]?.advice, "Rename x, data")
  })

  it("counts examples of required parameters half, and asks nothing of a tool without parameters", () => {
    const examples = tool("Weather.", {
      type: "object",
      required: ["city"],
      properties: { city: { type: "string", examples: ["Oslo"] } }
    })
    assert.strictEqual(marks(examples)["example"], 0.5)
    const nothing = marks(tool("Now.", { type: "object", properties: {} }))
    assert.deepStrictEqual([nothing["example"], nothing["input-format"], nothing["parameter-names"]], [1, 1, 1])
  })
})

describe("an enhanced description", () => {
  it("keeps its own words and gains what the schema tells", () => {
    const { description } = ToolDescription.enhance(bare)
    assert.isTrue(description.startsWith("Weather.\n"))
    assert.include(description, "x (string, required)")
    assert.include(description, "Example: {\"x\":\"<x>\"}")
  })

  it("is the same where nothing is missing", () => {
    assert.strictEqual(ToolDescription.enhance(described), described)
  })

  it("is never worse, whatever the schema", () => {
    FastCheck.assert(FastCheck.property(FastCheck.string(), FastCheck.object(), (description, parameters) => {
      const before = tool(description, parameters)
      const after = ToolDescription.enhance(before)
      assert.isTrue(after.description.startsWith(description))
      assert.isAtLeast(ToolDescription.audit(after).score, ToolDescription.audit(before).score)
    }))
  })
})
