/**
 * Commands on the machine itself, without an OS sandbox: what they may do is what the user may do. What they leave
 * running is ended.
 *
 * @since 0.1.0
 */
import { ProcessRunner } from "@capstan/core/ProcessRunner"
import type { ProcessEnforcement } from "@capstan/core/ProcessRunner"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import process from "node:process"
import * as CommandEnvironment from "./CommandEnvironment.js"
import * as OutputPipes from "./internal/outputPipes.js"
import * as ProcessTable from "./internal/processTable.js"
import * as ShellSessions from "./internal/shellSessions.js"
import * as Supervisor from "./internal/supervisor.js"
import * as Sweep from "./internal/sweep.js"

/**
 * How commands are run, the same for every backend.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunnerOptions {
  /** What is inherited before credentials and injection are taken out. Default: this process's environment. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Further names of variables to keep from commands (`*` for any characters), besides the built-in ones. */
  readonly denyEnvironment?: ReadonlyArray<string>
  /** Variables to set for every command, unfiltered. */
  readonly setEnvironment?: Readonly<Record<string, string>>
  /** Time between SIGTERM and SIGKILL. Default: 2 seconds. */
  readonly grace?: Duration.DurationInput
  /** Asked while commands are being ended; true cuts the grace short (a second Ctrl-C). Default: never. */
  readonly hurry?: Effect.Effect<boolean>
}

const bash = "/bin/bash"

const hasBash = (): boolean => fs.existsSync(bash)

/**
 * What this backend enforces: nothing but that no process is left over, and that only on Linux for processes that
 * detached themselves.
 *
 * @since 0.1.0
 * @category models
 */
export const enforcement: ProcessEnforcement = {
  backend: "host",
  shell: hasBash() ? "bash" : "sh",
  fallback: null,
  filesystem: false,
  network: false,
  survivors: ProcessTable.supported,
  weakened: [
    "Commands run without an OS sandbox: they can read and change whatever the user can, and reach the network.",
    ...(ProcessTable.supported
      ? []
      : ["Processes that detach themselves from a command cannot be found on this system and may outlive it."])
  ]
}

/**
 * The shell that runs command lines, with the options that keep it from reading start-up files.
 *
 * @since 0.1.0
 * @category constructors
 */
export const shell = (command: string, exists: (path: string) => boolean = fs.existsSync) =>
  exists(bash)
    ? { file: bash, args: ["--noprofile", "--norc", "-c", command] }
    : { file: "/bin/sh", args: ["-c", command] }

/**
 * A runner on the host. Its folder for pipes goes with the scope.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: RunnerOptions = {}): Effect.Effect<ProcessRunner["Type"], never, Scope.Scope> =>
  Effect.gen(function*() {
    const pipes = yield* OutputPipes.make
    const manner = Supervisor.manner(options)
    const execute: ShellSessions.Execute = (request, frame) =>
      Effect.gen(function*() {
        const { token, variable } = yield* Supervisor.makeToken
        const { report, result } = yield* Supervisor.run(
          pipes,
          {
            ...frame,
            cwd: request.cwd,
            environment: CommandEnvironment.make({
              inherited: options.environment ?? process.env,
              deny: options.denyEnvironment,
              set: { ...options.setEnvironment, ...request.env, ...variable }
            }),
            token,
            status: false,
            aside: undefined,
            replaced: [],
            walled: false
          },
          manner,
          request
        )
        return { result, report }
      })
    const sessions = yield* ShellSessions.make({ execute, shell, deny: options.denyEnvironment ?? [] })
    return { enforcement, ...sessions, reap: Sweep.reap(manner) }
  })

/**
 * Runs commands on the host.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: RunnerOptions = {}): Layer.Layer<ProcessRunner> =>
  Layer.scoped(ProcessRunner, make(options))
