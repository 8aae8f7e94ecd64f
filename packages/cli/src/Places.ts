/**
 * Where things are: the project that a command works on, and the folder of the program's own data.
 *
 * @since 0.1.0
 */
import { Journal, type SessionInfo } from "@capstan/core/Journal"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as CommandError from "./CommandError.js"
import { Host } from "./Host.js"

/**
 * The places of a run, absolute and with links resolved. `root` is the project (the nearest folder upwards with `.capstan`
 * or `.git`, else `cwd`), `data` the folder of everything private, `database` the file that holds it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Places {
  readonly cwd: string
  readonly root: string
  readonly data: string
  readonly database: string
}

/**
 * The places for a command that was started with `--cwd` (or without). Makes the data folder, mode 0700. A folder that is
 * not there or cannot be read is an error that names it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const find = (options: {
  readonly cwd: string | undefined
}): Effect.Effect<Places, CommandError.CommandError, Host> =>
  Effect.gen(function*() {
    const host = yield* Host
    const asked = path.resolve(host.cwd, options.cwd ?? ".")
    const cwd = yield* attempt(() => readableFolder(asked), (why) =>
      `The folder ${asked} cannot be used (${why}). Give another one with --cwd.`)
    const data = path.join(dataHome(host), "capstan")
    yield* attempt(() =>
      privateFolder(data), (why) =>
      `The data folder ${data} cannot be used (${why}). Set XDG_DATA_HOME to a folder that you may write.`)
    return { cwd, root: rootOf(cwd), data, database: path.join(data, "capstan.db") }
  })

const attempt = <A>(thunk: () => A, toMessage: (why: string) => string) =>
  Effect.try({
    try: thunk,
    catch: (error) => CommandError.usage(toMessage(reasonOf(error)))
  })

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  ENOTDIR: "it is not a folder",
  EACCES: "no permission",
  EPERM: "no permission",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full"
}

const reasonOf = (error: unknown): string => {
  const code = typeof error === "object" && error !== null && "code" in error ? String(error.code) : ""
  return reasons[code] ?? (error instanceof Error ? error.message : String(error))
}

const readableFolder = (folder: string): string => {
  const real = fs.realpathSync.native(folder)
  fs.readdirSync(real)
  return real
}

const privateFolder = (folder: string): void => {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  if ((fs.statSync(folder).mode & 0o077) !== 0) fs.chmodSync(folder, 0o700)
}

/** A relative XDG_DATA_HOME counts as not set, as the specification of these folders says. */
const dataHome = ({ environment, home }: Host["Type"]): string => {
  const set = environment["XDG_DATA_HOME"] ?? ""
  return path.isAbsolute(set) ? set : path.join(home, ".local", "share")
}

const rootOf = (cwd: string): string => {
  const isRoot = (folder: string) => [".capstan", ".git"].some((name) => fs.existsSync(path.join(folder, name)))
  for (let folder = cwd;; folder = path.dirname(folder)) {
    if (isRoot(folder)) return folder
    if (path.dirname(folder) === folder) return cwd
  }
}

/** So short a prefix is more likely a slip than a choice. */
const shortestPrefix = 4

/**
 * The session that is meant: by id, by a unique prefix of at least four characters, or (undefined or `last`) the latest of
 * this project.
 *
 * @since 0.1.0
 * @category combinators
 */
export const session = (options: {
  readonly id: string | undefined
  readonly root: string
}): Effect.Effect<SessionInfo, CommandError.CommandError, Journal> =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const sessionsOf = (project: string | undefined) =>
      Effect.mapError(journal.sessions({ project }), CommandError.ofRunError)
    if (options.id === undefined || options.id === "last") {
      const [latest] = yield* sessionsOf(options.root)
      return latest ?? (yield* CommandError.usage(
        `There is no session of ${options.root} yet. Start one with: capstan run "your task"`
      ))
    }
    const prefix = options.id.toUpperCase()
    if (prefix.length < shortestPrefix) {
      return yield* CommandError.usage(
        `"${options.id}" is too short: give at least ${shortestPrefix} characters of a session id (see "capstan sessions --all").`
      )
    }
    const found = (yield* sessionsOf(undefined)).filter(({ id }) => id.toUpperCase().startsWith(prefix))
    const exact = found.find(({ id }) => id.toUpperCase() === prefix)
    const [only, ...others] = exact === undefined ? found : [exact]
    if (only === undefined) {
      return yield* CommandError.usage(`There is no session ${options.id}. See "capstan sessions --all".`)
    }
    return others.length === 0 ? only : yield* CommandError.usage(
      `${found.length} sessions begin with ${options.id}: ${
        found.slice(0, 5).map(({ id }) => id).join(", ")
      }. Give more characters.`
    )
  })
