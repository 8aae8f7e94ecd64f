"use strict";
/**
 * Matching names and paths against patterns of allow and deny lists.
 *
 * @since 0.1.0
 */
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
exports.matches = void 0;
/**
 * Whether `pattern` covers the whole of `text`: `*` stands for any characters but `/`, `**` for any characters, `?` for one
 * character but `/`; everything else, brackets and braces included, stands for itself. A folder that is
 * `**` may also be missing: `docs/<two stars>/x` covers `docs/x`. Takes time in proportion to the product of both lengths.
 *
 * @since 0.1.0
 * @category combinators
 */
var matches = function (pattern, text) {
    var chars = __spreadArray([], text, true);
    var start = __spreadArray([true], chars.map(function () { return false; }), true);
    return tokenize(pattern).reduce(function (reached, token) { return advance(token, chars, reached); }, start).at(-1) === true;
};
exports.matches = matches;
var tokenize = function (pattern) { var _a; return (_a = pattern.match(/\*\*\/|\*\*|[^]/gu)) !== null && _a !== void 0 ? _a : []; };
/** `reached[i]`: the tokens so far cover the first `i` characters. */
var advance = function (token, chars, reached) {
    var before = false;
    return reached.map(function (here, i) {
        var char = i === 0 ? undefined : chars[i - 1];
        var earlier = before;
        switch (token) {
            case "*":
                before = here || (before && char !== "/");
                return before;
            case "**":
                before = here || before;
                return before;
            case "**/":
                before = here || before;
                return here || (earlier && char === "/");
            default:
                before = here;
                return earlier && (token === "?" ? char !== "/" : token === char);
        }
    });
};
