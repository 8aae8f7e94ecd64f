/**
 * Reads the command line strictly before `@effect/cli` does, which takes an unknown flag for an argument: unknown commands
 * and flags are errors that name the nearest valid one, flags may stand anywhere, `--flag=value` is understood. Pure.
 *
 * @since 0.1.0
 */
import * as Options from "@effect/cli/Options"
import type * as Usage from "@effect/cli/Usage"
import * as Either from "effect/Either"
import * as Option from "effect/Option"

/**
 * What a command accepts: its flags as `@effect/cli` declares them, at most `maxArguments` arguments (called `argument` in
 * errors), its subcommands.
 *
 * @since 0.1.0
 * @category models
 */
export interface CommandShape {
  readonly name: string
  readonly options: ReadonlyArray<Options.Options<unknown>>
  readonly maxArguments: number
  readonly subcommands: ReadonlyArray<CommandShape>
}

/** `accepts`: undefined for a flag without a value, else what `@effect/cli` says of it: a type, or choices with ` | `. */
interface Flag {
  readonly name: string
  readonly accepts: string | undefined
}

const builtIn: ReadonlyArray<Flag> = [
  { name: "--help", accepts: undefined },
  { name: "-h", accepts: undefined },
  { name: "--version", accepts: undefined },
  { name: "--wizard", accepts: undefined },
  { name: "--completions", accepts: "sh | bash | fish | zsh" },
  { name: "--log-level", accepts: "all | trace | debug | info | warning | error | fatal | none" }
]

const flagsOf = (usage: Usage.Usage): ReadonlyArray<Flag> => {
  switch (usage._tag) {
    case "Empty":
    case "Mixed":
      return []
    case "Named":
      return usage.names.map((name) => ({ name, accepts: Option.getOrUndefined(usage.acceptedValues) }))
    case "Optional":
    case "Repeated":
      return flagsOf(usage.usage)
    case "Alternation":
    case "Concat":
      return [...flagsOf(usage.left), ...flagsOf(usage.right)]
  }
}

/**
 * The words that lead to each command, the root's (none) first.
 *
 * @since 0.1.0
 * @category combinators
 */
export const paths = (root: CommandShape): ReadonlyArray<ReadonlyArray<string>> => [
  [],
  ...root.subcommands.flatMap((sub) => paths(sub).map((words) => [sub.name, ...words]))
]

/**
 * The name nearest to what was written: the fewest letters to insert, leave out, change or swap, if they are few enough for
 * a slip.
 *
 * @since 0.1.0
 * @category combinators
 */
export const nearest = (written: string, names: ReadonlyArray<string>): string | undefined => {
  const ranked = names
    .map((name) => ({ name, distance: name.startsWith(written) && written.length > 1 ? 0 : distance(written, name) }))
    .sort((a, b) => a.distance - b.distance)
  const [best] = ranked
  return best !== undefined && best.distance <= Math.max(2, Math.floor(written.length / 2)) ? best.name : undefined
}

const distance = (a: string, b: string): number => {
  let beforeLast: ReadonlyArray<number> = []
  let last: ReadonlyArray<number> = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
        ? (beforeLast[j - 2] ?? 0) + 1
        : Infinity
      row.push(Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, change, swap))
    }
    beforeLast = last
    last = row
  }
  return last[b.length] ?? 0
}

const didYouMean = (written: string, names: ReadonlyArray<string>): string => {
  const found = nearest(written, names)
  return found === undefined ? "" : ` Did you mean "${found}"?`
}

/**
 * The arguments (without node and script) in the one form that `@effect/cli` reads safely: commands, flags, `--`, arguments.
 * A mistake is a sentence that says what is wrong and what would be right.
 *
 * @since 0.1.0
 * @category combinators
 */
