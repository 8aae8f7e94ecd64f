"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.JournalRecord = exports.ResponsePart = exports.TurnEnd = exports.version = void 0;
/**
 * What the journal of a session holds: one versioned record for each thing that happened, in order. A session's state is a
 * fold over these and nothing else.
 *
 * @since 0.1.0
 */
var Schema = require("effect/Schema");
var Approval_js_1 = require("./Approval.js");
var Content_js_1 = require("./Content.js");
var FileRead_js_1 = require("./FileRead.js");
var Message_js_1 = require("./Message.js");
var Outcome_js_1 = require("./Outcome.js");
var ProcessRunner_js_1 = require("./ProcessRunner.js");
var ToolCall_js_1 = require("./ToolCall.js");
var Usage_js_1 = require("./Usage.js");
/**
 * The version of the records that this package writes. A journal with a higher one is refused.
 *
 * @since 0.1.0
 * @category models
 */
exports.version = 1;
/**
 * How a turn ended.
 *
 * @since 0.1.0
 * @category models
 */
exports.TurnEnd = Schema.Literal("answered", "iterations", "budget", "loop", "refused", "cancelled", "awaiting");
/**
 * A part of a response: text and reasoning as they are, calls by their position (the call itself has its own record).
 *
 * @since 0.1.0
 * @category models
 */
exports.ResponsePart = Schema.Union(Content_js_1.TextPart, Message_js_1.ReasoningPart, Schema.Struct({ type: Schema.Literal("call"), position: Schema.Number }));
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
exports.JournalRecord = Schema.Union(Schema.TaggedStruct("TurnStarted", {
    turn: Schema.Number,
    content: Schema.Array(Content_js_1.ContentPart),
    provider: Schema.String,
    model: Schema.String,
    user: Schema.NullOr(Schema.String),
    instructionsHash: Schema.String
}), Schema.TaggedStruct("CallReceived", { ref: ToolCall_js_1.CallRef, call: ToolCall_js_1.ToolCall }), Schema.TaggedStruct("Responded", {
    turn: Schema.Number,
    iteration: Schema.Number,
    parts: Schema.Array(exports.ResponsePart),
    finish: Schema.Literal("stop", "tool-calls", "length", "refusal", "other"),
    usage: Schema.NullOr(Usage_js_1.Usage),
    prices: Schema.NullOr(Usage_js_1.Prices)
}), Schema.TaggedStruct("Voided", { turn: Schema.Number, iteration: Schema.Number, reason: Schema.String }), Schema.TaggedStruct("Planned", {
    turn: Schema.Number,
    iteration: Schema.Number,
    refused: Schema.Array(Schema.Number),
    asked: Schema.Array(Schema.Number),
    stages: Schema.Array(Schema.Array(Schema.Number))
}), Schema.TaggedStruct("Asked", { questions: Schema.Array(Approval_js_1.Question) }), Schema.TaggedStruct("Decided", { turn: Schema.Number, iteration: Schema.Number, by: Schema.String, decision: Approval_js_1.Decision }), Schema.TaggedStruct("Intent", {
    ref: ToolCall_js_1.CallRef,
    tool: Schema.String,
    argumentsHash: Schema.String,
    edited: Schema.NullOr(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
    repairs: Schema.Array(ToolCall_js_1.Repair)
}), Schema.TaggedStruct("ProcessStarted", { ref: ToolCall_js_1.CallRef, process: ProcessRunner_js_1.ProcessIdentity }), Schema.TaggedStruct("Settled", {
    ref: ToolCall_js_1.CallRef,
    outcome: Outcome_js_1.Outcome,
    note: Schema.NullOr(Schema.String),
    reads: Schema.Array(FileRead_js_1.FileRead),
    durationMillis: Schema.Number
}), Schema.TaggedStruct("Recovered", {
    turn: Schema.Number,
    iteration: Schema.Number,
    choice: Schema.Literal("partial", "discard"),
    ended: Schema.Array(Schema.String)
}), Schema.TaggedStruct("TurnEnded", { turn: Schema.Number, end: exports.TurnEnd, reason: Schema.NullOr(Schema.String) }));
