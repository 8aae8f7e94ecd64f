/**
 * The demo's own words on the screen: headings and paragraphs, plain where nobody sees colours, within 80 columns.
 *
 * @since 0.1.0
 */
import type { UnfinishedError } from "@capstan/core/RunError"
import * as Effect from "effect/Effect"
import { Host } from "../Host.js"
import { type Line, render, span, wrap } from "../internal/styledLine.js"

/**
 * The widest line.
 *
 * @since 0.1.0
 * @category constants
 */
export const columns = 80

/**
 * Writes to the screen: a heading; paragraphs, one per entry, with an empty line after them; a claim with its mark.
 *
 * @since 0.1.0
 * @category models
 */
export interface Page {
  readonly heading: (text: string) => Effect.Effect<void>
  readonly say: (paragraphs: ReadonlyArray<string>) => Effect.Effect<void>
  readonly mark: (holds: boolean, claim: string, because: string) => Effect.Effect<void>
}

/**
 * The page of this host.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<Page, never, Host> = Effect.map(Host, (host) => {
  const text = (lines: ReadonlyArray<Line>, hanging: string) =>
    lines.flatMap((line) => wrap(line, { columns, hanging: [span(hanging)], words: true }))
      .map((line) => `${render(line, host.color).trimEnd()}\n`).join("")
  return {
    heading: (title) =>
      host.write(text([[span(`── ${title} ${"─".repeat(Math.max(0, columns - 4 - title.length))}`, "bold")], []], "")),
    say: (paragraphs) => host.write(text([...paragraphs.map((paragraph): Line => [span(paragraph)]), []], "")),
    mark: (holds, claim, because) =>
      host.write(text([
        [holds ? span("✓ ", "green") : span("✗ ", "red"), span(claim)],
        [span("  "), span(because, "dim")]
      ], "  "))
  }
})

/**
 * The same host with everything on its standard output, and where nobody's terminal does it, with lines broken at 80
 * columns.
 *
 * @since 0.1.0
 * @category combinators
 */
export const narrow = (host: Host["Type"]): Host["Type"] => {
  const write = (text: string) => host.write(host.terminal ? text : text.split("\n").map(broken).join("\n"))
  return { ...host, write, warn: write }
}

const broken = (text: string): string =>
  wrap([span(text)], { columns, hanging: [span("    ")], words: true })
    .map((line, index, rows) => index === rows.length - 1 ? render(line, false) : render(line, false).trimEnd())
    .join("\n")

/**
 * What a crash left, a line for each kind of call.
 *
 * @since 0.1.0
 * @category combinators
 */
export const calls = (
  left: Pick<UnfinishedError, "finished" | "unknown" | "neverStarted" | "ended">
): ReadonlyArray<string> => {
  const kinds: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ["finished", left.finished],
    ["started, end unknown", left.unknown],
    ["never started", left.neverStarted],
    ["still ran, now ended", left.ended]
  ]
  return kinds.filter(([, names]) => names.length > 0).map(([kind, names]) =>
    `  ${kind.padEnd(20)}  ${names.join(", ")}`
  )
}
