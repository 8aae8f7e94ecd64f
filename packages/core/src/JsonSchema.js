"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.describe = exports.validator = void 0;
/**
 * JSON Schema (2020-12) as data, and checking values against one that somebody else wrote.
 *
 * @since 0.1.0
 */
var _2020_js_1 = require("ajv/dist/2020.js");
var Either = require("effect/Either");
/**
 * Compiles a schema into a check that gives the value back or lists what is wrong with it. A schema that cannot be compiled
 * is returned as the reason.
 *
 * @since 0.1.0
 * @category constructors
 */
var validator = function (schema) {
    return Either.try({
        try: function () {
            var validate = new _2020_js_1.Ajv2020({ allErrors: true, strict: false, verbose: true }).compile(schema);
            return function (value) { var _a; return validate(value) ? Either.right(value) : Either.left(((_a = validate.errors) !== null && _a !== void 0 ? _a : []).map(toFinding)); };
        },
        catch: function (error) { return error instanceof Error ? error.message : String(error); }
    });
};
exports.validator = validator;
var toFinding = function (error) {
    var _a;
    return ({
        path: error.instancePath === "" ? "" : error.instancePath.slice(1).replaceAll("/", "."),
        expected: (_a = error.message) !== null && _a !== void 0 ? _a : error.keyword,
        received: (0, exports.describe)(error.data),
        fix: fixOf(error)
    });
};
var fixOf = function (error) {
    var _a;
    switch (error.keyword) {
        case "required":
            return "Add the property \"".concat(String(error.params["missingProperty"]), "\".");
        case "additionalProperties":
            return "Take out the property \"".concat(String(error.params["additionalProperty"]), "\".");
        case "enum":
            return "Use one of ".concat(JSON.stringify(error.params["allowedValues"]), ".");
        default:
            return "Send a value that ".concat((_a = error.message) !== null && _a !== void 0 ? _a : "fits the schema", ".");
    }
};
/**
 * A value in at most 80 characters, for a finding.
 *
 * @since 0.1.0
 * @category combinators
 */
var describe = function (value) {
    var _a;
    var text = (_a = JSON.stringify(value)) !== null && _a !== void 0 ? _a : "nothing";
    return text.length <= 80 ? text : "".concat(text.slice(0, 77), "...");
};
exports.describe = describe;
