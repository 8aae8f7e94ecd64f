import type { FileError } from "@capstan/core/FileError"
import * as NodeStream from "@effect/platform-node/NodeStream"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import { spawn } from "node:child_process"
import type { Asked } from "./fileFailure.js"
import { failure } from "./fileFailure.js"

/** A ripgrep that runs until its scope ends. */
export interface Running {
  readonly stdout: Stream.Stream<Uint8Array, FileError>
  /** Its exit code (0 found, 1 not, 2 failed) and what it complained about; after `stdout` was read to the end. */
  readonly end: Effect.Effect<{ readonly code: number; readonly complaint: string }, FileError>
}

const mostComplaint = 4000

/** Loaded when first used: the package throws on systems that it has no program for. */
const program = (asked: Asked): Effect.Effect<string, FileError> =>
  Effect.tryPromise({
    try: () => import("@vscode/ripgrep").then(({ rgPath }) => rgPath),
    catch: (cause) =>
      failure(
        asked,
        "io",
        "The search program (ripgrep) is not installed for this system. Install the dependencies again.",
        {
          cause
        }
      )
  })

/**
 * Starts ripgrep without its configuration file and without an environment. `files` are descriptors that it gets as
 * {@link descriptorPath}; `folder` is where it runs. When the scope ends it is killed.
 */
export const start = (asked: Asked, options: {
  readonly args: ReadonlyArray<string>
  readonly folder?: string
  readonly files?: ReadonlyArray<number>
}): Effect.Effect<Running, FileError, Scope.Scope> =>
  Effect.gen(function*() {
    const path = yield* program(asked)
    const exited = yield* Deferred.make<void>()
    const ended = yield* Deferred.make<{ readonly code: number; readonly complaint: string }, FileError>()
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const started = spawn(path, ["--no-config", "--color=never", ...options.args], {
          env: {},
          stdio: ["ignore", "pipe", "pipe", ...(options.files ?? [])],
          windowsHide: true,
          ...(options.folder === undefined ? {} : { cwd: options.folder })
        })
        let complaint = ""
        started.stderr?.setEncoding("utf8").on("data", (text: string) => {
          complaint = (complaint + text).slice(0, mostComplaint)
        })
        started.on("error", (cause) => {
          Deferred.unsafeDone(
            ended,
            failure(asked, "io", "The search program (ripgrep) could not be started. Try again.", { cause })
          )
          Deferred.unsafeDone(exited, Effect.void)
        })
        started.on("exit", () => Deferred.unsafeDone(exited, Effect.void))
        started.on("close", (code) => Deferred.unsafeDone(ended, Effect.succeed({ code: code ?? 2, complaint })))
        return started
      }),
      (started) =>
        Effect.suspend(() => {
          started.stdout?.destroy()
          started.stderr?.destroy()
          started.kill("SIGKILL")
          return Deferred.await(exited)
        })
    )
    const { stdout } = child
    if (stdout === null) return yield* Effect.dieMessage("ripgrep was started without a pipe")
    return {
      stdout: NodeStream.fromReadable(
        () => stdout,
        (cause) => failure(asked, "io", "The output of the search could not be read. Try again.", { cause })
      ),
      end: Deferred.await(ended)
    }
  })

/** The name under which a started program finds the descriptor at `index` of its `files`. */
export const descriptorPath = (index: number): string => `/dev/fd/${index + 3}`
