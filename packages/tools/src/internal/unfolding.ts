/** Programs that run other programs: what they run. */
import * as CommandOptions from "./commandOptions.js"
import { dynamic } from "./shellWords.js"

/** What an argument list runs in turn: other argument lists, and texts that a shell reads. */
export interface Unfolded {
  readonly lists: ReadonlyArray<ReadonlyArray<string>>
  readonly scripts: ReadonlyArray<string>
}

const nothing: Unfolded = { lists: [], scripts: [] }

/** The name of a program without its folder, and of a language without its version. */
export const programOf = (name: string): string =>
  (name.split("/").at(-1) ?? name).replace(/^(python|pypy|ruby|perl|php|lua|node|tclsh|guile)[\d.]+$/, "$1")

interface Wrapper {
  /** Options that take the next argument. */
  readonly values?: ReadonlyArray<string>
  /** Arguments before the command. */
  readonly skip?: number
}

const wrappers: Readonly<Record<string, Wrapper>> = {
  sudo: {
    values: [
      "-u",
      "-g",
      "-h",
      "-p",
      "-C",
      "-D",
      "-R",
      "-T",
      "-U",
      "-r",
      "-t",
      "--user",
      "--group",
      "--host",
      "--prompt",
      "--chdir"
    ]
  },
  doas: { values: ["-u", "-C"] },
  pkexec: { values: ["--user"] },
  env: { values: ["-u", "--unset", "-C", "--chdir"] },
  nohup: {},
  setsid: {},
  nice: { values: ["-n", "--adjustment"] },
  ionice: { values: ["-c", "-n", "-p", "-P", "-u"] },
  chrt: { skip: 1 },
  taskset: { skip: 1 },
  timeout: { values: ["-s", "--signal", "-k", "--kill-after"], skip: 1 },
  gtimeout: { values: ["-s", "--signal", "-k", "--kill-after"], skip: 1 },
  stdbuf: { values: ["-i", "-o", "-e"] },
  time: { values: ["-f", "-o", "--format", "--output"] },
  command: {},
  builtin: {},
  exec: { values: ["-a"] },
  coproc: {},
  xargs: {
    values: ["-I", "-n", "-P", "-L", "-d", "-a", "-E", "-s", "--max-args", "--max-procs", "--delimiter", "--arg-file"]
  },
  parallel: { values: ["-j", "--jobs", "-I", "-a"] },
  watch: { values: ["-n", "--interval"] },
  unbuffer: {},
  flock: { values: ["-w", "--timeout", "-E"], skip: 1 },
  strace: { values: ["-e", "-o", "-p", "-u", "-s", "-E", "-P"] },
  ltrace: { values: ["-e", "-o", "-p", "-u", "-s"] },
  chroot: { skip: 1 },
  unshare: {},
  nsenter: { values: ["-t", "--target", "-S", "-G"] },
  "systemd-run": { values: ["-u", "--unit", "-p", "--property", "-M", "--slice"] },
  busybox: {},
  toybox: {},
  fakeroot: {},
  firejail: {},
  caffeinate: { values: ["-t", "-w"] },
  torsocks: {},
  proxychains: {},
  numactl: {},
  prlimit: {},
  setarch: {},
  linux32: {},
  linux64: {},
  "ld-linux-x86-64.so.2": {},
  gosu: { skip: 1 },
  "su-exec": { skip: 1 },
  runuser: { values: ["-u", "--user", "-g", "-G"] }
}

/** Shells: what stands after `-c` is a script. */
export const shells: ReadonlySet<string> = new Set([
  "sh",
  "bash",
  "dash",
  "zsh",
  "ksh",
  "mksh",
  "ash",
  "fish",
  "csh",
  "tcsh",
  "rbash",
  "yash",
  "pwsh"
])

