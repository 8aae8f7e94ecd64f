"use strict";
var __extends = (this && this.__extends) || (function () {
    var extendStatics = function (d, b) {
        extendStatics = Object.setPrototypeOf ||
            ({ __proto__: [] } instanceof Array && function (d, b) { d.__proto__ = b; }) ||
            function (d, b) { for (var p in b) if (Object.prototype.hasOwnProperty.call(b, p)) d[p] = b[p]; };
        return extendStatics(d, b);
    };
    return function (d, b) {
        if (typeof b !== "function" && b !== null)
            throw new TypeError("Class extends value " + String(b) + " is not a constructor or null");
        extendStatics(d, b);
        function __() { this.constructor = d; }
        d.prototype = b === null ? Object.create(b) : (__.prototype = b.prototype, new __());
    };
})();
var __assign = (this && this.__assign) || function () {
    __assign = Object.assign || function(t) {
        for (var s, i = 1, n = arguments.length; i < n; i++) {
            s = arguments[i];
            for (var p in s) if (Object.prototype.hasOwnProperty.call(s, p))
                t[p] = s[p];
        }
        return t;
    };
    return __assign.apply(this, arguments);
};
Object.defineProperty(exports, "__esModule", { value: true });
exports.layerPolicy = exports.layerCallback = exports.Approval = exports.ApprovalError = exports.Decision = exports.Answer = exports.Question = void 0;
/**
 * Asking somebody before a tool runs.
 *
 * @since 0.1.0
 */
var Context = require("effect/Context");
var Effect = require("effect/Effect");
var Layer = require("effect/Layer");
var Schema = require("effect/Schema");
var ApprovalPolicy_js_1 = require("./ApprovalPolicy.js");
var Assessment_js_1 = require("./Assessment.js");
var ToolCall_js_1 = require("./ToolCall.js");
/**
 * One question: whether this call may run. `summary` is one line, `detail` exactly what will happen (the whole command, the
 * whole path), `preview` a diff where there is one; secrets are redacted, nothing else is cut. `argumentsHash` binds the
 * answer to these arguments, `hint` says what flag or list entry would have answered it.
 *
 * @since 0.1.0
 * @category models
 */
exports.Question = Schema.Struct({
    ref: ToolCall_js_1.CallRef,
    tool: Schema.String,
    summary: Schema.String,
    detail: Schema.String,
    preview: Schema.NullOr(Schema.String),
    risk: Assessment_js_1.Risk,
    mustAsk: Schema.Boolean,
    warnings: Schema.Array(Schema.String),
    argumentsHash: Schema.String,
    hint: Schema.String
});
/**
 * The answer to one question. `Always` also approves calls that the entry covers, in this session, from now on; `Edit` runs
 * other arguments, which are planned again; `reason` is read by the model.
 *
 * @since 0.1.0
 * @category models
 */
exports.Answer = Schema.Union(Schema.TaggedStruct("Approve", {}), Schema.TaggedStruct("Always", { entry: Schema.String }), Schema.TaggedStruct("Edit", { arguments: Schema.Record({ key: Schema.String, value: Schema.Unknown }) }), Schema.TaggedStruct("Deny", { reason: Schema.NullOr(Schema.String) }));
/**
 * One decision over a batch: all, none (the calls that needed no question included), or one answer per question by position
 * (a missing one is a denial).
 *
 * @since 0.1.0
 * @category models
 */
exports.Decision = Schema.Union(Schema.TaggedStruct("ApproveAll", {}), Schema.TaggedStruct("DenyAll", { reason: Schema.NullOr(Schema.String) }), Schema.TaggedStruct("Each", {
    answers: Schema.Array(Schema.Struct({ position: Schema.Number, answer: exports.Answer }))
}), Schema.TaggedStruct("Later", {}));
/**
 * Nobody could be asked, or asking failed. The loop takes it for a denial.
 *
 * @since 0.1.0
 * @category errors
 */
var ApprovalError = /** @class */ (function (_super) {
    __extends(ApprovalError, _super);
    function ApprovalError() {
        return _super !== null && _super.apply(this, arguments) || this;
    }
    return ApprovalError;
}(Schema.TaggedError("@capstan/core/ApprovalError")("ApprovalError", {
    message: Schema.String,
    cause: Schema.optionalWith(Schema.Defect, { exact: true })
})));
exports.ApprovalError = ApprovalError;
/**
 * What may run, and who is asked about the rest. `by` says who decides, for the journal.
 *
 * @since 0.1.0
 * @category services
 */
var Approval = /** @class */ (function (_super) {
    __extends(Approval, _super);
    function Approval() {
        return _super !== null && _super.apply(this, arguments) || this;
    }
    return Approval;
}(Context.Tag("@capstan/core/Approval")()));
exports.Approval = Approval;
/**
 * Asks a function of yours, for instance a user interface. `policy` is completed by the safe defaults.
 *
 * @since 0.1.0
 * @category layers
 */
var layerCallback = function (options) {
    return Layer.effect(Approval, Effect.map(Effect.context(), function (context) {
        var _a;
        return ({
            policy: __assign(__assign({}, ApprovalPolicy_js_1.safe), options.policy),
            by: (_a = options.by) !== null && _a !== void 0 ? _a : "callback",
            ask: function (request) {
                return Effect.mapInputContext(options.ask(request), function (_) { return context; });
            }
        });
    }));
};
exports.layerCallback = layerCallback;
/**
 * Asks nobody: what the policy does not let run is denied, and the denial says what would allow it. For programs without a
 * person.
 *
 * @since 0.1.0
 * @category layers
 */
var layerPolicy = function (policy) {
    if (policy === void 0) { policy = {}; }
    return (0, exports.layerCallback)({
        policy: policy,
        by: "policy",
        ask: function (_a) {
            var questions = _a.questions;
            return Effect.succeed({
                _tag: "Each",
                answers: questions.map(function (_a) {
                    var hint = _a.hint, ref = _a.ref;
                    return ({
                        position: ref.position,
                        answer: { _tag: "Deny", reason: "Nobody is there to approve it. ".concat(hint) }
                    });
                })
            });
        }
    });
};
exports.layerPolicy = layerPolicy;
