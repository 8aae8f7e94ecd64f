import type { Mount } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import process from "node:process"
import type { Special, SystemFolder } from "./bubblewrapArguments.js"
import * as SystemProgram from "./systemProgram.js"
import * as TemporaryFolder from "./temporaryFolder.js"

/** What of the host is the same for every command of a layer. */
export interface Layout {
  readonly system: ReadonlyArray<SystemFolder>
  readonly home: string
  readonly toolFolders: ReadonlyArray<string>
  readonly temporary: string
  /** An empty file that stands in for a missing one. */
  readonly empty: string
  readonly specials: ReadonlyArray<Special>
}

const systemFolders = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/etc",
  "/opt",
  "/nix",
  "/gnu"
]

/** Folders below the home folder where version managers and package managers keep programs, and no credentials. */
export const defaultToolFolders: ReadonlyArray<string> = [
  ".nvm",
  ".volta",
  ".asdf",
  ".local/bin",
  ".local/lib",
  ".local/share/mise",
  ".local/share/fnm",
  ".local/share/pnpm",
  ".local/share/uv",
  ".pyenv",
  ".rbenv",
  ".rustup",
  ".cargo/bin",
  ".deno/bin",
  ".bun/bin",
  ".sdkman/candidates",
  "go/bin",
  "bin"
]

/** Secrets in the system folders, which root could read. */
const systemSecrets = [
  "/etc/shadow",
  "/etc/shadow-",
  "/etc/gshadow",
  "/etc/gshadow-",
  "/etc/ssl/private",
  "/etc/sudoers"
]

/** Whether `inner` is `outer` or lies in it. */
export const contains = (outer: string, inner: string): boolean =>
  inner === outer || inner.startsWith(outer.endsWith("/") ? outer : `${outer}/`)

/** The path with its links resolved; undefined where there is nothing. */
export const canonical = (name: string): string | undefined => {
  try {
    return fs.realpathSync.native(name)
  } catch {
    return undefined
  }
}

const masked = (name: string): ReadonlyArray<Special> => {
  try {
    return [{ _tag: "Masked", path: name, kind: fs.statSync(name).isDirectory() ? "folder" : "file" }]
  } catch {
    return []
  }
}

const exists = (name: string): boolean => fs.lstatSync(name, { throwIfNoEntry: false }) !== undefined

/** Whether there is a folder to be in (a link to one counts). */
export const isFolder = (name: string): boolean => {
  const real = canonical(name)
  return real !== undefined && (fs.statSync(real, { throwIfNoEntry: false })?.isDirectory() ?? false)
}

const readSystem = (): ReadonlyArray<SystemFolder> =>
  systemFolders.flatMap((folder) => {
    const stat = fs.lstatSync(folder, { throwIfNoEntry: false })
    if (stat === undefined) return []
    return [{ path: folder, link: stat.isSymbolicLink() ? fs.readlinkSync(folder) : undefined }]
  })

const readable = (name: string): boolean => {
  try {
    fs.accessSync(name, fs.constants.R_OK)
    return true
  } catch {
    return false
  }
}

const readSecrets = (): ReadonlyArray<Special> => {
  const hostKeys = readable("/etc/ssh")
    ? fs.readdirSync("/etc/ssh").filter((name) => /^ssh_host_.*_key$/.test(name)).map((name) => `/etc/ssh/${name}`)
    : []
  return [...systemSecrets, ...hostKeys].filter(readable).flatMap((secret) => masked(canonical(secret) ?? secret))
}

/** Where the node that runs us lives, if the system folders do not have it. */
const nodeFolder = (home: string): string => {
  const bin = path.dirname(process.execPath)
  const prefix = path.dirname(bin)
  return contains(prefix, home) || prefix === "/" ? bin : prefix
}

const readToolFolders = (
  system: ReadonlyArray<SystemFolder>,
  home: string,
  wanted: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const found = [...wanted.map((folder) => path.resolve(home, folder)), nodeFolder(home)].flatMap((folder) => {
    const real = canonical(folder)
    return real === undefined ? [] : real === folder ? [folder] : [folder, real]
  })
  const covered = (folder: string) => system.some((known) => contains(known.path, folder)) || contains(folder, home)
  return [...new Set(found)].filter((folder) => !covered(folder))
}

const quoted = (value: string): string =>
  `"${value.replace(/\\/g, "\\\\").replace(/"/g, "\\\"").replace(/\n/g, "\\n")}"`

