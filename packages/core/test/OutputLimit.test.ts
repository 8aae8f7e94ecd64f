import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as FastCheck from "effect/FastCheck"
import * as Limits from "../src/Limits.js"
import * as OutputLimit from "../src/OutputLimit.js"

const bytes = (text: string) => new TextEncoder().encode(text).byteLength
const marker = /\[truncated(?:: \d+ bytes in all(?:; [^\]]*)?)?\]/

describe("OutputLimit.capacity", () => {
  it.each([
    [
      "the reserve is 4,096 tokens in a large window",
      200_000,
      10_000,
      undefined,
      4 * (200_000 - 10_000 - 4_096 - 4_000)
    ],
    ["the reserve is an eighth of a small window", 8_000, 1_000, undefined, 4 * (8_000 - 1_000 - 1_000 - 160)],
    [
      "a model that answers less needs a smaller reserve",
      200_000,
      10_000,
      1_024,
      4 * (200_000 - 10_000 - 1_024 - 4_000)
    ],
    ["a long answer does not enlarge the reserve", 200_000, 10_000, 64_000, 4 * (200_000 - 10_000 - 4_096 - 4_000)],
    ["a full window has no room", 8_000, 7_999, undefined, 0],
    ["more in use than the window holds is no room", 8_000, 9_000, undefined, 0]
  ])("%s", (_, contextWindow, tokensInUse, maxOutput, expected) => {
    expect(OutputLimit.capacity({ contextWindow, tokensInUse, ...(maxOutput === undefined ? {} : { maxOutput }) }))
      .toBe(expected)
  })

  it("is 65,536 bytes when window or use is unknown", () => {
    expect(OutputLimit.capacity({ contextWindow: null, tokensInUse: 10 })).toBe(65_536)
    expect(OutputLimit.capacity({ contextWindow: 8_000, tokensInUse: null })).toBe(65_536)
    expect(OutputLimit.capacity({ contextWindow: 8_000, tokensInUse: 0, maxOutput: null })).toBe(27_360)
  })

  it.prop("is a whole number of bytes, never negative and never above the window", {
    contextWindow: FastCheck.nat(2_000_000),
    tokensInUse: FastCheck.nat(2_000_000)
  }, (options) => {
    const result = OutputLimit.capacity(options)
    expect(Number.isInteger(result)).toBe(true)
    expect(result).toBeGreaterThanOrEqual(0)
    expect(result).toBeLessThanOrEqual(4 * options.contextWindow)
  })

  it("the budget of a call is the smaller of limit and capacity", () => {
    expect(OutputLimit.budget(Limits.strict, 1_000_000)).toBe(102_400)
    expect(OutputLimit.budget(Limits.strict, 17)).toBe(17)
  })
})

