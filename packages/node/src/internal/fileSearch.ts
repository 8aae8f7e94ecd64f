import type { FileError } from "@capstan/core/FileError"
import type { SearchLine, SearchRequest, SearchResult } from "@capstan/core/Workspace"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Fs from "node:fs"
import * as Path from "node:path"
import type { Folder } from "./anchor.js"
import { walk } from "./anchor.js"
import { attempt, failure, fromThrown } from "./fileFailure.js"
import { listed, readGlob } from "./fileNames.js"
import { openParent, openRegular } from "./fileReading.js"
import type { Gate, Place } from "./gate.js"
import { enter } from "./gate.js"
import { orNearby } from "./nearby.js"
import * as Ripgrep from "./ripgrep.js"

/** How many files are open at once. */
const batch = 512
/** Of each file this much is looked at for NUL, the sign of a binary. */
const sniffed = 8192
/** Of longer lines a part around the match is returned, in characters. */
const longLine = 2000

/** A file of the tree that may be searched, opened by us: the search program never resolves a path. */
interface Candidate {
  readonly shown: string
  readonly path: string
  readonly fd: number
}

const Text = Schema.Union(Schema.Struct({ text: Schema.String }), Schema.Struct({ bytes: Schema.StringFromBase64 }))
const Message = Schema.parseJson(Schema.Struct({
  type: Schema.Literal("match", "context"),
  data: Schema.Struct({
    path: Text,
    lines: Text,
    line_number: Schema.Number,
    submatches: Schema.Array(Schema.Struct({ start: Schema.Number }))
  })
}))
const decodeMessage = Schema.decodeUnknownOption(Message)

const textOf = (text: typeof Text.Type): string => "text" in text ? text.text : text.bytes

/** A line without its end; of a long one the part around byte `start`. */
const shorten = (text: string, start: number): string => {
  const line = text.replace(/\r?\n$/, "")
  if (line.length <= longLine) return line
  const at = Buffer.from(line).subarray(0, start).toString().length
  const from = Math.max(0, Math.min(at - longLine / 4, line.length - longLine))
  const before = from > 0 ? `[… ${from} characters] ` : ""
  const after = line.length - from - longLine
  return `${before}${line.slice(from, from + longLine)}${after > 0 ? ` [… ${after} characters]` : ""}`
}

const patternArgs = (request: SearchRequest): ReadonlyArray<string> => [
  request.literal ? "--fixed-strings" : "--no-fixed-strings",
  request.caseSensitive ? "--case-sensitive" : "--ignore-case",
  "--crlf",
  "-e",
  request.pattern,
  "--"
]

/** Lets the search program read the pattern over nothing, so that its complaint is about the pattern. */
const requirePattern = (place: Place, request: SearchRequest): Effect.Effect<void, FileError> =>
  Effect.scoped(Effect.gen(function*() {
    if (request.pattern.includes("\0")) {
      return yield* failure(place, "bad-pattern", "The pattern has a NUL character. Write it without.")
    }
    const running = yield* Ripgrep.start(place, { args: ["--quiet", ...patternArgs(request), "-"] })
    yield* Stream.runDrain(running.stdout)
    const { code, complaint } = yield* running.end
    if (code > 1) {
      return yield* failure(
        place,
        "bad-pattern",
        `The pattern cannot be read: ${
          complaint.replace(/^rg: /, "").trim()
        }\nCorrect it, or search for the text itself (literal). A pattern matches within one line.`
      )
    }
  }))

const isBinary = (fd: number): boolean => {
  const head = Buffer.allocUnsafe(sniffed)
  const got = Fs.readSync(fd, head, 0, sniffed, 0)
  return head.subarray(0, got).includes(0)
}

interface Opened {
  readonly candidates: ReadonlyArray<Candidate>
  readonly skippedLarge: number
}

/** A folder that files are opened in one after the other. */
interface Parent {
  readonly key: string
  readonly folder: Folder
  readonly denied: (name: string) => boolean
}

const openSearched = (gate: Gate, place: Place, segments: ReadonlyArray<string>): Omit<Parent, "key"> => {
  const reading = gate.denials(place.mount, segments, "read")
  const listing = gate.denials(place.mount, segments, "list")
  return {
    folder: walk(gate.anchor, place.mount.root, segments),
    denied: (name) => reading(name) !== undefined || listing(name) !== undefined
  }
}

