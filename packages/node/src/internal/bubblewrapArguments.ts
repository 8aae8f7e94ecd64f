import type { Mount } from "@capstan/core/Workspace"

/** A folder of the system: bound read-only, or a link as on the host (`/bin` → `usr/bin`). */
export interface SystemFolder {
  readonly path: string
  readonly link: string | undefined
}

/** Something inside the sandbox that differs from what is around it. All paths are canonical. */
export type Special =
  /** An empty, unreadable file or an empty folder in its place. */
  | { readonly _tag: "Masked"; readonly path: string; readonly kind: "file" | "folder" }
  /** Shown from `source`, unchangeable. */
  | { readonly _tag: "ReadOnly"; readonly path: string; readonly source: string }
  /** As it is, but it cannot be renamed or removed. */
  | { readonly _tag: "Pinned"; readonly path: string }

/** Everything that decides what a confined command sees. */
export interface Confinement {
  readonly system: ReadonlyArray<SystemFolder>
  readonly home: string
  readonly toolFolders: ReadonlyArray<string>
  /** The folder that is `/tmp` inside. */
  readonly temporary: string
  readonly mounts: ReadonlyArray<Mount>
  readonly specials: ReadonlyArray<Special>
  readonly network: boolean
  readonly environment: Readonly<Record<string, string>>
  readonly cwd: string
  /** Reports on descriptor 3 how the command ended, which tells its own exit code from bubblewrap's. */
  readonly status: boolean
}

interface Placed {
  readonly at: string
  readonly arguments: ReadonlyArray<string>
}

const depth = (path: string): number => path.split("/").filter((part) => part !== "").length

const walls = (network: boolean): ReadonlyArray<string> => [
  "--new-session",
  "--die-with-parent",
  "--unshare-user",
  "--unshare-pid",
  "--unshare-ipc",
  "--unshare-uts",
  ...(network ? [] : ["--unshare-net"]),
  "--disable-userns",
  "--cap-drop",
  "ALL"
]

const placeSpecial = (special: Special): Placed => {
  switch (special._tag) {
    case "Masked":
      return {
        at: special.path,
        arguments: special.kind === "file"
          ? ["--ro-bind", "/dev/null", special.path]
          : ["--perms", "0555", "--tmpfs", special.path]
      }
    case "ReadOnly":
      return { at: special.path, arguments: ["--ro-bind", special.source, special.path] }
    case "Pinned":
      return { at: special.path, arguments: ["--bind", special.path, special.path] }
  }
}

/**
 * The arguments for bubblewrap, up to and without the program to run. What lies deeper comes later, so that it is seen;
 * at the same depth and place the later of the lists wins.
 */
export const make = (options: Confinement): ReadonlyArray<string> => {
  const placed: ReadonlyArray<Placed> = [
    ...options.system.map(({ link, path }) => ({
      at: path,
      arguments: link === undefined ? ["--ro-bind", path, path] : ["--symlink", link, path]
    })),
    { at: "/dev", arguments: ["--dev", "/dev"] },
    { at: "/proc", arguments: ["--proc", "/proc"] },
    // The kernel's settings are the host's, and its root may write them.
    { at: "/proc/sys", arguments: ["--ro-bind", "/proc/sys", "/proc/sys"] },
    // Sockets of the host's services lie here.
    { at: "/run", arguments: ["--tmpfs", "/run"] },
    { at: "/var/tmp", arguments: ["--perms", "1777", "--tmpfs", "/var/tmp"] },
    { at: "/tmp", arguments: ["--bind", options.temporary, "/tmp"] },
    { at: options.home, arguments: ["--perms", "0700", "--tmpfs", options.home] },
    ...options.toolFolders.map((path) => ({ at: path, arguments: ["--ro-bind", path, path] })),
    ...options.mounts.map(({ access, root }) => ({
      at: root,
      arguments: [access === "rw" ? "--bind" : "--ro-bind", root, root]
    })),
    ...options.specials.map(placeSpecial)
  ]
  const masks = options.specials.flatMap((special) =>
    special._tag === "Masked" && special.kind === "folder" ? ["--remount-ro", special.path] : []
  )
  const rootIsOurs = !options.mounts.some((mount) => mount.root === "/")
  return [
    ...walls(options.network),
    ...placed.map((place, index) => ({ place, index }))
      .sort((a, b) => depth(a.place.at) - depth(b.place.at) || a.index - b.index)
      .flatMap(({ place }) => place.arguments),
    ...masks,
    // A write beside the mounts fails instead of getting lost.
    ...(rootIsOurs ? ["--remount-ro", "/"] : []),
    "--chdir",
    options.cwd,
    "--clearenv",
    ...Object.entries(options.environment).flatMap(([name, value]) => ["--setenv", name, value]),
    ...(options.status ? ["--json-status-fd", "3"] : [])
  ]
}
