/** What makes a single command dangerous. */
import * as OwnCommand from "./ownCommand.js"
import { changesSystem, isCredential, isDevice, isSocket, reach } from "./protectedPaths.js"
import type { Redirect } from "./shellCommands.js"
import { dynamic } from "./shellWords.js"
import { foundCommands, programOf } from "./unfolding.js"

/** Something that is said of a command. */
export interface Finding {
  readonly level: "dangerous" | "unknown"
  readonly reason: string
}

export const dangerous = (reason: string): ReadonlyArray<Finding> => [{ level: "dangerous", reason }]
export const unknown = (reason: string): ReadonlyArray<Finding> => [{ level: "unknown", reason }]
const nothing: ReadonlyArray<Finding> = []

const shown = (word: string): string => word.replaceAll(dynamic, "…")

/** What of arguments are no options. */
export const operands = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const end = args.indexOf("--")
  return end === -1
    ? args.filter((word) => !word.startsWith("-") || word === "-")
    : [...operands(args.slice(0, end)), ...args.slice(end + 1)]
}

/** Whether an option was given: by its letter among others, or by its name or the beginning of it. */
const has = (args: ReadonlyArray<string>, letters: string, name: string): boolean => {
  const end = args.indexOf("--")
  return (end === -1 ? args : args.slice(0, end)).some((word) =>
    word.startsWith("--")
      ? word.length > 3 && name.startsWith(word.slice(2))
      : word.startsWith("-") && [...letters].some((letter) => word.includes(letter))
  )
}

const reaching = (program: string, what: string, paths: ReadonlyArray<string>): ReadonlyArray<Finding> =>
  paths.flatMap((path) => {
    const where = reach(path)
    return where === "root"
      ? dangerous(`${program} ${what} "${shown(path)}" and all below it`)
      : where === "unknown"
      ? unknown(`${program} ${what} a place that is only known when it runs ("${shown(path)}")`)
      : nothing
  })

const rm = (args: ReadonlyArray<string>): ReadonlyArray<Finding> =>
  args.includes("--no-preserve-root")
    ? dangerous("rm is told not to spare the root folder")
    : has(args, "rR", "recursive")
    ? reaching("rm", "deletes", operands(args))
    : nothing

const changing = (program: string) => (args: ReadonlyArray<string>): ReadonlyArray<Finding> => [
  ...(has(args, "R", "recursive") ? reaching(program, "changes", operands(args).slice(1)) : nothing),
  ...(program === "chmod" && operands(args).slice(0, 1).some((mode) => /[ugoa]*\+[rwxXt]*s|^0?[2467]\d{3}$/.test(mode))
    ? dangerous("chmod lets a program run with the rights of its owner")
    : nothing)
]

const narrowing =
  /^-(?:i?name|i?path|i?wholename|i?regex|i?lname|type|size|empty|perm|user|group|inum|[acm](?:time|min)|(?:a|c)?newer(?:..)?|links|maxdepth)$/

