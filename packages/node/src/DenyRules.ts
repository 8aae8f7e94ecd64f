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
import type { Name, NamePattern, PathGlob } from "./internal/pathGlob.js"
import { advanceAll, fits, lastStep, matchesName, nameOf, parsePath } from "./internal/pathGlob.js"
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

const everything: ReadonlyArray<Access> = ["read", "list", "write", "delete", "vault"]
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
  ...["id_rsa*", "id_ed25519*", "id_ecdsa*", "*.pem", "*.key", "*.p12", "*.pfx"].map((name) => ({
    pattern: `**/${name}`
  })),
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
        access: new Set(rule.access?.includes("read") === true ? [...rule.access, "vault"] : rule.access ?? everything),
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
 * The pattern that denies a path, or undefined. `below` are its segments from the root of its mount (canonical, then as
 * asked for where that is something else), `absolute` its canonical segments from the root of the file system: a pattern that starts with two stars
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
  const below = options.below.map(names)
  const absolute = names(options.absolute)
  const hit = (glob: PathGlob): boolean =>
    (glob.floating ? [absolute, ...below.slice(1)] : below).some((path) => fits(glob, advanceAll(glob, path)))
  return rules.compiled.find((rule) =>
    rule.access.has(options.access) && rule.patterns.some(hit) && !rule.except.some(hit)
  )?.source
}

const names = (path: ReadonlyArray<string>): ReadonlyArray<Name> => path.map((name) => nameOf(PathRules.fold(name)))

/**
 * {@link match} for the entries of one folder, which is looked at once: `below` and `absolute` are the folder's canonical
 * segments. Answers the pattern that denies the entry of a name.
 *
 * @since 0.1.0
 * @category combinators
 */
export const matchIn = (
  rules: DenyRules,
  options: { readonly below: ReadonlyArray<string>; readonly absolute: ReadonlyArray<string>; readonly access: Access }
): (name: string) => string | undefined => {
  const below = names(options.below)
  const absolute = names(options.absolute)
  const last = (globs: ReadonlyArray<PathGlob>) => {
    const steps = globs.map((glob) => lastStep(glob, advanceAll(glob, glob.floating ? absolute : below)))
    return { always: steps.some(({ always }) => always), names: steps.flatMap((step) => step.names) }
  }
  const literal = new Map<string, Array<EntryRule>>()
  const other: Array<{ readonly pattern: NamePattern | undefined; readonly rule: EntryRule }> = []
  for (const { access, except, patterns, source } of rules.compiled) {
    if (!access.has(options.access)) continue
    const rule = { source, except: last(except) }
    const { always, names: patternsOfNames } = last(patterns)
    if (always) other.push({ pattern: undefined, rule })
    for (const pattern of patternsOfNames) {
      if (pattern.literal === undefined) other.push({ pattern, rule })
      else literal.set(pattern.literal, [...literal.get(pattern.literal) ?? [], rule])
    }
  }
  return (entry) => {
    const name = nameOf(PathRules.fold(entry))
    const free = ({ except }: EntryRule) => except.always || except.names.some((pattern) => matchesName(pattern, name))
    const named = literal.get(name.text)?.find((rule) => !free(rule))
    if (named !== undefined) return named.source
    return other.find(({ pattern, rule }) => (pattern === undefined || matchesName(pattern, name)) && !free(rule))?.rule
      .source
  }
}

/** A rule as it looks from inside of one folder. */
interface EntryRule {
  readonly source: string
  readonly except: { readonly always: boolean; readonly names: ReadonlyArray<NamePattern> }
}
