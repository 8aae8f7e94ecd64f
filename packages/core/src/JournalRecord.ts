/**
 * What the journal of a session holds: one versioned record for each thing that happened, in order. A session's state is a
 * fold over these and nothing else.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Decision, Question } from "./Approval.js"
import { Spent } from "./Budget.js"
import { ContentPart, TextPart } from "./Content.js"
import { FileRead } from "./FileRead.js"
import { ReasoningPart } from "./Message.js"
import { Outcome } from "./Outcome.js"
import { ProcessIdentity } from "./ProcessRunner.js"
import { Safety } from "./Safety.js"
import { CallRef, Repair, ToolCall } from "./ToolCall.js"
import { Prices, Usage } from "./Usage.js"

/** A field that older records of the same version do not have. */
const added = <A, I>(schema: Schema.Schema<A, I>, before: A) =>
  Schema.optionalWith(schema, { exact: true, default: () => before })

/**
 * The version of the records that this package writes. A journal with a higher one is refused.
 *
 * @since 0.1.0
 * @category models
 */
export const version = 1

/**
 * How a turn ended.
 *
 * @since 0.1.0
 * @category models
 */
export const TurnEnd = Schema.Literal("answered", "iterations", "budget", "loop", "refused", "cancelled", "awaiting")

/**
 * How a turn ended.
 *
 * @since 0.1.0
 * @category models
 */
export type TurnEnd = typeof TurnEnd.Type

/**
 * A part of a response: text and reasoning as they are, calls by their position (the call itself has its own record).
 *
 * @since 0.1.0
 * @category models
 */
export const ResponsePart = Schema.Union(
  TextPart,
  ReasoningPart,
  Schema.Struct({ type: Schema.Literal("call"), position: Schema.Number })
)

/**
 * A part of a response.
 *
 * @since 0.1.0
 * @category models
 */
export type ResponsePart = typeof ResponsePart.Type

/**
 * One thing that happened in a session.
 *
 * - `TurnStarted`: a user message, with what the turn runs under; `parent` is the session on whose behalf it runs.
 * - `CallReceived`: a call of a response is complete (the response need not be).
 * - `Responded`: a response is complete and stands in history. `millis` is running time since the last record that has it.
 * - `Voided`: a response broke off; it is not history and nothing of it runs.
 * - `Planned`: what happens with each call of the batch; `stages` are the positions that run together, `corrected` the tools
 *   that were taken for names which are none.
 * - `Asked`, `Decided`: the questions of a batch and the answer.
 * - `Intent`: the handler of a call is about to run, with exactly these arguments; a second one for the same call is a
 *   re-run that was asked for after a crash.
 * - `ProcessStarted`: a call started a process group.
 * - `Settled`: how a call ended; exactly one per call. `note` is what the loop adds for the model, `written` the bytes that
 *   it wrote to files.
 * - `Recovered`: a batch that a crash cut off was closed.
 * - `ChildSpent`: a sub-session spent from this session's budgets.
 * - `BudgetReached`: the turn has used up a budget and ends after what runs now.
 * - `Shortened`: old results give way to the handles of their stored output, by wire id.
 * - `Compacted`: a summary stands for all messages but the last `kept`.
 * - `TurnEnded`: the turn is over.
 *
 * @since 0.1.0
 * @category models
 */
export const JournalRecord = Schema.Union(
  Schema.TaggedStruct("TurnStarted", {
    turn: Schema.Number,
    content: Schema.Array(ContentPart),
    provider: Schema.String,
    model: Schema.String,
    user: Schema.NullOr(Schema.String),
    parent: added(Schema.NullOr(Schema.String), null),
    instructionsHash: Schema.String
  }),
  Schema.TaggedStruct("CallReceived", { ref: CallRef, call: ToolCall }),
  Schema.TaggedStruct("Responded", {
    turn: Schema.Number,
    iteration: Schema.Number,
    parts: Schema.Array(ResponsePart),
    finish: Schema.Literal("stop", "tool-calls", "length", "refusal", "other"),
    usage: Schema.NullOr(Usage),
    prices: Schema.NullOr(Prices),
    millis: added(Schema.Number, 0)
  }),
  Schema.TaggedStruct("Voided", { turn: Schema.Number, iteration: Schema.Number, reason: Schema.String }),
  Schema.TaggedStruct("Planned", {
    turn: Schema.Number,
    iteration: Schema.Number,
    refused: Schema.Array(Schema.Number),
    asked: Schema.Array(Schema.Number),
    stages: Schema.Array(Schema.Array(Schema.Number)),
    corrected: Schema.optionalWith(Schema.Array(Schema.Struct({ position: Schema.Number, tool: Schema.String })), {
      exact: true
    })
  }),
  Schema.TaggedStruct("Asked", { questions: Schema.Array(Question) }),
  Schema.TaggedStruct("Decided", {
    turn: Schema.Number,
    iteration: Schema.Number,
    by: Schema.String,
    decision: Decision
  }),
  Schema.TaggedStruct("Intent", {
    ref: CallRef,
    tool: Schema.String,
    safety: added(Safety, "side-effect"),
    polls: added(Schema.Boolean, false),
    at: added(Schema.Number, 0),
    argumentsHash: Schema.String,
    edited: Schema.NullOr(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
    repairs: Schema.Array(Repair)
  }),
  Schema.TaggedStruct("ProcessStarted", { ref: CallRef, process: ProcessIdentity }),
  Schema.TaggedStruct("Settled", {
    ref: CallRef,
    outcome: Outcome,
    note: Schema.NullOr(Schema.String),
    reads: Schema.Array(FileRead),
    written: added(Schema.Number, 0),
    durationMillis: Schema.Number
  }),
  Schema.TaggedStruct("Recovered", {
    turn: Schema.Number,
    iteration: Schema.Number,
    choice: Schema.Literal("partial", "discard"),
    ended: Schema.Array(Schema.String)
  }),
  Schema.TaggedStruct("ChildSpent", { session: Schema.String, spent: Spent }),
  Schema.TaggedStruct("BudgetReached", { turn: Schema.Number, budget: Schema.String, message: Schema.String }),
  Schema.TaggedStruct("Shortened", {
    results: Schema.Array(Schema.Struct({ id: Schema.String, handle: Schema.String, bytes: Schema.Number }))
  }),
  Schema.TaggedStruct("Compacted", {
    turn: Schema.Number,
    summary: Schema.String,
    kept: Schema.Number,
    usage: Schema.NullOr(Usage),
    prices: Schema.NullOr(Prices)
  }),
  Schema.TaggedStruct("TurnEnded", {
    turn: Schema.Number,
    end: TurnEnd,
    reason: Schema.NullOr(Schema.String),
    millis: added(Schema.Number, 0)
  })
)

/**
 * One thing that happened in a session.
 *
 * @since 0.1.0
 * @category models
 */
export type JournalRecord = typeof JournalRecord.Type
