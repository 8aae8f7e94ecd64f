import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as CommandLine from "../src/CommandLine.js"
import * as Commands from "../src/Commands.js"

const read = (...words: ReadonlyArray<string>) => Either.merge(CommandLine.normalise(Commands.shape, words))

describe("CommandLine", () => {
  it("puts flags before arguments, wherever they stand", () => {
    expect(read("run", "a task", "--yes", "--model", "openai/x")).toEqual([
      "run",
      "--yes",
      "--model",
      "openai/x",
      "--",
      "a task"
    ])
    expect(read("run", "--model=openai/x", "-")).toEqual(["run", "--model", "openai/x", "--", "-"])
    expect(read("approvals", "approve", "01ABC", "0", "--json", "2")).toEqual([
      "approvals",
      "approve",
      "--json",
      "--",
      "01ABC",
      "0",
      "2"
    ])
    expect(read("audit", "--all")).toEqual(["audit", "--all"])
    expect(read("tools", "show", "--json", "read_file")).toEqual(["tools", "show", "--json", "--", "read_file"])
  })

  it("takes what follows -- as it is", () => {
    expect(read("run", "--yes", "--", "--help me")).toEqual(["run", "--yes", "--", "--help me"])
    expect(read("run", "--", "--yes")).toEqual(["run", "--", "--yes"])
  })

  it("takes a text with spaces for a task, though it begins with a dash", () => {
    expect(read("run", "- buy milk")).toEqual(["run", "--", "- buy milk"])
  })

  it.each([
    [["rnu"], "Unknown command \"rnu\". Did you mean \"run\"? See \"capstan --help\"."],
    [
      ["fix the test"],
      "Unknown command \"fix the test\". To give a task, write: capstan run \"fix the test\". See \"capstan --help\"."
    ],
    [
      ["run", "x", "--modle", "y"],
      "Unknown flag \"--modle\" of \"capstan run\". Did you mean \"--model\"? See \"capstan run --help\"."
    ],
    [
      ["sessions", "--alll"],
      "Unknown flag \"--alll\" of \"capstan sessions\". Did you mean \"--all\"? See \"capstan sessions --help\"."
    ],
    [["doctor", "x"], "\"capstan doctor\" takes no argument, but got \"x\". See \"capstan doctor --help\"."],
    [
      ["run", "fix", "the", "test"],
      "\"capstan run\" takes one argument, but got 3: put it in quotes. See \"capstan run --help\"."
    ],
    [["run", "x", "--model"], "\"--model\" needs a value. See \"capstan run --help\"."],
    [["run", "x", "--model", "--yes"], "\"--model\" needs a value. See \"capstan run --help\"."],
    [["run", "x", "--yes=no"], "\"--yes\" takes no value. See \"capstan run --help\"."],
    [
      ["run", "x", "--limits", "agnet"],
      "\"--limits\" takes one of strict, agent, not \"agnet\". Did you mean \"agent\"? See \"capstan run --help\"."
    ],
    [
      ["run", "x", "--max-iterations=many"],
      "\"--max-iterations\" takes a whole number, not \"many\". See \"capstan run --help\"."
    ],
    [
      ["run", "x", "--wait", "long"],
      "\"--wait\" takes a whole number, not \"long\". See \"capstan run --help\"."
    ],
    [
      ["run", "x", "--budget-cost", "cheap"],
      "\"--budget-cost\" takes a number, not \"cheap\". See \"capstan run --help\"."
    ],
    [
      ["approvals", "aprove"],
      "Unknown command \"aprove\". Did you mean \"approve\"? See \"capstan approvals --help\"."
    ],
    [
      ["audit", "export", "x"],
      "\"capstan audit export\" takes no argument, but got \"x\". See \"capstan audit export --help\"."
    ],
    [["tools", "lst"], "Unknown command \"lst\". Did you mean \"list\"? See \"capstan tools --help\"."]
  ])("%j is a mistake", (words, message) => {
    expect(read(...words)).toBe(message)
  })

  it("asks for nothing when help is asked for", () => {
    expect(read("run", "--help")).toEqual(["run", "--help"])
    expect(read("run", "x", "y", "--help")).toEqual(["run", "--help"])
  })

  it("never loses or invents a word of a task", () => {
    FastCheck.assert(FastCheck.property(FastCheck.string(), (task) => {
      expect(read("run", "--", task)).toEqual(["run", "--", task])
    }))
  })

  it("finds the flag behind any single slip", () => {
    const names = ["--model", "--provider", "--max-iterations", "--stream-json", "--quiet"]
    const slip = FastCheck.tuple(
      FastCheck.constantFrom(...names),
      FastCheck.nat(),
      FastCheck.constantFrom("a", "z", "")
    )
    FastCheck.assert(FastCheck.property(slip, ([name, at, put]) => {
      const i = 2 + at % (name.length - 2)
      const written = name.slice(0, i) + put + name.slice(i + 1)
      expect(CommandLine.nearest(written, names)).toBe(name)
    }))
  })

  it("gives no hint where nothing is near", () => {
    expect(CommandLine.nearest("--xyzzy", ["--model", "--yes"])).toBeUndefined()
  })

  it("knows the words of every command", () => {
    expect(CommandLine.paths(Commands.shape)).toEqual(
      expect.arrayContaining([[], ["run"], ["resume"], ["sessions"], ["show"], ["doctor"], ["tools"], [
        "tools",
        "list"
      ]])
    )
  })
})
