"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.riskOf = exports.textOutput = exports.fromJsonSchema = exports.make = void 0;
/**
 * A tool: what a model is told of it, what it may touch, and the handler that runs it.
 *
 * @since 0.1.0
 */
var Duration = require("effect/Duration");
var Effect = require("effect/Effect");
var Either = require("effect/Either");
var ParseResult = require("effect/ParseResult");
var Predicate = require("effect/Predicate");
var Schema = require("effect/Schema");
var Content = require("./Content.js");
var Glob = require("./Glob.js");
var JsonSchema = require("./JsonSchema.js");
var ParameterSchema = require("./ParameterSchema.js");
var ToolFailure = require("./ToolFailure.js");
/**
 * Makes a tool with typed parameters. With `success` the handler's value is encoded by that schema and given to the model
 * as JSON (or as `render` says); without it the handler returns text.
 *
 * A handler's error becomes a failure that the model reads: a `ToolFailure` as it is, a message that is a JSON object byte
 * for byte, anything else as `<tool> failed: <message>`. A handler that throws is reported as a fault of the tool.
 *
 * @example
 * import { Effect, Schema } from "effect"
 * import { Tool } from "@capstan/core"
 *
 * export const Weather = Tool.make("get_weather", {
 *   description: "Tells the temperature in a city right now.",
 *   parameters: Schema.Struct({ city: Schema.String }),
 *   success: Schema.Struct({ celsius: Schema.Number }),
 *   safety: "read-only",
 *   handler: ({ city }) => Effect.succeed({ celsius: city.length })
 * })
 *
 * @since 0.1.0
 * @category constructors
 */
var make = function (name, options) {
    var decode = Schema.decodeUnknownEither(options.parameters, { errors: "all", onExcessProperty: "error" });
    var encode = options.success === undefined ? undefined : Schema.encodeSync(options.success);
    return assemble(name, options, {
        parameters: ParameterSchema.fromSchema(options.parameters),
        decode: function (args) { return Either.mapLeft(decode(args), function (error) { return findings(error, args); }); },
        output: function (value) {
            var structured = encode === undefined ? undefined : encode(value);
            return {
                content: options.render === undefined ? [plain(structured !== null && structured !== void 0 ? structured : value)] : options.render(value),
                structured: structured
            };
        }
    });
};
exports.make = make;
/**
 * Makes a tool whose parameters are described by a JSON Schema of somebody else's (an MCP server, a configuration file).
 * Arguments reach the handler as they were validated; a schema that cannot be compiled is returned as the reason.
 *
 * @since 0.1.0
 * @category constructors
 */
var fromJsonSchema = function (name, options) {
    return Either.map(JsonSchema.validator(options.parameters), function (validate) {
        return assemble(name, options, {
            parameters: options.parameters,
            decode: function (args) { return Either.map(validate(args), function () { return args; }); },
            output: function (value) { return value; }
        });
    });
};
exports.fromJsonSchema = fromJsonSchema;
/**
 * The output of a tool that has only text to say.
 *
 * @since 0.1.0
 * @category constructors
 */
var textOutput = function (text) { return ({ content: [Content.text(text)], structured: undefined }); };
exports.textOutput = textOutput;
/**
 * The risk of a tool about which nothing else is known.
 *
 * @since 0.1.0
 * @category combinators
 */
