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
Object.defineProperty(exports, "__esModule", { value: true });
exports.ProcessRunner = exports.ProcessError = exports.ProcessIdentity = void 0;
/**
 * Running a command on the machine, with nothing left of it afterwards. Implemented by `@capstan/node` (on the host or in
 * an OS sandbox) and by `@capstan/testing` (scripted).
 *
 * @since 0.1.0
 */
var Context = require("effect/Context");
var Schema = require("effect/Schema");
/**
 * A process group that can be recognised after a crash: `token` is in the environment of everything it started.
 * `startTime` is the kernel's (clock ticks since boot), so that a reused pid is not taken for it.
 *
 * @since 0.1.0
 * @category models
 */
exports.ProcessIdentity = Schema.Struct({
    pid: Schema.Number,
    startTime: Schema.String,
    bootId: Schema.String,
    token: Schema.String
});
/**
 * A command that could not be started, or could not be observed to its end. `reason`: `disabled` (no command backend),
 * `no-sandbox` (an OS sandbox is required and not there), `bad-directory`, `not-found` (no shell), `spawn`.
 *
 * @since 0.1.0
 * @category errors
 */
var ProcessError = /** @class */ (function (_super) {
    __extends(ProcessError, _super);
    function ProcessError() {
        return _super !== null && _super.apply(this, arguments) || this;
    }
    return ProcessError;
}(Schema.TaggedError("@capstan/core/ProcessError")("ProcessError", {
    reason: Schema.Literal("disabled", "no-sandbox", "bad-directory", "not-found", "spawn"),
    message: Schema.String,
    cause: Schema.optionalWith(Schema.Defect, { exact: true })
})));
exports.ProcessError = ProcessError;
/**
 * Runs shell commands. `run` succeeds with any exit code; interrupting it (a timeout, a cancelled turn) ends every
 * process that the command started before the interruption completes. `reap` ends what a crashed run left behind and
 * returns a line for each process that it ended.
 *
 * @since 0.1.0
 * @category services
 */
var ProcessRunner = /** @class */ (function (_super) {
    __extends(ProcessRunner, _super);
    function ProcessRunner() {
        return _super !== null && _super.apply(this, arguments) || this;
    }
    return ProcessRunner;
}(Context.Tag("@capstan/core/ProcessRunner")()));
exports.ProcessRunner = ProcessRunner;
