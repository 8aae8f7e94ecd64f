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
exports.ModelProvider = exports.ModelError = exports.ModelErrorReason = exports.Model = void 0;
/**
 * A language model behind some service: what it can do, and its answer to a request as a stream.
 *
 * @since 0.1.0
 */
var Context = require("effect/Context");
var Schema = require("effect/Schema");
var Usage_js_1 = require("./Usage.js");
/**
 * What is known of a model: token limits (null: unknown), prices with their source.
 *
 * @since 0.1.0
 * @category models
 */
exports.Model = Schema.Struct({
    provider: Schema.String,
    id: Schema.String,
    contextWindow: Schema.NullOr(Schema.Number),
    maxOutput: Schema.NullOr(Schema.Number),
    prices: Schema.NullOr(Usage_js_1.Prices)
});
/**
 * What went wrong with a model's service. `broken` is a stream that ended after its first token, `timeout` says in
 * `message` what was waited for, `bad-response` is an answer that cannot be read.
 *
 * @since 0.1.0
 * @category models
 */
exports.ModelErrorReason = Schema.Literal("unreachable", "authentication", "permission", "not-found", "rate-limit", "overloaded", "server", "bad-request", "context-length", "timeout", "broken", "bad-response", "unsupported");
/**
 * A model could not answer, after the provider's own retries. `message` says what to do next; `status` is HTTP's,
 * `retryAfterMillis` what the service asked for, `attempts` how often it was tried.
 *
 * @since 0.1.0
 * @category errors
 */
var ModelError = /** @class */ (function (_super) {
    __extends(ModelError, _super);
    function ModelError() {
        return _super !== null && _super.apply(this, arguments) || this;
    }
    return ModelError;
}(Schema.TaggedError("@capstan/core/ModelError")("ModelError", {
    reason: exports.ModelErrorReason,
    provider: Schema.String,
    message: Schema.String,
    status: Schema.optionalWith(Schema.Number, { exact: true }),
    retryAfterMillis: Schema.optionalWith(Schema.Number, { exact: true }),
    attempts: Schema.optionalWith(Schema.Number, { exact: true }),
    cause: Schema.optionalWith(Schema.Defect, { exact: true })
})));
exports.ModelError = ModelError;
/**
 * A language model behind some service. Interrupting the stream aborts the request at once; retries before the first token
 * are the provider's own affair and show as `Retry` deltas.
 *
 * @since 0.1.0
 * @category services
 */
var ModelProvider = /** @class */ (function (_super) {
    __extends(ModelProvider, _super);
    function ModelProvider() {
        return _super !== null && _super.apply(this, arguments) || this;
    }
    return ModelProvider;
}(Context.Tag("@capstan/core/ModelProvider")()));
exports.ModelProvider = ModelProvider;
