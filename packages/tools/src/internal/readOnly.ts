/** Command lines that only read: programs and options that are known to, over plain words. */
import { escapeInvisible } from "@capstan/core/Sanitiser"
import type { PathUse } from "@capstan/core/Tool"
import type { Access } from "@capstan/core/Workspace"
import { parse } from "unbash"
import type { Command, PipelineNode, Word, WordPart } from "unbash"
import { outside } from "./betweenWords.js"

/** What a program may be given. */
interface Accepted {
  /** Letters of options without a value. */
  readonly flags?: string
  /** Letters of options that take a value. */
  readonly values?: string
  /** Long options; with `=` at the end they take a value. */
  readonly long?: ReadonlyArray<string>
  /** What operands are: paths, other words, or none allowed. `pattern` is one word, then paths. */
  readonly operands: "paths" | "words" | "pattern" | "none"
  readonly access?: Access
  readonly most?: number
  /** A check of all arguments, where the lists do not say it. */
  readonly when?: (args: ReadonlyArray<string>) => boolean
}

const grep: Accepted = {
  flags: "ivnclLwxoqshHEFGaIzZPb",
  values: "ABCme",
  long: [
    "ignore-case",
    "invert-match",
    "line-number",
    "count",
    "files-with-matches",
    "files-without-match",
    "word-regexp",
    "line-regexp",
    "only-matching",
    "quiet",
    "silent",
    "no-messages",
    "with-filename",
    "no-filename",
    "extended-regexp",
    "fixed-strings",
    "basic-regexp",
    "perl-regexp",
    "text",
    "color=",
    "after-context=",
    "before-context=",
    "context=",
    "max-count=",
    "regexp="
  ],
  operands: "pattern"
}
const hash: Accepted = { flags: "bt", operands: "paths" }
const test =
  /^-(?:i?name|i?path|type|size|empty|maxdepth|mindepth|[acm]time|[acm]min|print|print0|o|a|and|or|not|prune|true|xdev|mount|links|perm)$/
const takesValue = /^-(?:i?name|i?path|type|size|maxdepth|mindepth|[acm]time|[acm]min|links|perm)$/

/** Paths first, then tests, no action but printing. */
const isFind = (args: ReadonlyArray<string>): boolean => {
  const first = args.findIndex((word) => word.startsWith("-"))
  const rest = first === -1 ? [] : args.slice(first)
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at] ?? ""
    if (!test.test(word)) return false
    if (takesValue.test(word)) at++
  }
  return true
}

