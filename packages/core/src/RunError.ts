/**
 * What stops a run. Everything else that can go wrong is a result that the model reads.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { JournalError, LeaseError } from "./Journal.js"
import type { ModelError } from "./ModelProvider.js"

/**
 * The last batch of the session has calls without a result. `crashed`: a process ended in the middle; choose with
 * `ToolLoop.recover`. `awaiting`: answers or results are expected through `ToolLoop.supply`. Calls are given as
 * `tool (position)`.
 *
 * @since 0.1.0
 * @category errors
 */
export class UnfinishedError extends Schema.TaggedError<UnfinishedError>("@capstan/core/UnfinishedError")(
  "UnfinishedError",
  {
    reason: Schema.Literal("crashed", "awaiting"),
    session: Schema.String,
    finished: Schema.Array(Schema.String),
    unknown: Schema.Array(Schema.String),
    neverStarted: Schema.Array(Schema.String),
    /** Processes that the crash left behind and that were ended now. */
    ended: Schema.Array(Schema.String),
    message: Schema.String
  }
) {}

/**
 * The run was asked for in a way that cannot work: nothing to go on with, results for calls that are not open.
 *
 * @since 0.1.0
 * @category errors
 */
export class ConfigurationError extends Schema.TaggedError<ConfigurationError>("@capstan/core/ConfigurationError")(
  "ConfigurationError",
  { message: Schema.String }
) {}

/**
 * What stops a run.
 *
 * @since 0.1.0
 * @category errors
 */
export type RunError = ModelError | JournalError | LeaseError | UnfinishedError | ConfigurationError
