/**
 * What a handler may know of the call that it serves. Made afresh for each call by the executor.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { FileRead } from "./FileRead.js"
import type { Limits } from "./Limits.js"
import type { OutputChunk, ProcessIdentity } from "./ProcessRunner.js"
import type { CallRef } from "./ToolCall.js"

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
  readonly limits: Limits["Type"]
  /** Bytes of output that still fit. */
  readonly capacity: number
  /** What this session last read or wrote of a file, by canonical path; undefined: nothing. */
  readonly lastRead: (canonical: string) => FileRead | undefined
  /** Records that the model has now seen this content, or that the session wrote it. */
  readonly recordRead: (read: FileRead) => Effect.Effect<void>
  /** Output while the call runs, for eyes only. */
  readonly emit: (chunk: OutputChunk) => Effect.Effect<void>
  /** Makes a process group known to the journal, so that it can be ended after a crash. */
  readonly processStarted: (identity: ProcessIdentity) => Effect.Effect<void>
}