/** The user's name and address for commits, and nothing else of their git configuration. */
export const gitIdentity: Effect.Effect<string> = Effect.async((resume) => {
  execFile(SystemProgram.find("git") ?? "/usr/bin/git", [
    "config",
    "--global",
    "--null",
    "--get-regexp",
    "^user\\.(name|email)$"
  ], {
    cwd: "/",
    encoding: "utf8",
    timeout: 5000
  }, (_error, stdout) => {
    const settings = stdout.split("\0").filter((entry) => entry !== "").map((entry) => {
      const [key = "", ...value] = entry.split("\n")
      return `\t${key.replace("user.", "")} = ${quoted(value.join("\n"))}\n`
    })
    resume(Effect.succeed(settings.length === 0 ? "" : `[user]\n${settings.join("")}`))
  })
})

/** Looks at the host once and makes the folders that last as long as the scope. */
export const make = (options: {
  readonly mounts: ReadonlyArray<Mount>
  readonly toolFolders: ReadonlyArray<string>
  /** A git configuration to show as the user's; none if empty. */
  readonly gitConfiguration: string
}): Effect.Effect<Layout, never, Scope.Scope> =>
  Effect.gen(function*() {
    const folder = yield* TemporaryFolder.make("sandbox")
    const home = canonical(os.homedir()) ?? os.homedir()
    return yield* Effect.sync(() => {
      const temporary = path.join(folder, "tmp")
      const empty = path.join(folder, "empty")
      const gitconfig = path.join(folder, "gitconfig")
      fs.mkdirSync(temporary, { mode: 0o700 })
      fs.writeFileSync(empty, "", { mode: 0o400 })
      fs.writeFileSync(gitconfig, options.gitConfiguration, { mode: 0o400 })
      const system = readSystem()
      const homeIsMounted = options.mounts.some((mount) => contains(mount.root, home))
      return {
        system,
        home,
        toolFolders: readToolFolders(system, home, options.toolFolders),
        temporary,
        empty,
        specials: [
          ...readSecrets(),
          ...(homeIsMounted || options.gitConfiguration === ""
            ? []
            : [{ _tag: "ReadOnly" as const, path: path.join(home, ".gitconfig"), source: gitconfig }])
        ]
      }
    })
  })

/** The parts of a git folder that make git run programs. A link among them is held where it leads, if that is inside. */
const repository = (
  folder: string,
  empty: string,
  inMount: (name: string) => boolean
): ReadonlyArray<Special> => {
  if (!isFolder(folder)) return []
  const hooks = path.join(folder, "hooks")
  const config = path.join(folder, "config")
  const readOnly = (name: string): ReadonlyArray<Special> => {
    const real = canonical(name)
    return real !== undefined && inMount(real) ? [{ _tag: "ReadOnly", path: real, source: real }] : []
  }
  return [
    // Otherwise it could be moved away together with what is protected in it.
    { _tag: "Pinned", path: folder },
    ...(exists(hooks) ? readOnly(hooks) : [{ _tag: "Masked" as const, path: hooks, kind: "folder" as const }]),
    ...(exists(config) ? readOnly(config) : [{ _tag: "ReadOnly" as const, path: config, source: empty }])
  ]
}

/**
 * What has to be hidden or held in the mounts right now: denied files that exist, and in each git folder the parts that
 * make git run programs.
 */
export const specials = (options: {
  readonly mounts: ReadonlyArray<Mount>
  readonly denied: ReadonlyArray<string>
  readonly empty: string
}): ReadonlyArray<Special> => {
  const real = [...new Set(options.denied.map(canonical).filter((name) => name !== undefined))]
  const isGitConfig = (name: string) => /\/\.git\/(modules\/.+\/)?config$/.test(name)
  const inMount = (name: string) => options.mounts.some((mount) => mount.root !== name && contains(mount.root, name))
  const gitFolders = new Set([
    ...options.mounts.filter((mount) => mount.access === "rw").map((mount) => canonical(path.join(mount.root, ".git")))
      .filter((name) => name !== undefined),
    ...real.filter(isGitConfig).map(path.dirname).filter((folder) => exists(path.join(folder, "HEAD")))
  ])
  const masks = real.filter((name) => inMount(name) && !isGitConfig(name))
  const outermost = masks.filter((name) => !masks.some((other) => other !== name && contains(other, name)))
  return [
    ...[...gitFolders].filter(inMount).flatMap((folder) => repository(folder, options.empty, inMount)),
    ...outermost.flatMap(masked)
  ]
}

/**
 * Files that are missing in the held git folders and would make git take its configuration from elsewhere. What is
 * missing cannot be held, so whoever asks takes away afterwards what appeared.
 */
export const redirections = (held: ReadonlyArray<Special>): ReadonlyArray<string> =>
  held.flatMap((special) => special._tag === "Pinned" ? [path.join(special.path, "commondir")] : [])
    .filter((name) => !exists(name))

/** Takes those away that are there now, and names them. */
export const takeAway = (names: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.sync(() =>
    names.filter((name) => {
      try {
        // Never more than one name: a folder does not redirect git.
        fs.unlinkSync(name)
        return true
      } catch {
        return false
      }
    })
  )
