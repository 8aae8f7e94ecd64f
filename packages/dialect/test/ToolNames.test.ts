import { ToolNames } from "@capstan/dialect"
import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"

const anyName = FastCheck.oneof(
  FastCheck.string({ minLength: 1, maxLength: 100 }),
  FastCheck.stringMatching(/^[a-c._-]{1,4}$/),
  FastCheck.constantFrom(
    "read_file",
    "read.file",
    "read/file",
    "read file",
    "ä",
    "ö",
    "x".repeat(64),
    "x".repeat(65),
    "x".repeat(66)
  )
)

describe("ToolNames", () => {
  it.prop("maps every name to a legal one and back, without collisions and in any order", [
    FastCheck.uniqueArray(anyName, { maxLength: 30 })
  ], ([names]) => {
    const wire = ToolNames.make(names)
    const mapped = names.map(wire.toWire)
    expect(new Set(mapped).size).toBe(names.length)
    for (const name of mapped) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    expect(mapped.map(wire.fromWire)).toEqual(names)
    expect(names.map(ToolNames.make([...names].reverse()).toWire)).toEqual(mapped)
  })

  it("keeps legal names and shows what it can of others", () => {
    const wire = ToolNames.make(["read_file", "github.search"])
    expect(wire.toWire("read_file")).toBe("read_file")
    expect(wire.toWire("github.search")).toBe("github_search")
    expect(wire.fromWire("github_search")).toBe("github.search")
  })

  it("makes names from history legal that it was not told of", () => {
    const wire = ToolNames.make(["a.b"])
    expect(wire.toWire("run tests!")).toBe("run_tests_")
    expect(wire.toWire("a_b")).toMatch(/^a_b_\w+$/)
    expect(wire.toWire("y".repeat(80))).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    expect(wire.fromWire("invented")).toBe("invented")
  })
})
