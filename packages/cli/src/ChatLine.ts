/**
 * What a line in the chat asks for. Pure.
 *
 * @since 0.1.0
 */
import { Trust } from "@capstan/core/Trust"
import * as CommandLine from "./CommandLine.js"

/**
 * The modes of approval that a chat can be put into.
 *
 * @since 0.1.0
 * @category models
 */
export const modes = ["auto", "prompt", "deny"] as const

/**
 * What a line asks for. `Wrong` says what is the matter with it.
 *
 * @since 0.1.0
 * @category models
 */
export type ChatLine =
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "Message"; readonly text: string }
  | { readonly _tag: "Wrong"; readonly message: string }
  | { readonly _tag: "Help" | "Tools" | "Context" | "Clear" | "Exit" }
  | { readonly _tag: "Model"; readonly id: string | undefined }
  | { readonly _tag: "Approve"; readonly mode: (typeof modes)[number] | undefined }
  | { readonly _tag: "Trust"; readonly level: Trust | undefined }
  | { readonly _tag: "Tool"; readonly given: { readonly call: string; readonly text: string } | undefined }

/**
 * The commands and what they do.
 *
 * @since 0.1.0
 * @category models
 */
export const commands: ReadonlyArray<{ readonly name: string; readonly takes: string; readonly does: string }> = [
  { name: "::help", takes: "", does: "this list" },
  { name: "::tools", takes: "", does: "the tools that the model has" },
  { name: "::model", takes: "[provider/id]", does: "the model, or another one" },
  { name: "::approve", takes: "[auto|prompt|deny]", does: "what is asked and what was allowed, or change it" },
  { name: "::trust", takes: "[level]", does: "how much may be done, or change it" },
  { name: "::tool", takes: "[call result]", does: "give the result of a call that was handed to you" },
  { name: "::context", takes: "", does: "tokens in use, by part" },
  { name: "::clear", takes: "", does: "begin a new session" },
  { name: "::exit", takes: "", does: "leave (Ctrl-D, or Ctrl-C twice)" }
]

const without = {
  "::help": "Help",
  "::tools": "Tools",
  "::context": "Context",
  "::clear": "Clear",
  "::exit": "Exit"
} as const

const isPlain = (name: string): name is keyof typeof without => Object.hasOwn(without, name)

const oneOf = <Value extends string>(values: ReadonlyArray<Value>, text: string): Value | undefined =>
  values.find((value) => value === text)

/**
 * Reads a line: `::word` is a command, everything else goes to the model.
 *
 * @since 0.1.0
 * @category constructors
 */
export const parse = (line: string): ChatLine => {
  const text = line.trim()
  if (text === "") return { _tag: "Nothing" }
  if (/^::tool(?:\s|$)/.test(text)) return tool(text)
  const [, name, rest] = /^(::[A-Za-z][\w-]*)(?:[^\S\n]+(.*))?$/.exec(text) ?? []
  if (name === undefined) return { _tag: "Message", text: line }
  const argument = rest?.trim() === "" ? undefined : rest?.trim()
  if (isPlain(name)) {
    return argument === undefined ? { _tag: without[name] } : wrong(`${name} takes nothing after it.`)
  }
  switch (name) {
    case "::model":
      return { _tag: "Model", id: argument }
    case "::approve": {
      const mode = argument === undefined ? undefined : oneOf(modes, argument)
      return argument !== undefined && mode === undefined
        ? wrong(`${name} takes one of ${modes.join(", ")}.`)
        : { _tag: "Approve", mode }
    }
    case "::trust": {
      const level = argument === undefined ? undefined : oneOf(Trust.literals, argument)
      return argument !== undefined && level === undefined
        ? wrong(`${name} takes one of ${Trust.literals.join(", ")}.`)
        : { _tag: "Trust", level }
    }
    default: {
      const nearest = CommandLine.nearest(name, commands.map((command) => command.name))
      return wrong(`Unknown command: ${name}. ${nearest === undefined ? "" : `Did you mean ${nearest}? `}Try ::help`)
    }
  }
}

/** A result may have several lines. */
const tool = (text: string): ChatLine => {
  const [, call, result] = /^::tool(?:\s+(\S+)(?:\s([^]*))?)?$/.exec(text) ?? []
  if (call === undefined) return { _tag: "Tool", given: undefined }
  return result === undefined || result.trim() === ""
    ? wrong("::tool takes a call (its position or id) and its result.")
    : { _tag: "Tool", given: { call, text: result } }
}

const wrong = (message: string): ChatLine => ({ _tag: "Wrong", message })
