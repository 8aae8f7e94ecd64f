/** The path decisions of the fake sandbox: mounts, deny patterns, and the refusals that need only the text. */
import { FileError, type FileErrorReason } from "@capstan/core/FileError"
import * as Glob from "@capstan/core/Glob"
import { type Access, isSeenBy, type Mount, type PathDecision } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Tree from "./memoryTree.js"

export type Allowed = Extract<PathDecision, { readonly _tag: "Allowed" }> & {
  /** From the root of the file system. */
  readonly segments: ReadonlyArray<string>
  readonly root: ReadonlyArray<string>
  /** It was written with a `/` at the end. */
  readonly folder: boolean
}

type Refused = Extract<PathDecision, { readonly _tag: "Refused" }>

/** A run of names, with globs, that is denied anywhere in a path below its mount together with everything in it. */
interface DenyRule {
  readonly names: ReadonlyArray<string>
  readonly access?: ReadonlyArray<Access>
  readonly except?: string
}

const changing: ReadonlyArray<Access> = ["write", "delete"]

const defaults: ReadonlyArray<DenyRule> = [
  ...[".ssh", ".gnupg", ".aws", ".azure", "secrets", ".env", "id_rsa*", "id_ed25519*", "id_ecdsa*"].map((name) => ({
    names: [name]
  })),
  ...["*.pem", "*.key", "*.p12", "*.pfx", ".npmrc", ".pypirc", ".netrc", ".git-credentials"].map((name) => ({
    names: [name]
  })),
  { names: [".env.*"], except: ".env.example" },
  { names: [".config", "gcloud"] },
  { names: [".git", "config"] },
  { names: [".git"], access: changing },
  { names: ["node_modules"], access: changing }
]

export interface Gate {
  readonly tree: Tree.Tree
  readonly mounts: ReadonlyArray<Mount>
  readonly decide: (path: string, access: Access, followLast?: boolean) => Allowed | Refused
  readonly denied: (segments: ReadonlyArray<string>, access: Access) => string | undefined
  readonly display: (segments: ReadonlyArray<string>) => string
}

export const make = (options: {
  readonly tree: Tree.Tree
  readonly mounts: ReadonlyArray<Mount>
  readonly workingDirectory: string
  readonly deny: ReadonlyArray<string>
}): Gate => {
  const { mounts, tree } = options
  const working = Tree.split(options.workingDirectory)
  const roots = mounts
    .map((mount) => ({ mount, segments: Tree.split(mount.root) }))
    .sort((left, right) => right.segments.length - left.segments.length)
  const rules = [...defaults, ...options.deny.map((pattern): DenyRule => ({ names: Tree.split(pattern) }))]
  const around = (segments: ReadonlyArray<string>) =>
    roots.find((root) => Tree.below(root.segments, segments) !== undefined)
  const allowed = `Folders that may be used: ${mounts.map(({ access, root }) => `${root} (${access})`).join(", ")}.`

  const display = (segments: ReadonlyArray<string>): string => {
    const relative = Tree.below(working, segments)
    return relative === undefined ? Tree.join(segments) : relative.length === 0 ? "." : relative.join("/")
  }

  const denied = (segments: ReadonlyArray<string>, access: Access): string | undefined => {
    const root = around(segments)
    const names = (root === undefined ? segments : segments.slice(root.segments.length)).map((name) =>
      name.toLowerCase()
    )
    const unseen = access === "vault" ?
      undefined :
      roots.find((hidden) => !isSeenBy(hidden.mount, "files") && Tree.below(hidden.segments, segments) !== undefined)
    if (unseen !== undefined) return unseen.mount.root
    return rules.find((rule) => (rule.access ?? [access]).includes(access) && covers(rule, names))?.names.join("/")
  }

  const decide = (path: string, access: Access, followLast = access !== "delete"): Allowed | Refused => {
    const refuse = (reason: FileErrorReason, message: string, resolved?: string, pattern?: string): Refused => ({
      _tag: "Refused",
      path,
      resolved,
      reason,
      pattern,
      message
    })
    const wrong = lexicalRefusal(path)
    if (wrong !== undefined) return refuse("bad-path", wrong)
    const typed = Tree.split(path)
    const named = path.startsWith("/") ? around(typed) : undefined
    if (path.startsWith("/") && named === undefined) {
      return refuse("outside", `"${path}" is outside of the folders of this sandbox. ${allowed}`, path)
    }
    const base = named?.segments ?? working
    const rest = named === undefined ? typed : typed.slice(named.segments.length)
    const found = Tree.canonicalise(tree, {
      base,
      segments: rest,
      followLast,
      mayLeave: (folder) => around(folder.slice(0, -1)) !== undefined
    })
    if (Either.isLeft(found)) return refuse(found.left.reason, found.left.message, found.left.resolved)
    const segments = found.right
    const canonical = Tree.join(segments)
    const root = around(segments)
    if (root === undefined) {
      return refuse("outside", `"${path}" leads outside of the folders of this sandbox. ${allowed}`, canonical)
    }
    const why = withheld(root.mount, access)
    if (why !== undefined) {
      return refuse("outside", `"${path}" lies in "${root.mount.name}", ${why}. ${allowed}`, canonical)
    }
    const pattern = denied(segments, access) ?? denied(collapse([...base, ...rest]), access)
    if (pattern !== undefined) {
      return refuse(
        "denied",
        `"${path}" is protected here against ${access} (deny pattern "${pattern}").`,
        canonical,
        pattern
      )
    }
    if (root.mount.access === "ro" && changing.includes(access)) {
      return refuse("read-only", `"${path}" lies in "${root.mount.name}", which is read only. ${allowed}`, canonical)
    }
    return {
      _tag: "Allowed",
      path,
      canonical,
      display: display(segments),
      mount: root.mount,
      segments,
      root: root.segments,
      folder: /\/\.?$/.test(path)
    }
  }

  return { tree, mounts, decide, denied, display }
}