const accepted: Readonly<Record<string, Accepted>> = {
  pwd: { flags: "LP", operands: "none" },
  whoami: { operands: "none" },
  id: { flags: "ugnGr", operands: "none" },
  uname: { flags: "asnrvmpio", operands: "none" },
  hostname: { operands: "none" },
  true: { operands: "none" },
  false: { operands: "none" },
  date: { flags: "uR", operands: "words", when: (args) => args.every((word) => /^(?:-[uR]|\+.*)$/.test(word)) },
  echo: { flags: "neE", operands: "words" },
  ls: {
    flags: "aAlhtrSRd1FpingoGcuCxmQqbkXUsTN",
    long: [
      "all",
      "almost-all",
      "human-readable",
      "recursive",
      "color=",
      "color",
      "group-directories-first",
      "directory",
      "full-time",
      "reverse",
      "size"
    ],
    operands: "paths",
    access: "list"
  },
  cat: { flags: "nbsAvetET", operands: "paths" },
  tac: { operands: "paths" },
  rev: { operands: "paths" },
  nl: { operands: "paths" },
  head: { flags: "qv0123456789", values: "nc", long: ["lines=", "bytes=", "quiet", "verbose"], operands: "paths" },
  tail: { flags: "qv0123456789", values: "nc", long: ["lines=", "bytes=", "quiet", "verbose"], operands: "paths" },
  wc: { flags: "lwcmL", long: ["lines", "words", "bytes", "chars", "max-line-length"], operands: "paths" },
  sort: {
    flags: "bdfghiMnRrVcuzs",
    values: "kt",
    long: ["numeric-sort", "reverse", "unique", "key=", "field-separator="],
    operands: "paths"
  },
  uniq: { flags: "cdiuD", values: "fsw", operands: "paths", most: 1 },
  cut: { flags: "sn", values: "bcdf", long: ["fields=", "delimiter=", "characters=", "bytes="], operands: "paths" },
  tr: { flags: "cCdst", operands: "words" },
  grep,
  egrep: grep,
  fgrep: grep,
  diff: {
    flags: "uqsiwbByNE",
    values: "U",
    long: ["unified", "unified=", "brief", "side-by-side", "ignore-all-space", "ignore-case", "color=", "stat"],
    operands: "paths"
  },
  cmp: { flags: "bls", operands: "paths", most: 2 },
  comm: { flags: "123", operands: "paths" },
  paste: { flags: "s", values: "d", operands: "paths" },
  stat: { flags: "t", values: "c", long: ["format=", "terse"], operands: "paths", access: "list" },
  file: { flags: "bi", long: ["brief", "mime", "mime-type"], operands: "paths" },
  du: {
    flags: "sahckmb",
    values: "d",
    long: ["summarize", "human-readable", "max-depth=", "all", "total"],
    operands: "paths",
    access: "list"
  },
  df: { flags: "hkTi", operands: "none" },
  basename: { flags: "a", values: "s", operands: "words" },
  dirname: { operands: "words" },
  realpath: { flags: "ems", operands: "paths", access: "list" },
  readlink: { flags: "fem", operands: "paths", access: "list" },
  md5sum: hash,
  sha1sum: hash,
  sha256sum: hash,
  sha512sum: hash,
  b2sum: hash,
  cksum: { operands: "paths" },
  od: { flags: "cbxdov", values: "ANjt", operands: "paths" },
  hexdump: { flags: "Cbcdovx", values: "ns", operands: "paths" },
  base64: { flags: "di", values: "w", operands: "paths", most: 1 },
  seq: {
    values: "fs",
    flags: "w",
    operands: "words",
    when: (args) => args.filter((word) => /^-?\d{7,}/.test(word)).length === 0
  },
  which: { flags: "a", operands: "words" },
  type: { flags: "atpP", operands: "words" },
  tree: { flags: "adfshpiDFr", values: "LIP", long: ["dirsfirst", "noreport"], operands: "paths", access: "list" },
  find: { operands: "paths", access: "list", when: isFind },
  sed: {
    flags: "nE",
    operands: "pattern",
    when: (args) => args[0] === "-n" && /^(?:\d+|\$)(?:,(?:\d+|\$))?p$/.test(args[1] ?? "")
  }
}

/** What stands in a word is what the program gets: no expansion of any kind, no escape. */
const plainOf = (word: Word): string | undefined => {
  const parts = word.parts ??
    [{ type: "Literal" as const, text: word.text, value: word.value, pos: word.pos, end: word.end }]
  const texts = parts.map(plainPart)
  return texts.every((text) => text !== undefined) ? texts.join("") : undefined
}

const bare = /^[\p{L}\p{N}_\-./:,+@%=^]*$/u

