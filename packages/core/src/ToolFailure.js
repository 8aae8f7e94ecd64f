"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.isJsonObject = exports.toText = exports.limit = exports.permission = exports.notFound = exports.panicked = exports.execution = exports.validation = exports.is = exports.advice = exports.ToolFailure = void 0;
/**
 * What goes wrong with a tool call, as values that a model reads. They are never in the error channel of the loop.
 *
 * @since 0.1.0
 */
var Schema = require("effect/Schema");
var Finding_js_1 = require("./Finding.js");
var failure = function (tag, details) {
    return Schema.TaggedStruct(tag, {
        message: Schema.String,
        suggestedFix: Schema.NullOr(Schema.String),
        details: Schema.Struct(details)
    });
};
/**
 * A tool call that did not succeed: what happened (`message`), what to do about it (`suggestedFix`) and the facts
 * (`details`). Code and retry advice belong to the tag, see {@link advice}.
 *
 * @since 0.1.0
 * @category models
 */
exports.ToolFailure = Schema.Union(failure("Validation", { findings: Schema.Array(Finding_js_1.Finding) }), failure("UnknownTool", { name: Schema.String, closest: Schema.Array(Schema.String) }), failure("DuplicateCall", { first: Schema.Number }), failure("CutOff", {}), failure("Limit", { limit: Schema.String, value: Schema.Number }), failure("Disabled", {}), failure("Permission", {
    kind: Schema.Literal("denied", "denylist", "trust", "not-allowed", "outside-sandbox", "denied-pattern", "read-only"),
    attempted: Schema.NullOr(Schema.String),
    resolved: Schema.NullOr(Schema.String),
    pattern: Schema.NullOr(Schema.String)
}), failure("StaleFile", { path: Schema.String }), failure("PatchFailed", { line: Schema.NullOr(Schema.Number) }), failure("NotFound", { what: Schema.String }), failure("Timeout", { elapsedMillis: Schema.Number }), failure("RateLimit", { retryAfterMillis: Schema.Number }), failure("Cancelled", {}), failure("Network", { url: Schema.String }), failure("ModelRefusal", {}), failure("Unknown", { started: Schema.Boolean }), failure("Execution", { defect: Schema.Boolean }));
/**
 * Code, recoverability and retry advice by kind of failure.
 *
 * @since 0.1.0
 * @category models
 */
exports.advice = {
    Validation: { code: "validation", recoverable: true, retryStrategy: "rephrase" },
    UnknownTool: { code: "unknown_tool", recoverable: true, retryStrategy: "rephrase" },
    DuplicateCall: { code: "duplicate_call", recoverable: true, retryStrategy: "rephrase" },
    CutOff: { code: "cut_off", recoverable: true, retryStrategy: "rephrase" },
    Limit: { code: "limit", recoverable: true, retryStrategy: "rephrase" },
    Disabled: { code: "disabled", recoverable: false, retryStrategy: "abort" },
    Permission: { code: "permission", recoverable: false, retryStrategy: "abort" },
    StaleFile: { code: "stale_file", recoverable: true, retryStrategy: "rephrase" },
    PatchFailed: { code: "patch_failed", recoverable: true, retryStrategy: "rephrase" },
    NotFound: { code: "not_found", recoverable: true, retryStrategy: "rephrase" },
    Timeout: { code: "timeout", recoverable: true, retryStrategy: "rephrase" },
    RateLimit: { code: "rate_limit", recoverable: true, retryStrategy: "same" },
    Cancelled: { code: "cancelled", recoverable: false, retryStrategy: "abort" },
    Network: { code: "network", recoverable: true, retryStrategy: "same" },
    ModelRefusal: { code: "model_refusal", recoverable: false, retryStrategy: "escalate" },
    Unknown: { code: "unknown_outcome", recoverable: false, retryStrategy: "escalate" },
    Execution: { code: "execution", recoverable: true, retryStrategy: "rephrase" }
};
/**
 * Whether a value is a tool failure.
 *
 * @since 0.1.0
 * @category guards
 */
exports.is = Schema.is(exports.ToolFailure);
/**
 * Arguments that do not fit: one line per finding, and what was expected.
 *
 * @since 0.1.0
 * @category constructors
 */
var validation = function (tool, findings, suggestedFix) { return ({
    _tag: "Validation",
    message: "The arguments of ".concat(tool, " do not fit:\n").concat(findings.map(Finding_js_1.toLine).join("\n")),
    suggestedFix: suggestedFix,
    details: { findings: findings }
}); };
exports.validation = validation;
/**
 * A handler that could not do what was asked.
 *
 * @since 0.1.0
 * @category constructors
 */
var execution = function (message, suggestedFix) {
    if (suggestedFix === void 0) { suggestedFix = null; }
    return ({
        _tag: "Execution",
        message: message,
        suggestedFix: suggestedFix,
        details: { defect: false }
    });
};
exports.execution = execution;
/**
 * A handler that threw, which is a bug of the tool.
 *
 * @since 0.1.0
 * @category constructors
 */
var panicked = function (message) { return ({
    _tag: "Execution",
    message: "Tool panicked: ".concat(message),
    suggestedFix: "This is a fault of the tool. Do the step in another way.",
    details: { defect: true }
}); };
exports.panicked = panicked;
/**
 * Something that was asked for does not exist.
 *
 * @since 0.1.0
 * @category constructors
 */
var notFound = function (what, message, suggestedFix) {
    if (suggestedFix === void 0) { suggestedFix = null; }
    return ({
        _tag: "NotFound",
        message: message,
        suggestedFix: suggestedFix,
        details: { what: what }
    });
};
exports.notFound = notFound;
/**
 * Something that may not be done. `attempted` and `resolved` are paths, where it is about one.
 *
 * @since 0.1.0
 * @category constructors
 */
var permission = function (options) {
    var _a, _b, _c, _d;
    return ({
        _tag: "Permission",
        message: options.message,
        suggestedFix: (_a = options.suggestedFix) !== null && _a !== void 0 ? _a : null,
        details: {
            kind: options.kind,
            attempted: (_b = options.attempted) !== null && _b !== void 0 ? _b : null,
            resolved: (_c = options.resolved) !== null && _c !== void 0 ? _c : null,
            pattern: (_d = options.pattern) !== null && _d !== void 0 ? _d : null
        }
    });
};
exports.permission = permission;
/**
 * A limit that was reached.
 *
 * @since 0.1.0
 * @category constructors
 */
var limit = function (name, value, message, suggestedFix) {
    if (suggestedFix === void 0) { suggestedFix = null; }
    return ({
        _tag: "Limit",
        message: message,
        suggestedFix: suggestedFix,
        details: { limit: name, value: value }
    });
};
exports.limit = limit;
/**
 * The failure as the text that a model reads. A message that is a JSON object stays byte for byte as it is.
 *
 * @since 0.1.0
 * @category combinators
 */
var toText = function (failure) {
    return failure.suggestedFix === null || (0, exports.isJsonObject)(failure.message)
        ? failure.message
        : "".concat(failure.message, "\n").concat(failure.suggestedFix);
};
exports.toText = toText;
/**
 * Whether a text is a JSON object: such a message of a handler reaches the model byte for byte.
 *
 * @since 0.1.0
 * @category guards
 */
var isJsonObject = function (text) {
    if (!text.trimStart().startsWith("{"))
        return false;
    try {
        var value = JSON.parse(text);
        return typeof value === "object" && value !== null;
    }
    catch (_a) {
        return false;
    }
};
exports.isJsonObject = isJsonObject;
