import type { Violation } from "../HistoryValidator.js"
import * as Rules from "./historyRules.js"
import * as Wire from "./wire.js"

const limits: Rules.Limits = { id: /^[a-zA-Z0-9_-]+$/, name: /^[a-zA-Z0-9_-]{1,64}$/ }

/**
 * The rules that a request body of Anthropic's Messages breaks. `made` says which thinking blocks this provider's service
 * made (default: all).
 *
 * @since 0.1.0
 * @category combinators
 */
export const validateAnthropic = (
  body: unknown,
  options: { readonly made?: (block: Readonly<Record<string, unknown>>) => boolean } = {}
): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  checkHead(body, found)
  const messages = Wire.items(Wire.field(body, "messages"), "messages", found)
  const entries = messages.flatMap((message, index) => {
    const { content, role } = message.value
    const at = `${message.at}.content`
    if (index > 0 && role === messages[index - 1]?.value["role"]) {
      found.push(
        Rules.violation("roles-alternate", message.at, `Two messages of ${Rules.show(role)} stand next to each other.`)
      )
    }
    const blocks = Wire.parts(content, at, "text", found)
    switch (role) {
      case "user":
        return userEntries(message.at, blocks, found)
      case "assistant":
        return [assistantEntry(message.at, blocks, options.made ?? (() => true), found)]
      default:
        found.push(Rules.violation("shape", message.at, `There is no role ${Rules.show(role)}.`))
        return []
    }
  })
  return [
    ...found,
    ...Rules.check(entries, limits),
    ...Rules.checkLast(entries),
    ...checkTools(body, entries.some((entry) => entry.calls.length + entry.results.length > 0))
  ]
}

const checkHead = (body: unknown, found: Array<Violation>): void => {
  const maxTokens = Wire.field(body, "max_tokens")
  if (typeof maxTokens !== "number" || !Number.isInteger(maxTokens) || maxTokens < 1) {
    found.push(Rules.violation("shape", "max_tokens", "A positive whole number is required."))
  }
  const system = Wire.field(body, "system")
  if (system !== undefined && system !== "") {
    Wire.checkParts(
      Wire.parts(system, "system", "text", found),
      { at: "system", kinds: ["text"], blank: Wire.isBlank },
      found
    )
  }
}

const userEntries = (
  at: string,
  blocks: ReadonlyArray<Wire.Item>,
  found: Array<Violation>
): ReadonlyArray<Rules.Entry> => {
  Wire.checkParts(blocks, { at, kinds: ["text", "image", "document", "tool_result"], blank: Wire.isBlank }, found)
  const results = blocks.filter(({ value }) => value["type"] === "tool_result")
  const firstOther = blocks.findIndex(({ value }) => value["type"] !== "tool_result")
  for (const late of blocks.slice(firstOther === -1 ? blocks.length : firstOther)) {
    if (late.value["type"] === "tool_result") {
      found.push(Rules.violation("results-first", late.at, "A result stands after other content of its message."))
    }
  }
  for (const result of results) checkResult(result, found)
  const answers = results.map((result) => ({ at: result.at, id: result.value["tool_use_id"], name: undefined }))
  return [
    ...(answers.length === 0 ? [] : [Rules.results(at, answers)]),
    ...(answers.length === blocks.length && answers.length > 0 ? [] : [Rules.user(at)])
  ]
}

const checkResult = (result: Wire.Item, found: Array<Violation>): void => {
  const { content, is_error: isError } = result.value
  if (isError !== undefined && typeof isError !== "boolean") {
    found.push(Rules.violation("shape", result.at, "\"is_error\" is not a boolean."))
  }
  if (content === undefined || typeof content === "string" || (Array.isArray(content) && content.length === 0)) return
  const at = `${result.at}.content`
  Wire.checkParts(
    Wire.items(content, at, found),
    { at, kinds: ["text", "image", "document", "search_result"], blank: Wire.isEmpty },
    found
  )
}

const assistantEntry = (
  at: string,
  blocks: ReadonlyArray<Wire.Item>,
  made: (block: Readonly<Record<string, unknown>>) => boolean,
  found: Array<Violation>
): Rules.Entry => {
  Wire.checkParts(
    blocks,
    { at, kinds: ["text", "tool_use", "thinking", "redacted_thinking"], blank: Wire.isBlank },
    found
  )
  for (const block of blocks.filter(isThinking)) {
    Wire.required(block, block.value["type"] === "thinking" ? ["thinking", "signature"] : ["data"], found)
    if (!made(block.value)) {
      found.push(Rules.violation("reasoning-foreign", block.at, "This thinking was not made by this service."))
    }
  }
  const last = blocks.at(-1)
  if (last !== undefined && isThinking(last)) {
    found.push(Rules.violation("reasoning-last", last.at, "The last block of an answer must not be thinking."))
  }
  return Rules.assistant(
    at,
    blocks.filter(({ value }) => value["type"] === "tool_use").map(({ at, value }) => ({
      at,
      id: value["id"],
      name: value["name"],
      arguments: value["input"]
    }))
  )
}

const isThinking = ({ value }: Wire.Item): boolean =>
  value["type"] === "thinking" || value["type"] === "redacted_thinking"

const checkTools = (body: unknown, used: boolean): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const tools = Wire.field(body, "tools")
  const choice = Wire.field(body, "tool_choice")
  const list = tools === undefined ? [] : Wire.items(tools, "tools", found)
  if (list.length === 0 && used) {
    found.push(Rules.violation("tools-missing", "tools", "A history with calls or results needs definitions of tools."))
  }
  if (list.length === 0 && choice !== undefined) {
    found.push(Rules.violation("tool-choice", "tool_choice", "A choice needs tools."))
  }
  const kind = Wire.field(choice, "type")
  if (choice !== undefined && !["auto", "any", "tool", "none"].includes(String(kind))) {
    found.push(Rules.violation("tool-choice", "tool_choice", `There is no choice ${Rules.show(kind)}.`))
  }
  const chosen = kind === "tool" ? Wire.field(choice, "name") : undefined
  return [
    ...found,
    ...Rules.checkTools({
      at: "tools",
      longestName: 64,
      tools: list.map(({ value }) => ({ name: value["name"], parameters: value["input_schema"] })),
      chosen: typeof chosen === "string" ? chosen : undefined
    })
  ]
}
