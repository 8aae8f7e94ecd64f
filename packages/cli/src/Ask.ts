/**
 * A question with a few one-letter answers, for the moments before a model is at work.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import process from "node:process"
import * as readline from "node:readline"
import { Host } from "./Host.js"

/** The line is read in the terminal's own mode, so that Ctrl-C stays a signal. Undefined: the input ended. */
const line: Effect.Effect<string | undefined> = Effect.async((resume) => {
  const reader = readline.createInterface({ input: process.stdin, terminal: false })
  reader.once("line", (text) => {
    resume(Effect.succeed(text))
    reader.close()
  })
  reader.once("close", () => resume(Effect.succeed(undefined)))
  return Effect.sync(() => reader.close())
})

/**
 * Asks until one of `answers` (its first letter, or the word) is given; undefined: the input ended, or nobody can be asked.
 *
 * @since 0.1.0
 * @category constructors
 */
export const choose = <const Answer extends string>(options: {
  readonly question: string
  readonly answers: ReadonlyArray<Answer>
}): Effect.Effect<Answer | undefined, never, Host> =>
  Effect.gen(function*() {
    const host = yield* Host
    if (!host.terminal) return undefined
    while (true) {
      yield* host.warn(`${options.question} [${options.answers.join("/")}] `)
      const text = yield* line
      if (text === undefined) return undefined
      const said = text.trim().toLowerCase()
      const answer = options.answers.find((answer) => said !== "" && answer.startsWith(said))
      if (answer !== undefined) return answer
    }
  })
