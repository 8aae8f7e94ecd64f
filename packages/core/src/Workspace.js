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
exports.Workspace = void 0;
/**
 * The files that tools may touch: named mounts, a path decision that can be asked without doing anything, and file
 * operations that cannot be led out of the mounts. Implemented by `@capstan/node` on the real machine and by
 * `@capstan/testing` in memory.
 *
 * Paths are what a model writes: relative to the working directory of the workspace, or absolute inside a mount.
 *
 * @since 0.1.0
 */
var Context = require("effect/Context");
/**
 * The files that tools may touch. Every operation decides the path again and then acts in a way that a link swapped in
 * between cannot move; all fail with {@link FileError} and leave the disk as it was when they do.
 *
 * @since 0.1.0
 * @category services
 */
var Workspace = /** @class */ (function (_super) {
    __extends(Workspace, _super);
    function Workspace() {
        return _super !== null && _super.apply(this, arguments) || this;
    }
    return Workspace;
}(Context.Tag("@capstan/core/Workspace")()));
exports.Workspace = Workspace;
