/**
 * A machine in memory: files with the decisions and errors of the real workspace, and commands that answer from a
 * script.
 *
 * @since 0.1.0
 */
import type { FileError } from "@capstan/core/FileError"
import { ProcessRunner } from "@capstan/core/ProcessRunner"
import * as Sandbox from "@capstan/core/Sandbox"
import { type Mount, Workspace } from "@capstan/core/Workspace"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Gate from "./internal/memoryGate.js"
import * as Tree from "./internal/memoryTree.js"
import * as MemoryWorkspace from "./internal/memoryWorkspace.js"
import * as ScriptedProcesses from "./internal/scriptedProcesses.js"

/**
 * What is at a path: text, bytes, or a link to somewhere.
 *
 * @since 0.1.0
 * @category models
 */
export type Content = string | Uint8Array | { readonly link: string }

/**
 * How a scripted command ends; nothing printed and exit code 0 unless said otherwise. `directory` is where a shell session
 * goes on (default: where the command ran).
 *
 * @since 0.1.0
 * @category models
 */
export interface CommandResult {
  readonly stdout?: string
  readonly stderr?: string
  readonly exitCode?: number
  readonly directory?: string
}

/**
 * What commands do: a function of the command line and its folder (`Effect.never` hangs until it is interrupted), or a
 * table of command lines, in which a missing one ends with 127.
 *
 * @since 0.1.0
 * @category models
 */
export type Commands =
  | ((command: string, cwd: string) => CommandResult | Effect.Effect<CommandResult>)
  | Readonly<Record<string, CommandResult>>

/**
 * A command that was run.
 *
 * @since 0.1.0
 * @category models
 */
export interface RanCommand {
  readonly command: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** The shell session that it belongs to. */
  readonly session?: string
}

/**
 * An operation of the workspace, as a fault sees it. `path` is where it goes to; of a `writeAll` each file comes on its own,
 * and `settleWriteAll` has the key.
 *
 * @since 0.1.0
 * @category models
 */
export interface Operation {
  readonly name: Exclude<keyof Workspace["Type"], "mounts" | "workingDirectory" | "enforcement" | "decide">
  readonly path: string
}

/**
 * What the machine holds. `files` are by path, relative ones below `workingDirectory` (default `/workspace`, the one mount,
 * writable); absolute ones may lie outside of the mounts. `deny` adds patterns, each a run of names (`vault`, `a/*.bin`), to
 * the safe defaults. Without `commands` every command fails as disabled. `fault` can make an operation fail.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly files?: Readonly<Record<string, Content>>
  readonly commands?: Commands
  readonly mounts?: ReadonlyArray<Mount>
  readonly workingDirectory?: string
  readonly deny?: ReadonlyArray<string>
  readonly fault?: (operation: Operation) => FileError | undefined
}

/**
 * The machine from outside. Paths are those of {@link Options}.
 *
 * @since 0.1.0
 * @category services
 */
export class FakeSandbox extends Context.Tag("@capstan/testing/FakeSandbox")<FakeSandbox, {
  /** All files as text, by path: relative below the working directory, absolute elsewhere. */
  readonly files: Effect.Effect<Readonly<Record<string, string>>>
  /** The bytes of a file; undefined: there is none. */
  readonly bytes: (path: string) => Effect.Effect<Uint8Array | undefined>
  /** Puts something at a path, as another program would; undefined takes it away. */
  readonly put: (path: string, content: Content | undefined) => Effect.Effect<void>
  /** The commands that were started, in order. */
  readonly ran: Effect.Effect<ReadonlyArray<RanCommand>>
  /** How many commands are running. */
  readonly running: Effect.Effect<number>
}>() {}

/**
 * All files as text, by path.
 *
 * @since 0.1.0
 * @category accessors
 */
export const files: Effect.Effect<Readonly<Record<string, string>>, never, FakeSandbox> = Effect.flatMap(
  FakeSandbox,
  (machine) => machine.files
)

/**
 * A link, for the `files` of {@link Options}.
 *
 * @since 0.1.0
 * @category constructors
 */
export const link = (target: string): Content => ({ link: target })

