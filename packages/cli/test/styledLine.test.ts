import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import * as paint from "../src/internal/paint.js"
import { cut, type Line, lineWidth, plain, render, shrinking, shrunk, span, wrap } from "../src/internal/styledLine.js"

const text = fc.string({
  unit: fc.constantFrom("a", "word ", " ", "漢", "é", "👩‍👩‍👧", "\t", "xxxxxxxxxxxx", "-"),
  maxLength: 30
})

const columns = fc.integer({ min: 10, max: 60 })

const textOf = (lines: ReadonlyArray<Line>): string => lines.map((line) => render(line, false)).join("")

const withoutBlanks = (text: string): string => text.replace(/\s/g, "")

describe("lines", () => {
  it("are cut with a mark, and to the column", () => {
    assert.strictEqual(render(cut(plain("0123456789"), 5), false), "0123…")
    assert.strictEqual(render(cut(plain("漢字漢字"), 6), false), "漢字…")
    assert.strictEqual(render(cut(plain("short"), 5), false), "short")
  })

  it("shrink where it may be, if that helps", () => {
    const line = [span("✓ "), shrinking("x".repeat(60)), span(" · 3 s")]
    assert.strictEqual(render(shrunk(line, 50), false), `✓ ${"x".repeat(41)}… · 3 s`)
    assert.deepStrictEqual(shrunk(line, 20), line)
  })

  it("lose control characters, and say tabs in blanks", () => {
    assert.strictEqual(render([span("a\u001b[2Jb\rc\u2028d", "red")], false), "a[2Jbcd")
    assert.strictEqual(render([span("a\tb", "red")], true), "\u001b[31ma       b\u001b[0m")
    assert.strictEqual(render([span("a\tb", "red")], false), "a\tb")
  })

  it.prop("are wrapped without loss, and to the width", [text, columns, fc.boolean()], ([text, columns, words]) => {
    const rows = wrap(plain(text), { columns, words })
    assert.strictEqual(withoutBlanks(textOf(rows)), withoutBlanks(text))
    assert.isTrue(rows.every((row) => lineWidth(row) <= columns))
  })

  it.prop("begin with what hangs over them", [text, columns], ([text, columns]) => {
    const bar = [span("  │ ")]
    const rows = wrap([...bar, span(text)], { columns, hanging: bar })
    assert.isTrue(rows.every((row) => render(row, false).startsWith("  │ ")))
    assert.isTrue(rows.every((row) => lineWidth(row) <= columns))
  })
})

describe("painting", () => {
  const options = { stay: [], live: [plain("one"), plain("two")], columns: 20 }

  it("writes nothing where nothing has changed", () => {
    const [painted, first] = paint.paint(paint.blank, options)
    assert.include(first, "one\n")
    assert.strictEqual(paint.paint(painted, options)[1], "")
    assert.strictEqual(paint.paint(paint.blank, { ...options, live: [] })[1], "")
  })

  it("goes back over its rows, and over those that a narrower terminal has broken", () => {
    const wide = { ...options, live: [plain("x".repeat(15)), plain("two")] }
    const [painted] = paint.paint(paint.blank, wide)
    assert.include(paint.paint(painted, { ...wide, live: [plain("three")] })[1], "\r\u001b[1A")
    assert.include(paint.paint(painted, { ...wide, live: [plain("three")], columns: 10 })[1], "\r\u001b[2A")
  })
})