const find = (args: ReadonlyArray<string>): ReadonlyArray<Finding> => {
  const first = args.findIndex((word) => /^(?:-(?![HLPDO])|[(!])/.test(word))
  const starts = operands(first === -1 ? args : args.slice(0, first))
  const deletes = args.includes("-delete") ||
    foundCommands(args).some(([name = ""]) => /^(?:rm|shred|unlink)$/.test(programOf(name)))
  const paths = starts.length === 0 ? ["."] : starts
  const searchesKeys = args.some((word) => /^-i?(?:name|path|wholename|regex)$/.test(word)) && args.some(isCredential)
  return [
    ...(deletes
      ? paths.flatMap((path) =>
        reach(path) === "root" && (/^[/~]/.test(path) || !args.some((word) => narrowing.test(word)))
          ? dangerous(`find deletes what is below "${shown(path)}"`)
          : nothing
      )
      : nothing),
    ...(searchesKeys && paths.some((path) => /^[/~]/.test(path) && reach(path) === "root")
      ? dangerous("find looks for credentials all over the system")
      : nothing)
  ]
}

const writes = (program: string, paths: ReadonlyArray<string>): ReadonlyArray<Finding> =>
  paths.flatMap((path) =>
    isDevice(path)
      ? dangerous(`${program} writes to the device ${path}`)
      : changesSystem(path)
      ? dangerous(`${program} writes to ${path}, which changes the system or what runs at the next login`)
      : nothing
  )

const dd = (args: ReadonlyArray<string>): ReadonlyArray<Finding> =>
  writes("dd", args.flatMap((word) => word.startsWith("of=") ? [word.slice(3)] : []))

const moves = (args: ReadonlyArray<string>): ReadonlyArray<Finding> => [
  ...reaching("mv", "moves", operands(args).slice(0, -1)).filter(({ level }) => level === "dangerous"),
  ...writes("mv", operands(args).slice(-1))
]

const listing = (args: ReadonlyArray<string>): boolean =>
  args.some((word) => /^(?:-l|--list|--help|--version|-V)$/.test(word))

const always = (reason: string) => (): ReadonlyArray<Finding> => dangerous(reason)
const unlessListing = (reason: string) => (args: ReadonlyArray<string>): ReadonlyArray<Finding> =>
  listing(args) ? nothing : dangerous(reason)
const onlyWith = (words: RegExp, reason: string) => (args: ReadonlyArray<string>): ReadonlyArray<Finding> =>
  words.test(args.join(" ")) ? dangerous(reason) : nothing

type Rule = (args: ReadonlyArray<string>) => ReadonlyArray<Finding>

const named = (programs: ReadonlyArray<string>, rule: Rule): ReadonlyArray<readonly [string, Rule]> =>
  programs.map((program) => [program, rule])

const rules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["rm", rm],
  ["grm", rm],
  ["chmod", changing("chmod")],
  ["chown", changing("chown")],
  ["chgrp", changing("chgrp")],
  ["setfacl", changing("setfacl")],
  ["find", find],
  ["dd", dd],
  ["mv", moves],
  ...["cp", "install", "ln", "rsync"].map((program): readonly [string, Rule] => [
    program,
    (args) => writes(program, operands(args).slice(-1))
  ]),
  ...["tee", "truncate", "shred", "sponge"].map((program): readonly [string, Rule] => [
    program,
    (args) => writes(program, operands(args))
  ]),
  ["sed", (args) => has(args, "i", "in-place") ? writes("sed", operands(args).slice(1)) : nothing],
  ...named([
    "mkfs",
    "mke2fs",
    "mkswap",
    "wipefs",
    "blkdiscard",
    "fdisk",
    "sfdisk",
    "sgdisk",
    "cfdisk",
    "parted",
    "cryptsetup"
  ], unlessListing("it formats or partitions a disk")),
  ...named(["lvremove", "vgremove", "pvremove"], always("it removes a disk volume")),
  ["diskutil", onlyWith(/erase|partition|zero/i, "it formats or partitions a disk")],
  ["zpool", onlyWith(/destroy|labelclear/, "it removes a disk volume")],
  ...named(
    ["sudo", "su", "doas", "pkexec", "runuser", "gosu", "su-exec", "nsenter", "chroot"],
    always("it runs with the rights of another user, or outside of its confinement")
  ),
  ...named([
    "setcap",
    "visudo",
    "usermod",
    "useradd",
    "adduser",
    "passwd",
    "chpasswd",
    "insmod",
    "modprobe",
    "rmmod",
    "kexec"
  ], always("it changes users, rights or the kernel")),
  ...named(
    ["docker", "podman", "nerdctl"],
    onlyWith(
      /--privileged|--pid[= ]host|(?:-v|--volume|--mount)[= ](?:\S*source=)?\/(?::|,|\s)|docker\.sock/,
      "the container gets rights over this machine"
    )
  ),
  ...named(["shutdown", "reboot", "halt", "poweroff", "killall5"], always("it ends the system")),
  ["systemctl", onlyWith(/\b(?:poweroff|reboot|halt|kexec|rescue|emergency)\b/, "it ends the system")],
  ...named(["init", "telinit"], onlyWith(/^[06]$/, "it ends the system")),
  ["kill", onlyWith(/(?:^|\s)(?:-1|1)$/, "it ends all processes")],
  ["crontab", unlessListing("it changes what runs by itself")],
  ...named(
    ["iptables", "ip6tables", "nft", "ufw", "setenforce"],
    onlyWith(/-F|--flush|flush|disable|^0$/, "it takes protection away")
  ),
  ...named(["history", "fc"], always("it reads or changes the shell's history")),
  ["security", onlyWith(/find-|dump-|export/, "it reads stored credentials")],
  ...named(["secret-tool", "pass", "mimipenguin"], always("it reads stored credentials")),
  ["gpg", onlyWith(/--export-secret/, "it reads stored credentials")],
  ["gh", onlyWith(/^auth token/, "it reads stored credentials")],
  ["gcloud", onlyWith(/print-(?:access|identity)-token/, "it reads stored credentials")],
  ["kubectl", onlyWith(/^get secrets?\b/, "it reads stored credentials")],
  ["git", onlyWith(/^credential(?:-\w+)? /, "it reads stored credentials")],
  ...named(
    ["nc", "ncat", "netcat"],
    onlyWith(/(?:^|\s)-\w*[ec](?:\s|$)|--(?:sh-)?exec|--lua-exec/, "it gives a shell to the network")
  ),
  ["socat", onlyWith(/EXEC:|SYSTEM:/i, "it gives a shell to the network")]
])

