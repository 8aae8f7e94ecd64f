import type { Violation } from "../HistoryValidator.js"
import * as Rules from "./historyRules.js"
import * as Wire from "./wire.js"

const limits: Rules.Limits = { id: /^[^]{1,40}$/, name: /^[a-zA-Z0-9_-]{1,64}$/ }

/**
 * The rules that a request body of OpenAI's Chat Completions breaks.
 *
 * @since 0.1.0
 * @category combinators
 */
export const validateOpenAiChat = (body: unknown): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const messages = Wire.items(Wire.field(body, "messages"), "messages", found)
  const entries: Array<Rules.Entry> = []
  for (const message of messages) {
    const role = message.value["role"]
    switch (role) {
      case "system":
      case "developer":
        if (entries.length > 0) {
          found.push(Rules.violation("shape", message.at, `A message of ${role} stands after the first.`))
        }
        checkContent(message, ["text"], found)
        break
      case "user":
        checkContent(message, ["text", "image_url", "file", "input_audio"], found)
        entries.push(Rules.user(message.at))
        break
      case "assistant":
        entries.push(assistantEntry(message, found))
        break
      case "tool":
        checkToolContent(message, found)
        entries.push(
          Rules.results(message.at, [{ at: message.at, id: message.value["tool_call_id"], name: undefined }])
        )
        break
      default:
        found.push(Rules.violation("shape", message.at, `There is no role ${Rules.show(role)}.`))
    }
  }
  const merged = Rules.merge(entries, ["results"])
  return [...found, ...Rules.check(merged, limits), ...Rules.checkLast(merged), ...checkTools(body)]
}

const checkContent = (message: Wire.Item, kinds: ReadonlyArray<string>, found: Array<Violation>): void => {
  const at = `${message.at}.content`
  Wire.checkParts(
    Wire.parts(message.value["content"], at, "text", found),
    { at, kinds, blank: Wire.isEmpty },
    found
  )
}

/** A result may be an empty text: that is how a tool says nothing. */
const checkToolContent = (message: Wire.Item, found: Array<Violation>): void => {
  if (message.value["content"] !== "") checkContent(message, ["text"], found)
}

const assistantEntry = (message: Wire.Item, found: Array<Violation>): Rules.Entry => {
  const { content, tool_calls: toolCalls } = message.value
  const calls = toolCalls === undefined ? [] : Wire.items(toolCalls, `${message.at}.tool_calls`, found)
  if (toolCalls !== undefined && calls.length === 0) {
    found.push(Rules.violation("shape", `${message.at}.tool_calls`, "An empty list of calls is refused: leave it out."))
  }
  if (calls.length === 0 && (content === undefined || content === null)) {
    if (message.value["refusal"] === undefined) {
      found.push(Rules.violation("empty-message", message.at, "An answer has neither content nor calls."))
    }
  } else if (content !== undefined && content !== null) checkContent(message, ["text", "refusal"], found)
  return Rules.assistant(
    message.at,
    calls.map(({ at, value }) => {
      if (value["type"] !== "function") found.push(Rules.violation("shape", at, "The type of a call is \"function\"."))
      return {
        at,
        id: value["id"],
        name: Wire.field(value["function"], "name"),
        arguments: Rules.parseJson(Wire.field(value["function"], "arguments"))
      }
    })
  )
}

const checkTools = (body: unknown): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const tools = Wire.field(body, "tools")
  const choice = Wire.field(body, "tool_choice")
  if (tools === undefined) {
    if (choice !== undefined) found.push(Rules.violation("tool-choice", "tool_choice", "A choice needs tools."))
    if (Wire.field(body, "parallel_tool_calls") !== undefined) {
      found.push(Rules.violation("tools-missing", "parallel_tool_calls", "This is only allowed with tools."))
    }
    return found
  }
  const list = Wire.items(tools, "tools", found)
  if (list.length === 0) {
    found.push(Rules.violation("shape", "tools", "An empty list of tools is refused: leave it out."))
  }
  const chosen = Wire.field(Wire.field(choice, "function"), "name")
  return [
    ...found,
    ...Rules.checkTools({
      at: "tools",
      longestName: 64,
      tools: list.map(({ value }) => ({
        name: Wire.field(value["function"], "name"),
        parameters: Wire.field(value["function"], "parameters")
      })),
      chosen: typeof chosen === "string" ? chosen : undefined
    })
  ]
}
