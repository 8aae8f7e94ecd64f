import type { ModelProvider } from "@capstan/core"
import { Emulation, Normaliser } from "@capstan/dialect"
import { describe, expect, it } from "@effect/vitest"

const tool: ModelProvider.ToolDefinition = {
  name: "read_file",
  description: "Reads a file of the workspace. Files outside of it cannot be read.",
  parameters: {
    type: "object",
    properties: { path: { type: "string" }, mode: { enum: ["text", "binary"] }, other: {} },
    required: ["path"]
  }
}

const request: ModelProvider.ModelRequest = {
  model: undefined,
  instructions: "",
  messages: [],
  tools: [tool],
  toolChoice: "auto",
  maxOutputTokens: undefined
}

describe("Emulation.prompt", () => {
  it.each<Emulation.Style>(["json", "xml", "markdown"])("shows a form that is read again (%s)", (style) => {
    const text = Emulation.prompt([tool], { style })
    const form = text.split("\n\n")[1] ?? ""
    const read = Normaliser.read(form.replace("tool_name", "read_file"), { tools: [tool] })
    expect(read.calls).toMatchObject([{ tool: "read_file", arguments: { parameter: "value" } }])
  })

  it("is much shorter in its compact form", () => {
    const compact = Emulation.prompt([tool], { compact: true })
    expect(compact).toContain(
      "- read_file(path: string, mode?: \"text\" | \"binary\", other?: any): Reads a file of the workspace."
    )
    expect(compact).not.toContain("outside")
    expect(compact.length).toBeLessThan(Emulation.prompt([tool]).length)
  })

  it("asks for one call at a time on wish", () => {
    expect(Emulation.prompt([tool], { several: false })).toContain("one call at a time")
    expect(Emulation.prompt([tool])).toContain("Several calls")
  })
})

describe("Emulation.encode", () => {
  it("says what the tool choice says", () => {
    expect(Emulation.encode({ ...request, toolChoice: "none" }).instructions).toBe(
      "Answer in plain words now, without calling a tool."
    )
    expect(Emulation.encode({ ...request, toolChoice: "required" }).instructions).toMatch(/Call a tool now\.$/)
    const one =
      Emulation.encode({ ...request, tools: [tool, { ...tool, name: "other" }], toolChoice: { tool: "other" } })
        .instructions
    expect(one).toContain("\"other\"")
    expect(one).not.toContain("read_file")
  })

  it("leaves a request without tools alone", () => {
    const plain = { ...request, tools: [] }
    expect(Emulation.encode(plain)).toBe(plain)
  })

  it("marks results that are errors", () => {
    const encoded = Emulation.encode({
      ...request,
      messages: [{
        role: "tool",
        results: [{
          type: "tool-result",
          id: "1",
          name: "read_file",
          content: [{ type: "text", text: "gone" }],
          isError: true
        }]
      }]
    })
    expect(encoded.messages).toEqual([{
      role: "user",
      content: [{ type: "text", text: "Error of read_file:" }, { type: "text", text: "gone" }]
    }])
  })
})
