import { ToolName } from "@capstan/core"
import { describe, expect, it } from "@effect/vitest"
import * as Option from "effect/Option"

const names = ToolName.index([
  { name: "read_file", aliases: ["cat"] },
  { name: "write_file" },
  { name: "github.search_issues" },
  { name: "mcp__docs__lookup" },
  { name: "Echo" },
  { name: "echo" }
])

const resolve = (name: string) => Option.getOrUndefined(ToolName.resolve(names, name))

describe("ToolName.resolve", () => {
  it("takes an exact name as it is", () => {
    expect(resolve("read_file")).toEqual({ name: "read_file" })
    expect(resolve("Echo")).toEqual({ name: "Echo" })
  })

  it.each([
    ["cat", "read_file", "alias"],
    ["CAT", "read_file", "alias"],
    ["READ_FILE", "read_file", "case"],
    ["read-file", "read_file", "separator"],
    ["readFile", "read_file", "separator"],
    ["functions.read_file", "read_file", "namespace"],
    ["tools/read_file", "read_file", "namespace"],
    ["github_search_issues", "github.search_issues", "separator"],
    ["search_issues", "github.search_issues", "namespace"],
    ["lookup", "mcp__docs__lookup", "namespace"]
  ])("corrects %s to %s by %s", (written, name, correction) => {
    expect(resolve(written)).toEqual({ name, correction })
  })

  it.each(["ECHO", "file", "read", "x".repeat(10_000), ""])("does not guess at %s", (written) => {
    expect(resolve(written)).toBeUndefined()
  })
})

describe("ToolName.closest", () => {
  it("lists names that share words or differ by few letters, best first", () => {
    expect(ToolName.closest(names, "read_files")).toEqual(["read_file", "write_file"])
    expect(ToolName.closest(names, "raed_file")[0]).toBe("read_file")
    expect(ToolName.closest(names, "search_the_issues", { limit: 1 })).toEqual(["github.search_issues"])
  })

  it("lists nothing when nothing is alike", () => {
    expect(ToolName.closest(names, "zzzzzzzzzzzzzzzz")).toEqual([])
  })
})

describe("ToolName.distance", () => {
  it.each([["", "", 0], ["abc", "abc", 0], ["abc", "", 3], ["kitten", "sitting", 3]])(
    "of %s and %s is %i",
    (left, right, edits) => {
      expect(ToolName.distance(left, right)).toBe(edits)
    }
  )

  it("is bounded for long names", () => {
    expect(ToolName.distance("a".repeat(100_000), "b".repeat(100_000))).toBe(128)
  })
})
