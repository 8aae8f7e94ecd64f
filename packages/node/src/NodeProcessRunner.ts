/**
 * Commands with as much protection as was asked for and is there.
 *
 * @since 0.1.0
 */
import { ProcessRunner } from "@capstan/core/ProcessRunner"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as BubblewrapProbe from "./BubblewrapProbe.js"
import * as HostProcessRunner from "./HostProcessRunner.js"
import * as SandboxedProcessRunner from "./SandboxedProcessRunner.js"

/**
 * Whether commands need an OS sandbox: `required` (without one they fail with `no-sandbox`), `preferred` (without one
 * they run on the host, and each result says so), `off`.
 *
 * @since 0.1.0
 * @category models
 */
export type OsSandbox = "required" | "preferred" | "off"

const chosen = (
  options: HostProcessRunner.RunnerOptions
): Effect.Effect<ProcessRunner["Type"], never, Scope.Scope> =>
  Effect.map(HostProcessRunner.make(options), (host) => ({
    ...host,
    enforcement: {
      ...host.enforcement,
      weakened: [...host.enforcement.weakened, "No OS sandbox: switched off by os_sandbox = \"off\"."]
    }
  }))

const fallenBack = (
  options: HostProcessRunner.RunnerOptions,
  reason: string
): Effect.Effect<ProcessRunner["Type"], never, Scope.Scope> =>
  Effect.map(HostProcessRunner.make(options), (host) => {
    const note = `sandbox: none (${reason})`
    return {
      ...host,
      enforcement: {
        ...host.enforcement,
        fallback: reason,
        weakened: [...host.enforcement.weakened, note]
      },
      run: (request) => Effect.map(host.run(request), (result) => ({ ...result, notes: [...result.notes, note] }))
    }
  })

/**
 * A runner chosen by `osSandbox` (default `required`) and by what a probe finds.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: SandboxedProcessRunner.SandboxOptions & { readonly osSandbox?: OsSandbox }
): Effect.Effect<ProcessRunner["Type"], never, Scope.Scope> =>
  Effect.gen(function*() {
    const choice = options.osSandbox ?? "required"
    if (choice === "off") return yield* chosen(options)
    const found = yield* BubblewrapProbe.probe(options)
    if (found._tag === "Available") return yield* SandboxedProcessRunner.make(options, found)
    return yield* choice === "required"
      ? SandboxedProcessRunner.unavailable(found.message)
      : fallenBack(options, found.message)
  })

/**
 * Runs commands as {@link make} chooses.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: SandboxedProcessRunner.SandboxOptions & { readonly osSandbox?: OsSandbox }
): Layer.Layer<ProcessRunner> => Layer.scoped(ProcessRunner, make(options))
