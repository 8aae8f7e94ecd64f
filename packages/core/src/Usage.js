"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.cost = exports.add = exports.zero = exports.Prices = exports.Usage = void 0;
/**
 * Tokens and money.
 *
 * @since 0.1.0
 */
var Schema = require("effect/Schema");
/**
 * Tokens of one response, or of several added up. `cacheRead` and `cacheWrite` are parts of `input`.
 *
 * @since 0.1.0
 * @category models
 */
exports.Usage = Schema.Struct({
    input: Schema.Number,
    output: Schema.Number,
    cacheRead: Schema.Number,
    cacheWrite: Schema.Number,
    reasoning: Schema.Number
});
/**
 * US dollars per million tokens, and where the figures come from.
 *
 * @since 0.1.0
 * @category models
 */
exports.Prices = Schema.Struct({
    input: Schema.Number,
    output: Schema.Number,
    cacheRead: Schema.NullOr(Schema.Number),
    cacheWrite: Schema.NullOr(Schema.Number),
    source: Schema.String
});
/**
 * No tokens.
 *
 * @since 0.1.0
 * @category constructors
 */
exports.zero = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
/**
 * The sum of two.
 *
 * @since 0.1.0
 * @category combinators
 */
var add = function (a, b) { return ({
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    reasoning: a.reasoning + b.reasoning
}); };
exports.add = add;
/**
 * What the tokens cost in US dollars; null where the price is unknown. A cache price that is missing counts as input.
 *
 * @since 0.1.0
 * @category combinators
 */
var cost = function (usage, prices) {
    var _a, _b;
    return prices === null
        ? null
        : ((usage.input - usage.cacheRead - usage.cacheWrite) * prices.input +
            usage.cacheRead * ((_a = prices.cacheRead) !== null && _a !== void 0 ? _a : prices.input) +
            usage.cacheWrite * ((_b = prices.cacheWrite) !== null && _b !== void 0 ? _b : prices.input) +
            usage.output * prices.output) / 1000000;
};
exports.cost = cost;
