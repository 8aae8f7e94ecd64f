/** Searching the files of the fake sandbox. */
import type { FileError } from "@capstan/core/FileError"
import * as Glob from "@capstan/core/Glob"
import type {
  FileKind,
  FilesRequest,
  FilesResult,
  SearchLine,
  SearchRequest,
  SearchResult
} from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Gate from "./memoryGate.js"
import * as Tree from "./memoryTree.js"

const sniffed = 8192

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

export const search = (
  gate: Gate.Gate,
  place: Gate.Allowed,
  kind: FileKind,
  request: SearchRequest
): Effect.Effect<SearchResult, FileError> =>
  Effect.gen(function*() {
    const matcher = yield* Either.mapLeft(compile(request), (why) =>
      Gate.failure(
        place,
        "bad-pattern",
        `The pattern cannot be read: ${why}. Correct it, or search for the text itself (literal).`
      ))
    const files = kind === "dir" ? visible(gate, place.segments, request.glob) : [place.segments]
    let skippedLarge = 0
    let total = 0
    let matched = 0
    let returned = 0
    const lines: Array<SearchLine> = []
    for (const segments of files) {
      const node = Tree.get(gate.tree, segments)
      if (node?.kind !== "file") {
        continue
      }
      if (node.bytes.length > request.maxFileBytes) {
        skippedLarge++
        continue
      }
      if (node.bytes.subarray(0, sniffed).includes(0)) continue
      const texts = linesOf(decode(node.bytes))
      const hits = texts.flatMap((text, index) => matcher(text) ? [index] : [])
      if (hits.length === 0) continue
      matched++
      const wanted = hits.filter((_, index) =>
        total + index >= request.offset && total + index < request.offset + request.limit
      )
      total += hits.length
      returned += wanted.length
      lines.push(...around(texts, hits, wanted, request.contextLines, gate.display(segments)))
    }
    return {
      lines,
      matches: returned,
      total,
      files: matched,
      more: total > request.offset + request.limit,
      skippedLarge
    }
  })

const compile = (request: SearchRequest): Either.Either<(line: string) => boolean, string> => {
  const source = request.literal ? request.pattern.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : request.pattern
  return Either.try({
    try: () => {
      const expression = new RegExp(source, request.caseSensitive ? "" : "i")
      return (line: string) => expression.test(line)
    },
    catch: (cause) => cause instanceof Error ? cause.message : "it is no regular expression"
  })
}

const linesOf = (text: string): ReadonlyArray<string> => {
  const lines = text.split("\n")
  return (lines.at(-1) === "" ? lines.slice(0, -1) : lines).map((line) => line.replace(/\r$/, ""))
}

/** Wanted matches with their context; other matches are no context, as their turn comes with another offset. */
const around = (
  texts: ReadonlyArray<string>,
  hits: ReadonlyArray<number>,
  wanted: ReadonlyArray<number>,
  context: number,
  path: string
): ReadonlyArray<SearchLine> => {
  const isHit = new Set(hits)
  const isWanted = new Set(wanted)
  return texts.flatMap((text, index) => {
    const near = wanted.some((hit) => Math.abs(hit - index) <= context)
    return near && (isWanted.has(index) || !isHit.has(index))
      ? [{ path, line: index + 1, text, match: isWanted.has(index) }]
      : []
  })
}

/** The regular files below a folder that a glob names, newest first. */
export const files = (
  gate: Gate.Gate,
  place: Gate.Allowed,
  request: FilesRequest
): Effect.Effect<FilesResult, FileError> =>
  Effect.sync(() => {
    const found = visible(gate, place.segments, request.glob, request.includeHidden).flatMap((segments) => {
      const node = Tree.get(gate.tree, segments)
      return node?.kind === "file"
        ? [{ path: gate.display(segments), size: node.bytes.length, modified: node.modified }]
        : []
    }).sort((left, right) => right.modified - left.modified || Tree.byName(left.path, right.path))
    return { files: found.slice(0, request.limit), total: found.length, more: found.length > request.limit }
  })

/** The files below a folder that are neither hidden, nor ignored, nor denied, nor left out by the glob. */
const visible = (
  gate: Gate.Gate,
  base: ReadonlyArray<string>,
  glob: string | undefined,
  includeHidden = false
): ReadonlyArray<ReadonlyArray<string>> => {
  const accepts = readGlob(glob)
  const rules = ignoreRules(gate, base)
  return Tree.descendants(gate.tree, base).filter((segments) => {
    const names = segments.slice(base.length)
    return accepts.matches(names)
      && (accepts.git || !names.includes(".git"))
      && (includeHidden || accepts.hidden || !names.some((name) => name.startsWith(".")))
      && gate.denied(segments, "read") === undefined
      && gate.denied(segments, "list") === undefined
      && !isIgnored(rules, segments)
  })
}

interface Filter {
  readonly hidden: boolean
  /** It names `.git`, which other globs never go into. */
  readonly git: boolean
  readonly matches: (names: ReadonlyArray<string>) => boolean
}

const readGlob = (glob: string | undefined): Filter => {
  if (glob === undefined || glob === "") return { hidden: false, git: false, matches: () => true }
  const negated = glob.startsWith("!")
  const pattern = glob.slice(negated ? 1 : 0).replace(/^\.\//, "")
  const alternatives = expand(pattern)
  const hits = (names: ReadonlyArray<string>) =>
    alternatives.some((one) => Glob.matches(one, one.includes("/") ? names.join("/") : names.at(-1) ?? ""))
  return {
    git: !negated && /(?:^|[/{,])\.git(?:[/},]|$)/.test(pattern),
    hidden: !negated && /(?:^|[/{,])\.[^./]/.test(pattern),
    matches: (names) => hits(names) !== negated
  }
}

/** `*.{ts,md}` as two patterns; braces are not nested. */
const expand = (pattern: string): ReadonlyArray<string> => {
  const braces = /^([^{]*)\{([^{}]*)\}(.*)$/.exec(pattern)
  if (braces === null) return [pattern]
  const [, before = "", inside = "", after = ""] = braces
  return inside.split(",").flatMap((one) => expand(`${before}${one}${after}`))
}

interface IgnoreRule {
  readonly folder: ReadonlyArray<string>
  readonly pattern: string
  readonly keeps: boolean
}

const ignoreRules = (gate: Gate.Gate, base: ReadonlyArray<string>): ReadonlyArray<IgnoreRule> =>
  [...gate.tree].flatMap(([path, node]) => {
    const segments = Tree.split(path)
    const folder = segments.slice(0, -1)
    const related = Tree.below(folder, base) !== undefined || Tree.below(base, folder) !== undefined
    if (node.kind !== "file" || !related || ![".gitignore", ".ignore"].includes(segments.at(-1) ?? "")) return []
    return linesOf(decode(node.bytes))
      .map((line) => line.trim())
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => ({ folder, keeps: line.startsWith("!"), pattern: line.replace(/^!/, "").replace(/\/$/, "") }))
  })

/** The last rule that names the file, or a folder around it, decides. */
const isIgnored = (rules: ReadonlyArray<IgnoreRule>, segments: ReadonlyArray<string>): boolean => {
  const last = rules.filter(({ folder, pattern }) => {
    const names = Tree.below(folder, segments)
    return names !== undefined && names.some((name, index) =>
      pattern.includes("/")
        ? Glob.matches(pattern.replace(/^\//, ""), names.slice(0, index + 1).join("/"))
        : Glob.matches(pattern, name)
    )
  }).at(-1)
  return last !== undefined && !last.keeps
}
