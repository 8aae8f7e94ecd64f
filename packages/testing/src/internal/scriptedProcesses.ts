/** Commands that only a script knows. */
import { type CapturedOutput, ProcessError, type ProcessRunner } from "@capstan/core/ProcessRunner"
import * as Effect from "effect/Effect"
import type { CommandResult, Commands, RanCommand } from "../FakeSandbox.js"

export const make = (commands: Commands | undefined): {
  readonly runner: ProcessRunner["Type"]
  readonly ran: Effect.Effect<ReadonlyArray<RanCommand>>
  readonly running: Effect.Effect<number>
} => {
  const ran: Array<RanCommand> = []
  const directories = new Map<string, string>()
  let running = 0

  const answer = (command: string, cwd: string): Effect.Effect<CommandResult> => {
    if (typeof commands === "function") {
      const result = commands(command, cwd)
      return Effect.isEffect(result) ? result : Effect.succeed(result)
    }
    const scripted = commands?.[command]
    return Effect.succeed(
      scripted ?? { stderr: `bash: line 1: ${command.split(" ")[0] ?? ""}: command not found\n`, exitCode: 127 }
    )
  }

  return {
    ran: Effect.sync(() => ran.slice()),
    running: Effect.sync(() => running),
    runner: {
      enforcement: {
        backend: commands === undefined ? "disabled" : "scripted",
        shell: "bash",
        fallback: null,
        filesystem: true,
        network: true,
        survivors: true,
        weakened: []
      },
      run: ({ command, cwd, env = {}, keepBytes, onOutput, onStart, session }) =>
        commands === undefined
          ? new ProcessError({ reason: "disabled", message: "This sandbox runs no commands: it was given none." })
          : Effect.acquireUseRelease(
            Effect.sync(() => {
              running++
              return ran.push({ command, cwd, env, ...(session === undefined ? {} : { session }) })
            }),
            (pid) =>
              Effect.gen(function*() {
                if (onStart !== undefined) {
                  yield* onStart({ pid, startTime: "0", bootId: "scripted", token: `scripted-${pid}` })
                }
                const { directory = cwd, exitCode = 0, stderr = "", stdout = "" } = yield* answer(command, cwd)
                if (session !== undefined) directories.set(session, directory)
                if (onOutput !== undefined && stdout !== "") yield* onOutput({ stream: "stdout", text: stdout })
                if (onOutput !== undefined && stderr !== "") yield* onOutput({ stream: "stderr", text: stderr })
                return {
                  exit: { _tag: "Exited" as const, code: exitCode },
                  stdout: capture(stdout, keepBytes),
                  stderr: capture(stderr, keepBytes),
                  survivors: [],
                  notes: []
                }
              }),
            () =>
              Effect.sync(() => {
                running--
              })
          ),
      sessions: {
        directory: (session) => Effect.sync(() => directories.get(session)),
        forget: (session) => Effect.sync(() => void directories.delete(session))
      },
      reap: () => Effect.succeed([])
    }
  }
}

const capture = (text: string, keepBytes: number): CapturedOutput => {
  const bytes = new TextEncoder().encode(text)
  if (bytes.length <= keepBytes) return { head: text, tail: "", droppedBytes: 0, totalBytes: bytes.length }
  const half = Math.floor(keepBytes / 2)
  const decode = (part: Uint8Array) => new TextDecoder().decode(part)
  return {
    head: decode(bytes.subarray(0, half)),
    tail: decode(bytes.subarray(bytes.length - half)),
    droppedBytes: bytes.length - 2 * half,
    totalBytes: bytes.length
  }
}
