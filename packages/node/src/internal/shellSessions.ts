import type { ProcessResult, ProcessRunner } from "@capstan/core/ProcessRunner"
import { ProcessError } from "@capstan/core/ProcessRunner"
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import * as ShellFrame from "./shellFrame.js"
import type * as Supervisor from "./supervisor.js"

/** How a shell is started: the program with its arguments, what it reads, and whether it says something besides. */
export interface Frame {
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly input: string | undefined
  readonly reportBytes: number
}

/** Runs a shell; how it is confined is up to whoever gives this. */
export type Execute = <R1, R2>(
  request: Supervisor.RunOptions<R1, R2>,
  frame: Frame
) => Effect.Effect<
  { readonly result: ProcessResult; readonly report: string | undefined },
  ProcessError,
  R1 | R2
>

interface Session {
  readonly lock: Effect.Semaphore
  directory: string | undefined
  kept: ShellFrame.Kept
}

/** More sessions than these at once: the one that was not used for longest starts over. */
const maxSessions = 64

/** Where there are no commands there is nothing to hand on. */
export const none: ProcessRunner["Type"]["sessions"] = {
  directory: () => Effect.succeed(undefined),
  forget: () => Effect.void
}

const listed = (names: ReadonlyArray<string>): string =>
  names.length > 12 ? `${names.slice(0, 12).join(", ")} and ${names.length - 12} more` : names.join(", ")

const notesOf = (report: ShellFrame.Report | undefined): ReadonlyArray<string> =>
  report === undefined
    ? ["folder and variables of this command are not kept: the shell was replaced or killed, or its exit was trapped"]
    : [
      ...(report.meaningful.length > 0
        ? [`not kept, because they change what later commands run: ${listed(report.meaningful)}`]
        : []),
      ...(report.tooLarge.length > 0
        ? [`not kept, because they are too large or not text: ${listed(report.tooLarge)}`]
        : []),
      ...report.jobs.map((job) => `ended with the command: ${job.replace(/\s+/g, " ").slice(0, 200)}`)
    ]

/** What a runner does with commands, on its own and one after the other in sessions. */
export const make = (options: {
  readonly execute: Execute
  readonly shell: (command: string) => Pick<Frame, "file" | "args">
  /** Further names of variables that are not handed on. */
  readonly deny: ReadonlyArray<string>
}): Effect.Effect<Pick<ProcessRunner["Type"], "run" | "sessions">> =>
  Effect.sync(() => {
    const known = new Map<string, Session>()

    const sessionOf = (name: string): Session => {
      const session: Session = known.get(name) ??
        { lock: Effect.unsafeMakeSemaphore(1), directory: undefined, kept: ShellFrame.nothing }
      known.delete(name)
      known.set(name, session)
      for (const oldest of known.keys()) {
        if (known.size <= maxSessions) break
        known.delete(oldest)
      }
      return session
    }

    const single: ProcessRunner["Type"]["run"] = (request) =>
      Effect.map(
        options.execute(request, { ...options.shell(request.command), input: undefined, reportBytes: 0 }),
        ({ result }) => result
      )

    const inSession = <R1, R2>(
      name: string,
      request: Supervisor.RunOptions<R1, R2>
    ): Effect.Effect<ProcessResult, ProcessError, R1 | R2> =>
      Effect.gen(function*() {
        const shell = options.shell(ShellFrame.script)
        if (!shell.file.endsWith("bash")) {
          return yield* new ProcessError({
            reason: "not-found",
            message: "Shell sessions need bash, and /bin/bash is not on this system."
          })
        }
        const session = sessionOf(name)
        const key = randomUUID()
        const { report, result } = yield* options.execute(request, {
          file: shell.file,
          args: [...shell.args, "bash", request.command],
          input: ShellFrame.input(key, session.kept),
          reportBytes: ShellFrame.reportBytes
        })
        const said = report === undefined ? undefined : ShellFrame.parse(report, key, options.deny)
        if (said !== undefined) {
          session.directory = said.directory
          session.kept = said.kept
        }
        return { ...result, notes: [...result.notes, ...notesOf(said)] }
      })

    return {
      run: (request) =>
        Effect.suspend(() => {
          const name = request.session
          return name === undefined
            ? single(request)
            : sessionOf(name).lock.withPermits(1)(inSession(name, request))
        }),
      sessions: {
        directory: (name) => Effect.sync(() => known.get(name)?.directory),
        forget: (name) => Effect.sync(() => void known.delete(name))
      }
    }
  })
