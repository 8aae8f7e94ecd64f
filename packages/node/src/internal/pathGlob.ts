import * as Either from "effect/Either"
import * as PathRules from "../PathRules.js"

/** One character that a pattern asks for: any, a set of ranges, or exactly one. */
type Unit =
  | { readonly _tag: "Run" }
  | { readonly _tag: "Any" }
  | { readonly _tag: "One"; readonly character: string }
  | { readonly _tag: "Set"; readonly ranges: ReadonlyArray<readonly [string, string]>; readonly negated: boolean }

/** A pattern for one name: compared in time proportional to pattern times name. */
export interface NamePattern {
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
        for (const part of one.slice(start + 1, end).split(",")) {
          next.push(one.slice(0, start) + part + one.slice(end + 1))
        }
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

/** A name with its characters, so that many patterns can look at it. */
export interface Name {
  readonly text: string
  readonly characters: ArrayLike<string>
}

export const nameOf = (text: string): Name => ({
  text,
  characters: /^[\0-\x7f]*$/.test(text) ? text : Array.from(text)
})

/** Whether a name fits: on a mismatch only the last `*` takes one character more, so there is no blow-up. */
export const matchesName = (pattern: NamePattern, { characters: name, text }: Name): boolean => {
  if (pattern.literal !== undefined) return pattern.literal === text
  const units = pattern.units
  // Most names differ from most patterns in their first or last character already.
  const [first, last] = [units[0], units[units.length - 1]]
  if (first?._tag === "One" && first.character !== name[0]) return false
  if (last?._tag === "One" && last.character !== name[name.length - 1]) return false
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
      if (parts.length > mostParts) return yield* Either.left(`it has more than ${mostParts} parts`)
      patterns.push({ floating: parts[0] === "any folders", parts })
    }
    return patterns
  })

/** Which parts of a glob could come next, as bits; the bit behind the last part says that the path fits so far. */
type Progress = number

const mostParts = 30

const from = ({ parts }: PathGlob, part: number): Progress =>
  parts[part] === "any folders" ? 1 << part | 1 << part + 1 : 1 << part

const begin = (glob: PathGlob): Progress => from(glob, 0)

/** The progress after one more name. */
const advance = (glob: PathGlob, progress: Progress, name: Name): Progress => {
  let next = 0
  for (let part = 0; part < glob.parts.length; part++) {
    const wanted = glob.parts[part]
    if ((progress & 1 << part) === 0 || wanted === undefined) continue
    if (wanted === "any folders") next |= from(glob, part)
    else if (matchesName(wanted, name)) next |= from(glob, part + 1)
  }
  return next
}

export const fits = (glob: PathGlob, progress: Progress): boolean => (progress & 1 << glob.parts.length) !== 0

/** What one last name has to be: anything (`always`), or something that fits one of `names`. */
export const lastStep = (
  glob: PathGlob,
  progress: Progress
): { readonly always: boolean; readonly names: ReadonlyArray<NamePattern> } => {
  const active = glob.parts.flatMap((part, index) => (progress & 1 << index) === 0 ? [] : [{ part, index }])
  return {
    always: active.some(({ index, part }) => part === "any folders" && fits(glob, from(glob, index))),
    names: active.flatMap(({ index, part }) =>
      part !== "any folders" && fits(glob, from(glob, index + 1)) ? [part] : []
    )
  }
}

/** The progress after names. */
export const advanceAll = (glob: PathGlob, names: ReadonlyArray<Name>): Progress =>
  names.reduce((progress, name) => advance(glob, progress, name), begin(glob))
