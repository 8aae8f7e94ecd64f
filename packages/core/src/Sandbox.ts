/**
 * The machine as tools see it: files and processes behind one service, which says what it really enforces.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ProcessRunner } from "./ProcessRunner.js"
import { Workspace } from "./Workspace.js"

/**
 * Files and processes for tools. `weakened` has one sentence for each protection that is off, for people to read.
 *
 * @since 0.1.0
 * @category services
 */
export class Sandbox extends Context.Tag("@capstan/core/Sandbox")<Sandbox, {
  readonly files: Workspace["Type"]
  readonly processes: ProcessRunner["Type"]
  readonly weakened: ReadonlyArray<string>
}>() {}

/**
 * A sandbox out of a workspace and a process runner, whichever those are.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Sandbox, never, Workspace | ProcessRunner> = Layer.effect(
  Sandbox,
  Effect.gen(function*() {
    const files = yield* Workspace
    const processes = yield* ProcessRunner
    const weakened = [
      ...(files.enforcement === "best-effort"
        ? ["File paths are re-verified around each operation, not anchored by the kernel, on this system."]
        : []),
      ...processes.enforcement.weakened
    ]
    return { files, processes, weakened }
  })
)
