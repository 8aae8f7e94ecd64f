"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.FileRead = void 0;
/**
 * What a session knows of a file's content, so that an edit of something else is refused as stale.
 *
 * @since 0.1.0
 */
var Schema = require("effect/Schema");
/**
 * A file as a session last saw it: canonical path, SHA-256 of the whole content (hex), and the 1-based inclusive line
 * ranges that were shown (null: all of it).
 *
 * @since 0.1.0
 * @category models
 */
exports.FileRead = Schema.Struct({
    path: Schema.String,
    sha256: Schema.String,
    lines: Schema.NullOr(Schema.Array(Schema.Tuple(Schema.Number, Schema.Number)))
});
