/**
 * What the journal of a session holds: one versioned record for each thing that happened, in order. A session's state is a
 * fold over these and nothing else.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Decision, Question } from "./Approval.js"
import { ContentPart, TextPart } from "./Content.js"
import { FileRead } from "./FileRead.js"
import { ReasoningPart } from "./Message.js"
import { Outcome } from "./Outcome.js"
import { ProcessIdentity } from "./ProcessRunner.js"
import { CallRef, Repair, ToolCall } from "./ToolCall.js"
import { Prices, Usage } from "./Usage.js"

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
 * - `TurnStarted`: a user message, with what the turn runs under.
 * - `CallReceived`: a call of a response is complete (the response need not be).
 * - `Responded`: a response is complete and stands in history.
 * - `Voided`: a response broke off; it is not history and nothing of it runs.
 * - `Planned`: what happens with each call of the batch; `stages` are the positions that run together.
 * - `Asked`, `Decided`: the questions of a batch and the answer.
 * - `Intent`: the handler of a call is about to run, with exactly these arguments.
 * - `ProcessStarted`: a call started a process group.
 * - `Settled`: how a call ended; exactly one per call. `note` is what the loop adds for the model.
 * - `Recovered`: a batch that a crash cut off was closed.
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
    instructionsHash: Schema.String
  }),
  Schema.TaggedStruct("CallReceived", { ref: CallRef, call: ToolCall }),
  Schema.TaggedStruct("Responded", {
    turn: Schema.Number,
    iteration: Schema.Number,
    parts: Schema.Array(ResponsePart),
    finish: Schema.Literal("stop", "tool-calls", "length", "refusal", "other"),
    usage: Schema.NullOr(Usage),
    prices: Schema.NullOr(Prices)
  }),
  Schema.TaggedStruct("Voided", { turn: Schema.Number, iteration: Schema.Number, reason: Schema.String }),
  Schema.TaggedStruct("Planned", {
    turn: Schema.Number,
    iteration: Schema.Number,
    refused: Schema.Array(Schema.Number),
    asked: Schema.Array(Schema.Number),
    stages: Schema.Array(Schema.Array(Schema.Number))
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
    durationMillis: Schema.Number
  }),
  Schema.TaggedStruct("Recovered", {
    turn: Schema.Number,
    iteration: Schema.Number,
    choice: Schema.Literal("partial", "discard"),
    ended: Schema.Array(Schema.String)
  }),
  Schema.TaggedStruct("TurnEnded", { turn: Schema.Number, end: TurnEnd, reason: Schema.NullOr(Schema.String) })
)

/**
 * One thing that happened in a session.
 *
 * @since 0.1.0
 * @category models
 */
export type JournalRecord = typeof JournalRecord.Type