/** Opens what of a batch may be searched: not denied, regular, not large, not binary. What cannot be opened is left out. */
const openBatch = (
  gate: Gate,
  place: Place,
  base: ReadonlyArray<string>,
  files: ReadonlyArray<ReadonlyArray<string>>,
  maxFileBytes: number
): Opened => {
  const candidates: Array<Candidate> = []
  let skippedLarge = 0
  let parent: Parent | undefined
  try {
    for (const file of files) {
      const segments = [...base, ...file]
      const name = segments.at(-1) ?? ""
      const key = segments.slice(0, -1).join("/")
      try {
        if (parent?.key !== key) {
          const next = openSearched(gate, place, segments.slice(0, -1))
          parent?.folder.close()
          parent = { key, ...next }
        }
        if (parent.denied(name)) continue
        const { fd, stat } = openRegular(gate, place, parent.folder, name)
        if (stat.size <= maxFileBytes && !isBinary(fd)) {
          candidates.push({
            fd,
            shown: gate.display(place.mount, segments),
            path: Path.join(place.mount.root, ...segments)
          })
        } else {
          Fs.closeSync(fd)
          if (stat.size > maxFileBytes) skippedLarge++
        }
      } catch (cause) {
        if (fromThrown(place, cause) === undefined) throw cause
      }
    }
    return { candidates, skippedLarge }
  } catch (cause) {
    for (const { fd } of candidates) Fs.closeSync(fd)
    throw cause
  } finally {
    parent?.folder.close()
  }
}

/** Where descriptors cannot be handed over, files are named. */
const handed = process.platform !== "win32"

const pathsOf = (candidates: ReadonlyArray<Candidate>) =>
  candidates.map((candidate, index) => handed ? Ripgrep.descriptorPath(index) : candidate.path)

const scan = (
  place: Place,
  request: SearchRequest,
  candidates: ReadonlyArray<Candidate>,
  args: ReadonlyArray<string>
) =>
  Ripgrep.start(place, {
    args: ["--text", "--threads=1", ...args, ...patternArgs(request), ...pathsOf(candidates)],
    ...(handed ? { files: candidates.map(({ fd }) => fd) } : {})
  })

const requireEnd = (place: Place, running: Ripgrep.Running) =>
  Effect.flatMap(running.end, ({ code, complaint }) =>
    code > 1
      ? failure(place, "io", `The search failed: ${complaint.trim()}. Search a smaller folder, or try again.`)
      : Effect.void)

/** How many lines match in each file. */
const count = (place: Place, request: SearchRequest, candidates: ReadonlyArray<Candidate>) =>
  Effect.scoped(Effect.gen(function*() {
    const running = yield* scan(place, request, candidates, ["--count", "--with-filename", "--null"])
    const indexes = new Map(pathsOf(candidates).map((path, index) => [path, index]))
    const counts = candidates.map(() => 0)
    yield* Stream.runForEach(Stream.splitLines(Stream.decodeText(running.stdout)), (line) =>
      Effect.sync(() => {
        const [path = "", number = "0"] = line.split("\0")
        const index = indexes.get(path)
        if (index !== undefined) counts[index] = Number(number)
      }))
    yield* requireEnd(place, running)
    return counts
  }))

/** The lines of files, of which the first `skip` matches are passed over and `take` returned. */
const lines = (
  place: Place,
  request: SearchRequest,
  candidates: ReadonlyArray<Candidate>,
  skip: number,
  take: number
) =>
  Effect.scoped(Effect.gen(function*() {
    const running = yield* scan(place, request, candidates, [
      "--json",
      `--max-count=${skip + take}`,
      `--context=${request.contextLines}`
    ])
    const shown = new Map(pathsOf(candidates).map((path, index) => [path, candidates[index]?.shown ?? ""]))
    const found: Array<SearchLine> = []
    let seen = 0
    let before: Array<SearchLine> = []
    let after = 0
    let previous = ""
    yield* Stream.runForEach(Stream.splitLines(Stream.decodeText(running.stdout)), (json) =>
      Effect.sync(() => {
        const message = Option.getOrUndefined(decodeMessage(json))
        if (message === undefined) return
        const path = shown.get(textOf(message.data.path)) ?? ""
        const match = message.type === "match"
        const line: SearchLine = {
          path,
          line: message.data.line_number,
          text: shorten(textOf(message.data.lines), message.data.submatches[0]?.start ?? 0),
          match
        }
        if (path !== previous) [before, after, previous] = [[], 0, path]
        if (match) {
          const wanted = seen >= skip && seen < skip + take
          seen++
          if (wanted) found.push(...before.filter((one) => one.line >= line.line - request.contextLines), line)
          before = []
          after = wanted ? line.line + request.contextLines : 0
        } else if (line.line <= after) found.push(line)
        else before = [...before, line].slice(-request.contextLines)
      }))
    yield* requireEnd(place, running)
    return found
  }))

