/**
 * How a run is shown: what takes its events, and the plainest way to show them.
 *
 * @since 0.1.0
 */
import type { Event } from "@capstan/core/Event"
import { match } from "@capstan/core/Event"
import type { Outcome } from "@capstan/core/Outcome"
import * as Sanitiser from "@capstan/core/Sanitiser"
import { keyOf } from "@capstan/core/ToolCall"
import type { TurnResult } from "@capstan/core/TurnResult"
import * as Effect from "effect/Effect"
import type { Host } from "./Host.js"

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
 * What a turn came to, in one line.
 *
 * @since 0.1.0
 * @category combinators
 */
export const totals = ({ calls, cost, end, reason, session, usage }: TurnResult): string => {
  const parts = [
    `${calls.length} call${calls.length === 1 ? "" : "s"}`,
    `${usage.input + usage.output} tokens`,
    ...(cost === null ? [] : [`$${cost.toFixed(4)}`]),
    `session ${session}`
  ]
  return `${end === "answered" ? "Done" : `Ended: ${reason ?? end}`} (${parts.join(", ")})`
}

/**
 * Plain lines: the answer to stdout, what happens to stderr. With `stream` the answer comes as it is written; with `quiet`
 * only the last answer is printed.
 *
 * @since 0.1.0
 * @category constructors
 */
export const plain = (options: {
  readonly host: Host["Type"]
  readonly stream: boolean
  readonly quiet: boolean
}): Renderer => {
  const { host, quiet, stream } = options
  const summaries = new Map<string, string>()
  let sanitiser = Sanitiser.initial
  let lineOpen = false
  const say = (line: string) => quiet ? Effect.void : Effect.zipRight(closeLine(), host.warn(`${line}\n`))
  const closeLine = () =>
    Effect.suspend(() => {
      const rest = Sanitiser.end(sanitiser)
      sanitiser = Sanitiser.initial
      if (!lineOpen) return Effect.void
      lineOpen = false
      return host.write(`${rest}\n`)
    })

  return {
    show: match<Effect.Effect<void>>({
      TextDelta: ({ text }) => {
        if (!stream) return Effect.void
        const [next, clean] = Sanitiser.step(sanitiser, text)
        sanitiser = next
        lineOpen ||= clean !== ""
        return host.write(clean)
      },
      Voided: ({ reason }) => say(`The answer broke off (${reason}); asking again.`),
      Retry: ({ attempt, delayMillis, reason }) => say(`Trying again in ${delayMillis} ms (attempt ${attempt}): ${reason}`),
      ToolStarted: ({ ref, summary }) => Effect.sync(() => void summaries.set(keyOf(ref), summary)),
      ApprovalAsked: ({ questions }) =>
        Effect.sync(() => questions.forEach(({ ref, summary }) => summaries.set(keyOf(ref), summary))),
      ToolFinished: ({ durationMillis, outcome, ref, tool }) =>
        say(outcomeLine(tool, summaries.get(keyOf(ref)) ?? "", outcome, durationMillis)),
      Final: ({ result }) =>
        closeLine().pipe(
          Effect.zipRight(
            stream || result.text === "" ? Effect.void : host.write(`${Sanitiser.sanitise(result.text).text}\n`)
          ),
          Effect.zipRight(say(totals(result)))
        ),
      orElse: () => Effect.void
    })
  }
}
