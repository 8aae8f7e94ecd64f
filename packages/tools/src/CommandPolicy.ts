/**
 * What a command line would do, told from its grammar: for the risk that is shown, for what runs unasked, and for the
 * patterns of allow lists. Pure.
 *
 * @since 0.1.0
 */
import { escapeInvisible } from "@capstan/core/Sanitiser"
import type { PathUse } from "@capstan/core/Tool"
import * as Coverage from "./internal/coverage.js"
import * as Dangers from "./internal/dangers.js"
import * as Feeding from "./internal/feeding.js"
import { isPosix } from "./internal/posixGrammar.js"
import { readOnlyUses } from "./internal/readOnly.js"
import * as ShellCommands from "./internal/shellCommands.js"
import { dynamic } from "./internal/shellWords.js"
import { programOf, shells, unfold } from "./internal/unfolding.js"

/** Longer command lines are not read, and not told apart from what cannot be. */
const maxCharacters = 65_536
const maxDepth = 8
const maxScripts = 200

/**
 * What a command line is: `read-only` does nothing but read the `operands`, `dangerous` can do harm that cannot be undone
 * or reads secrets, `unknown` holds something that cannot be told before it runs, `normal` is everything else. `reasons` are
 * sentences for whoever is asked. `operands` are empty unless it is read-only; relative ones start from the folder that the
 * command runs in.
 *
 * @since 0.1.0
 * @category models
 */
export interface Judgement {
  readonly class: "read-only" | "normal" | "dangerous" | "unknown"
  readonly reasons: ReadonlyArray<string>
  readonly operands: ReadonlyArray<PathUse>
}

/** Texts that a shell would read, and how deep they are nested. */
interface Pending {
  readonly script: string
  readonly depth: number
}

/** What `xargs` adds to its command: what the command line prints itself, or something unknown. */
const withInput = (list: ReadonlyArray<string>, inner: ReadonlyArray<string>, simple: ShellCommands.Simple) => {
  if (programOf(list[0] ?? "") !== "xargs") return inner
  const printed = simple.upstream.flatMap(({ lists = [] }) =>
    lists.flatMap(([name, ...args]) =>
      name === "echo" || name === "printf" ? args.flatMap((word) => word.split(/\s+/)) : []
    )
  )
  return [...inner, ...(printed.length > 0 ? printed : [dynamic])]
}

const unknown = (reason: string): ReadonlyArray<Dangers.Finding> => [{ level: "unknown", reason }]

const foreign = "it holds what not every shell reads the same way, and another one than bash would read it"

const bashAlike = /^r?bash$/
const ofAnotherKind = /^(?:fish|t?csh|pwsh)$/

/** Scripts are read as bash reads them; what another shell gets has to mean the same to it. */
const forAnotherShell = (
  list: ReadonlyArray<string>,
  scripts: ReadonlyArray<string>
): ReadonlyArray<Dangers.Finding> => {
  const program = programOf(list[0] ?? "")
  if (!shells.has(program) || bashAlike.test(program)) return []
  return scripts.every((script) => !ofAnotherKind.test(program) && isPosix(script)) ? [] : unknown(foreign)
}

/** What is said of a list of arguments, the lists that it runs in turn, and what a shell would read because of it. */
interface Looked {
  readonly findings: ReadonlyArray<Dangers.Finding>
  readonly lists: ReadonlyArray<ReadonlyArray<string>>
  readonly scripts: ReadonlyArray<string>
}

const look = (
  list: ReadonlyArray<string>,
  simple: ShellCommands.Simple,
  depth: number
): Looked => {
  const unfolded = unfold(list)
  const fed = Feeding.fed(list, simple)
  const embedded = Feeding.embedded(list)
  const inner = depth >= maxDepth
    ? [{ findings: unknown("it is nested too deep to be followed"), lists: [], scripts: [] }]
    : unfolded.lists.map((one) => look(withInput(list, one, simple), simple, depth + 1))
  return {
    findings: [
      ...Dangers.examine(list),
      ...fed.findings,
      ...embedded.findings,
      ...forAnotherShell(list, [...unfolded.scripts, ...fed.scripts]),
      ...inner.flatMap(({ findings }) => findings)
    ],
    lists: [list, ...inner.flatMap(({ lists }) => lists)],
    scripts: [...unfolded.scripts, ...fed.scripts, ...embedded.scripts, ...inner.flatMap(({ scripts }) => scripts)]
  }
}

/** In a nested script, what was not known stays so. */
const asScript = (text: string): string => text.replaceAll(dynamic, "${CAPSTAN_UNKNOWN}")

