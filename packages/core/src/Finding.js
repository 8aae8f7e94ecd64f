"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.toLine = exports.Finding = void 0;
/**
 * One thing that is wrong with the arguments of a call, so that a model can mend it.
 *
 * @since 0.1.0
 */
var Schema = require("effect/Schema");
/**
 * One thing that is wrong with the arguments of a call: where (`path`, dotted, `""` for the whole), what was expected and
 * received, how to fix it.
 *
 * @since 0.1.0
 * @category models
 */
exports.Finding = Schema.Struct({
    path: Schema.String,
    expected: Schema.String,
    received: Schema.String,
    fix: Schema.String
});
/**
 * A finding as one line for a model.
 *
 * @since 0.1.0
 * @category combinators
 */
var toLine = function (finding) {
    return "- ".concat(finding.path === "" ? "arguments" : finding.path, ": expected ").concat(finding.expected, ", received ").concat(finding.received, ". ").concat(finding.fix);
};
exports.toLine = toLine;
