import * as Either from "effect/Either"
import * as PathRules from "../PathRules.js"

/** One character that a pattern asks for: any, a set of ranges, or exactly one. */
type Unit =
  | { readonly _tag: "Run" }
  | { readonly _tag: "Any" }
  | { readonly _tag: "One"; readonly character: string }
  | { readonly _tag: "Set"; readonly ranges: ReadonlyArray<readonly [string, string]>; readonly negated: boolean }

/** A pattern for one name: compared in time proportional to pattern times name. */
interface NamePattern {
  readonly literal: string | undefined
  readonly units: ReadonlyArray<Unit>
}

type Part = NamePattern | "any folders"

/** A pattern for a path. `floating` ones start with any number of folders. */
export interface PathGlob {
  readonly floating: boolean
  readonly parts: ReadonlyArray<Part>
}

/** `a{b,c}d` as `abd` and `acd`. Braces nest; more than 256 alternatives are refused. */
const expandBraces = (pattern: string): Either.Either<ReadonlyArray<string>, string> => {
  let done: Array<string> = []
  let open: Array<string> = [pattern]
  while (open.length > 0) {
    if (open.length + done.length > 256) return Either.left("it has more than 256 alternatives")
    const next: Array<string> = []
    for (const one of open) {
      const end = one.indexOf("}")
      const start = one.lastIndexOf("{", end === -1 ? one.length : end)
      if (end === -1 && start === -1) done = [...done, one]
      else if (end === -1 || start === -1) return Either.left("it has a brace without its partner")
      else {
        for (const part of one.slice(start + 1, end).split(",")) next.push(one.slice(0, start) + part + one.slice(end + 1))
      }
    }
    open = next
  }
  return Either.right(done)
}

/** Reads `*`, `?`, `[a-z]` and `[!a-z]`; everything else stands for itself. */
const parseName = (pattern: string): Either.Either<NamePattern, string> => {
  const text = [...pattern]
  const units: Array<Unit> = []
  for (let index = 0; index < text.length; index++) {
    const character = text[index] ?? ""
    if (character === "*") {
      if (units.at(-1)?._tag !== "Run") units.push({ _tag: "Run" })
    } else if (character === "?") units.push({ _tag: "Any" })
    else if (character === "]") return Either.left("it has a bracket without its partner")
    else if (character === "[") {
      const negated = text[index + 1] === "!" || text[index + 1] === "^"
      const start = index + (negated ? 2 : 1)
      const end = text.indexOf("]", start)
      if (end <= start) return Either.left("it has a bracket without its partner, or an empty one")
      units.push({ _tag: "Set", ranges: readRanges(text.slice(start, end)), negated })
      index = end
    } else units.push({ _tag: "One", character })
  }
  const literal = units.every((unit) => unit._tag === "One") ? text.join("") : undefined
  return Either.right({ literal, units })
}

const readRanges = (text: ReadonlyArray<string>): ReadonlyArray<readonly [string, string]> => {
  const ranges: Array<readonly [string, string]> = []
  for (let index = 0; index < text.length; index++) {
    const first = text[index] ?? ""
    const last = text[index + 2]
    if (text[index + 1] === "-" && last !== undefined) {
      ranges.push([first, last])
      index += 2
    } else ranges.push([first, first])
  }
  return ranges
}

const accepts = (unit: Unit, character: string): boolean => {
  switch (unit._tag) {
    case "Run":
    case "Any":
      return true
    case "One":
      return unit.character === character
    case "Set":
      return unit.ranges.some(([first, last]) => first <= character && character <= last) !== unit.negated
  }
}

/** Whether a name fits: on a mismatch only the last `*` takes one character more, so there is no blow-up. */
const matchesName = (pattern: NamePattern, text: string): boolean => {
  if (pattern.literal !== undefined) return pattern.literal === text
  const name = [...text]
  const units = pattern.units
  let unitAt = 0
  let nameAt = 0
  let runAt = -1
  let resume = 0
  while (nameAt < name.length) {
    const unit = units[unitAt]
    if (unit?._tag === "Run") {
      runAt = unitAt++
      resume = nameAt
    } else if (unit !== undefined && accepts(unit, name[nameAt] ?? "")) {
      unitAt++
      nameAt++
    } else if (runAt >= 0) {
      unitAt = runAt + 1
      nameAt = ++resume
    } else return false
  }
  while (units[unitAt]?._tag === "Run") unitAt++
  return unitAt === units.length
}

/** Reads a pattern for whole paths; see `DenyRules` for what it means. */
export const parsePath = (source: string): Either.Either<ReadonlyArray<PathGlob>, string> =>
  Either.gen(function*() {
    if (source.trim() === "") return yield* Either.left("it is empty")
    if (source.includes("\0") || source.includes("\\")) return yield* Either.left("it has a backslash or NUL")
    if (source.startsWith("!")) return yield* Either.left("it starts with \"!\": exceptions go into \"except\"")
    const patterns: Array<PathGlob> = []
    for (const alternative of yield* expandBraces(source)) {
      const named = alternative.replace(/\/+$/, "")
      const pathLike = named.includes("/")
      const names = PathRules.split(pathLike ? named : `**/${named}/**`, "posix")
      const whole = alternative === named || !pathLike ? names : [...names, "**"]
      if (names.includes("..") || whole.every((name) => name === "**") && source.trim() !== "**") {
        return yield* Either.left("it names no file or folder")
      }
      const parts: Array<Part> = []
      for (const name of whole) {
        if (name === "**") {
          if (parts.at(-1) !== "any folders") parts.push("any folders")
        } else parts.push(yield* parseName(name))
      }
      patterns.push({ floating: parts[0] === "any folders", parts })
    }
    return patterns
  })

/** Whether a whole path fits, by segments. */
export const matchesPath = ({ parts }: PathGlob, path: ReadonlyArray<string>): boolean => {
  let partAt = 0
  let pathAt = 0
  let runAt = -1
  let resume = 0
  while (pathAt < path.length) {
    const part = parts[partAt]
    if (part === "any folders") {
      runAt = partAt++
      resume = pathAt
    } else if (part !== undefined && matchesName(part, path[pathAt] ?? "")) {
      partAt++
      pathAt++
    } else if (runAt >= 0) {
      partAt = runAt + 1
      pathAt = ++resume
    } else return false
  }
  return partAt === parts.length || (partAt === parts.length - 1 && parts[partAt] === "any folders")
}
