import type { FileError } from "@capstan/core/FileError"
import type { FilesRequest, FilesResult, FoundFile } from "@capstan/core/Workspace"
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
export const listed = (
  place: Place,
  folder: Folder,
  filter: Filter
): Stream.Stream<ReadonlyArray<ReadonlyArray<string>>, FileError> =>
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
      Stream.decodeText(stdout).pipe(
        Stream.mapAccum("", (rest, text) => {
          const parts = (rest + text).split("\0")
          return [parts.pop() ?? "", parts.map(namesOf).filter(filter.accepts)]
        })
      )
  ))

const namesOf = (path: string): ReadonlyArray<string> =>
  path.split(/[\\/]/).filter((segment) => segment !== "" && segment !== ".")

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

/** A file as it was found: by names below the folder that was asked about. */
interface Found {
  readonly names: ReadonlyArray<string>
  readonly size: number
  readonly modified: number
}

/** Looks at files without following links; what is gone, closed, denied or no regular file is left out. */
const describe = (gate: Gate, place: Place, files: Iterable<ReadonlyArray<string>>): ReadonlyArray<Found> => {
  const found: Array<Found> = []
  let parent: Parent | undefined
  try {
    for (const names of files) {
      const folder = names.slice(0, -1)
      const name = names.at(-1) ?? ""
      const key = folder.join("/")
      try {
        if (parent?.key !== key) {
          const next = openParentOf(gate, place, key, [...place.segments, ...folder])
          parent?.folder.close()
          parent = next
        }
        if (parent.denied(name)) continue
        const stat = Fs.lstatSync(parent.folder.at(name))
        if (stat.isFile()) found.push({ names, size: stat.size, modified: stat.mtimeMs })
      } catch (cause) {
        if (fromThrown(place, cause) === undefined) throw cause
      }
    }
    return found
  } finally {
    parent?.folder.close()
  }
}

const newestFirst = (left: Found, right: Found): number =>
  right.modified - left.modified || (left.names.join("/") < right.names.join("/") ? -1 : 1)

/** The newest of what was kept and what is fresh. */
const newest = (kept: ReadonlyArray<Found>, fresh: ReadonlyArray<Found>, limit: number): ReadonlyArray<Found> => {
  const last = kept.length < limit ? undefined : kept.at(-1)
  const better = last === undefined ? fresh : fresh.filter((one) => newestFirst(one, last) < 0)
  return better.length === 0 ? kept : [...kept, ...better].sort(newestFirst).slice(0, limit)
}

export const files = (gate: Gate, request: FilesRequest): Effect.Effect<FilesResult, FileError> =>
  Effect.gen(function*() {
    const place = yield* enter(gate, request.path, "list")
    const filter = yield* readGlob(place, request.glob, request.includeHidden)
    const limit = Math.max(0, request.limit)
    const show = ({ modified, names, size }: Found): FoundFile => ({
      path: gate.display(place.mount, [...place.segments, ...names]),
      size,
      modified
    })
    const none: ReadonlyArray<Found> = []
    return yield* Effect.acquireUseRelease(
      orNearby(gate, place, attempt(place, () => walk(gate.anchor, place.mount.root, place.segments))),
      (folder) =>
        listed(place, folder, filter).pipe(
          Stream.runFoldEffect({ kept: none, total: 0 }, ({ kept, total }, names) =>
            attempt(place, () => {
              const fresh = describe(gate, place, names)
              return { kept: newest(kept, fresh, limit), total: total + fresh.length }
            })),
          Effect.map(({ kept, total }) => ({ files: kept.map(show), total, more: total > limit }))
        ),
      (folder) => Effect.sync(folder.close)
    )
  })
