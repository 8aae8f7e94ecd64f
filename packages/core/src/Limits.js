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
exports.Limits = exports.agent = exports.strict = void 0;
/**
 * How much one session may do: two plain sets of numbers, and the service that says which one holds.
 *
 * @since 0.1.0
 */
var Context = require("effect/Context");
var Duration = require("effect/Duration");
/**
 * The library's default: a few calls at a time, for programs that act on behalf of somebody who is not watching.
 *
 * @since 0.1.0
 * @category models
 */
exports.strict = {
    maxToolCallsPerBatch: 8,
    maxToolIterationsPerUserTurn: 4,
    maxToolArgsBytes: 1048576,
    maxApplyPatchBytes: 524288,
    maxReadFileScanBytes: 2097152,
    maxFileReadBytes: 204800,
    maxOutputBytes: 102400,
    maxBatchOutputBytes: 409600,
    callsPerMinute: 30,
    writesPerMinute: 10,
    commandsPerMinute: 5,
    bytesWrittenPerSession: 10000000,
    maxParallel: 8,
    repeatsBeforeWarning: 3,
    repeatsBeforeEnd: 5,
    batchTimeout: Duration.seconds(600),
    callTimeout: Duration.seconds(30)
};
/**
 * For long work that a person started and can see: the command line's default.
 *
 * @since 0.1.0
 * @category models
 */
exports.agent = __assign(__assign({}, exports.strict), { maxToolCallsPerBatch: 32, maxToolIterationsPerUserTurn: 50, callsPerMinute: 240, writesPerMinute: 120, commandsPerMinute: 120, bytesWrittenPerSession: 100000000 });
/**
 * The limits that hold. Default: `strict`.
 *
 * @since 0.1.0
 * @category services
 */
var Limits = /** @class */ (function (_super) {
    __extends(Limits, _super);
    function Limits() {
        return _super !== null && _super.apply(this, arguments) || this;
    }
    return Limits;
}(Context.Reference()("@capstan/core/Limits", {
    defaultValue: function () { return exports.strict; }
})));
exports.Limits = Limits;
