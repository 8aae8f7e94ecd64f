/**
 * Commands in a sandbox of the operating system (bubblewrap on Linux): they write only inside the mounts, do not see the
 * home folder, and have no network.
 *
 * @since 0.1.0
 */
import { ProcessError, ProcessRunner } from "@capstan/core/ProcessRunner"
import type { ProcessEnforcement } from "@capstan/core/ProcessRunner"
import type { Mount } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import process from "node:process"
import * as BubblewrapProbe from "./BubblewrapProbe.js"
import * as CommandEnvironment from "./CommandEnvironment.js"
import * as HostProcessRunner from "./HostProcessRunner.js"
import * as BubblewrapArguments from "./internal/bubblewrapArguments.js"
import * as OutputPipes from "./internal/outputPipes.js"
import * as SandboxLayout from "./internal/sandboxLayout.js"
import * as ShellSessions from "./internal/shellSessions.js"
import * as Supervisor from "./internal/supervisor.js"
import * as Sweep from "./internal/sweep.js"

/**
 * What a sandbox shows to commands.
 *
 * @since 0.1.0
 * @category models
 */
export interface SandboxOptions extends HostProcessRunner.RunnerOptions {
  /** The folders that commands see with their own access; roots are absolute. */
  readonly mounts: ReadonlyArray<Mount>
  /**
   * Absolute paths in the mounts that commands must not read, asked before each command. A `.git/config` among them is
   * made read-only instead, with the hooks beside it, so that git works. Default: none.
   */
  readonly deniedFiles?: Effect.Effect<ReadonlyArray<string>>
  /** Folders with programs, absolute or relative to the home folder, shown read-only. Default: {@link toolFolders}. */
  readonly toolFolders?: ReadonlyArray<string>
  /** Lets commands reach the network. Default: false. */
  readonly network?: boolean
  /** Absolute path of bubblewrap. Default: where the system has it. */
  readonly program?: string
}

/**
 * Folders below the home folder that are shown when nothing else is said: where version managers keep programs.
 *
 * @since 0.1.0
 * @category models
 */
export const toolFolders: ReadonlyArray<string> = SandboxLayout.defaultToolFolders

const closeOnExec = 0o2000000

const canonicalMounts = (mounts: ReadonlyArray<Mount>): ReadonlyArray<Mount> =>
  mounts.flatMap((mount) => {
    const root = SandboxLayout.canonical(mount.root)
    return root === undefined ? [] : [{ ...mount, root }]
  })

/** Descriptors that this process inherited itself: only those are passed on by a spawn. */
const inheritedDescriptors = (): ReadonlyArray<number> =>
  fs.readdirSync("/proc/self/fd").map(Number).filter((descriptor) => {
    try {
      const flags = /^flags:\s*([0-7]+)/m.exec(fs.readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1] ?? "0"
      return descriptor > 2 && (Number.parseInt(flags, 8) & closeOnExec) === 0
    } catch {
      return false
    }
  })

/** Temporary folders of the host are not there inside. */
const temporaryVariables = (environment: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    ["TMPDIR", "TMP", "TEMP"].filter((name) => environment[name] !== undefined).map((name) => [name, "/tmp"])
  )

const enforcement = (network: boolean): ProcessEnforcement => ({
  backend: "sandboxed",
  shell: HostProcessRunner.enforcement.shell,
  fallback: null,
  filesystem: true,
  network: !network,
  survivors: true,
  weakened: network ? ["Commands may reach the network from their sandbox."] : []
})

