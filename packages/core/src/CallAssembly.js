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
exports.mapCalls = exports.cutByLength = exports.isWhole = exports.finish = exports.settle = exports.close = exports.put = exports.empty = void 0;
/**
 * Putting the tool calls of an answer together from the pieces in which they stream. Pure; every provider uses it.
 *
 * @since 0.1.0
 */
var ModelDelta_js_1 = require("./ModelDelta.js");
var ToolCall = require("./ToolCall.js");
/**
 * No calls yet.
 *
 * @since 0.1.0
 * @category constructors
 */
exports.empty = { open: [], count: 0, pieces: 0 };
/**
 * Adds a piece to the call with this key, which begins with its first piece. An id or a name that is known already stays. The
 * start is emitted once the name is known; text that came before it follows it.
 *
 * @since 0.1.0
 * @category combinators
 */
var put = function (self, piece) {
    var _a, _b, _c;
    var known = self.open.find(function (call) { return call.key === piece.key; });
    var before = known !== null && known !== void 0 ? known : {
        key: piece.key,
        index: self.count,
        id: "",
        name: "",
        raw: "",
        started: false,
        closed: false,
        written: 0
    };
    var name = before.name === "" ? (_a = piece.name) !== null && _a !== void 0 ? _a : "" : before.name;
    var text = (_b = piece.text) !== null && _b !== void 0 ? _b : "";
    var after = __assign(__assign({}, before), { id: before.id === "" ? (_c = piece.id) !== null && _c !== void 0 ? _c : "" : before.id, name: name, raw: before.raw + text, started: before.started || name !== "", written: self.pieces });
    return [
        {
            open: known === undefined ? __spreadArray(__spreadArray([], self.open, true), [after], false) : self.open.map(function (call) { return call === known ? after : call; }),
            count: known === undefined ? self.count + 1 : self.count,
            pieces: self.pieces + 1
        },
        !after.started
            ? []
            : before.started
                ? deltaOf(after.index, text)
                : __spreadArray([startOf(after)], deltaOf(after.index, after.raw), true)
    ];
};
exports.put = put;
/**
 * Marks a call's block as closed. It is emitted by the next {@link settle} or {@link finish}: only what comes after a block
 * shows whether the service cut it off.
 *
 * @since 0.1.0
 * @category combinators
 */
var close = function (self, key) { return (__assign(__assign({}, self), { open: self.open.map(function (call) { return call.key === key ? __assign(__assign({}, call), { closed: true }) : call; }) })); };
exports.close = close;
/**
 * Emits the calls whose blocks are closed; to be used when the answer goes on after them.
 *
 * @since 0.1.0
 * @category combinators
 */
var settle = function (self) { return [
    __assign(__assign({}, self), { open: self.open.filter(function (call) { return !call.closed; }) }),
    self.open.filter(function (call) { return call.closed; }).flatMap(endOf)
]; };
exports.settle = settle;
/**
 * Emits all calls that are left. Where the service cut the answer (`cut` says why, in words for the model) the call that was
 * written last, and each one that is not whole, is marked as malformed.
 *
 * @since 0.1.0
 * @category combinators
 */
var finish = function (self, cut) {
    var last = Math.max.apply(Math, self.open.map(function (call) { return call.written; }));
    return self.open.flatMap(function (call) {
        return cut !== undefined && (call.written === last || !(0, exports.isWhole)(call)) ? cutOff(call, cut) : endOf(call);
    });
};
exports.finish = finish;
/**
 * Whether the arguments of a call are complete as they stand.
 *
 * @since 0.1.0
 * @category combinators
 */
var isWhole = function (call) { return read(call).arguments !== null; };
exports.isWhole = isWhole;
/**
 * What a model is told of a call that the limit of its answer cut off.
 *
 * @since 0.1.0
 * @category constructors
 */
exports.cutByLength = "the limit of the answer was reached; send it again, smaller";
/**
 * Gives the calls of an answer the names and arguments that the rest of the program knows: `name` maps a wire name back,
 * `read` a whole call whose name is mapped already.
 *
 * @since 0.1.0
 * @category combinators
 */
var mapCalls = function (options) {
    return function (delta) {
        var _a, _b;
        switch (delta._tag) {
            case "ToolCallStart":
                return ModelDelta_js_1.ModelDelta.ToolCallStart(__assign(__assign({}, delta), { name: options.name(delta.name) }));
            case "ToolCallEnd": {
                var call = __assign(__assign({}, delta.call), { name: options.name(delta.call.name) });
                return ModelDelta_js_1.ModelDelta.ToolCallEnd({ index: delta.index, call: (_b = (_a = options.read) === null || _a === void 0 ? void 0 : _a.call(options, call)) !== null && _b !== void 0 ? _b : call });
            }
            default:
                return delta;
        }
    };
};
exports.mapCalls = mapCalls;
var startOf = function (call) {
    return ModelDelta_js_1.ModelDelta.ToolCallStart({ index: call.index, id: call.id, name: call.name });
};
var deltaOf = function (index, text) {
    return text === "" ? [] : [ModelDelta_js_1.ModelDelta.ToolCallDelta({ index: index, text: text })];
};
var unstarted = function (call) {
    return call.started ? [] : __spreadArray([startOf(call)], deltaOf(call.index, call.raw), true);
};
var endOf = function (call) { return __spreadArray(__spreadArray([], unstarted(call), true), [
    ModelDelta_js_1.ModelDelta.ToolCallEnd({ index: call.index, call: read(call) })
], false); };
var cutOff = function (call, why) { return __spreadArray(__spreadArray([], unstarted(call), true), [
    ModelDelta_js_1.ModelDelta.ToolCallEnd({
        index: call.index,
        call: {
            id: call.id,
            name: call.name,
            raw: call.raw,
            arguments: null,
            malformed: "cut off: ".concat(why),
            repairs: []
        }
    })
], false); };
/** No text at all is how services write a call without arguments. */
var read = function (call) {
    return call.raw.trim() === ""
        ? { id: call.id, name: call.name, raw: call.raw, arguments: {}, repairs: [] }
        : ToolCall.fromJson({ id: call.id, name: call.name, raw: call.raw });
};