export const normalise = (
  root: CommandShape,
  written: ReadonlyArray<string>
): Either.Either<ReadonlyArray<string>, string> =>
  Either.gen(function*() {
    let command = root
    const path = [root.name]
    const flags: Array<string> = []
    const positional: Array<string> = []
    for (let i = 0; i < written.length; i++) {
      const word = written[i] ?? ""
      if (word === "--") {
        positional.push(...written.slice(i + 1))
        break
      }
      if (word.startsWith("-") && word !== "-" && !/\s/.test(word.split("=", 1)[0] ?? "")) {
        const [given, value] = yield* readFlag({ command, path, word, next: written[i + 1] })
        flags.push(given.name, ...(value === undefined ? [] : [value]))
        if (given.accepts !== undefined && !word.includes("=")) i++
        continue
      }
      const sub = positional.length > 0 ? undefined : command.subcommands.find(({ name }) => name === word)
      if (sub !== undefined) {
        command = sub
        path.push(sub.name)
        continue
      }
      if (command.subcommands.length > 0 && command.maxArguments === 0) {
        return yield* Either.left(unknownCommand(command, path, word))
      }
      positional.push(word)
    }
    const isHelp = flags.some((flag) => ["--help", "-h", "--version", "--wizard", "--completions"].includes(flag))
    if (positional.length > command.maxArguments && !isHelp) {
      return yield* Either.left(
        command.maxArguments === 0
          ? `"${path.join(" ")}" takes no argument, but got "${positional[0]}". See "${path.join(" ")} --help".`
          : `"${path.join(" ")}" takes one argument, but got ${positional.length}: put it in quotes. See "${
            path.join(" ")
          } --help".`
      )
    }
    const rest = isHelp || positional.length === 0 ? [] : ["--", ...positional]
    return [...path.slice(1), ...flags, ...rest]
  })

const readFlag = (options: {
  readonly command: CommandShape
  readonly path: ReadonlyArray<string>
  readonly word: string
  readonly next: string | undefined
}): Either.Either<readonly [Flag, string | undefined], string> => {
  const { command, next, path, word } = options
  const equals = word.indexOf("=")
  const name = equals === -1 ? word : word.slice(0, equals)
  const known = [...command.options.flatMap((option) => flagsOf(Options.getUsage(option))), ...builtIn]
  const flag = known.find((flag) => flag.name === name)
  const help = `See "${path.join(" ")} --help".`
  if (flag === undefined) {
    const hint = didYouMean(name, known.map((flag) => flag.name))
    return Either.left(`Unknown flag "${name}" of "${path.join(" ")}".${hint} ${help}`)
  }
  if (flag.accepts === undefined) {
    return equals === -1 ? Either.right([flag, undefined]) : Either.left(`"${name}" takes no value. ${help}`)
  }
  const value = equals === -1 ? next : word.slice(equals + 1)
  if (value === undefined || (equals === -1 && known.some((flag) => flag.name === value))) {
    return Either.left(`"${name}" needs a value. ${help}`)
  }
  const choices = flag.accepts.split(" | ")
  if (choices.length > 1 && !choices.includes(value)) {
    return Either.left(
      `"${name}" takes one of ${choices.join(", ")}, not "${value}".${didYouMean(value, choices)} ${help}`
    )
  }
  if (["integer", "seconds"].includes(flag.accepts) && !/^[+-]?\d+$/.test(value)) {
    return Either.left(`"${name}" takes a whole number, not "${value}". ${help}`)
  }
  if (["float", "dollars"].includes(flag.accepts) && !/^[+-]?\d+(\.\d+)?$/.test(value)) {
    return Either.left(`"${name}" takes a number, not "${value}". ${help}`)
  }
  return Either.right([flag, value])
}

const unknownCommand = (command: CommandShape, path: ReadonlyArray<string>, word: string): string => {
  const names = command.subcommands.map(({ name }) => name)
  const quoted = word.length > 60 ? `${word.slice(0, 59)}…` : word
  const task = /\s/.test(word) ? ` To give a task, write: ${path.join(" ")} run "${quoted}".` : ""
  return `Unknown command "${quoted}".${didYouMean(word, names)}${task} See "${path.join(" ")} --help".`
}
