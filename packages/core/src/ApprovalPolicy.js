"use strict";
var __spreadArray = (this && this.__spreadArray) || function (to, from, pack) {
    if (pack || arguments.length === 2) for (var i = 0, l = from.length, ar; i < l; i++) {
        if (ar || !(i in from)) {
            if (!ar) ar = Array.prototype.slice.call(from, 0, i);
            ar[i] = from[i];
        }
    }
    return to.concat(ar || Array.prototype.slice.call(from));
};
Object.defineProperty(exports, "__esModule", { value: true });
exports.classify = exports.refusal = exports.covers = exports.safe = void 0;
var Glob = require("./Glob.js");
var ToolFailure = require("./ToolFailure.js");
var Trust = require("./Trust.js");
/**
 * The library's defaults: side effects ask, commands are refused, trust ends at the workspace.
 *
 * @since 0.1.0
 * @category constructors
 */
exports.safe = {
    mode: "prompt",
    allowlist: [],
    denylist: ["run_command", "shell_session"],
    promptSideEffects: true,
    trust: "workspace"
};
/**
 * Whether a list entry covers a call.
 *
 * @since 0.1.0
 * @category combinators
 */
var covers = function (entry, tool, call) {
    var open = entry.indexOf("(");
    return open === -1 || !entry.endsWith(")")
        ? Glob.matches(entry, tool)
        : Glob.matches(entry.slice(0, open), tool) && call.allowedBy(entry.slice(open + 1, -1));
};
exports.covers = covers;
/**
 * Refuses what the denylist names, what is above the trust level, and in mode `deny` what the allowlist does not name;
 * undefined: nothing of these.
 *
 * @since 0.1.0
 * @category combinators
 */
var refusal = function (policy, tool, call) {
    var name = tool.definition.name;
    var denied = policy.denylist.find(function (entry) { return (0, exports.covers)(entry, name, call); });
    if (denied !== undefined) {
        return ToolFailure.permission({
            kind: "denylist",
            message: "".concat(name, " is denied by the entry \"").concat(denied, "\" of the denylist."),
            suggestedFix: "Do without it, or tell the user what you would have done.",
            pattern: denied
        });
    }
    if (!Trust.covers(policy.trust, tool.trust)) {
        return ToolFailure.permission({
            kind: "trust",
            message: "".concat(name, " needs the trust level \"").concat(tool.trust, "\"; this run has \"").concat(policy.trust, "\"."),
            suggestedFix: "Do without it, or tell the user what you would have done."
        });
    }
    if (policy.mode === "deny" && !policy.allowlist.some(function (entry) { return (0, exports.covers)(entry, name, call); })) {
        return ToolFailure.permission({
            kind: "not-allowed",
            message: "".concat(name, " is not on the allowlist, and nothing else may run."),
            suggestedFix: "Do without it, or tell the user what you would have done."
        });
    }
    return undefined;
};
exports.refusal = refusal;
/**
 * Whether a call that was not refused runs or is asked about. `always` are the entries that a person approved for good.
 *
 * @since 0.1.0
 * @category combinators
 */
var classify = function (options) {
    var always = options.always, assessment = options.assessment, call = options.call, policy = options.policy, tool = options.tool;
    if (assessment.approval === "always")
        return { _tag: "Ask", mustAsk: true };
    if (assessment.approval === "never")
        return { _tag: "Run" };
    var name = tool.definition.name;
    var listed = __spreadArray(__spreadArray([], policy.allowlist, true), always, true).some(function (entry) { return (0, exports.covers)(entry, name, call); });
    if (listed)
        return { _tag: "Run" };
    var asks = assessment.approval === "unless-allowed" || (policy.mode === "prompt" && policy.promptSideEffects);
    return asks ? { _tag: "Ask", mustAsk: false } : { _tag: "Run" };
};
exports.classify = classify;
