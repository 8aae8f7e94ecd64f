import { Words } from "./tape.js"

/** What opens a block that can only be a call. */
const callOpeners = [
  "<tool_call>",
  "<tool_calls>",
  "<function_call>",
  "<function_calls>",
  "<functioncall>",
  "<tool_use>",
  "<tools>",
  "<|tool_call|>",
  "<|python_tag|>",
  "<｜tool▁calls▁begin｜>",
  "<｜tool▁call▁begin｜>",
  "<|tool_calls_section_begin|>",
  "<|tool_call_begin|>",
  "[TOOL_CALLS]",
  "[TOOL_REQUEST]",
  "<|channel|>commentary to="
]

/** What closes such a block, or ends an answer behind it. */
const callClosers = [
  "</tool_call>",
  "</tool_calls>",
  "</function_call>",
  "</function_calls>",
  "</functioncall>",
  "</tool_use>",
  "</tools>",
  "<|/tool_call|>",
  "[/TOOL_CALLS]",
  "[END_TOOL_REQUEST]",
  "<｜tool▁call▁end｜>",
  "<｜tool▁calls▁end｜>",
  "<|tool_call_end|>",
  "<|tool_calls_section_end|>",
  "<|call|>",
  "<|eom_id|>",
  "<|eot_id|>",
  "<|im_end|>",
  "<|end_of_text|>",
  "<|endoftext|>",
  "<｜end▁of▁sentence｜>",
  "</s>"
]

/** What stands between a call's name and its arguments. */
const separators = [
  "<｜tool▁sep｜>",
  "[ARGS]",
  "<|tool_call_argument_begin|>",
  "<|message|>",
  "<|constrain|>json<|message|>"
]

/** Elements that carry a call's name in their tag, up to where the name begins. */
export const namedElements = [
  "<function=",
  "<invoke name=\"",
  "<invoke name='",
  "<function name=\"",
  "<tool_call name=\"",
  "<tool name=\""
]

/** Parameter elements that carry the parameter's name in their tag, with what closes them. */
export const parameterElements = new Map([
  ["<parameter=", "</parameter>"],
  ["<parameter name=\"", "</parameter>"],
  ["<parameter name='", "</parameter>"],
  ["<param name=\"", "</param>"],
  ["<arg name=\"", "</arg>"]
])

/** Reasoning blocks: nothing in them is a call. */
export const reasoning = new Map([
  ["<think>", "</think>"],
  ["<thinking>", "</thinking>"],
  ["<reasoning>", "</reasoning>"],
  ["<thought>", "</thought>"],
  ["[THINK]", "[/THINK]"],
  ["<|channel|>analysis<|message|>", "<|end|>"]
])

/** Code fences that may hold a call by their info word; in others nothing is looked for. */
export const callLanguages = new Set([
  "",
  "json",
  "json5",
  "jsonc",
  "jsonl",
  "tool_call",
  "tool_calls",
  "tool-call",
  "tool",
  "tools",
  "tool_code",
  "tool_use",
  "function_call",
  "function",
  "action",
  "call",
  "xml",
  "python",
  "py",
  "text",
  "txt",
  "plaintext",
  "markdown"
])

/** Where a model begins to speak for somebody else: nothing behind it is its own call. */
const turnMarkers = [
  "### Instruction",
  "### Response",
  "### Human",
  "### User",
  "### Assistant",
  "User:",
  "Human:",
  "Observation:",
  "<|im_start|>",
  "<|start_header_id|>",
  "<|user|>",
  "<start_of_turn>",
  "[INST]",
  "<tool_response>",
  "<function_response>"
]

/** Prose right before a block that is shown and not meant: `for example`, `would look like`. */
export const introducesExample = /\b(examples?|for instance|e\.g\.|(?:would|could|might) look like)\b[^.!?]{0,60}$/i

export const turnWords = new Words(turnMarkers)
export const openerWords = new Words([...callOpeners, ...namedElements])
export const closerWords = new Words(callClosers)
export const separatorWords = new Words(separators)
export const parameterWords = new Words([...parameterElements.keys()])
export const reasoningWords = new Words([...reasoning.keys()])
