import type { FileError } from "@capstan/core/FileError"
import type { FilesRequest, FilesResult, FoundFile } from "@capstan/core/Workspace"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Stream from "effect/Stream"
import * as Fs from "node:fs"
import type { Folder } from "./anchor.js"
import { walk } from "./anchor.js"
import { attempt, failure, fromThrown } from "./fileFailure.js"
import type { Gate, Place } from "./gate.js"
import { enter } from "./gate.js"
import { orNearby } from "./nearby.js"
import type { PathGlob } from "./pathGlob.js"
import { advanceAll, fits, nameOf, parsePath } from "./pathGlob.js"
import * as Ripgrep from "./ripgrep.js"

/** How many files are looked at before others get their turn. */
const batch = 1000

/** Which files of a tree are wanted, and what that asks of the search program. */
export interface Filter {
  readonly accepts: (segments: ReadonlyArray<string>) => boolean
  readonly args: ReadonlyArray<string>
}

/** Reads the glob: a pattern that names something hidden makes hidden files count, `!` in front excludes. */
export const readGlob = (
  place: Place,
  glob: string | undefined,
  includeHidden = false
): Effect.Effect<Filter, FileError> => {
  const hiding = (hidden: boolean, git: boolean) => hidden ? ["--hidden", ...(git ? [] : ["--glob=!.git"])] : []
  if (glob === undefined || glob === "") {
    return Effect.succeed({ accepts: () => true, args: hiding(includeHidden, false) })
  }
  const negated = glob.startsWith("!")
  const pattern = glob.slice(negated ? 1 : 0)
  const parsed = parsePath(pattern)
  if (Either.isLeft(parsed)) {
    return failure(
      place,
      "bad-pattern",
      `The glob "${glob}" cannot be used: ${parsed.left}. Write one like "*.ts" or "src/**/*.md".`
    )
  }
  const globs: ReadonlyArray<PathGlob> = parsed.right
  const hidden = includeHidden || !negated && /(?:^|[/{,])\.[^./]/.test(pattern)
  const git = /(?:^|[/{,])\.git(?:[/},]|$)/.test(pattern)
  return Effect.succeed({
    accepts: (segments) => {
      const names = segments.map(nameOf)
      return globs.some((one) => fits(one, advanceAll(one, names))) !== negated
    },
    args: hiding(hidden, git && !negated)
  })
}

/** The files below a folder by name, ignore files honoured. Only names: each file is decided and opened by us. */
export const listed = (place: Place, folder: Folder, filter: Filter): Stream.Stream<ReadonlyArray<string>, FileError> =>
  Stream.unwrapScoped(Effect.map(
    Ripgrep.start(place, {
      folder: folder.self,
      args: [
        "--files",
        "--null",
        "--sort=path",
        "--no-require-git",
        "--no-ignore-global",
        "--no-messages",
        ...filter.args,
        "--",
        "./"
      ]
    }),
    ({ stdout }) =>
      splitAtNul(stdout).pipe(
        Stream.map((name) => name.split(/[\\/]/).filter((segment) => segment !== "" && segment !== ".")),
        Stream.filter(filter.accepts)
      )
  ))

const splitAtNul = (bytes: Stream.Stream<Uint8Array, FileError>): Stream.Stream<string, FileError> =>
  Stream.decodeText(bytes).pipe(
    Stream.mapAccum("", (rest, text) => {
      const parts = (rest + text).split("\0")
      return [parts.pop() ?? "", parts]
    }),
    Stream.mapConcat((names) => names)
  )

/** A folder whose files are looked at one after the other. */
interface Parent {
  readonly key: string
  readonly folder: Folder
  readonly denied: (name: string) => boolean
}

const openParentOf = (gate: Gate, place: Place, key: string, segments: ReadonlyArray<string>): Parent => {
  const denials = (["list", "read"] as const).map((access) => gate.denials(place.mount, segments, access))
  return {
    key,
    folder: walk(gate.anchor, place.mount.root, segments),
    denied: (name) => denials.some((denied) => denied(name) !== undefined)
  }
}

/** Looks at files without following links; what is gone, closed, denied or no regular file is left out. */
const describe = (gate: Gate, place: Place, files: Iterable<ReadonlyArray<string>>): ReadonlyArray<FoundFile> => {
  const found: Array<FoundFile> = []
  let parent: Parent | undefined
  try {
    for (const file of files) {
      const folder = file.slice(0, -1)
      const name = file.at(-1) ?? ""
      const key = folder.join("/")
      try {
        if (parent?.key !== key) {
          const next = openParentOf(gate, place, key, [...place.segments, ...folder])
          parent?.folder.close()
          parent = next
        }
        if (parent.denied(name)) continue
        const stat = Fs.lstatSync(parent.folder.at(name))
        if (!stat.isFile()) continue
        const path = gate.display(place.mount, [...place.segments, ...file])
        found.push({ path, size: stat.size, modified: stat.mtimeMs })
      } catch (cause) {
        if (fromThrown(place, cause) === undefined) throw cause
      }
    }
    return found
  } finally {
    parent?.folder.close()
  }
}

const newestFirst = (left: FoundFile, right: FoundFile): number =>
  right.modified - left.modified || (left.path < right.path ? -1 : 1)

export const files = (gate: Gate, request: FilesRequest): Effect.Effect<FilesResult, FileError> =>
  Effect.gen(function*() {
    const place = yield* enter(gate, request.path, "list")
    const filter = yield* readGlob(place, request.glob, request.includeHidden)
    const limit = Math.max(0, request.limit)
    return yield* Effect.acquireUseRelease(
      orNearby(gate, place, attempt(place, () => walk(gate.anchor, place.mount.root, place.segments))),
      (folder) =>
        listed(place, folder, filter).pipe(
          Stream.rechunk(batch),
          Stream.chunks,
          Stream.runFoldEffect(
            { kept: new Array<FoundFile>(), total: 0 },
            ({ kept, total }, names) =>
              attempt(place, () => {
                const fresh = describe(gate, place, Chunk.toReadonlyArray(names))
                const all = [...kept, ...fresh]
                return {
                  kept: all.length > limit ? all.sort(newestFirst).slice(0, limit) : all,
                  total: total + fresh.length
                }
              })
          ),
          Effect.map(({ kept, total }) => ({ files: kept.sort(newestFirst), total, more: total > limit }))
        ),
      (folder) => Effect.sync(folder.close)
    )
  })
