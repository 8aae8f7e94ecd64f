"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.covers = exports.Trust = void 0;
/**
 * How much a run may do, in steps that include the ones before.
 *
 * @since 0.1.0
 */
var Schema = require("effect/Schema");
/**
 * How much a run may do: look around, read, change the workspace, run commands, everything.
 *
 * @since 0.1.0
 * @category models
 */
exports.Trust = Schema.Literal("discovery", "read_only", "workspace", "shell", "full");
/**
 * Whether `level` is enough for something that needs `needed`.
 *
 * @since 0.1.0
 * @category combinators
 */
var covers = function (level, needed) {
    return exports.Trust.literals.indexOf(level) >= exports.Trust.literals.indexOf(needed);
};
exports.covers = covers;