/**
 * A runner that confines every command with the bubblewrap that a probe found.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: SandboxOptions,
  found: Extract<BubblewrapProbe.BubblewrapProbe, { readonly _tag: "Available" }>
): Effect.Effect<ProcessRunner["Type"], never, Scope.Scope> =>
  Effect.gen(function*() {
    const pipes = yield* OutputPipes.make
    const layout = yield* SandboxLayout.make({
      mounts: options.mounts,
      toolFolders: options.toolFolders ?? toolFolders,
      gitConfiguration: yield* SandboxLayout.gitIdentity
    })
    const manner = Supervisor.manner(options)
    const network = options.network ?? false
    const inherited = options.environment ?? process.env

    const execute: ShellSessions.Execute = (request, frame) =>
      Effect.gen(function*() {
        const mounts = canonicalMounts(options.mounts)
        const cwd = SandboxLayout.canonical(request.cwd)
        if (
          cwd === undefined || !SandboxLayout.isFolder(cwd) ||
          !mounts.some(({ root }) => SandboxLayout.contains(root, cwd))
        ) {
          return yield* new ProcessError({
            reason: "bad-directory",
            message: `${request.cwd} is not a folder in a mount, and commands in the sandbox see nothing else.`
          })
        }
        const denied = yield* options.deniedFiles ?? Effect.succeed([])
        const held = SandboxLayout.specials({ mounts, denied, empty: layout.empty })
        const takeAway = SandboxLayout.takeAway(SandboxLayout.redirections(held))
        const { token, variable } = yield* Supervisor.makeToken
        const confined = BubblewrapArguments.make({
          ...layout,
          mounts,
          specials: [...layout.specials, ...held],
          network,
          environment: CommandEnvironment.make({
            inherited,
            deny: options.denyEnvironment,
            set: {
              HOME: layout.home,
              ...temporaryVariables(inherited),
              ...options.setEnvironment,
              ...request.env,
              ...variable
            }
          }),
          cwd,
          status: true
        })
        const { report, result, status } = yield* Supervisor.run(
          pipes,
          {
            file: found.program,
            // Command lines can be read by every user of the machine, and the environment is among these arguments.
            args: ["--args", "5", "--", frame.file, ...frame.args],
            aside: confined.map((argument) => `${argument}\0`).join(""),
            input: frame.input,
            reportBytes: frame.reportBytes,
            cwd: "/",
            environment: variable,
            token,
            status: true,
            replaced: inheritedDescriptors(),
            walled: true
          },
          manner,
          request
        ).pipe(Effect.onError(() => takeAway))
        const taken = yield* Effect.uninterruptible(takeAway)
        if (!status.includes("\"exit-code\"") && result.exit._tag === "Exited") {
          return yield* new ProcessError({
            reason: "no-sandbox",
            message: `The sandbox could not be set up, and the command did not run: ${result.stderr.head.trim()}`
          })
        }
        const notes = taken.map((name) =>
          `removed ${name}, by which the command would have replaced the git configuration`
        )
        return { result: { ...result, notes }, report }
      })
    const sessions = yield* ShellSessions.make({
      execute,
      shell: HostProcessRunner.shell,
      deny: options.denyEnvironment ?? []
    })
    return { enforcement: enforcement(network), ...sessions, reap: Sweep.reap(manner) }
  })

/**
 * A runner that refuses every command because a sandbox is required and there is none, with what to do about it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const unavailable = (message: string): Effect.Effect<ProcessRunner["Type"]> =>
  Effect.succeed({
    enforcement: {
      backend: "disabled",
      shell: HostProcessRunner.enforcement.shell,
      fallback: null,
      filesystem: true,
      network: true,
      survivors: true,
      weakened: [`Commands cannot run: an OS sandbox is required and not available. ${message}`]
    },
    run: () => Effect.fail(new ProcessError({ reason: "no-sandbox", message })),
    sessions: ShellSessions.none,
    reap: Sweep.reap(Supervisor.manner({}))
  })

/**
 * Runs commands in an OS sandbox, or not at all: without one every `run` fails with `no-sandbox`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: SandboxOptions): Layer.Layer<ProcessRunner> =>
  Layer.scoped(
    ProcessRunner,
    Effect.flatMap(BubblewrapProbe.probe(options), (found) =>
      found._tag === "Available" ? make(options, found) : unavailable(found.message))
  )
