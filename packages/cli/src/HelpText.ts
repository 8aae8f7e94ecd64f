/**
 * Help as `@effect/cli` prints it, made short enough to read: a line per command, and of each option what it does.
 *
 * @since 0.1.0
 */

/** What is said of a type in so many words, where name and description say it already. */
const noise =
  /^ *(?:A true or false value\.|A user-defined piece of text\.|An integer\.|A floating point number\.|One of the following: .*|This (?:setting|option|argument) (?:is optional|may be repeated .*)\.)\n\n?/gm

const title = /^capstan\n\n(?=capstan )/

const usage = /^\$ .*$/m

const option = /^(-.*|\(-.*\)|<.*>)\n\n {2}(?=\S)/gm

const commandLine = /^ {2}- (\S.*?)(?: {2,}(\S.*)?)?\n(?:\n(?= {2}- ))?/gm

const operand = /\[.*?\]|<.*?>\S*|--\S+ \S+/g

/** The words that name a command; those of its parents may have options of their own in between. */
const nameOf = (written: string): string => written.replace(operand, " ").trim().split(/\s+/).join(" ")

const nameWidth = 21

const usageOf = (text: string, words: ReadonlyArray<string>): string => {
  const operands = (usage.exec(text)?.[0] ?? "").match(/\[?<[a-z]+>\]?/g) ?? []
  return `$ ${[...words, ...(words.length === 1 ? ["<command>"] : []), "[options]", ...operands].join(" ")}`
}

/**
 * The same help without what nobody reads; `words` are the command's own.
 *
 * @since 0.1.0
 * @category combinators
 */
export const compact = (text: string, words: ReadonlyArray<string>): string =>
  `${text}\n`
    .replace(title, "")
    .replace(usage, usageOf(text, words))
    .replace(noise, "")
    .replace(option, "  $1\n      ")
    .replace(/(?<=^ {6}\S.*)\n\n(?= {2}[-(<])/gm, "\n")
    .replace(commandLine, (_, written: string, description = "") =>
      `  ${nameOf(written).padEnd(nameWidth)} ${description}\n`)
    .replace(/\n{3,}/g, "\n\n")
    .trimEnd()
