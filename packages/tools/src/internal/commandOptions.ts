/** Options and operands by which programs are told to run something. Sources: their manuals, and GTFOBins. */

/** Where in the arguments of a program a command line stands. */
interface Runs {
  /** Options whose value is a command line; long ones may be cut short. */
  readonly options?: ReadonlyArray<string>
  /** Options after which all that follows is a command. */
  readonly rest?: ReadonlyArray<string>
  /** Operands after which all that follows is a command line. */
  readonly words?: RegExp
}

const editor: Runs = { options: ["-c", "--cmd"] }

const programs: Readonly<Record<string, Runs>> = {
  man: { options: ["-P", "-H", "--pager", "--html"] },
  git: {
    options: [
      "-x",
      "-O",
      "--exec",
      "--upload-pack",
      "--receive-pack",
      "--open-files-in-pager",
      "--extcmd",
      "--tree-filter",
      "--index-filter",
      "--env-filter",
      "--msg-filter",
      "--commit-filter",
      "--parent-filter",
      "--tag-name-filter",
      "--setup"
    ],
    words: /^(?:.* )?(?:bisect run|submodule(?: --?\S+)* foreach(?: --?\S+)*)$/
  },
  split: { options: ["--filter"] },
  zip: { options: ["-TT", "--unzip-command"] },
  tar: {
    options: [
      "-I",
      "-F",
      "--use-compress-program",
      "--to-command",
      "--rsh-command",
      "--info-script",
      "--new-volume-script"
    ]
  },
  sort: { options: ["--compress-program"] },
  rsync: { options: ["-e", "--rsh", "--rsync-path"] },
  scp: { options: ["-S"] },
  sftp: { options: ["-S"] },
  mapfile: { options: ["-C"] },
  readarray: { options: ["-C"] },
  compgen: { options: ["-C"] },
  complete: { options: ["-C"] },
  rg: { options: ["--pre", "--hostname-bin"] },
  fd: { rest: ["-x", "-X", "--exec", "--exec-batch"] },
  fdfind: { rest: ["-x", "-X", "--exec", "--exec-batch"] },
  go: { options: ["-exec", "-toolexec"] },
  history: { rest: ["-s"] },
  entr: { words: /^$/ },
  npx: { options: ["-c", "--call"] },
  npm: { options: ["-c", "--call"] },
  make: { options: ["--eval"] },
  vi: editor,
  vim: editor,
  nvim: editor,
  ex: editor
}

/** Keys of git's configuration whose value is a command. */
const gitKeys =
  /^(?:core\.(?:fsmonitor|pager|editor|sshcommand|askpass|gitproxy|alternaterefscommand)|pager\..+|diff\.external|diff\..+\.(?:command|textconv)|difftool\..+\.cmd|mergetool\..+\.cmd|merge\..+\.driver|filter\..+\.(?:clean|smudge|process)|sequence\.editor|credential(?:\..+)?\.helper|gpg(?:\..+)?\.program|sendemail\..*cmd|uploadpack\.packobjectshook|remote\..+\.(?:uploadpack|receivepack)|web\.browser|browser\..+\.cmd)$/i

const gitSettings = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.flatMap((word, at) => {
    const equals = word.indexOf("=")
    if (equals !== -1 && gitKeys.test(word.slice(0, equals))) return [word.slice(equals + 1)]
    const next = args[at + 1]
    return gitKeys.test(word) && next !== undefined ? [next] : []
  }).concat(args.flatMap((word) => word.startsWith("ext::") ? [word.slice(5).replaceAll("% ", " ")] : []))

/** `e` of GNU sed, as a command and as a flag of `s`. */
const sedScripts = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.flatMap((word) => {
    const command = /(?:^|[;{}\n!\d$/,]|\bexpression=)\s*e\s*([^;}\n]*)/.exec(word)?.[1]
    const substituted = /s(\W)(?:\\.|(?!\1)[^\\])*\1((?:\\.|(?!\1)[^\\])*)\1\w*e/s.exec(word)?.[2]
    return [...(command === undefined ? [] : [command]), ...(substituted === undefined ? [] : [substituted])]
  })

/** Builtins that take names of variables, whose subscripts they expand. */
const expanding = new Set([
  "printf",
  "read",
  "test",
  "[",
  "declare",
  "typeset",
  "local",
  "export",
  "readonly",
  "let",
  "unset",
  "mapfile",
  "readarray",
  "wait"
])

/** A text that the shell expands once more, as a script that does nothing else. */
export const expandedAgain = (text: string): ReadonlyArray<string> =>
  /\$\(|`|\$\{/.test(text) ? [`: "${text.replace(/["\\]/g, "\\$&")}"`] : []

const isOption = (given: string, option: string): boolean =>
  option.startsWith("--") ? given.length > 4 && option.startsWith(given) : given === option

const valuesOf = (args: ReadonlyArray<string>, options: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.flatMap((word, at) => {
    const equals = word.indexOf("=")
    const given = word.startsWith("--") && equals !== -1 ? word.slice(0, equals) : word
    if (options.some((option) => isOption(given, option))) {
      return [given === word ? args[at + 1] ?? "" : word.slice(equals + 1)]
    }
    const short = options.find((option) => /^-\w$/.test(option) && word.startsWith(option))
    return short === undefined ? [] : [word.slice(2)]
  })

/** Command lines among the arguments of a program. */
export const scripts = (program: string, args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const runs = Object.hasOwn(programs, program) ? programs[program] : undefined
  const rest = args.findIndex((word) => runs?.rest?.includes(word) ?? false)
  const words = runs?.words
  const word = words === undefined
    ? -1
    : args.findIndex((_, at) => words.test(args.slice(0, at).join(" ")))
  return [
    ...valuesOf(args, runs?.options ?? []),
    ...(rest === -1 ? [] : [args.slice(rest + 1).join(" ")]),
    ...(word === -1 ? [] : [args.slice(word).join(" ")]),
    ...(program === "git" ? gitSettings(args) : []),
    ...(/^g?sed$/.test(program) ? sedScripts(args) : []),
    ...(expanding.has(program) ? args.filter((arg) => arg.includes("[")).flatMap(expandedAgain) : [])
  ].filter((script) => script.trim() !== "")
}

/** Variables whose value other programs run. */
export const isRun = (name: string): boolean =>
  /^(?:GIT_(?:SSH|SSH_COMMAND|EXTERNAL_DIFF|EDITOR|SEQUENCE_EDITOR|PAGER|PROXY_COMMAND)|\w*PAGER|EDITOR|VISUAL|BROWSER|PROMPT_COMMAND|LESSOPEN|LESSCLOSE|\w+_ASKPASS|\w+_RSH|RUSTC_WRAPPER|PS4)$/
    .test(name)
