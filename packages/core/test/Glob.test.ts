import { Glob } from "@capstan/core"
import { describe, expect, it } from "@effect/vitest"
import { FastCheck } from "effect"

describe("Glob", () => {
  it.each([
    ["git_*", "git_log", true],
    ["git_*", "github", false],
    ["docs/**", "docs/a/b.md", true],
    ["docs/**", "docs", false],
    ["docs/*", "docs/a/b.md", false],
    ["**/x", "x", true],
    ["**/x", "a/b/x", true],
    ["**/x", "a/bx", false],
    ["a/**/b", "a/b", true],
    ["a/**/b", "a/x/y/b", true],
    ["a?c", "abc", true],
    ["a?c", "a/c", false],
    ["a[b]", "a[b]", true],
    ["a[b]", "ab", false],
    ["a[*]", "a*", true],
    ["a[*]", "ab", false],
    ["a[*]", "a[b]", false],
    ["a[?][*][*]/b", "a?**/b", true],
    ["[[*]]", "[*]", true],
    ["", "", true],
    ["*", "", true],
    ["f🙂?", "f🙂x", true]
  ])("%s on %s", (pattern, text, expected) => {
    expect(Glob.matches(pattern, text)).toBe(expected)
  })

  const word = FastCheck.string({ unit: FastCheck.constantFrom("a", "b", "/", "."), maxLength: 12 })

  it.prop("a pattern without wildcards covers itself alone", [word, word], ([a, b]) => {
    expect(Glob.matches(a, b)).toBe(a === b)
  })

  it.prop("agrees with a regular expression", [
    FastCheck.array(FastCheck.constantFrom("a", "/", "*", "**", "**/", "?"), { maxLength: 6 }).filter((tokens) =>
      !tokens.some((token, i) => token.startsWith("*") && tokens[i - 1]?.endsWith("*"))
    ),
    word
  ], ([tokens, text]) => {
    const pattern = tokens.join("")
    const source = (pattern.match(/\*\*\/|\*\*|[^]/gu) ?? []).map((token) =>
      ({ "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", ".": "\\." })[token] ?? token
    ).join("")
    expect(Glob.matches(pattern, text)).toBe(new RegExp(`^${source}$`, "su").test(text))
  })

  it("takes no exponential time", () => {
    expect(Glob.matches("*a".repeat(40), "a".repeat(2000) + "b")).toBe(false)
  })
})

describe("Glob on paths", () => {
  const path = FastCheck.string({ unit: FastCheck.constantFrom("a", "/", ".", "*", "?", "[", "]"), maxLength: 10 })

  it.prop("the pattern of a path covers it, and another only where that is the same path", [path, path], ([a, b]) => {
    const pattern = Glob.exactly(a)
    if (pattern === undefined) return expect(Glob.matchesPath("**", a)).toBe(false)
    expect(Glob.matchesPath(pattern, a)).toBe(true)
    expect(Glob.matchesPath(pattern, b)).toBe(Glob.exactly(b) === pattern)
  })

  it.each([
    ["docs/**", "./docs/a.md", true],
    ["docs/**", "docs//a/../b.md", true],
    ["docs/**", "docs/../src/a.ts", false],
    ["**", "../a", false],
    ["docs/**", "a/../../docs/b", false],
    ["/w/**", "/w/./a", true],
    [".", "./", true],
    ["secrets/**", "x/../secrets/y", true]
  ])("%s on %s", (pattern, path, expected) => {
    expect(Glob.matchesPath(pattern, path)).toBe(expected)
  })
})
