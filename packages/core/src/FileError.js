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
exports.FileError = exports.FileErrorReason = void 0;
/**
 * What can go wrong with a file of the sandbox, as one error class whose `reason` a caller can switch on.
 *
 * @since 0.1.0
 */
var Schema = require("effect/Schema");
/**
 * Why a file operation failed. `outside`, `denied`, `read-only` and `bad-path` are refusals of the sandbox, `bad-pattern`
 * is an expression or glob that cannot be read; the rest is what the file system said.
 *
 * @since 0.1.0
 * @category models
 */
exports.FileErrorReason = Schema.Literal("bad-path", "bad-pattern", "outside", "denied", "read-only", "not-found", "exists", "not-a-file", "not-a-directory", "not-empty", "permission", "too-large", "changed", "no-space", "quota", "io");
/**
 * A file operation of the sandbox that was refused or failed. `path` is what was asked for, `resolved` where it led to
 * (if that is known), `pattern` the deny pattern that matched. Nothing was changed on disk when this is returned.
 *
 * @since 0.1.0
 * @category errors
 */
var FileError = /** @class */ (function (_super) {
    __extends(FileError, _super);
    function FileError() {
        return _super !== null && _super.apply(this, arguments) || this;
    }
    return FileError;
}(Schema.TaggedError("@capstan/core/FileError")("FileError", {
    reason: exports.FileErrorReason,
    path: Schema.String,
    resolved: Schema.optionalWith(Schema.String, { exact: true }),
    pattern: Schema.optionalWith(Schema.String, { exact: true }),
    message: Schema.String,
    cause: Schema.optionalWith(Schema.Defect, { exact: true })
})));
exports.FileError = FileError;
