/** Whether a pattern of an allow list covers a command line. */
import { parse } from "unbash"
import type { Command, PipelineNode, Redirection, Word, WordPart } from "unbash"
import { outside } from "./betweenWords.js"
import { programOf } from "./unfolding.js"

interface Chain {
  readonly commands: ReadonlyArray<Command>
  readonly operators: ReadonlyArray<string>
}

const pipeline = (node: PipelineNode): Chain | undefined => {
  if (node.type === "Command") return { commands: [node], operators: [] }
  if (node.type !== "Pipeline" || node.prefixes.length > 0) return undefined
  const commands = node.commands.flatMap((command) => command.type === "Command" ? [command] : [])
  return commands.length === node.commands.length ? { commands, operators: node.operators } : undefined
}

const join = (
  chains: ReadonlyArray<Chain | undefined>,
  operators: ReadonlyArray<string>
): Chain | undefined => {
  const known = chains.flatMap((chain) => chain === undefined ? [] : [chain])
  if (known.length < chains.length) return undefined
  return {
    commands: known.flatMap(({ commands }) => commands),
    operators: known.flatMap((chain, index) =>
      index === 0 ? chain.operators : [operators[index - 1] ?? ";", ...chain.operators]
    )
  }
}

/** A command line that is nothing but simple commands, joined; undefined for everything else. */
const chainOf = (line: string): Chain | undefined => {
  const script = parse(line)
  if (script.errors !== undefined && script.errors.length > 0) return undefined
  if (script.commands.some(({ background }) => background === true)) return undefined
  const chain = join(
    script.commands.map(({ command }) =>
      command.type === "AndOr" ? join(command.commands.map(pipeline), command.operators) : pipeline(command)
    ),
    []
  )
  return chain === undefined || chain.commands.length === 0 || !isAccountedFor(line, chain) ? undefined : chain
}

/** Whether there is nothing in a line but words, redirects and what joins commands. */
const isAccountedFor = (line: string, { commands }: Chain): boolean =>
  /^[\s;|&]*$/.test(outside(
    line,
    commands.flatMap(({ args, name, prefix, redirects }) => [
      ...(name === undefined ? [] : [name]),
      ...args,
      ...prefix,
      ...redirects
    ])
  ))