const plainPart = (part: WordPart): string | undefined => {
  switch (part.type) {
    case "Literal":
      return bare.test(part.text) && part.text === part.value ? part.value : undefined
    case "SingleQuoted":
      return part.value
    case "DoubleQuoted":
      return part.parts.every((child) => child.type === "Literal") && !/[\\`$!]/.test(part.text)
        ? part.text.slice(1, -1)
        : undefined
    default:
      return undefined
  }
}

/** The operands of a program whose options are all accepted, or undefined. */
const operandsOf = (
  args: ReadonlyArray<string>,
  { flags = "", long = [], values = "" }: Accepted
): ReadonlyArray<string> | undefined => {
  const found: Array<string> = []
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? ""
    if (word === "--") return [...found, ...args.slice(at + 1)]
    if (word.startsWith("--")) {
      const name = word.slice(2)
      const equals = name.indexOf("=")
      if (!long.includes(equals === -1 ? name : name.slice(0, equals + 1))) return undefined
    } else if (word.startsWith("-") && word !== "-") {
      const letters = Array.from(word).slice(1)
      const value = letters.findIndex((letter) => values.includes(letter))
      if (!(value === -1 ? letters : letters.slice(0, value)).every((letter) => flags.includes(letter))) {
        return undefined
      }
      if (value === letters.length - 1) at++
    } else found.push(word)
  }
  return found
}

/** The places a word of a reading program names. */
const usesOf = (program: string, args: ReadonlyArray<string>): ReadonlyArray<PathUse> | undefined => {
  const rule = Object.hasOwn(accepted, program) ? accepted[program] : undefined
  if (rule === undefined || rule.when?.(args) === false) return undefined
  const operands = program === "find"
    ? args.slice(
      0,
      args.findIndex((word) => word.startsWith("-")) === -1
        ? args.length
        : args.findIndex((word) => word.startsWith("-"))
    )
    : operandsOf(args, rule)
  if (operands === undefined || operands.length > (rule.most ?? operands.length)) return undefined
  if (rule.operands === "none") return operands.length === 0 ? [] : undefined
  if (rule.operands === "words") return []
  const given = args.some((word) => /^(?:-\w*e|--regexp=)/.test(word)) && program !== "sed"
  const paths = rule.operands === "pattern" && !given ? operands.slice(1) : operands
  return paths.filter((path) => path !== "-").map((path) => ({ path, access: rule.access ?? "read" }))
}

const simpleCommands = (node: PipelineNode): ReadonlyArray<Command> | undefined => {
  if (node.type === "Command") return [node]
  if (node.type !== "Pipeline" || node.prefixes.length > 0 || node.operators.some((operator) => operator !== "|")) {
    return undefined
  }
  const commands = node.commands.map((command) => command.type === "Command" ? command : undefined)
  return commands.every((command) => command !== undefined) ? commands : undefined
}

/** What a command line reads if it does nothing else; undefined: that cannot be said. */
export const readOnlyUses = (line: string): ReadonlyArray<PathUse> | undefined => {
  if (/[\p{Control}]/u.test(line) || escapeInvisible(line) !== line) return undefined
  const script = parse(line)
  if (script.errors !== undefined && script.errors.length > 0) return undefined
  const commands = script.commands.flatMap(({ background, command }): ReadonlyArray<Command | undefined> =>
    background === true
      ? [undefined]
      : command.type === "AndOr"
      ? command.commands.flatMap((part): ReadonlyArray<Command | undefined> => simpleCommands(part) ?? [undefined])
      : simpleCommands(command) ?? [undefined]
  )
  const uses: Array<PathUse> = []
  const pieces: Array<{ readonly pos: number; readonly end: number }> = []
  for (const command of commands) {
    const name = command?.name
    if (command === undefined || name === undefined || command.prefix.length > 0 || command.redirects.length > 0) {
      return undefined
    }
    const words = [name, ...command.args].map((word) => word.type === "Word" ? plainOf(word) : undefined)
    const [program, ...args] = words.flatMap((word) => word === undefined ? [] : [word])
    if (program === undefined || args.length + 1 !== words.length || name.text !== program) return undefined
    const read = usesOf(program, args)
    if (read === undefined) return undefined
    uses.push(...read)
    pieces.push(name, ...command.args)
  }
  // What is left between the words is nothing but what joins commands.
  return commands.length > 0 && /^[ ;|&]*$/.test(outside(line, pieces)) ? uses : undefined
}
