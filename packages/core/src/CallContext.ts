/**
 * What a handler may know of the call that it serves. Made afresh for each call by the executor.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { Budget } from "./Budget.js"
import type { ContentPart } from "./Content.js"
import type { FileRead } from "./FileRead.js"
import type { Limits } from "./Limits.js"
import type { OutputChunk, ProcessIdentity } from "./ProcessRunner.js"
import type { RunError } from "./RunError.js"
import type { CallRef } from "./ToolCall.js"
import type { ToolFailure } from "./ToolFailure.js"
import type { TurnResult } from "./TurnResult.js"

/**
 * A turn of another session that a handler runs on behalf of its call. What is left out is the calling turn's; the budget is
 * its own, and what it spends counts for the calling turn, too.
 *
 * @since 0.1.0
 * @category models
 */
export interface Delegation {
  readonly session: string
  readonly message: string | ReadonlyArray<ContentPart>
  readonly model?: string
  readonly user?: string
  readonly instructions?: string
  readonly budget?: Budget
}

/**
 * What a handler may know of its call: the second argument of every handler.
 *
 * @since 0.1.0
 * @category models
 */
export interface CallContext {
  readonly session: string
  readonly ref: CallRef
  /** The same before and after a crash: hand it to services that take one. */
  readonly idempotencyKey: string
  readonly user: string | undefined
  /** The absolute folder that relative paths start from. */
  readonly workingDirectory: string
  readonly limits: Limits["Type"]
  /** Bytes of output that the model will get to see. */
  readonly capacity: number
  /** What this session last read or wrote of a file, by canonical path; undefined: nothing. */
  readonly lastRead: (canonical: string) => FileRead | undefined
  /**
   * Takes bytes from the session's quota before they are written to a file; fails, and takes nothing, if they are more than
   * is left.
   */
  readonly reserveWrite: (bytes: number) => Effect.Effect<void, ToolFailure>
  /** The whole of an earlier output that was too long for the model, by its handle; undefined: there is none. */
  readonly storedOutput: (handle: string) => Effect.Effect<string | undefined>
  /** Records that the model has now seen this content, or that the session wrote it. */
  readonly recordRead: (read: FileRead) => Effect.Effect<void>
  /** Output while the call runs, for eyes only. */
  readonly emit: (chunk: OutputChunk) => Effect.Effect<void>
  /** Makes a process group known to the journal, so that it can be ended after a crash. */
  readonly processStarted: (identity: ProcessIdentity) => Effect.Effect<void>
  /** Runs a turn of a sub-session; interrupting the call cancels it. */
  readonly delegate: (delegation: Delegation) => Effect.Effect<TurnResult, RunError>
}