/** Without substitution, and without expansions that can run something. */
const isQuiet = (part: WordPart): boolean => {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
    case "Glob":
    case "SimpleExpansion":
    case "BraceExpansion":
      return part.type !== "BraceExpansion" || !/[$`]/.test(part.text)
    case "DoubleQuoted":
      return part.parts.every(isQuiet)
    case "ParameterExpansion":
      return part.prefix === undefined && part.index === undefined && part.operation === undefined
    default:
      return false
  }
}

const isFixed = (part: WordPart): boolean =>
  part.type === "Literal" || part.type === "SingleQuoted" || part.type === "AnsiCQuoted" ||
  (part.type === "DoubleQuoted" && part.parts.every(isFixed))

const fixed = (word: Word): string | undefined =>
  word.parts === undefined || word.parts.every(isFixed) ? word.value : undefined

/** A redirect within the working directory, to nothing that is hidden, or to nowhere. */
const staysInside = (redirect: Redirection): boolean => {
  if (redirect.type !== "Redirect" || redirect.target === undefined) return false
  const target = fixed(redirect.target)
  if (target === undefined) return false
  if (redirect.operator === ">&" || redirect.operator === "<&") return /^(?:\d|-)$/.test(target)
  return target === "/dev/null" ||
    (!/^[/~]/.test(target) && target.split("/").every((segment) => segment === "." || !segment.startsWith(".")))
}

/** A word of a pattern: a glob whose stars stand for themselves where they are quoted. */
type PatternWord = { readonly any: true } | { readonly any: false; readonly glob: RegExp; readonly walks: boolean }

const quoteExpression = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")

const globSource = (text: string): string =>
  text.replace(/\*|\?|[^*?]+/g, (piece) => piece === "*" ? "[^/]*" : piece === "?" ? "[^/]" : quoteExpression(piece))

const patternWord = (word: Word): PatternWord | undefined => {
  if (word.text === "*" || word.text === "**") return { any: true }
  if (word.parts === undefined) {
    return { any: false, glob: new RegExp(`^${quoteExpression(word.value)}$`, "u"), walks: false }
  }
  const sources = word.parts.map((part, index) =>
    part.type === "Glob" && (/^\*{2,}$/.test(part.text) || (part.text === "*" && word.parts?.[index + 1]?.text === "*"))
      ? "[^]*"
      : part.type === "Glob"
      ? globSource(part.text)
      : isFixed(part)
      ? quoteExpression(part.type === "DoubleQuoted" ? part.text.slice(1, -1) : "value" in part ? part.value : "")
      : undefined
  )
  return sources.every((source) => source !== undefined)
    ? { any: false, glob: new RegExp(`^${sources.join("")}$`, "u"), walks: word.text.includes("/") }
    : undefined
}

const wordMatches = (pattern: PatternWord, text: string | undefined): boolean => {
  if (pattern.any) return true
  return text !== undefined && pattern.glob.test(text) && !(pattern.walks && text.split("/").includes(".."))
}

const commandMatches = (pattern: Command, command: Command): boolean => {
  if (
    command.name === undefined || pattern.name === undefined || command.prefix.length > 0 || pattern.prefix.length > 0
  ) return false
  if (fixed(command.name) === undefined || fixed(pattern.name) !== pattern.name.text) return false
  if (fixed(command.name) !== fixed(pattern.name)) return false
  const args = command.args.flatMap((arg) => arg.type === "Word" ? [arg] : [])
  if (args.length !== command.args.length || !args.every((arg) => arg.parts?.every(isQuiet) ?? true)) return false
  return command.redirects.every(staysInside) && pattern.redirects.length === 0 &&
    argumentsMatch(pattern, args.map(fixed))
}

/** A star at the end stands for any further arguments. */
const argumentsMatch = (pattern: Command, args: ReadonlyArray<string | undefined>): boolean => {
  const words = pattern.args.flatMap((arg) => arg.type === "Word" ? patternWord(arg) ?? [] : [])
  if (words.length !== pattern.args.length) return false
  const open = words.at(-1)?.any === true
  const required = open ? words.slice(0, -1) : words
  return (open ? args.length >= required.length : args.length === required.length) &&
    required.every((word, index) => wordMatches(word, args[index]))
}

/** Whether one of these lists of arguments is what a command of the pattern says; a pattern that cannot be read is taken to. */
export const concerns = (lists: ReadonlyArray<ReadonlyArray<string>>, pattern: string): boolean => {
  const expected = chainOf(pattern)
  return expected === undefined ||
    expected.commands.some((command) => {
      const name = command.name === undefined ? undefined : patternWord(command.name)
      return name === undefined ||
        lists.some(([program = "", ...args]) =>
          (wordMatches(name, program) || wordMatches(name, programOf(program))) && argumentsMatch(command, args)
        )
    })
}

const changesDirectory = ({ commands }: Chain): boolean =>
  commands.some(({ name }) => /^(?:cd|pushd|popd)$/.test(name?.value ?? ""))

/** The command of a pattern that is a single one. */
const singleOf = (chain: Chain | undefined): Command | undefined =>
  chain?.commands.length === 1 ? chain.commands[0] : undefined

/** Whether a chain is part for part what the chain of a pattern says. */
const sameChain = (chain: Chain, expected: Chain): boolean =>
  chain.commands.length === expected.commands.length &&
  chain.operators.every((operator, index) => operator === expected.operators[index]) &&
  chain.commands.every((command, index) => {
    const part = expected.commands[index]
    return part !== undefined && commandMatches(part, command)
  })

/** Whether every part of a command line is what one of the patterns says, and nothing else happens. */
export const covers = (line: string, patterns: ReadonlyArray<string>): boolean => {
  const chain = chainOf(line)
  if (chain === undefined) return false
  if (changesDirectory(chain) && chain.commands.some(({ redirects }) => redirects.length > 0)) return false
  const expected = patterns.flatMap((pattern) => chainOf(pattern) ?? [])
  const singles = expected.flatMap((one) => singleOf(one) ?? [])
  return chain.commands.every((command) => singles.some((single) => commandMatches(single, command))) ||
    expected.some((one) => singleOf(one) === undefined && sameChain(chain, one))
}

const plainWord = /^[\w@%+:,./-]+$/

const quoted = (word: string): string => plainWord.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

/** A pattern of the very words of a command line; undefined where words are only known when it runs. */
export const exactly = (line: string): string | undefined => {
  const chain = chainOf(line)
  if (chain === undefined || chain.commands.some(({ prefix, redirects }) => prefix.length + redirects.length > 0)) {
    return undefined
  }
  const commands = chain.commands.map(({ args, name }) => {
    const words = [...(name === undefined ? [] : [name]), ...args].map((word) =>
      word.type === "Word" ? fixed(word) : undefined
    )
    return words.every((word) => word !== undefined) ? words.map(quoted).join(" ") : undefined
  })
  return commands.every((command) => command !== undefined)
    ? commands.reduce((done, command, index) => `${done} ${chain.operators[index - 1] ?? ";"} ${command}`)
    : undefined
}