const empty: SearchResult = { lines: [], matches: 0, total: 0, files: 0, more: false, skippedLarge: 0 }

/** Adds a batch to what was found so far: first all matches are counted, then the lines in demand are fetched. */
const searchBatch = (gate: Gate, place: Place, request: SearchRequest, base: ReadonlyArray<string>) =>
(
  result: SearchResult,
  files: ReadonlyArray<ReadonlyArray<string>>
): Effect.Effect<SearchResult, FileError> =>
  Effect.acquireUseRelease(
    attempt(place, () => openBatch(gate, place, base, files, request.maxFileBytes)),
    ({ candidates, skippedLarge }) =>
      Effect.gen(function*() {
        const counted = { ...result, skippedLarge: result.skippedLarge + skippedLarge }
        if (candidates.length === 0) return counted
        const counts = yield* count(place, request, candidates)
        const starts = counts.map((_, index) => counts.slice(0, index).reduce((sum, one) => sum + one, result.total))
        const total = counts.reduce((sum, one) => sum + one, result.total)
        const until = request.offset + request.limit
        const wanted = candidates.filter((_, index) => {
          const [start, found] = [starts[index] ?? 0, counts[index] ?? 0]
          return found > 0 && start < until && start + found > request.offset
        })
        const first = starts[candidates.findIndex((one) => one === wanted[0])] ?? 0
        const skip = Math.max(0, request.offset - first)
        const take = request.limit - result.matches
        const fresh = wanted.length === 0 ? [] : yield* lines(place, request, wanted, skip, take)
        return {
          ...counted,
          lines: [...result.lines, ...fresh],
          matches: result.matches + fresh.filter((line) => line.match).length,
          total,
          files: result.files + counts.filter((one) => one > 0).length,
          more: total > until
        }
      }),
    ({ candidates }) =>
      Effect.sync(() => {
        for (const { fd } of candidates) Fs.closeSync(fd)
      })
  )

export const search = (gate: Gate, request: SearchRequest): Effect.Effect<SearchResult, FileError> =>
  Effect.gen(function*() {
    const place = yield* enter(gate, request.path, "read")
    const filter = yield* readGlob(place, request.glob)
    const name = place.segments.at(-1)
    const isFile = yield* orNearby(
      gate,
      place,
      attempt(place, () => {
        const parent = openParent(gate, place)
        try {
          return name !== undefined && !Fs.lstatSync(parent.at(name)).isDirectory()
        } finally {
          parent.close()
        }
      })
    )
    yield* requirePattern(place, request)
    if (isFile && name !== undefined) {
      const parents = place.segments.slice(0, -1)
      yield* Effect.acquireUseRelease(
        attempt(place, () => openParent(gate, place)),
        (parent) => attempt(place, () => Fs.closeSync(openRegular(gate, place, parent, name).fd)),
        (parent) => Effect.sync(parent.close)
      )
      return yield* searchBatch(gate, place, request, parents)(empty, [[name]])
    }
    return yield* Effect.acquireUseRelease(
      attempt(place, () => walk(gate.anchor, place.mount.root, place.segments)),
      (folder) =>
        listed(place, folder, filter).pipe(
          Stream.mapConcat((names) => names),
          Stream.grouped(batch),
          Stream.map(Chunk.toReadonlyArray),
          Stream.runFoldEffect(empty, searchBatch(gate, place, request, place.segments))
        ),
      (folder) => Effect.sync(folder.close)
    )
  })
