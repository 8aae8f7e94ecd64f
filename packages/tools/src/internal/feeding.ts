/** What shells and interpreters are fed with, and where it comes from. */
import { dangerous, type Finding, operands, unknown } from "./dangers.js"
import { isSocket } from "./protectedPaths.js"
import type { Simple } from "./shellCommands.js"
import { programOf, shells } from "./unfolding.js"

const nothing: ReadonlyArray<Finding> = []

const interpreters = new Set([
  "python",
  "pypy",
  "perl",
  "ruby",
  "node",
  "nodejs",
  "deno",
  "bun",
  "php",
  "lua",
  "luajit",
  "tclsh",
  "Rscript",
  "osascript",
  "guile",
  "groovy",
  "jshell",
  "ts-node",
  "tsx"
])
const downloaders = new Set([
  "curl",
  "wget",
  "fetch",
  "aria2c",
  "http",
  "https",
  "lynx",
  "ftp",
  "tftp",
  "nc",
  "ncat",
  "netcat",
  "socat",
  "scp"
])
const decoders = new Set(["base64", "base32", "basenc", "openssl", "xxd", "uudecode", "gunzip", "gzip", "zcat", "rev"])
const readers = new Set(["source", ".", "eval", ...shells, ...interpreters])

/** All programs that a command can come to, behind wrappers too, and what they are given. */
const programsOf = (simple: Simple): ReadonlyArray<string> =>
  (simple.lists ?? []).flatMap((list) => list.slice(0, 6)).map(programOf)

const isDownload = (simple: Simple): boolean =>
  programsOf(simple).slice(0, 6).some((program) => downloaders.has(program)) ||
  simple.redirects.some(({ targets }) => targets.some(isSocket))

/** What a shell or interpreter reads from a pipe, a substitution or the command line, beyond a file. */
export const fed = (list: ReadonlyArray<string>, simple: Simple): {
  readonly findings: ReadonlyArray<Finding>
  readonly scripts: ReadonlyArray<string>
} => {
  const [name = "", ...args] = list
  const program = programOf(name)
  if (!readers.has(program)) return { findings: nothing, scripts: [] }
  if (simple.nested.some(isDownload)) return { findings: dangerous(`${program} runs what is downloaded`), scripts: [] }
  const file = operands(args).find((word) => word !== "-" && !/^\/dev\/(?:stdin|fd\/0)$/.test(word))
  const readsInput = program !== "eval" && (file === undefined || args.includes("-s")) &&
    !args.some((word) => /^-[A-Za-z]*[ceEr]$/.test(word) || word === "--version" || word === "--eval")
  if (!readsInput) return { findings: nothing, scripts: [] }
  if (simple.upstream.some(isDownload)) {
    return { findings: dangerous(`${program} runs what is downloaded`), scripts: [] }
  }
  if (simple.upstream.some((before) => programsOf(before).some((other) => decoders.has(other)))) {
    return { findings: dangerous(`${program} runs what is decoded first and cannot be seen`), scripts: [] }
  }
  const literal = simple.upstream.flatMap((before) => [
    ...before.inputs,
    ...(before.lists ?? []).flatMap(([first = "", ...rest]) => /^(?:echo|printf)$/.test(first) ? [rest.join(" ")] : [])
  ])
  const scripts = shells.has(program) || program === "." || program === "source" ? [...simple.inputs, ...literal] : []
  const hidden = simple.upstream.length > 0 && literal.length === 0
  return { findings: hidden ? unknown(`${program} runs what another program prints`) : nothing, scripts }
}

/** Commands in the code of another language: in quotes, behind a function that runs them. */
const calls =
  /(?:system|popen|exec\w*|spawn\w*|run|call|check_output|Popen|qx|shell_exec|passthru)\s*\(?\s*\[?\s*(["'`])(.+?)\1/gs

/** Shell commands in the code that an interpreter is given. */
export const embedded = (list: ReadonlyArray<string>): {
  readonly findings: ReadonlyArray<Finding>
  readonly scripts: ReadonlyArray<string>
} => {
  const [name = "", ...args] = list
  const program = programOf(name)
  const isAwk = /^(?:[gmn]?awk)$/.test(program)
  if (!interpreters.has(program) && !isAwk) return { findings: nothing, scripts: [] }
  const code = args.join("\n")
  return {
    findings: [
      ...(/\bfork\b/.test(code) && /\bwhile\b|\bfor\b|\bloop\b/.test(code)
        ? dangerous(`${program} starts itself without end`)
        : nothing),
      ...(/rmtree\(\s*["'](?:\/|~)["']|rmSync\(\s*["'](?:\/|~)["']|rm_rf\(?\s*["'](?:\/|~)["']/.test(code)
        ? dangerous(`${program} deletes "/" or the home folder and all below it`)
        : nothing),
      ...(/socket/i.test(code) && /dup2|\/bin\/(?:ba)?sh|pty\.spawn/.test(code)
        ? dangerous(`${program} gives a shell to the network`)
        : nothing)
    ],
    scripts: [...code.matchAll(calls)].flatMap(([, , script]) => script === undefined ? [] : [script])
  }
}

const plainPath = (path: string): string => path.replace(/^(?:\.\/)+/, "")

const lastSegment = (address: string): string => address.replace(/[?#].*$/, "").split("/").at(-1) ?? ""

/** The files that a download is written to. */
const downloadedFiles = ({ lists = [], redirects }: Simple): ReadonlyArray<string> => [
  ...redirects.filter(({ operator }) => operator.includes(">")).flatMap(({ targets }) => targets),
  ...lists.flatMap((list) =>
    list.flatMap((word, at) => {
      const next = list[at + 1] ?? ""
      const joined = /^(?:--output=|--output-document=|-o|-O)(.+)$/.exec(word)?.[1]
      if (joined !== undefined) return [joined]
      if (/^(?:-\w*o|--output|--output-document)$/.test(word)) return [next]
      if (/^-\w*O$/.test(word)) return [next, ...list.map(lastSegment)]
      return /^\w+:\/\//.test(word) && programOf(list[0] ?? "") === "wget" ? [lastSegment(word)] : []
    })
  )
]

/** What runs files that the same command line has downloaded. */
export const runsDownloads = (commands: ReadonlyArray<Simple>): ReadonlyArray<Finding> => {
  const files = new Set(
    commands.filter(isDownload).flatMap(downloadedFiles).map(plainPath).filter((file) => file !== "" && file !== "-")
  )
  if (files.size === 0) return nothing
  return commands.flatMap(({ lists = [] }) =>
    lists.flatMap(([name = "", ...args]) => {
      const program = readers.has(programOf(name)) ? operands(args)[0] : name.includes("/") ? name : undefined
      return program !== undefined && files.has(plainPath(program))
        ? dangerous(`${program} is downloaded and run`)
        : nothing
    })
  )
}
