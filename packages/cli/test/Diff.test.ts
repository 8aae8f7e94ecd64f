import { assert, describe, it } from "@effect/vitest"
import * as Diff from "../src/Diff.js"

const diff = [
  "--- a.sql",
  "+++ a.sql",
  "@@ -1,3 +1,3 @@",
  " select 1;",
  "--- an old comment",
  "+++ a new one",
  " x\u202e;",
  "\\ No newline at end of file",
  ""
].join("\n")

describe("a diff", () => {
  it("is coloured by what each line is, not by what it looks like", () => {
    const styles = Diff.lines(diff).map((line) => line.map(({ style }) => style))
    assert.deepStrictEqual(styles, [["bold"], ["bold"], ["cyan"], [undefined], ["red"], ["green"], [undefined], [
      "dim"
    ]])
  })

  it("shows what cannot be seen, and stays as it is without colours", () => {
    assert.strictEqual(Diff.toText(diff, { color: false }), diff.replace("\u202e", "<U+202E>"))
    assert.include(Diff.toText(diff, { color: true }), "\u001b[31m--- an old comment\u001b[0m\n")
  })
})
