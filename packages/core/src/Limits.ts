/**
 * How much one session may do: two plain sets of numbers, and the service that says which one holds.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"

/**
 * The limits of a session. A plain value: spread `strict` or `agent` and override what should differ.
 *
 * @since 0.1.0
 * @category models
 */
export interface Values {
  /** Calls of one response that run; those beyond are answered with an error. */
  readonly maxToolCallsPerBatch: number
  /** Model responses with tool calls in one user turn; after them the model is asked for words only. */
  readonly maxToolIterationsPerUserTurn: number
  /** UTF-8 bytes of one call's arguments as JSON. */
  readonly maxToolArgsBytes: number
  /** UTF-8 bytes of one patch. */
  readonly maxApplyPatchBytes: number
  /** Bytes that a ranged read may look through. */
  readonly maxReadFileScanBytes: number
  /** Bytes of a file that is read as a whole. */
  readonly maxFileReadBytes: number
  /** UTF-8 bytes of one call's output. */
  readonly maxOutputBytes: number
  /** UTF-8 bytes of one call's output that are kept for `read_file` when the model gets only a part. */
  readonly maxStoredOutputBytes: number
  /** UTF-8 bytes of output of all calls of one batch together. */
  readonly maxBatchOutputBytes: number
  /** Handlers started a minute, of whatever kind. */
  readonly callsPerMinute: number
  /** Calls a minute that write files. */
  readonly writesPerMinute: number
  /** Commands a minute. */
  readonly commandsPerMinute: number
  /** Bytes that a session writes to files, over its whole life. */
  readonly bytesWrittenPerSession: number
  /** Read-only calls that run at the same time. */
  readonly maxParallel: number
  /** The same call with the same result, this often in a row in a turn, carries a warning. */
  readonly repeatsBeforeWarning: number
  /** The same call with the same result, this often in a row in a turn, ends the turn. */
  readonly repeatsBeforeEnd: number
  /** Sessions below a session, one on behalf of the other: a tool that delegates to itself ends here. */
  readonly maxDepth: number
  /** How long one batch may run; time spent waiting for a person does not count. */
  readonly batchTimeout: Duration.Duration
  /** How long one call may run if its tool says nothing else. */
  readonly callTimeout: Duration.Duration
}

/**
 * The library's default: a few calls at a time, for programs that act on behalf of somebody who is not watching.
 *
 * @since 0.1.0
 * @category models
 */
export const strict: Values = {
  maxToolCallsPerBatch: 8,
  maxToolIterationsPerUserTurn: 4,
  maxToolArgsBytes: 1_048_576,
  maxApplyPatchBytes: 524_288,
  maxReadFileScanBytes: 2_097_152,
  maxFileReadBytes: 204_800,
  maxOutputBytes: 102_400,
  maxStoredOutputBytes: 8_388_608,
  maxBatchOutputBytes: 409_600,
  callsPerMinute: 30,
  writesPerMinute: 10,
  commandsPerMinute: 5,
  bytesWrittenPerSession: 10_000_000,
  maxParallel: 8,
  repeatsBeforeWarning: 3,
  repeatsBeforeEnd: 5,
  maxDepth: 5,
  batchTimeout: Duration.seconds(600),
  callTimeout: Duration.seconds(30)
}

/**
 * For long work that a person started and can see: the command line's default.
 *
 * @since 0.1.0
 * @category models
 */
export const agent: Values = {
  ...strict,
  maxToolCallsPerBatch: 32,
  maxToolIterationsPerUserTurn: 50,
  callsPerMinute: 240,
  writesPerMinute: 120,
  commandsPerMinute: 120,
  bytesWrittenPerSession: 100_000_000
}

/**
 * The limits that hold. Default: `strict`.
 *
 * @since 0.1.0
 * @category services
 */
export class Limits extends Context.Reference<Limits>()("@capstan/core/Limits", {
  defaultValue: () => strict
}) {}
