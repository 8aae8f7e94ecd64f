import { assert, describe, it } from "@effect/vitest"
import { commands, parse } from "../src/ChatLine.js"

describe("a line of the chat", () => {
  it("is a message unless it begins with a command", () => {
    assert.deepStrictEqual(parse("  fix it "), { _tag: "Message", text: "  fix it " })
    assert.deepStrictEqual(parse("what is std::vector?"), { _tag: "Message", text: "what is std::vector?" })
    assert.deepStrictEqual(parse(":: no"), { _tag: "Message", text: ":: no" })
    assert.deepStrictEqual(parse("::help\nme"), { _tag: "Message", text: "::help\nme" })
    assert.deepStrictEqual(parse("   "), { _tag: "Nothing" })
  })

  it("is a command by its name", () => {
    assert.deepStrictEqual(parse("::help"), { _tag: "Help" })
    assert.deepStrictEqual(parse("  ::exit "), { _tag: "Exit" })
    assert.deepStrictEqual(parse("::model"), { _tag: "Model", id: undefined })
    assert.deepStrictEqual(parse("::model openai/x y"), { _tag: "Model", id: "openai/x y" })
    assert.deepStrictEqual(parse("::approve deny"), { _tag: "Approve", mode: "deny" })
    assert.deepStrictEqual(parse("::trust"), { _tag: "Trust", level: undefined })
    assert.deepStrictEqual(parse("::tool"), { _tag: "Tool", given: undefined })
    assert.deepStrictEqual(parse("::tool 0 two\nlines"), { _tag: "Tool", given: { call: "0", text: "two\nlines" } })
    for (const { name } of commands) assert.notStrictEqual(parse(name)._tag, "Wrong", name)
  })

  it("is told what is wrong with it", () => {
    assert.deepStrictEqual(parse("::xyzzyxyzzy"), {
      _tag: "Wrong",
      message: "Unknown command: ::xyzzyxyzzy. Try ::help"
    })
    assert.deepStrictEqual(parse("::hepl"), {
      _tag: "Wrong",
      message: "Unknown command: ::hepl. Did you mean ::help? Try ::help"
    })
    assert.deepStrictEqual(parse("::clear all"), { _tag: "Wrong", message: "::clear takes nothing after it." })
    assert.deepStrictEqual(parse("::approve yes"), {
      _tag: "Wrong",
      message: "::approve takes one of auto, prompt, deny."
    })
    assert.deepStrictEqual(parse("::tool 0"), {
      _tag: "Wrong",
      message: "::tool takes a call (its position or id) and its result."
    })
    assert.deepStrictEqual(parse("::trust me"), {
      _tag: "Wrong",
      message: "::trust takes one of discovery, read_only, workspace, shell, full."
    })
  })
})