export const enter = (
  gate: Gate,
  path: string,
  access: Access,
  followLast?: boolean
): Effect.Effect<Allowed, FileError> =>
  Effect.suspend(() => {
    const decision = gate.decide(path, access, followLast)
    return decision._tag === "Allowed"
      ? Effect.succeed(decision)
      : new FileError({
        reason: decision.reason,
        path,
        message: decision.message,
        ...(decision.resolved === undefined ? {} : { resolved: decision.resolved }),
        ...(decision.pattern === undefined ? {} : { pattern: decision.pattern })
      })
  })

export const failure = (place: Allowed, reason: FileErrorReason, message: string): FileError =>
  new FileError({ reason, path: place.path, resolved: place.canonical, message })

/** Why a mount gives nothing to an access, whatever the path in it. */
const withheld = (mount: Mount, access: Access): string | undefined =>
  access === "vault"
    ? mount.access === "ro" && isSeenBy(mount, "vault") ? undefined : "which is no vault: copy_file copies from there"
    : isSeenBy(mount, "files")
    ? undefined
    : "out of which files can only be copied with vault_copy"

const covers = (rule: DenyRule, names: ReadonlyArray<string>): boolean =>
  names.some((_, start) =>
    rule.names.every((pattern, index) => {
      const name = names[start + index]
      return name !== undefined && name !== rule.except && Glob.matches(pattern.toLowerCase(), name)
    })
  )

const collapse = (segments: ReadonlyArray<string>): ReadonlyArray<string> =>
  segments.reduce<ReadonlyArray<string>>(
    (kept, segment) => segment === ".." ? kept.slice(0, -1) : [...kept, segment],
    []
  )

const lexicalRefusal = (path: string): string | undefined => {
  if (path === "") return "The path is empty. Give a path, or \".\" for the working directory."
  if (path.length > 4096) return "The path is longer than 4096 bytes. Give a shorter one."
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/u.test(path)) {
    return "The path has a control or invisible character. Write it without."
  }
  if (/^(?:[a-z][a-z0-9+.-]*:\/\/|file:)/i.test(path)) return "The path is a URL. Give the path of a file instead."
  if (path.startsWith("~")) {
    return "A leading \"~\" is not expanded here. Give a path relative to the working directory."
  }
  if (/^(?:\\\\|\/\/(?!\/)|[a-z]:[\\/])/i.test(path)) return "Network, device and drive paths are refused."
  return undefined
}
