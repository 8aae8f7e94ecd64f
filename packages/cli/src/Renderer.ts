/**
 * What takes the events of a run, and the line that a call ends with in listings.
 *
 * @since 0.1.0
 */
import type { Event } from "@capstan/core/Event"
import type { Outcome } from "@capstan/core/Outcome"
import * as Sanitiser from "@capstan/core/Sanitiser"
import type * as Effect from "effect/Effect"

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
