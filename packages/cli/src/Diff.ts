/**
 * Unified diffs for people. Pure.
 *
 * @since 0.1.0
 */
import * as Sanitiser from "@capstan/core/Sanitiser"
import { type Line, render, span, type Style } from "./internal/styledLine.js"

const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/

/**
 * The lines of a unified diff, coloured; characters that cannot be seen are shown as `<U+202E>`. Inside a hunk a line is what
 * its first character says, whatever follows: a removed `-- x` is no file name.
 *
 * @since 0.1.0
 * @category combinators
 */
export const lines = (diff: string): ReadonlyArray<Line> => {
  let before = 0
  let after = 0
  const styleOf = (line: string): Style | undefined => {
    if (before > 0 || after > 0) {
      switch (line[0]) {
        case "+":
          after--
          return "green"
        case "-":
          before--
          return "red"
        case "\\":
          return "dim"
        default:
          before--
          after--
          return undefined
      }
    }
    const counts = hunk.exec(line)
    if (counts === null) return line.startsWith("\\") ? "dim" : "bold"
    before = Number(counts[1] ?? 1)
    after = Number(counts[2] ?? 1)
    return "cyan"
  }
  return Sanitiser.escapeInvisible(diff).replace(/\n$/, "").split("\n").map((line) => [span(line, styleOf(line))])
}

/**
 * A unified diff as text, with colours or without.
 *
 * @since 0.1.0
 * @category combinators
 */
export const toText = (diff: string, options: { readonly color: boolean }): string =>
  lines(diff).map((line) => `${render(line, options.color)}\n`).join("")