const put = (tree: Tree.Tree, path: string, content: Content, modified: number): void => {
  const segments = Tree.split(path)
  Tree.makeFolders(tree, segments.slice(0, -1), modified)
  tree.set(
    Tree.join(segments),
    typeof content === "string"
      ? { kind: "file", bytes: new TextEncoder().encode(content), modified, mode: 0o644 }
      : content instanceof Uint8Array
      ? { kind: "file", bytes: content.slice(), modified, mode: 0o644 }
      : { kind: "symlink", target: content.link, modified, mode: 0o777 }
  )
}

/** Lets a fault come before what an operation does. */
const withFaults = (
  operations: ReturnType<typeof MemoryWorkspace.make>,
  fault: NonNullable<Options["fault"]>
): ReturnType<typeof MemoryWorkspace.make> => {
  const guard = <Request, A>(
    name: Operation["name"],
    pathOf: (request: Request) => string,
    run: (request: Request) => Effect.Effect<A, FileError>
  ) =>
  (request: Request): Effect.Effect<A, FileError> =>
    Effect.suspend(() => fault({ name, path: pathOf(request) }) ?? run(request))
  const path = (request: { readonly path: string }) => request.path
  return {
    decide: operations.decide,
    stat: guard("stat", path, operations.stat),
    read: guard("read", path, operations.read),
    sha256: guard("sha256", path, operations.sha256),
    write: guard("write", path, operations.write),
    writeAll: (request) =>
      Effect.suspend(() =>
        request.files.map((file) => fault({ name: "writeAll", path: file.path })).find((error) => error !== undefined)
          ?? operations.writeAll(request)
      ),
    settleWriteAll: guard("settleWriteAll", ({ key }) => key, operations.settleWriteAll),
    copy: guard("copy", (request) => request.to, operations.copy),
    files: guard("files", path, operations.files),
    list: guard("list", path, operations.list),
    makeDirectory: guard("makeDirectory", path, operations.makeDirectory),
    remove: guard("remove", path, operations.remove),
    move: guard("move", (request) => request.to, operations.move),
    search: guard("search", path, operations.search)
  }
}

/**
 * A machine in memory as {@link Workspace}, {@link ProcessRunner} and sandbox, with {@link FakeSandbox} to look at it.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: Options = {}
): Layer.Layer<Workspace | ProcessRunner | Sandbox.Sandbox | FakeSandbox> => {
  const machine = Layer.effectContext(Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const { workingDirectory = "/workspace" } = options
    const mounts = options.mounts ?? [{ name: "workspace", root: workingDirectory, access: "rw" }]
    const absolute = (path: string) => path.startsWith("/") ? path : `${workingDirectory}/${path}`
    const tree: Tree.Tree = new Map()
    for (const folder of [workingDirectory, ...mounts.map(({ root }) => root)]) {
      Tree.makeFolders(tree, Tree.split(folder), now)
    }
    for (const [path, content] of Object.entries(options.files ?? {})) put(tree, absolute(path), content, now)

    const gate = Gate.make({ tree, mounts, workingDirectory, deny: options.deny ?? [] })
    const operations = MemoryWorkspace.make(gate)
    const processes = ScriptedProcesses.make(options.commands)

    return Context.make(Workspace, {
      mounts,
      workingDirectory,
      enforcement: "anchored",
      ...(options.fault === undefined ? operations : withFaults(operations, options.fault))
    }).pipe(
      Context.add(ProcessRunner, processes.runner),
      Context.add(FakeSandbox, {
        files: Effect.sync(() =>
          Object.fromEntries(
            [...tree]
              .flatMap(([path, node]) =>
                node.kind === "file"
                  ? [[gate.display(Tree.split(path)), new TextDecoder().decode(node.bytes)] as const]
                  : []
              )
              .sort(([left], [right]) => Tree.byName(left, right))
          )
        ),
        bytes: (path) =>
          Effect.sync(() => {
            const node = Tree.get(tree, Tree.split(absolute(path)))
            return node?.kind === "file" ? node.bytes.slice() : undefined
          }),
        put: (path, content) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            if (content !== undefined) put(tree, absolute(path), content, at)
            else {
              const segments = Tree.split(absolute(path))
              for (const inside of [segments, ...Tree.descendants(tree, segments)]) tree.delete(Tree.join(inside))
            }
          }),
        ran: processes.ran,
        running: processes.running
      })
    )
  }))
  return Layer.provideMerge(Sandbox.layer, machine)
}