var riskOf = function (safety) { return riskBySafety[safety]; };
exports.riskOf = riskOf;
var riskBySafety = { "read-only": "low", "side-effect": "medium", privileged: "high" };
var trustBySafety = { "read-only": "read_only", "side-effect": "workspace", privileged: "shell" };
var approvalBySafety = {
    "read-only": "never",
    "side-effect": "by-policy",
    privileged: "unless-allowed"
};
var assemble = function (name, options, codec) {
    var _a, _b, _c, _d, _e, _f, _g;
    var safety = (_a = options.safety) !== null && _a !== void 0 ? _a : "side-effect";
    return {
        definition: { name: name, description: options.description, parameters: codec.parameters },
        aliases: (_b = options.aliases) !== null && _b !== void 0 ? _b : [],
        safety: safety,
        trust: (_c = options.trust) !== null && _c !== void 0 ? _c : trustBySafety[safety],
        idempotent: (_d = options.idempotent) !== null && _d !== void 0 ? _d : safety === "read-only",
        polls: (_e = options.polls) !== null && _e !== void 0 ? _e : false,
        outputCut: (_f = options.outputCut) !== null && _f !== void 0 ? _f : "head",
        verbatim: (_g = options.verbatim) !== null && _g !== void 0 ? _g : false,
        prepare: function (raw) { return Either.map(codec.decode(raw), function (args) { return prepared(name, safety, options, codec, raw, args); }); }
    };
};
var prepared = function (name, safety, options, codec, raw, args) {
    var _a, _b, _c, _d, _e, _f, _g, _h, _j, _k;
    var paths = (_b = (_a = options.paths) === null || _a === void 0 ? void 0 : _a.call(options, args)) !== null && _b !== void 0 ? _b : [];
    var timeout = typeof options.timeout === "function" ? options.timeout(args) : options.timeout;
    return {
        paths: paths,
        summary: (_d = (_c = options.summary) === null || _c === void 0 ? void 0 : _c.call(options, args)) !== null && _d !== void 0 ? _d : "".concat(name, " ").concat(JSON.stringify(raw)),
        detail: (_f = (_e = options.detail) === null || _e === void 0 ? void 0 : _e.call(options, args)) !== null && _f !== void 0 ? _f : JSON.stringify(raw, null, 2),
        timeout: timeout === undefined ? undefined : Duration.decode(timeout),
        assess: (_h = (_g = options.assess) === null || _g === void 0 ? void 0 : _g.call(options, args)) !== null && _h !== void 0 ? _h : Effect.succeed({
            risk: (0, exports.riskOf)(safety),
            approval: approvalBySafety[safety],
            warnings: []
        }),
        preview: (_k = (_j = options.preview) === null || _j === void 0 ? void 0 : _j.call(options, args)) !== null && _k !== void 0 ? _k : Effect.succeed(undefined),
        allowedBy: function (pattern) { var _a, _b; return (_b = (_a = options.allowedBy) === null || _a === void 0 ? void 0 : _a.call(options, args, pattern)) !== null && _b !== void 0 ? _b : (paths.length > 0 && paths.every(function (use) { return Glob.matches(pattern, use.path); })); },
        run: function (call) {
            return options.handler(args, call).pipe(Effect.mapBoth({ onFailure: function (error) { return toFailure(name, error); }, onSuccess: codec.output }));
        },
        reconcile: function (call) {
            return options.reconcile === undefined
                ? Effect.succeed(undefined)
                : Effect.map(options.reconcile(args, call), function (value) { return value === undefined ? undefined : codec.output(value); });
        }
    };
};
var toFailure = function (tool, error) {
    if (ToolFailure.is(error))
        return error;
    var message = Predicate.hasProperty(error, "message") ? String(error.message) : String(error);
    return ToolFailure.execution(ToolFailure.isJsonObject(message) ? message : "".concat(tool, " failed: ").concat(message));
};
var plain = function (value) { var _a; return Content.text(typeof value === "string" ? value : (_a = JSON.stringify(value)) !== null && _a !== void 0 ? _a : ""); };
var findings = function (error, args) {
    return ParseResult.ArrayFormatter.formatErrorSync(error).map(function (_a) {
        var _b;
        var _tag = _a._tag, message = _a.message, path = _a.path;
        var name = path.map(String).join(".");
        return {
            path: name,
            expected: _tag === "Missing" ? "a value" : _tag === "Unexpected" ? "no such parameter" : (_b = message.split(", actual ")[0]) !== null && _b !== void 0 ? _b : message,
            received: JsonSchema.describe(path.reduce(function (value, key) { return Predicate.hasProperty(value, key) ? value[key] : undefined; }, args)),
            fix: _tag === "Missing"
                ? "Add \"".concat(name, "\".")
                : _tag === "Unexpected"
                    ? "Take \"".concat(name, "\" out.")
                    : "Send \"".concat(name, "\" as its description says.")
        };
    });
};