/** Programs whose arguments name files without reading them. */
const doNotRead = new Set([
  "echo",
  "printf",
  "git",
  "test",
  "[",
  "mkdir",
  "touch",
  "chmod",
  "chown",
  "ls",
  "stat",
  "file",
  "find",
  "rm",
  "ssh-keygen",
  "ssh-add",
  "ssh",
  "true",
  ":",
  "which",
  "type",
  "basename",
  "dirname",
  "cd",
  "export",
  "unset",
  "openssl"
])
/** Programs whose first operand is an expression. */
const expressionFirst = new Set(["grep", "egrep", "fgrep", "rg", "ag", "sed", "awk", "gawk", "mawk", "perl", "jq"])

const reads = (program: string, args: ReadonlyArray<string>): ReadonlyArray<Finding> => {
  if (doNotRead.has(program)) return nothing
  const skipped = expressionFirst.has(program) && !args.some((word) => /^-[ef]/.test(word))
    ? operands(args)[0]
    : undefined
  const found = args.find((word) => word !== skipped && isCredential(word))
  return found === undefined ? nothing : dangerous(`${program} is given credentials or a history (${shown(found)})`)
}

/** What is said of redirects. */
export const redirected = (redirects: ReadonlyArray<Redirect>): ReadonlyArray<Finding> =>
  redirects.flatMap(({ operator, targets }) =>
    targets.flatMap((target) =>
      isSocket(target)
        ? dangerous("it is connected to the network by the shell")
        : operator.includes(">")
        ? writes("a redirect", [target])
        : isCredential(target)
        ? dangerous(`credentials or a history are read (${shown(target)})`)
        : nothing
    )
  )

/** What is said of one argument list, not looking into what it runs in turn. */
export const examine = (list: ReadonlyArray<string>): ReadonlyArray<Finding> => {
  const [name, ...args] = list
  if (name === undefined) return nothing
  if (name.includes(dynamic) || (/[*?[]/.test(name) && !/^\[\[?$/.test(name))) {
    const asDeletion = rm(args).filter(({ level }) => level === "dangerous")
    return [...asDeletion, ...unknown(`which program runs is only known when it runs ("${shown(name)}")`)]
  }
  const program = programOf(name)
  const rule = rules.get(program) ?? rules.get(program.split(".")[0] ?? program)
  const own = OwnCommand.changes(list)
    ? dangerous("it runs capstan itself, which could approve or start what nobody was asked about")
    : nothing
  return [...(rule?.(args) ?? nothing), ...reads(program, args), ...own].map((finding) =>
    finding.reason.startsWith("it ") || finding.reason.startsWith("the container")
      ? { ...finding, reason: `${program}: ${finding.reason}` }
      : finding
  )
}
