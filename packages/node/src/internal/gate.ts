import type { FileError } from "@capstan/core/FileError"
import type { Access, Mount, PathDecision } from "@capstan/core/Workspace"
import { isSeenBy } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { DenyRules } from "../DenyRules.js"
import * as Deny from "../DenyRules.js"
import type { PathStyle } from "../PathRules.js"
import * as PathRules from "../PathRules.js"
import type { Anchor } from "./anchor.js"
import { canonicalise } from "./canonical.js"
import type { Asked } from "./fileFailure.js"
import { failure, fromThrown } from "./fileFailure.js"

/** A path that may be used: `segments` are the canonical ones below the root of `mount`. */
export interface Place extends Asked {
  readonly display: string
  readonly mount: Mount
  readonly segments: ReadonlyArray<string>
  /** How many of the last segments do not exist. */
  readonly missing: number
  /** It was written with a separator at the end. */
  readonly folder: boolean
}

/** A refused path. */
export type Refusal = Extract<PathDecision, { readonly _tag: "Refused" }>

interface Root {
  readonly mount: Mount
  readonly segments: ReadonlyArray<string>
  /** As it was configured, before links were resolved. */
  readonly alias: ReadonlyArray<string>
}

/** Decides paths. The roots are canonical and exist; see {@link make}. */
export interface Gate {
  readonly anchor: Anchor
  /** The folders in which what killed writes left behind was looked for, by device and number. */
  readonly swept: Set<string>
  readonly mounts: ReadonlyArray<Mount>
  readonly workingDirectory: string
  readonly decide: (path: string, access: Access, followLast?: boolean) => Either.Either<Place, Refusal>
  /** For a folder, by canonical segments from the root of its mount: the pattern that denies the entry of a name. */
  readonly denials: (
    mount: Mount,
    folder: ReadonlyArray<string>,
    access: Access
  ) => (name: string) => string | undefined
  readonly display: (mount: Mount, segments: ReadonlyArray<string>) => string
  /** A mount at or below a place, which must not be taken away with it. */
  readonly mountInside: (place: Place) => Mount | undefined
}

