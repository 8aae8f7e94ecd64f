"use strict";
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
exports.fromJson = exports.keyOf = exports.ToolCall = exports.Repair = exports.CallRef = void 0;
/**
 * A model's request to run a tool, and the identity that everything about it goes by.
 *
 * @since 0.1.0
 */
var Schema = require("effect/Schema");
/**
 * The identity of a call inside its session: user turn, iteration in the turn, position in the response, all from 0.
 * The id that a model wrote is only an attribute; step keys, approvals and results go by this.
 *
 * @since 0.1.0
 * @category models
 */
exports.CallRef = Schema.Struct({
    turn: Schema.Number,
    iteration: Schema.Number,
    position: Schema.Number
});
/**
 * A change that was made to what a model wrote before it was read: `kind` in a word (`trailing-comma`, `rescued`,
 * `name-corrected`), `detail` for people.
 *
 * @since 0.1.0
 * @category models
 */
exports.Repair = Schema.Struct({ kind: Schema.String, detail: Schema.String });
/**
 * A tool call of a response. `id` is what the model wrote (`""`: it wrote none), `name` the name that it wrote, `raw` the
 * text of its arguments, `arguments` those parsed (after repair), or null with the reason in `malformed`.
 *
 * @since 0.1.0
 * @category models
 */
exports.ToolCall = Schema.Struct({
    id: Schema.String,
    name: Schema.String,
    raw: Schema.String,
    arguments: Schema.NullOr(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
    malformed: Schema.optionalWith(Schema.String, { exact: true }),
    repairs: Schema.Array(exports.Repair)
});
/**
 * The key of a call in the journal, unique in its session: `turn.iteration.position`.
 *
 * @since 0.1.0
 * @category combinators
 */
var keyOf = function (ref) { return "".concat(ref.turn, ".").concat(ref.iteration, ".").concat(ref.position); };
exports.keyOf = keyOf;
/**
 * Reads arguments strictly: a JSON object, nothing repaired. Providers whose models need more are decorated by
 * `@capstan/dialect`.
 *
 * @since 0.1.0
 * @category constructors
 */
var fromJson = function (options) {
    var parsed = parseObject(options.raw);
    return typeof parsed === "string"
        ? __assign(__assign({}, options), { arguments: null, malformed: parsed, repairs: [] }) : __assign(__assign({}, options), { arguments: parsed, repairs: [] });
};
exports.fromJson = fromJson;
var parseObject = function (raw) {
    try {
        var value = JSON.parse(raw);
        return isObject(value) ? value : "the arguments are JSON, but not an object";
    }
    catch (error) {
        return error instanceof Error ? error.message : "the arguments are not JSON";
    }
};
var isObject = function (value) {
    return typeof value === "object" && value !== null && !Array.isArray(value);
};
