"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.Message = exports.AssistantPart = exports.ToolResultPart = exports.ToolCallPart = exports.ReasoningPart = void 0;
/**
 * The conversation as every provider package gets it: provider-neutral, already valid (each call has its result directly
 * after it, ids are legal and unique).
 *
 * @since 0.1.0
 */
var Schema = require("effect/Schema");
var Content_js_1 = require("./Content.js");
/**
 * A model's reasoning, kept byte for byte. It goes back only to the provider that made it: `provider` is that provider's
 * id, `data` what it needs to see again, as JSON text (signature, encrypted content); `text` is for eyes.
 *
 * @since 0.1.0
 * @category models
 */
exports.ReasoningPart = Schema.Struct({
    type: Schema.Literal("reasoning"),
    provider: Schema.String,
    text: Schema.String,
    data: Schema.String
});
/**
 * A tool call in history. `id` is the unique wire id (`^[a-zA-Z0-9_-]{1,40}$`), `name` what the model wrote, `arguments`
 * the JSON text of an object (the model's own bytes where they are one, else what was read from them).
 *
 * @since 0.1.0
 * @category models
 */
exports.ToolCallPart = Schema.Struct({
    type: Schema.Literal("tool-call"),
    id: Schema.String,
    name: Schema.String,
    arguments: Schema.String
});
/**
 * The result of a call, under the wire id of its call.
 *
 * @since 0.1.0
 * @category models
 */
exports.ToolResultPart = Schema.Struct({
    type: Schema.Literal("tool-result"),
    id: Schema.String,
    name: Schema.String,
    content: Schema.Array(Content_js_1.ContentPart),
    isError: Schema.Boolean
});
/**
 * What an assistant message holds, in the order in which the model wrote it.
 *
 * @since 0.1.0
 * @category models
 */
exports.AssistantPart = Schema.Union(Content_js_1.TextPart, exports.ReasoningPart, exports.ToolCallPart);
/**
 * A message of the conversation.
 *
 * @since 0.1.0
 * @category models
 */
exports.Message = Schema.Union(Schema.Struct({ role: Schema.Literal("user"), content: Schema.Array(Content_js_1.ContentPart) }), Schema.Struct({ role: Schema.Literal("assistant"), content: Schema.Array(exports.AssistantPart) }), Schema.Struct({ role: Schema.Literal("tool"), results: Schema.Array(exports.ToolResultPart) }));
