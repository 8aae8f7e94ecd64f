"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.Outcome = void 0;
/**
 * How a tool call ended.
 *
 * @since 0.1.0
 */
var Schema = require("effect/Schema");
var Content_js_1 = require("./Content.js");
var ToolFailure_js_1 = require("./ToolFailure.js");
var failed = function (tag) { return Schema.TaggedStruct(tag, { failure: ToolFailure_js_1.ToolFailure }); };
/**
 * How a tool call ended: it ran and `Succeeded`, `Failed`, `TimedOut` or was `Cancelled` while it ran; it never ran because
 * it was `Refused` by a check or `Denied` by a person or policy (`reason`: their words); or it started before a crash and
 * its effect is `Unknown`.
 *
 * @since 0.1.0
 * @category models
 */
exports.Outcome = Schema.Union(Schema.TaggedStruct("Succeeded", {
    content: Schema.Array(Content_js_1.ContentPart),
    structured: Schema.optionalWith(Schema.Unknown, { exact: true })
}), failed("Failed"), failed("Refused"), Schema.TaggedStruct("Denied", { failure: ToolFailure_js_1.ToolFailure, reason: Schema.NullOr(Schema.String) }), failed("Cancelled"), failed("TimedOut"), failed("Unknown"));
