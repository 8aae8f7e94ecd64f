/**
 * No commands at all.
 *
 * @since 0.1.0
 */
import { ProcessError, ProcessRunner } from "@capstan/core/ProcessRunner"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ShellSessions from "./internal/shellSessions.js"
import * as Supervisor from "./internal/supervisor.js"
import * as Sweep from "./internal/sweep.js"

/**
 * Refuses every command with the reason `disabled`. What an earlier run left behind is still ended by `reap`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<ProcessRunner> = Layer.succeed(ProcessRunner, {
  enforcement: {
    backend: "disabled",
    shell: "bash",
    fallback: null,
    filesystem: true,
    network: true,
    survivors: true,
    weakened: []
  },
  run: () => Effect.fail(new ProcessError({ reason: "disabled", message: "Commands are switched off here." })),
  sessions: ShellSessions.none,
  reap: Sweep.reap(Supervisor.manner({}))
})
