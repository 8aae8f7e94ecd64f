/**
 * Running a command on the machine, with nothing left of it afterwards. Implemented by `@capstan/node` (on the host or in
 * an OS sandbox) and by `@capstan/testing` (scripted).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/**
 * A process group that can be recognised after a crash: `token` is in the environment of everything it started.
 * `startTime` is the kernel's (clock ticks since boot), so that a reused pid is not taken for it.
 *
 * @since 0.1.0
 * @category models
 */
export const ProcessIdentity = Schema.Struct({
  pid: Schema.Number,
  startTime: Schema.String,
  bootId: Schema.String,
  token: Schema.String
})

/**
 * A process group that can be recognised after a crash.
 *
 * @since 0.1.0
 * @category models
 */
export type ProcessIdentity = typeof ProcessIdentity.Type

/**
 * What a command prints while it runs, decoded as UTF-8 with split characters joined; not sanitised.
 *
 * @since 0.1.0
 * @category models
 */
export interface OutputChunk {
  readonly stream: "stdout" | "stderr"
  readonly text: string
}

/**
 * Output kept in bounded memory: the first and last bytes as text, and how many bytes in between were dropped (0: `head`
 * is everything and `tail` is empty). `totalBytes` counts what was printed.
 *
 * @since 0.1.0
 * @category models
 */
export interface CapturedOutput {
  readonly head: string
  readonly tail: string
  readonly droppedBytes: number
  readonly totalBytes: number
}

/**
 * How a command ended. `survivors` names processes that could not be ended (pid and command), always empty where the OS
 * lets us find them; `notes` are facts the caller should pass on (for instance `sandbox: none` with the reason).
 *
 * @since 0.1.0
 * @category models
 */
export interface ProcessResult {
  readonly exit:
    | { readonly _tag: "Exited"; readonly code: number }
    | { readonly _tag: "Signalled"; readonly signal: string }
  readonly stdout: CapturedOutput
  readonly stderr: CapturedOutput
  readonly survivors: ReadonlyArray<string>
  readonly notes: ReadonlyArray<string>
}

/**
 * What a backend really enforces, for start-up lines, `doctor`, approvals and results. `weakened` has one sentence for
 * each protection that is missing, with the reason.
 *
 * @since 0.1.0
 * @category models
 */
export interface ProcessEnforcement {
  readonly backend: "disabled" | "host" | "sandboxed" | "scripted"
  /** What reads command lines: without bash only what POSIX describes is sure to mean the same. */
  readonly shell: "bash" | "sh"
  /** Why there is no OS sandbox although one was preferred; null: this backend is the one that was chosen. */
  readonly fallback: string | null
  readonly filesystem: boolean
  readonly network: boolean
  readonly survivors: boolean
  readonly weakened: ReadonlyArray<string>
}

/**
 * A command that could not be started, or could not be observed to its end. `reason`: `disabled` (no command backend),
 * `no-sandbox` (an OS sandbox is required and not there), `bad-directory`, `not-found` (no shell, or for a shell session no
 * bash), `spawn`.
 *
 * @since 0.1.0
 * @category errors
 */
export class ProcessError extends Schema.TaggedError<ProcessError>("@capstan/core/ProcessError")("ProcessError", {
  reason: Schema.Literal("disabled", "no-sandbox", "bad-directory", "not-found", "spawn"),
  message: Schema.String,
  cause: Schema.optionalWith(Schema.Defect, { exact: true })
}) {}

/**
 * What commands of one name hand on to the next: the folder where the last one ended, and its variables. Every command is a
 * shell of its own all the same, with the limits and the clean-up of any other. Functions, aliases, traps and options are not
 * handed on, nor are variables by which one command could change what a later one runs; the result's notes name those. In
 * memory, bounded in number and size, gone with the layer.
 *
 * @since 0.1.0
 * @category models
 */
export interface ShellSessions {
  /** The absolute folder where the last command of this name ended; undefined: there was none. */
  readonly directory: (session: string) => Effect.Effect<string | undefined>
  /** Lets the next command of this name start over. */
  readonly forget: (session: string) => Effect.Effect<void>
}

/**
 * Runs shell commands. `run` succeeds with any exit code; interrupting it (a timeout, a cancelled turn) ends every
 * process that the command started before the interruption completes. `reap` ends what a crashed run left behind and
 * returns a line for each process that it ended.
 *
 * @since 0.1.0
 * @category services
 */
export class ProcessRunner extends Context.Tag("@capstan/core/ProcessRunner")<ProcessRunner, {
  readonly enforcement: ProcessEnforcement
  readonly run: <R1 = never, R2 = never>(options: {
    /** A command line for `/bin/bash --noprofile --norc -c`. */
    readonly command: string
    /** Absolute folder to start in, already decided by the workspace. */
    readonly cwd: string
    /** Takes over the variables of the last command of this name, and hands its own on (see {@link ShellSessions}). */
    readonly session?: string
    /** Additions to the sanitised environment. */
    readonly env?: Readonly<Record<string, string>>
    /** Bytes of each stream that are kept (half head, half tail). */
    readonly keepBytes: number
    readonly onStart?: (identity: ProcessIdentity) => Effect.Effect<void, never, R1>
    /** Called in order; the process is slowed down (not cut) while it runs. */
    readonly onOutput?: (chunk: OutputChunk) => Effect.Effect<void, never, R2>
  }) => Effect.Effect<ProcessResult, ProcessError, R1 | R2>
  readonly sessions: ShellSessions
  readonly reap: (identities: ReadonlyArray<ProcessIdentity>) => Effect.Effect<ReadonlyArray<string>>
}>() {}
