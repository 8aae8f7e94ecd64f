/**
 * What takes the events of a run, and the line that a call ends with in listings.
 *
 * @since 0.1.0
 */
import type { Event } from "@capstan/core/Event"
import type { Outcome } from "@capstan/core/Outcome"
import * as Sanitiser from "@capstan/core/Sanitiser"
import * as Effect from "effect/Effect"

/**
 * Takes the events of a turn in order; `Final` comes also when the turn was cancelled.
 *
 * @since 0.1.0
 * @category models
 */
export interface Renderer {
  readonly show: (event: Event) => Effect.Effect<void>
}

/**
 * A call's end in one line.
 *
 * @since 0.1.0
 * @category combinators
 */
export const outcomeLine = (tool: string, summary: string, outcome: Outcome, durationMillis: number): string => {
  const what = summary === "" || summary === tool ? tool : `${tool} ${summary}`
  const clean = (text: string) => Sanitiser.sanitise(text).text.split("\n", 1)[0] ?? ""
  switch (outcome._tag) {
    case "Succeeded":
      return `✓ ${what} (${durationMillis} ms)`
    case "Denied":
      return `⊘ ${what}: ${clean(outcome.reason ?? outcome.failure.message)}`
    case "Refused":
    case "Cancelled":
      return `⊘ ${what}: ${clean(outcome.failure.message)}`
    case "Failed":
    case "TimedOut":
    case "Unknown":
      return `✗ ${what}: ${clean(outcome.failure.message)}`
  }
}

/**
 * Holds the news that an answer broke off until something follows: where nothing does, the error that ends the run says it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withoutLastWords = (renderer: Renderer): Renderer => {
  let held: Event | undefined
  return {
    show: (event) =>
      Effect.suspend(() => {
        const before = held
        held = event._tag === "Voided" ? event : undefined
        const shown = before === undefined ? Effect.void : renderer.show(before)
        return held === undefined ? Effect.zipRight(shown, renderer.show(event)) : shown
      })
  }
}
