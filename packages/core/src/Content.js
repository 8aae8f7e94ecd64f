"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.toText = exports.text = exports.ContentPart = exports.FilePart = exports.ImagePart = exports.TextPart = void 0;
/**
 * The pieces that messages and tool results are made of.
 *
 * @since 0.1.0
 */
var Schema = require("effect/Schema");
/**
 * Text.
 *
 * @since 0.1.0
 * @category models
 */
exports.TextPart = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String });
/**
 * An image: `data` is base64, `mediaType` for instance `image/png`.
 *
 * @since 0.1.0
 * @category models
 */
exports.ImagePart = Schema.Struct({
    type: Schema.Literal("image"),
    mediaType: Schema.String,
    data: Schema.String
});
/**
 * A file: `data` is base64, `name` is shown and never used as a path.
 *
 * @since 0.1.0
 * @category models
 */
exports.FilePart = Schema.Struct({
    type: Schema.Literal("file"),
    mediaType: Schema.String,
    name: Schema.String,
    data: Schema.String
});
/**
 * What a person or a tool can say: text, images, files.
 *
 * @since 0.1.0
 * @category models
 */
exports.ContentPart = Schema.Union(exports.TextPart, exports.ImagePart, exports.FilePart);
/**
 * A text part.
 *
 * @since 0.1.0
 * @category constructors
 */
var text = function (value) { return ({ type: "text", text: value }); };
exports.text = text;
/**
 * The text of some parts, joined by line ends; images and files are named in brackets.
 *
 * @since 0.1.0
 * @category combinators
 */
var toText = function (parts) {
    return parts.map(function (part) {
        switch (part.type) {
            case "text":
                return part.text;
            case "image":
                return "[image ".concat(part.mediaType, "]");
            case "file":
                return "[file ".concat(part.name, "]");
        }
    }).join("\n");
};
exports.toText = toText;