const isAssignment = (word: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*=/.test(word)

const afterOptions = (args: ReadonlyArray<string>, values: ReadonlyArray<string>): ReadonlyArray<string> => {
  let at = 0
  for (; at < args.length; at++) {
    const word = args[at] ?? ""
    if (word === "--") return args.slice(at + 1)
    if (!word.startsWith("-") || word === "-") break
    if (values.includes(word)) at++
  }
  return args.slice(at)
}

/** The script of `sh -c script`, or undefined where it reads a file or its input. */
const scriptOf = (args: ReadonlyArray<string>): string | undefined => {
  const at = args.findIndex((word) =>
    /^-[A-Za-z]*c[A-Za-z]*$/.test(word) || word === "--command" || word === "-Command"
  )
  if (at === -1) return undefined
  return afterOptions(args.slice(at + 1), ["-o", "-O", "+o", "+O"])[0]
}

/** What `find` runs for what it finds. */
export const foundCommands = (args: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> =>
  args.flatMap((word, at) => {
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(word)) return []
    const rest = args.slice(at + 1)
    const end = rest.findIndex((other) => other === ";" || other === "+")
    return [end === -1 ? rest : rest.slice(0, end)]
  })

const envScripts = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.flatMap((word, at) => {
    if (word === "-S" || word === "--split-string" || word === "-vS") return [args.slice(at + 1).join(" ")]
    const joined = /^(?:-v?S|--split-string=)([^]+)$/.exec(word)?.[1]
    return joined === undefined ? [] : [[joined, ...args.slice(at + 1)].join(" ")]
  })

/** Options of programs that hold a command: `--checkpoint-action=exec=…`, `!…` of git and editors. */
const hidden = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.flatMap((word) => {
    const found = /(?:exec=|^[+:]*!|=!|ProxyCommand=|^EXEC:|^SYSTEM:)(.+)$/s.exec(
      word
    )?.[1]
    return found === undefined ? [] : [found]
  })

const remote = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  afterOptions(args, ["-p", "-i", "-l", "-o", "-F", "-J", "-L", "-R", "-D", "-W", "-b", "-c", "-m"]).slice(1)

/** What an argument list runs in turn. */
export const unfold = (list: ReadonlyArray<string>): Unfolded => {
  const [name = "", ...args] = list
  const program = programOf(name)
  const scripts = [...hidden(args), ...CommandOptions.scripts(program, args)]
  if (shells.has(program)) {
    const script = scriptOf(args)
    return script === undefined ? { lists: [], scripts } : { lists: [], scripts: [...scripts, script] }
  }
  switch (program) {
    case "eval":
      return { lists: [], scripts: [...scripts, args.join(" ")] }
    case "trap":
    case "mapfile":
    case "readarray":
      return { lists: [], scripts: [...scripts, ...args.slice(0, 1)] }
    case "alias":
      return { lists: [], scripts: [...scripts, ...args.map((word) => word.slice(word.indexOf("=") + 1))] }
    case "find":
      return { lists: foundCommands(args), scripts }
    case "su":
    case "script":
      return { lists: [], scripts: [...scripts, scriptOf(args) ?? ""] }
    case "ssh":
      return { lists: [], scripts: [...scripts, remote(args).join(" ")] }
  }
  const wrapper = wrappers[program]
  if (wrapper === undefined) return { ...nothing, scripts }
  const rest = afterOptions(args, wrapper.values ?? [])
  const withoutAssignments = program === "env" || program === "sudo" || program === "doas"
    ? rest.slice(Math.max(0, rest.findIndex((word) => !isAssignment(word))))
    : rest
  const inner = withoutAssignments.slice(wrapper.skip ?? 0)
  if (program === "command" && /^-[vV]$/.test(args[0] ?? "")) return { ...nothing, scripts }
  return {
    lists: inner.length === 0 ? [] : [inner, ...suspicious(inner)],
    scripts: [
      ...scripts,
      ...(program === "env" ? envScripts(args) : []),
      ...(program === "watch" || program === "parallel" ? [inner.join(" ")] : []),
      ...(program === "flock" || program === "runuser" ? [scriptOf(args) ?? ""] : [])
    ]
  }
}

const notable = new Set([
  "rm",
  "dd",
  "chmod",
  "chown",
  "shred",
  "mkfs",
  "find",
  "eval",
  "sudo",
  "su",
  "capstan",
  ...shells
])

/** Where an option of a wrapper took an argument that is not known here, the command begins later. */
const suspicious = (inner: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> =>
  inner.flatMap((word, at) =>
    at > 0 && at < 4 && word !== dynamic && notable.has(programOf(word)) ? [inner.slice(at)] : []
  )
