import type { Violation } from "../HistoryValidator.js"
import * as Rules from "./historyRules.js"
import * as Wire from "./wire.js"

const limits: Rules.Limits = { id: /^[^]{1,64}$/, name: /^[a-zA-Z0-9_-]{1,64}$/ }

const itemIds: Readonly<Record<string, string>> = { message: "msg_", function_call: "fc_", reasoning: "rs_" }

/**
 * The rules that a request body of OpenAI's Responses breaks. `made` says which reasoning items this provider's service
 * made (default: all).
 *
 * @since 0.1.0
 * @category combinators
 */
export const validateOpenAiResponses = (
  body: unknown,
  options: { readonly made?: (item: Readonly<Record<string, unknown>>) => boolean } = {}
): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const input = Wire.field(body, "input")
  const list = typeof input === "string"
    ? [{ at: "input", value: { role: "user", content: input } }]
    : Wire.items(input, "input", found)
  const stored = Wire.field(body, "store") !== false
  const entries = Rules.merge(
    list.flatMap((item, index) => {
      checkItemId(item, found)
      switch (kindOf(item)) {
        case "message":
          return messageEntries(item, index, found)
        case "function_call":
          Wire.required(item, ["call_id", "name", "arguments"], found)
          return [
            Rules.assistant(item.at, [{
              at: item.at,
              id: item.value["call_id"],
              name: item.value["name"],
              arguments: Rules.parseJson(item.value["arguments"])
            }])
          ]
        case "function_call_output":
          checkOutput(item, found)
          return [Rules.results(item.at, [{ at: item.at, id: item.value["call_id"], name: undefined }])]
        case "reasoning":
          checkReasoning(item, list[index + 1], stored, options.made ?? (() => true), found)
          return [Rules.assistant(item.at, [])]
        default:
          found.push(Rules.violation("shape", item.at, `There is no item of the type ${Rules.show(kindOf(item))}.`))
          return []
      }
    }),
    ["assistant", "results"]
  )
  return [...found, ...Rules.check(entries, limits), ...Rules.checkLast(entries), ...checkTools(body)]
}

const kindOf = (item: Wire.Item): unknown =>
  item.value["type"] ?? (item.value["role"] === undefined ? undefined : "message")

const checkItemId = (item: Wire.Item, found: Array<Violation>): void => {
  const { id } = item.value
  const prefix = itemIds[String(kindOf(item))]
  if (id === undefined || prefix === undefined) return
  if (typeof id !== "string" || !id.startsWith(prefix) || id.length > 64) {
    found.push(
      Rules.violation("id-legal", item.at, `The id of this item must begin with "${prefix}" (at most 64 characters).`)
    )
  }
}

const messageEntries = (item: Wire.Item, index: number, found: Array<Violation>): ReadonlyArray<Rules.Entry> => {
  const { content, role } = item.value
  const at = `${item.at}.content`
  const kinds = role === "assistant" ? ["output_text", "refusal"] : ["input_text", "input_image", "input_file"]
  Wire.checkParts(
    Wire.parts(content, at, role === "assistant" ? "output_text" : "input_text", found),
    { at, kinds, blank: Wire.isEmpty },
    found
  )
  switch (role) {
    case "user":
      return [Rules.user(item.at)]
    case "assistant":
      return [Rules.assistant(item.at, [])]
    case "system":
    case "developer":
      if (index > 0) found.push(Rules.violation("shape", item.at, `A message of ${role} stands after the first.`))
      return []
    default:
      found.push(Rules.violation("shape", item.at, `There is no role ${Rules.show(role)}.`))
      return []
  }
}

const checkOutput = (item: Wire.Item, found: Array<Violation>): void => {
  Wire.required(item, ["call_id"], found)
  const { output } = item.value
  if (typeof output === "string") return
  const at = `${item.at}.output`
  Wire.checkParts(
    Wire.items(output, at, found),
    { at, kinds: ["input_text", "input_image", "input_file"], blank: Wire.isEmpty },
    found
  )
}

const checkReasoning = (
  item: Wire.Item,
  next: Wire.Item | undefined,
  stored: boolean,
  made: (item: Readonly<Record<string, unknown>>) => boolean,
  found: Array<Violation>
): void => {
  if (!Array.isArray(item.value["summary"])) {
    found.push(Rules.violation("shape", item.at, "Reasoning has no summary list."))
  }
  if (!stored && typeof item.value["encrypted_content"] !== "string") {
    found.push(Rules.violation("shape", item.at, "Without storage, reasoning needs its encrypted content."))
  }
  if (!made(item.value)) {
    found.push(Rules.violation("reasoning-foreign", item.at, "This reasoning was not made by this service."))
  }
  const follows = next !== undefined
    && (kindOf(next) === "function_call" || kindOf(next) === "reasoning" || next.value["role"] === "assistant")
  if (!follows) {
    found.push(Rules.violation("reasoning-last", item.at, "The item that this reasoning led to does not follow it."))
  }
}

const checkTools = (body: unknown): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const tools = Wire.field(body, "tools")
  const choice = Wire.field(body, "tool_choice")
  const list = tools === undefined ? [] : Wire.items(tools, "tools", found)
  const chosen = Wire.field(choice, "type") === "function" ? Wire.field(choice, "name") : undefined
  if (choice === "required" && list.length === 0) {
    found.push(Rules.violation("tool-choice", "tool_choice", "A call is required, and there is no tool."))
  }
  return [
    ...found,
    ...Rules.checkTools({
      at: "tools",
      longestName: 64,
      tools: list.filter(({ value }) => value["type"] === "function").map(({ value }) => ({
        name: value["name"],
        parameters: value["parameters"]
      })),
      chosen: typeof chosen === "string" ? chosen : undefined
    })
  ]
}
