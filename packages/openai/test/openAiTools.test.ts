import type { ToolCall } from "@capstan/core/ToolCall"
import { describe, expect, it } from "@effect/vitest"
import { loose, strict } from "../src/internal/openAiTools.js"

const plain = {
  name: "read",
  description: "Reads",
  parameters: {
    type: "object",
    properties: { path: { type: "string" }, lines: { type: "integer" }, note: { type: ["string", "null"] } },
    required: ["path"]
  }
}
const open = { name: "any", description: "", parameters: { type: "object", additionalProperties: true } }

const call = (name: string, args: ToolCall["arguments"]): ToolCall => ({
  id: "a",
  name,
  raw: JSON.stringify(args),
  arguments: args,
  repairs: []
})

describe("openAiTools", () => {
  it("requires every property, makes optional ones nullable, and takes their nulls out again", () => {
    const tools = strict([plain, open])
    expect(tools.parameters(plain)).toMatchObject({
      description: "Reads",
      strict: true,
      parameters: {
        required: ["path", "lines", "note"],
        additionalProperties: false,
        properties: { lines: { type: ["integer", "null"] } }
      }
    })
    expect(tools.read(call("read", { path: "a", lines: null, note: null })).arguments).toEqual({
      path: "a",
      note: null
    })
    expect(tools.read({ ...call("read", null), malformed: "not JSON" }).arguments).toBeNull()
  })

  it("sends what cannot be strict as it is, says why, and leaves its nulls alone", () => {
    const tools = strict([plain, open])
    expect(tools.parameters(open).strict).toBe(false)
    expect(tools.loosened).toEqual([{ tool: "any", reason: expect.any(String) }])
    expect(tools.read(call("any", { x: null })).arguments).toEqual({ x: null })
    expect(tools.read(call("unknown", { x: null })).arguments).toEqual({ x: null })
  })

  it("enforces nothing where the server cannot", () => {
    expect(loose.parameters(plain)).toMatchObject({ strict: false, parameters: { required: ["path"] } })
    expect(loose.read(call("read", { lines: null })).arguments).toEqual({ lines: null })
  })
})
