"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.Risk = void 0;
/**
 * What a tool says of one particular call before it runs: how risky it is, and whether somebody must be asked.
 *
 * @since 0.1.0
 */
var Schema = require("effect/Schema");
/**
 * `low` reads, `medium` edits files, `high` runs commands or deletes.
 *
 * @since 0.1.0
 * @category models
 */
exports.Risk = Schema.Literal("low", "medium", "high");
