/**
 * Which names file tools never touch, by glob and by what is done with them. Pure: paths come in as segments.
 *
 * A pattern is compared with whole paths, ignoring case, and names exactly what it says: one star and `?` stay within
 * one name, two stars stand for any number of folders, none too (so the pattern for `x` in any folder hits `x` at the
 * top, and the one for everything below `x` hits `x` itself), `{a,b}` and `[a-z]` give alternatives. A pattern with a
 * slash inside starts at the root of the mount, unless two stars come first; one without is a name at any depth
 * together with everything below it, as in ignore files; `x/` is the same.
 *
 * @since 0.1.0
 */
import { FileError } from "@capstan/core/FileError"
import type { Access } from "@capstan/core/Workspace"
import * as Either from "effect/Either"
import type { PathGlob } from "./internal/pathGlob.js"
import { matchesPath, parsePath } from "./internal/pathGlob.js"
import * as PathRules from "./PathRules.js"

/**
 * One pattern, the accesses that it takes away (default all), and patterns of names that it leaves alone.
 *
 * @since 0.1.0
 * @category models
 */
export interface DenyRule {
  readonly pattern: string
  readonly access?: ReadonlyArray<Access>
  readonly except?: ReadonlyArray<string>
}

interface CompiledRule {
  readonly source: string
  readonly access: ReadonlySet<Access>
  readonly patterns: ReadonlyArray<PathGlob>
  readonly except: ReadonlyArray<PathGlob>
}

/**
 * Rules that were read and found valid: made by {@link compile}.
 *
 * @since 0.1.0
 * @category models
 */
export interface DenyRules {
  readonly sources: ReadonlyArray<DenyRule>
  readonly compiled: ReadonlyArray<CompiledRule>
}

const everything: ReadonlyArray<Access> = ["read", "list", "write", "delete"]
const changing: ReadonlyArray<Access> = ["write", "delete"]

/**
 * The safe defaults: keys, credentials and secrets for everything, `.git` and `node_modules` for changes.
 *
 * @since 0.1.0
 * @category constants
 */
export const defaultRules: ReadonlyArray<DenyRule> = [
  ...[".ssh", ".gnupg", ".aws", ".azure", ".config/gcloud", "secrets"].map((name) => ({ pattern: `**/${name}/**` })),
  { pattern: "**/.env/**" },
  { pattern: "**/.env.*/**", except: ["**/.env.example"] },
  ...["id_rsa*", "id_ed25519*", "id_ecdsa*", "*.pem", "*.key", "*.p12", "*.pfx"].map((name) => ({ pattern: `**/${name}` })),
  ...[".npmrc", ".pypirc", ".netrc", ".git-credentials"].map((name) => ({ pattern: `**/${name}` })),
  { pattern: "**/.git/config" },
  { pattern: "**/.git/modules/**/config" },
  { pattern: "**/.git/**", access: changing },
  { pattern: "**/node_modules/**", access: changing }
]

/**
 * Reads rules; an invalid pattern is an error that names it, never a rule that silently matches nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const compile = (rules: ReadonlyArray<DenyRule>): Either.Either<DenyRules, FileError> => {
  const read = (source: string) =>
    Either.mapLeft(parsePath(PathRules.fold(source)), (why) =>
      new FileError({
        reason: "bad-pattern",
        path: source,
        pattern: source,
        message: `The deny pattern "${source}" cannot be used: ${why}. Correct it in the configuration.`
      }))
  return Either.gen(function*() {
    const compiled: Array<CompiledRule> = []
    for (const rule of rules) {
      const except: Array<PathGlob> = []
      for (const exception of rule.except ?? []) except.push(...yield* read(exception))
      compiled.push({
        source: rule.pattern,
        access: new Set(rule.access ?? everything),
        patterns: yield* read(rule.pattern),
        except
      })
    }
    return { sources: rules, compiled }
  })
}

/**
 * {@link defaultRules}, read.
 *
 * @since 0.1.0
 * @category constants
 */
export const defaults: DenyRules = Either.getOrThrow(compile(defaultRules))

/**
 * The pattern that denies a path, or undefined. `below` are its segments from the root of its mount (as asked for, and
 * canonical), `absolute` its canonical segments from the root of the file system: a pattern that starts with two stars
 * holds there too, so a mount inside of a protected folder opens nothing.
 *
 * @since 0.1.0
 * @category combinators
 */
export const match = (
  rules: DenyRules,
  options: {
    readonly below: ReadonlyArray<ReadonlyArray<string>>
    readonly absolute: ReadonlyArray<string>
    readonly access: Access
  }
): string | undefined => {
  const below = options.below.map((path) => path.map(PathRules.fold))
  const absolute = options.absolute.map(PathRules.fold)
  const hit = (pattern: PathGlob): boolean =>
    below.some((path) => path.length > 0 && matchesPath(pattern, path))
    || (pattern.floating && matchesPath(pattern, absolute))
  const rule = rules.compiled.find((one) =>
    one.access.has(options.access) && one.patterns.some(hit) && !one.except.some(hit)
  )
  return rule?.source
}