/** Everything that a command line runs, as far as it can be followed. */
const follow = (line: string): Omit<Looked, "scripts"> => {
  const findings: Array<Dangers.Finding> = []
  const lists: Array<ReadonlyArray<string>> = []
  const pending: Array<Pending> = [{ script: line, depth: 0 }]
  let read = 0
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { depth, script } = next
    if (script.trim() === "") continue
    if (depth > maxDepth || ++read > maxScripts) {
      return { findings: [...findings, ...unknown("it is nested too deep to be followed")], lists }
    }
    const commands = ShellCommands.read(script)
    if (commands.errors.length > 0) {
      findings.push(...unknown(`the shell grammar was not understood (${commands.errors[0] ?? ""})`))
    }
    pending.push(...commands.scripts.map((text) => ({ script: asScript(text), depth: depth + 1 })))
    if (commands.forkBomb) findings.push({ level: "dangerous", reason: "a function starts itself without end" })
    findings.push(...Feeding.runsDownloads(commands.simple))
    for (const simple of commands.simple) {
      findings.push(...Dangers.redirected(simple.redirects))
      if (simple.lists === undefined) findings.push(...unknown("it can come to too many different commands"))
      for (const list of simple.lists ?? []) {
        const found = look(list, simple, 0)
        findings.push(...found.findings)
        lists.push(...found.lists)
        for (const text of found.scripts) {
          if (text.includes(dynamic)) findings.push(...unknown("a part of a script is only known when it runs"))
          pending.push({ script: asScript(text), depth: depth + 1 })
        }
      }
    }
  }
  return { findings, lists }
}

const reasonsAt = (
  findings: ReadonlyArray<Dangers.Finding>,
  level: Dangers.Finding["level"]
): ReadonlyArray<string> => [
  ...new Set(findings.filter((finding) => finding.level === level).map(({ reason }) => reason))
]

/**
 * What a command line would do. Every simple command in it is judged: in chains, substitutions, functions, heredocs into
 * shells and behind wrappers like `env`, `xargs`, `find -exec`, `sh -c` and `sudo`. `shell` is what will read the line
 * (default: bash); for another one, what lies outside of the grammar of POSIX is unknown.
 *
 * @example
 * import { CommandPolicy } from "@capstan/tools"
 *
 * export const harmless = CommandPolicy.judge("git log --format=%h | head -3").class // "normal"
 * export const reading = CommandPolicy.judge("grep -n TODO src/main.ts").class // "read-only"
 * export const harmful = CommandPolicy.judge("env rm -r -f ~/").class // "dangerous"
 *
 * @since 0.1.0
 * @category constructors
 */
export const judge = (command: string, options: { readonly shell?: "bash" | "sh" } = {}): Judgement => {
  if (command.length > maxCharacters) {
    return { class: "unknown", reasons: ["it is too long to be judged"], operands: [] }
  }
  if (command.includes(dynamic)) {
    return { class: "unknown", reasons: ["it holds a NUL character"], operands: [] }
  }
  const { findings } = follow(command)
  const dangers = reasonsAt(findings, "dangerous")
  if (dangers.length > 0) return { class: "dangerous", reasons: dangers, operands: [] }
  const outside = options.shell === "sh" && !isPosix(command) ? unknown(foreign) : []
  const unknowns = reasonsAt([...findings, ...outside], "unknown")
  if (unknowns.length > 0) return { class: "unknown", reasons: unknowns, operands: [] }
  const uses = readOnlyUses(command)
  return uses === undefined
    ? { class: "normal", reasons: [], operands: [] }
    : { class: "read-only", reasons: [], operands: uses }
}

/**
 * Whether allow patterns cover a command line: `npm test` covers exactly that, `git diff *` also with any further
 * arguments, `src/*` within a word what is not a `/`. Quoted stars stand for themselves. Covered is a single simple command, or a chain of
 * which every part matches one of the patterns; never with something that cannot be seen, a substitution, an assignment, an expansion in command position, or a redirect that
 * leaves the working directory or goes to something hidden.
 *
 * @since 0.1.0
 * @category combinators
 */
export const covers = (command: string, ...patterns: ReadonlyArray<string>): boolean =>
  command.length <= maxCharacters && escapeInvisible(command) === command && Coverage.covers(command, patterns)

/**
 * The allow pattern that covers this command line and no other, with its stars, blanks and quotes quoted; undefined where
 * no pattern covers it.
 *
 * @example
 * import { CommandPolicy } from "@capstan/tools"
 *
 * export const entry = CommandPolicy.exactly("grep 'a*' b") // "grep 'a*' b", which does not cover "grep abc b"
 *
 * @since 0.1.0
 * @category combinators
 */
export const exactly = (command: string): string | undefined => {
  const pattern = Coverage.exactly(command)
  return pattern !== undefined && covers(command, pattern) ? pattern : undefined
}

/**
 * Whether a deny pattern concerns a command line: any command in it is what the pattern says, behind wrappers, in
 * substitutions and in scripts for shells too; also what cannot be followed, and a pattern that cannot be read. Where {@link covers} wants every part to
 * match, one is enough here.
 *
 * @since 0.1.0
 * @category combinators
 */
export const touches = (command: string, pattern: string): boolean => {
  if (command.length > maxCharacters || command.includes(dynamic)) return true
  const { findings, lists } = follow(command)
  return findings.some(({ level }) => level === "unknown") || Coverage.concerns(lists, pattern)
}