describe("OutputLimit.truncate", () => {
  const lines = Array.from({ length: 1_000 }, (_, index) => `line ${index}`).join("\n")

  it("returns what fits as it is", () => {
    expect(OutputLimit.truncate("héllo", { maxBytes: 6, keep: "head" }))
      .toEqual({ text: "héllo", truncated: false, originalBytes: 6 })
  })

  it("cuts after a line and says the size and how to ask for less", () => {
    const result = OutputLimit.truncate(lines, { maxBytes: 200, keep: "head", hint: "ask for a line range" })
    expect(result.truncated).toBe(true)
    expect(result.originalBytes).toBe(bytes(lines))
    expect(result.text).toMatch(/^line 0\n(line \d+\n)*\[truncated: 8889 bytes in all; ask for a line range\]$/)
    expect(bytes(result.text)).toBeGreaterThan(180)
  })

  it("keeps whole lines of head and tail around the marker", () => {
    const result = OutputLimit.truncate(lines, { maxBytes: 300, keep: "head-and-tail" })
    expect(result.text).toMatch(/^line 0\n(line \d+\n)*\[truncated: 8889 bytes in all\]\n(line \d+\n)*line 999$/)
  })

  it("does not cut through a family or a letter with its accents", () => {
    const family = "👨‍👩‍👧‍👦"
    const text = `${"x".repeat(100)}${family}${"e\u0301\u0323".repeat(3)}${family}${"y".repeat(200)}`
    for (let maxBytes = 60; maxBytes < 320; maxBytes++) {
      const { text: cut } = OutputLimit.truncate(text, { maxBytes, keep: "head-and-tail" })
      const kept = cut.replace(marker, "").replaceAll("\n", "")
      const whole = kept.replaceAll(family, "").replaceAll("e\u0301\u0323", "")
      expect(whole).toMatch(/^[xy]*$/)
    }
  })

  it.each([
    [0, ""],
    [5, "xxxxx"],
    [11, "[truncated]"],
    [20, "xxxxxxxx\n[truncated]"],
    [31, "x\n[truncated: 100 bytes in all]"],
    [45, "x\n[truncated: 100 bytes in all; ask for less]"]
  ])("a budget of %i bytes gets the marker that it has room for", (maxBytes, expected) => {
    expect(OutputLimit.truncate("x".repeat(100), { maxBytes, keep: "head", hint: "ask for less" }).text).toBe(expected)
  })

  it("treats a broken budget as none", () => {
    expect(OutputLimit.truncate("abc", { maxBytes: -3, keep: "head" }).text).toBe("")
    expect(OutputLimit.truncate("abc", { maxBytes: 2.9, keep: "head" }).text).toBe("ab")
  })

  const anyText = FastCheck.oneof(
    FastCheck.string({ unit: "binary", maxLength: 400 }),
    FastCheck.string({ unit: "grapheme", maxLength: 400 }),
    FastCheck.array(FastCheck.constantFrom("\n", "\uD83D", "\uDE00", "😀", "e\u0301", "👩‍🚀", "語", "a", "\u{1E947}"), {
      maxLength: 400
    }).map((parts) => parts.join(""))
  )
  it.prop("result fits, is a prefix and a suffix around the marker, and whole when it fits", {
    text: anyText,
    maxBytes: FastCheck.nat(500),
    keep: FastCheck.constantFrom("head" as const, "head-and-tail" as const),
    hint: FastCheck.constantFrom("", "ask for less", "größer fragen".repeat(5))
  }, ({ hint, keep, maxBytes, text }) => {
    const result = OutputLimit.truncate(text, { maxBytes, keep, hint })
    expect(result.originalBytes).toBe(bytes(text))
    expect(OutputLimit.byteLength(text)).toBe(bytes(text))
    expect(bytes(result.text)).toBeLessThanOrEqual(maxBytes)
    expect(result.truncated).toBe(bytes(text) > maxBytes)
    if (!result.truncated) {
      expect(result.text).toBe(text)
      return
    }
    const found = marker.exec(result.text)
    const head = found === null ? result.text : result.text.slice(0, found.index)
    const tail = found === null ? "" : result.text.slice(found.index + found[0].length)
    expect(text.startsWith(head.replace(/\n$/, ""))).toBe(true)
    expect(text.endsWith(tail.replace(/^\n/, ""))).toBe(true)
    if (keep === "head") {
      expect(tail).toBe("")
    }
  })

  it("cuts ten megabytes at once", () => {
    const text = "a long line without an end, with ünïcödé ".repeat(250_000)
    const { text: cut } = OutputLimit.truncate(text, { maxBytes: 102_400, keep: "head-and-tail" })
    expect(bytes(cut)).toBeLessThanOrEqual(102_400)
    expect(bytes(cut)).toBeGreaterThan(102_000)
  })
})

describe("Limits", () => {
  it.effect("are strict unless something else is provided", () =>
    Effect.gen(function*() {
      expect(yield* Limits.Limits).toBe(Limits.strict)
      const given = yield* Effect.provideService(Limits.Limits, Limits.Limits, Limits.agent)
      expect(given.maxToolIterationsPerUserTurn).toBe(50)
    }))
})
