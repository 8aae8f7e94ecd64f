/**
 * The names of tools: which registered tool a model means by a name that it wrote, and which names come close.
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"

/**
 * What had to be overlooked for a written name to fit a registered one.
 *
 * @since 0.1.0
 * @category models
 */
export type NameCorrection = "alias" | "case" | "separator" | "namespace"

/**
 * The registered name that a model meant; `correction` is absent when it wrote the name exactly.
 *
 * @since 0.1.0
 * @category models
 */
export interface ResolvedName {
  readonly name: string
  readonly correction?: NameCorrection
}

/**
 * A tool as far as its name goes. `aliases` are further names that mean this tool.
 *
 * @since 0.1.0
 * @category models
 */
export interface NamedTool {
  readonly name: string
  readonly aliases?: ReadonlyArray<string>
}

/**
 * Registered names, prepared for look-ups.
 *
 * @since 0.1.0
 * @category models
 */
export interface NameIndex {
  readonly names: ReadonlyArray<string>
  readonly exact: ReadonlySet<string>
  readonly corrected: ReadonlyMap<string, ResolvedName | "ambiguous">
}

const longestName = 128

const folded = (name: string): string => name.toLowerCase()

const joined = (name: string): string => folded(name).replaceAll(/[-_.:/ ]/g, "")

const unqualified = (name: string): string => {
  const cut = Math.max(name.lastIndexOf("."), name.lastIndexOf(":"), name.lastIndexOf("/"))
  const doubled = name.lastIndexOf("__")
  return name.slice(Math.max(cut + 1, doubled > 0 ? doubled + 2 : 0))
}

const keys = (name: string): ReadonlyArray<readonly [string, NameCorrection]> => {
  const short = unqualified(name)
  const own = [[`case ${folded(name)}`, "case"], [`separator ${joined(name)}`, "separator"]] as const
  return short === name || short === "" ? own : [...own, [`separator ${joined(short)}`, "namespace"]]
}

/**
 * Prepares registered names for `resolve` and `closest`. When two tools would answer to the same corrected name, that
 * name stays unresolved.
 *
 * @since 0.1.0
 * @category constructors
 */
export const index = (tools: Iterable<NamedTool>): NameIndex => {
  const list = [...tools]
  const exact = new Set(list.map((tool) => tool.name))
  const corrected = new Map<string, ResolvedName | "ambiguous">()
  const add = (key: string, resolved: ResolvedName) => {
    const known = corrected.get(key)
    corrected.set(
      key,
      known === undefined || (known !== "ambiguous" && known.name === resolved.name) ? known ?? resolved : "ambiguous"
    )
  }
  for (const { name } of list) {
    for (const [key, correction] of keys(name)) {
      if (correction !== "namespace") add(key, { name, correction })
    }
  }
  for (const tool of list) {
    for (const alias of tool.aliases ?? []) {
      add(`alias ${alias}`, { name: tool.name, correction: "alias" })
      for (const [key, correction] of keys(alias)) {
        if (correction !== "namespace" && !corrected.has(key)) add(key, { name: tool.name, correction: "alias" })
      }
    }
  }
  const registered = new Set(corrected.keys())
  for (const { name } of list) {
    for (const [key, correction] of keys(name)) {
      if (correction === "namespace" && !registered.has(key)) add(key, { name, correction })
    }
  }
  return { names: list.map((tool) => tool.name), exact, corrected }
}

/**
 * The registered tool that `name` means: exactly, or when it differs only by a declared alias, by case, by `-` `_`
 * and other separators, or by a namespace in front (`functions.read_file`).
 *
 * @since 0.1.0
 * @category combinators
 */
export const resolve = (names: NameIndex, name: string): Option.Option<ResolvedName> => {
  if (names.exact.has(name)) return Option.some({ name })
  if (name.length > longestName) return Option.none()
  for (const [key, correction] of [[`alias ${name}`, "alias"] as const, ...keys(name)]) {
    const found = names.corrected.get(key)
    if (found === "ambiguous") return Option.none()
    if (found !== undefined) {
      return Option.some({
        name: found.name,
        correction: found.correction === "alias"
          ? "alias"
          : correction === "namespace"
          ? correction
          : found.correction ?? correction
      })
    }
  }
  return Option.none()
}

/**
 * The edit distance of two names (insertions, deletions, substitutions), in characters; names longer than 128 are
 * compared by their first 128.
 *
 * @since 0.1.0
 * @category combinators
 */
export const distance = (left: string, right: string): number => {
  const a = left.slice(0, longestName)
  const b = right.slice(0, longestName)
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let line = 1; line <= a.length; line++) {
    const next = [line]
    for (let column = 1; column <= b.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (a.charCodeAt(line - 1) === b.charCodeAt(column - 1) ? 0 : 1)
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}

const words = (name: string): ReadonlyArray<string> => folded(name).split(/[-_.:/ ]+/).filter((word) => word.length > 2)

/**
 * The registered names that come closest to `name`, best first: by shared words, then by edit distance. Names that
 * have nothing in common with it are left out. `limit` defaults to 3, `among` says which names may be told (default: all).
 *
 * @since 0.1.0
 * @category combinators
 */
export const closest = (
  names: NameIndex,
  name: string,
  options?: { readonly limit?: number; readonly among?: (name: string) => boolean }
): ReadonlyArray<string> => {
  const own = words(name.slice(0, longestName))
  const plain = joined(name.slice(0, longestName))
  return names.names
    .filter(options?.among ?? (() => true))
    .map((candidate) => {
      const other = words(candidate)
      const shared = own.filter((word) => other.includes(word)).length
      const edits = distance(plain, joined(candidate))
      const length = Math.max(plain.length, candidate.length, 1)
      return {
        candidate,
        score: shared / Math.max(own.length, other.length, 1) + (1 - edits / length),
        near: shared > 0 || edits <= length / 2
      }
    })
    .filter(({ near }) => near)
    .sort((left, right) => right.score - left.score || (left.candidate < right.candidate ? -1 : 1))
    .slice(0, options?.limit ?? 3)
    .map(({ candidate }) => candidate)
}