export const make = (options: {
  readonly anchor: Anchor
  readonly style: PathStyle
  readonly roots: ReadonlyArray<{ readonly mount: Mount; readonly configured: string }>
  readonly workingDirectory: string
  readonly deny: DenyRules
  readonly allowAbsolute: boolean
  readonly allowParents: boolean
  readonly privateFolders: ReadonlyArray<string>
}): Gate => {
  const split = (path: string) => PathRules.split(path, options.style)
  const roots: ReadonlyArray<Root> = options.roots
    .map(({ configured, mount }) => ({ mount, segments: split(mount.root), alias: split(configured) }))
    .sort((left, right) => right.segments.length - left.segments.length)
  const workingSegments = split(options.workingDirectory)
  const unseen = roots.filter(({ mount }) => !isSeenBy(mount, "files")).map(({ mount }) => mount.root)
  const secret = [...options.privateFolders, ...unseen].map((folder) => ({
    folder,
    segments: split(folder).map(PathRules.fold)
  }))
  const around = (segments: ReadonlyArray<string>) =>
    roots.find((root) => PathRules.below(root.segments, segments) !== undefined)
  const allowed = `Folders that may be used: ${
    options.roots.filter(({ mount }) => isSeenBy(mount, "files") || isSeenBy(mount, "vault")).map(({ mount }) =>
      `${mount.root} (${
        !isSeenBy(mount, "files") ? "vault_copy only" : mount.access === "ro" ? "read only" : "read and write"
      })`
    ).join(", ")
  }.`

  /** Why a mount gives nothing to an access, whatever the path in it. */
  const withheld = (mount: Mount, access: Access): string | undefined => {
    const { name } = mount
    if (access === "vault") {
      return mount.access === "ro" && isSeenBy(mount, "vault")
        ? undefined
        : `lies in "${name}", which is no vault: copy_file copies from there`
    }
    return isSeenBy(mount, "files")
      ? undefined
      : isSeenBy(mount, "vault")
      ? `lies in "${name}", out of which files can only be copied with vault_copy`
      : `lies in "${name}", which the tools for files do not see`
  }

  /** The private folders that hold for a mount: those that it does not lie in itself. */
  const secretFor = (root: Root) => {
    const mount = root.segments.map(PathRules.fold)
    return secret.filter(({ segments }) => PathRules.below(segments, mount) === undefined)
  }

  const deniedAt = (
    root: Root,
    below: ReadonlyArray<ReadonlyArray<string>>,
    canonical: ReadonlyArray<string>,
    access: Access
  ): string | undefined => {
    const folded = canonical.map(PathRules.fold)
    const own = secretFor(root).find(({ segments }) => PathRules.below(segments, folded) !== undefined)
    return own?.folder ?? Deny.match(options.deny, { below, absolute: canonical, access })
  }

  const denials: Gate["denials"] = (mount, folder, access) => {
    const canonical = [...split(mount.root), ...folder]
    const root = around(canonical)
    if (root !== undefined && withheld(root.mount, access) !== undefined) return () => root.mount.root
    const below = canonical.slice(root?.segments.length ?? 0)
    const folded = canonical.map(PathRules.fold)
    const hidden = (root === undefined ? secret : secretFor(root)).flatMap(({ folder: path, segments }) => {
      const rest = PathRules.below(folded, segments)
      return rest?.length === 1 ? [[rest[0], path] as const] : []
    })
    const inside = Deny.matchIn(options.deny, { below, absolute: canonical, access })
    return (name) => hidden.find(([own]) => own === PathRules.fold(name))?.[1] ?? inside(name)
  }

  const display = (canonical: ReadonlyArray<string>, path: string): string => {
    const relative = PathRules.below(workingSegments, canonical)
    return relative === undefined ? path : relative.length === 0 ? "." : relative.join("/")
  }

  const decide = (path: string, access: Access, followLast = access !== "delete"): Either.Either<Place, Refusal> => {
    const refuse = (reason: Refusal["reason"], message: string, resolved?: string, pattern?: string) =>
      Either.left<Refusal>({ _tag: "Refused", path, resolved, reason, pattern, message })
    const parsed = PathRules.parse(path, options.style)
    if (Either.isLeft(parsed)) return refuse("bad-path", parsed.left)
    const { folder, prefix, segments } = parsed.right
    if (!options.allowParents && segments.includes("..")) {
      return refuse("bad-path", `"${path}" has "..", which is not allowed here. Write the path without it.`)
    }

    const named = prefix === undefined ? undefined : roots
      .flatMap((root) => [[root, root.alias], [root, root.segments]] as const)
      .map(([root, from]) => ({ root, rest: PathRules.below(from, segments) }))
      .filter(({ rest }) => rest !== undefined)
      .sort((left, right) => (left.rest?.length ?? 0) - (right.rest?.length ?? 0))[0]
    if (prefix !== undefined && named?.rest === undefined && !options.allowAbsolute) {
      return refuse("outside", `"${path}" is outside of the folders of this sandbox. ${allowed}`, path)
    }
    const [base, rest] = prefix === undefined
      ? [options.workingDirectory, segments]
      : named?.rest === undefined
      ? [prefix, segments]
      : [named.root.mount.root, named.rest]

    const found = canonicalise({
      base,
      segments: rest,
      folder,
      style: options.style,
      followLast,
      mayLeave: (from) => base === prefix || around(split(from).slice(0, -1)) !== undefined
    })
    if (Either.isLeft(found)) {
      const { message, reason, resolved } = found.left
      return refuse(reason, reason === "outside" ? `${message} ${allowed}` : message, resolved)
    }
    const canonical = found.right.path
    const canonicalSegments = split(canonical)
    const root = around(canonicalSegments)
    if (root === undefined) {
      return refuse("outside", `"${path}" leads outside of the folders of this sandbox. ${allowed}`, canonical)
    }
    const why = withheld(root.mount, access)
    if (why !== undefined) return refuse("outside", `"${path}" ${why}. ${allowed}`, canonical)
    const requested = PathRules.collapse([...split(base), ...rest])
    const requestedRoot = around(requested)
    const below = canonicalSegments.slice(root.segments.length)
    const pattern = deniedAt(
      root,
      requestedRoot === undefined || requested.join("/") === canonicalSegments.join("/")
        ? [below]
        : [below, requested.slice(requestedRoot.segments.length)],
      canonicalSegments,
      access
    )
    if (pattern !== undefined) {
      return refuse(
        "denied",
        `"${path}" is protected here against ${access} (deny pattern "${pattern}"). Work without it, or ask the user.`,
        canonical,
        pattern
      )
    }
    if (root.mount.access === "ro" && (access === "write" || access === "delete")) {
      return refuse("read-only", `"${path}" lies in "${root.mount.name}", which is read only. ${allowed}`, canonical)
    }
    return Either.right({
      path,
      canonical,
      display: display(canonicalSegments, canonical),
      mount: root.mount,
      segments: below,
      missing: found.right.missing,
      folder
    })
  }

  return {
    anchor: options.anchor,
    swept: new Set(),
    mounts: options.roots.map(({ mount }) => mount),
    workingDirectory: options.workingDirectory,
    decide: (path, access, followLast) => {
      try {
        return decide(path, access, followLast)
      } catch (cause) {
        const error = fromThrown({ path, canonical: "" }, cause)
        if (error === undefined) throw cause
        return Either.left({
          _tag: "Refused",
          path,
          resolved: undefined,
          reason: error.reason,
          pattern: undefined,
          message: error.message
        })
      }
    },
    denials,
    display: (mount, segments) => {
      const canonical = [...split(mount.root), ...segments]
      return display(canonical, `${mount.root === "/" ? "" : mount.root}/${segments.join("/")}`)
    },
    mountInside: (place) => {
      const segments = split(place.canonical)
      return roots.find((root) => PathRules.below(segments, root.segments) !== undefined)?.mount
    }
  }
}

/** The decision as an effect: a refusal is its {@link FileError}. */
export const enter = (
  gate: Gate,
  path: string,
  access: Access,
  followLast?: boolean
): Effect.Effect<Place, FileError> =>
  Effect.suspend(() =>
    Either.match(gate.decide(path, access, followLast), {
      onRight: (place) => Effect.succeed(place),
      onLeft: (refusal) =>
        Effect.fail(failure(
          { path, canonical: refusal.resolved ?? "" },
          refusal.reason,
          refusal.message,
          refusal.pattern === undefined ? {} : { pattern: refusal.pattern }
        ))
    })
  )

/** The contract's form of a decision. */
export const toDecision = (decided: Either.Either<Place, Refusal>): PathDecision =>
  Either.match(decided, {
    onLeft: (refusal) => refusal,
    onRight: ({ canonical, display, mount, path }) => ({ _tag: "Allowed" as const, path, canonical, display, mount })
  })
