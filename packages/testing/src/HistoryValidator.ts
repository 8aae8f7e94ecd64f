/**
 * Strict rules of the message histories that OpenAI (Chat Completions, Responses) and Anthropic (Messages) take: over
 * the conversation as core keeps it, and over the bodies that go over the wire. Pure.
 *
 * A validator that passes too much hides faults until a service answers 400, so where the vendors differ or are lenient the
 * stricter reading holds.
 *
 * @since 0.1.0
 */
import type { Message } from "@capstan/core/Message"
import type { ModelRequest } from "@capstan/core/ModelProvider"
import * as Rules from "./internal/historyRules.js"

/**
 * Whose rules hold.
 *
 * @since 0.1.0
 * @category models
 */
export type Dialect = "openai-chat" | "openai-responses" | "anthropic"

/**
 * All dialects.
 *
 * @since 0.1.0
 * @category constants
 */
export const dialects: ReadonlyArray<Dialect> = ["openai-chat", "openai-responses", "anthropic"]

/**
 * A rule that a history can break.
 *
 * - `first-user`, `last-input`: the first message is the user's, a request ends with something to answer to.
 * - `roles-alternate`, `results-first`: no role twice in a row; in one message results stand before anything else.
 * - `empty-message`, `empty-text`: no message without parts, no part without text.
 * - `id-legal`, `id-unique`, `name-legal`, `name-agrees`, `arguments-object`: how a call is written.
 * - `call-unanswered`, `result-orphan`, `result-duplicate`, `result-order`, `result-misplaced`: each call is answered
 *   directly after its response, in call order, once, and nothing else is.
 * - `reasoning-foreign`, `reasoning-last`: reasoning goes to its maker only, and is followed by what it led to.
 * - `tool-definition`, `tool-choice`, `tools-missing`: the tools that a request names.
 * - `shape`: the body is not of the form that the service reads.
 *
 * @since 0.1.0
 * @category models
 */
export type Rule =
  | "first-user"
  | "last-input"
  | "roles-alternate"
  | "results-first"
  | "empty-message"
  | "empty-text"
  | "id-legal"
  | "id-unique"
  | "name-legal"
  | "name-agrees"
  | "arguments-object"
  | "call-unanswered"
  | "result-orphan"
  | "result-duplicate"
  | "result-order"
  | "result-misplaced"
  | "reasoning-foreign"
  | "reasoning-last"
  | "tool-definition"
  | "tool-choice"
  | "tools-missing"
  | "shape"

/**
 * A rule that was broken: where (`messages[2].content[0]`) and how, in words.
 *
 * @since 0.1.0
 * @category models
 */
export interface Violation {
  readonly rule: Rule
  readonly at: string
  readonly message: string
}

/**
 * What is known beside the messages: the id of the `provider` that they go to (undefined: reasoning of any maker passes).
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly provider?: string | undefined
}

/**
 * The rules that a conversation breaks, in the form in which core hands it to a provider. What every provider does on the
 * way to the wire is left to the validators of bodies: it maps names to legal ones, joins neighbours on the user's side,
 * leaves out blank text and reasoning that leads to nothing. Takes time in proportion to the history.
 *
 * @since 0.1.0
 * @category combinators
 */
export const validate = (
  messages: ReadonlyArray<Message>,
  dialect: Dialect,
  options: Options = {}
): ReadonlyArray<Violation> => [
  ...Rules.check(messages.map(toEntry), { id: /^[a-zA-Z0-9_-]{1,40}$/, name: undefined }),
  ...messages.flatMap((message, index) => checkParts(message, index, options)),
  ...(dialect === "anthropic" ? checkAlternation(messages) : [])
]

/**
 * The rules that a request breaks: those of {@link validate}, its end, its tools and its tool choice.
 *
 * @since 0.1.0
 * @category combinators
 */
export const validateRequest = (
  request: ModelRequest,
  dialect: Dialect,
  options: Options = {}
): ReadonlyArray<Violation> => [
  ...validate(request.messages, dialect, options),
  ...Rules.checkLast(request.messages.map(toEntry)),
  ...checkDefinitions(request)
]

/**
 * Violations as lines for people: `rule at place: what`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const toText = (violations: ReadonlyArray<Violation>): string =>
  violations.map(({ at, message, rule }) => `${rule} at ${at}: ${message}`).join("\n")

export { validateAnthropic } from "./internal/anthropicRules.js"
export { validateOpenAiChat } from "./internal/openAiChatRules.js"
export { validateOpenAiResponses } from "./internal/openAiResponsesRules.js"

const toEntry = (message: Message, index: number): Rules.Entry => {
  const at = `messages[${index}]`
  switch (message.role) {
    case "user":
      return Rules.user(at)
    case "assistant":
      return Rules.assistant(
        at,
        message.content.flatMap((part, position) =>
          part.type === "tool-call"
            ? [{
              at: `${at}.content[${position}]`,
              id: part.id,
              name: part.name,
              arguments: Rules.parseJson(part.arguments)
            }]
            : []
        )
      )
    case "tool":
      return Rules.results(
        at,
        message.results.map((result, position) => ({
          at: `${at}.results[${position}]`,
          id: result.id,
          name: result.name
        }))
      )
  }
}

const checkParts = (message: Message, index: number, options: Options): ReadonlyArray<Violation> => {
  const at = `messages[${index}]`
  const parts = message.role === "tool" ? message.results : message.content
  const found: Array<Violation> = []
  if (parts.length === 0) found.push(Rules.violation("empty-message", at, `A message of ${message.role} has no parts.`))
  parts.forEach((part, position) => {
    const here = `${at}[${position}]`
    const texts = part.type === "tool-result" ? part.content : [part]
    if (texts.some((text) => text.type === "text" && text.text === "")) {
      found.push(Rules.violation("empty-text", here, "A text part is empty: leave it out."))
    }
    if (part.type === "reasoning" && options.provider !== undefined && part.provider !== options.provider) {
      found.push(
        Rules.violation("reasoning-foreign", here, `Reasoning of ${part.provider} must not go to ${options.provider}.`)
      )
    }
  })
  return found
}

const checkAlternation = (messages: ReadonlyArray<Message>): ReadonlyArray<Violation> =>
  messages.flatMap((message, index) =>
    message.role !== "user" && message.role === messages[index - 1]?.role
      ? [
        Rules.violation(
          "roles-alternate",
          `messages[${index}]`,
          `Two messages of ${message.role} stand next to each other.`
        )
      ]
      : []
  )

const checkDefinitions = (request: ModelRequest): ReadonlyArray<Violation> => {
  const names = request.tools.map((tool) => tool.name)
  const twice = names.filter((name, index) => names.indexOf(name) !== index)
  const chosen = typeof request.toolChoice === "object" ? request.toolChoice.tool : undefined
  return [
    ...twice.map((name) => Rules.violation("tool-definition", "tools", `Two tools are called ${Rules.show(name)}.`)),
    ...(chosen === undefined || names.includes(chosen)
      ? []
      : [Rules.violation("tool-choice", "toolChoice", `The tool ${Rules.show(chosen)} is not among the tools.`)]),
    ...(request.toolChoice === "required" && names.length === 0
      ? [Rules.violation("tool-choice", "toolChoice", "A call is required, and there is no tool.")]
      : [])
  ]
}
