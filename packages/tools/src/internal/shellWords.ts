/** What the words of a command line can come to, as far as it can be told without running it. */
import type { DoubleQuotedChild, ParsedScript, Word, WordPart } from "unbash"

/** Stands for what is only known when the command runs. No argument of a program can hold it. */
export const dynamic = "\0"

/** Beyond so many possibilities a word is not followed. */
const most = 24

/** What each variable can hold. */
export type Variables = ReadonlyMap<string, ReadonlyArray<string>>

const known: Variables = new Map([
  ["HOME", ["~"]],
  ["PWD", ["."]],
  ["IFS", [" "]],
  ["TMPDIR", ["/tmp"]]
])

const valuesOf = (name: string, variables: Variables): ReadonlyArray<string> =>
  variables.get(name) ?? known.get(name) ?? [dynamic]

const combine = (left: ReadonlyArray<string>, right: ReadonlyArray<string>): ReadonlyArray<string> => {
  const [start = "", end = ""] = [left[0], right[0]]
  if (left.length === 1 && right.length === 1) return [start + end]
  const both = left.flatMap((start) => right.map((end) => start + end))
  return both.length > most ? [dynamic] : [...new Set(both)]
}

/** `a{b,c}d` is handled by the caller: this gives the alternatives of `{b,c}`, nested ones too. */
const braces = (text: string): ReadonlyArray<string> => {
  const inner = text.slice(1, -1)
  const parts: Array<string> = []
  let depth = 0
  let from = 0
  for (let at = 0; at < inner.length; at++) {
    if (inner[at] === "{") depth++
    else if (inner[at] === "}") depth--
    else if (inner[at] === "," && depth === 0) {
      parts.push(inner.slice(from, at))
      from = at + 1
    }
  }
  if (parts.length === 0) return [dynamic]
  return [...parts, inner.slice(from)].flatMap((part) => part.includes("{") ? [dynamic] : [part.replace(/["'\\]/g, "")])
}

/** `$(echo x)` is what it prints. */
const printed = (script: ParsedScript | undefined, variables: Variables): ReadonlyArray<string> => {
  const [statement, ...others] = script?.commands ?? []
  const command = statement?.command
  if (others.length > 0 || command?.type !== "Command" || command.redirects.length > 0) return [dynamic]
  if (command.name?.value !== "echo" && command.name?.value !== "printf") return [dynamic]
  return command.args.reduce<ReadonlyArray<string>>((done, arg, index) => {
    const space = index === 0 ? "" : " "
    return arg.type === "Word" ? combine(done, resolve(arg, variables).map((value) => space + value)) : [dynamic]
  }, [""])
}

const partValues = (part: WordPart | DoubleQuotedChild, variables: Variables): ReadonlyArray<string> => {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      return [part.value]
    case "DoubleQuoted":
    case "LocaleString":
      return part.parts.reduce<ReadonlyArray<string>>((done, child) => combine(done, partValues(child, variables)), [
        ""
      ])
    case "Glob":
      return [part.text]
    case "ExtendedGlob":
      return ["*"]
    case "BraceExpansion":
      return braces(part.text)
    case "SimpleExpansion":
      return valuesOf(part.text.slice(1), variables)
    case "ParameterExpansion": {
      if (part.prefix !== undefined || part.index !== undefined) return [dynamic]
      const values = valuesOf(part.parameter, variables)
      if (part.operation === undefined) return values
      return part.operation.type === "Default"
        ? [...new Set([...values, ...resolve(part.operation.operand, variables)])]
        : [dynamic]
    }
    case "CommandExpansion":
      return printed(part.script, variables)
    case "ArithmeticExpansion":
    case "ProcessSubstitution":
      return [dynamic]
  }
}

/** The texts that a word can come to, with {@link dynamic} where something is not known. */
export const resolve = (word: Word, variables: Variables): ReadonlyArray<string> =>
  word.parts === undefined
    ? [word.value]
    : word.parts.reduce<ReadonlyArray<string>>((done, part) => combine(done, partValues(part, variables)), [""])

const splits = (word: Word): boolean =>
  word.parts?.some(({ type }) =>
    type === "SimpleExpansion" || type === "ParameterExpansion" || type === "CommandExpansion"
  ) ?? false

/** The lists of arguments that words can come to; undefined: too many. */
export const argumentLists = (
  words: ReadonlyArray<Word>,
  variables: Variables
): ReadonlyArray<ReadonlyArray<string>> | undefined => {
  let lists: ReadonlyArray<ReadonlyArray<string>> = [[]]
  for (const word of words) {
    const values = resolve(word, variables)
    const alternatives = word.parts?.some(({ type }) => type === "BraceExpansion") === true
      ? [values]
      : values.map((value) => splits(word) ? value.split(/\s+/).filter((piece) => piece !== "") : [value])
    lists = lists.flatMap((list) => alternatives.map((pieces) => [...list, ...pieces]))
    if (lists.length > most) return undefined
  }
  return lists
}
