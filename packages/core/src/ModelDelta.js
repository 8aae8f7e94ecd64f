"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.ModelDelta = void 0;
/**
 * What a model's answer is made of while it streams. Native tool calls, calls rescued from text and emulated ones look
 * alike here.
 *
 * @since 0.1.0
 */
var Data = require("effect/Data");
/**
 * Constructors and matchers of {@link ModelDelta}.
 *
 * @since 0.1.0
 * @category constructors
 */
exports.ModelDelta = Data.taggedEnum();
