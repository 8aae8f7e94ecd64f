"use strict";
var __assign = (this && this.__assign) || function () {
    __assign = Object.assign || function(t) {
        for (var s, i = 1, n = arguments.length; i < n; i++) {
            s = arguments[i];
            for (var p in s) if (Object.prototype.hasOwnProperty.call(s, p))
                t[p] = s[p];
        }
        return t;
    };
    return __assign.apply(this, arguments);
};
var __rest = (this && this.__rest) || function (s, e) {
    var t = {};
    for (var p in s) if (Object.prototype.hasOwnProperty.call(s, p) && e.indexOf(p) < 0)
        t[p] = s[p];
    if (s != null && typeof Object.getOwnPropertySymbols === "function")
        for (var i = 0, p = Object.getOwnPropertySymbols(s); i < p.length; i++) {
            if (e.indexOf(p[i]) < 0 && Object.prototype.propertyIsEnumerable.call(s, p[i]))
                t[p[i]] = s[p[i]];
        }
    return t;
};
var __spreadArray = (this && this.__spreadArray) || function (to, from, pack) {
    if (pack || arguments.length === 2) for (var i = 0, l = from.length, ar; i < l; i++) {
        if (ar || !(i in from)) {
            if (!ar) ar = Array.prototype.slice.call(from, 0, i);
            ar[i] = from[i];
        }
    }
    return to.concat(ar || Array.prototype.slice.call(from));
};
Object.defineProperty(exports, "__esModule", { value: true });
exports.clean = exports.fromSchema = void 0;
/**
 * The parameters of a tool as a JSON Schema that is short and free of references, made from an Effect Schema or from a schema that somebody else wrote.
 *
 * @since 0.1.0
 */
var JSONSchema = require("effect/JSONSchema");
var Predicate = require("effect/Predicate");
var mapsOfSchemas = ["properties", "patternProperties", "dependentSchemas"];
var schemas = ["items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains", "propertyNames", "not", "if", "then", "else"];
var listsOfSchemas = ["anyOf", "oneOf", "allOf", "prefixItems"];
var noise = ["$schema", "$id", "$comment", "title", "$defs", "definitions"];
/** References are inlined until a schema has grown to this many nodes; what is left keeps them. */
var maxNodes = 2000;
var isSchema = function (value) { return Predicate.isRecord(value) && !Array.isArray(value); };
/**
 * The JSON Schema (2020-12) of what a model has to write for `schema`: its encoded side, closed objects, references inlined, without titles and ids. A recursive type stays a reference into `$defs`.
 * The result is always of type `object`.
 *
 * @since 0.1.0
 * @category constructors
 */
var fromSchema = function (schema) { return (0, exports.clean)(__assign({}, JSONSchema.make(schema))); };
exports.fromSchema = fromSchema;
/**
 * The same schema with local references inlined and without titles, ids and comments. Types that contain themselves stay references into `$defs`; references that cannot be resolved stay as they are.
 *
 * @since 0.1.0
 * @category combinators
 */
var clean = function (schema) {
    var definitions = definitionsOf(schema);
    var recursive = recursiveNames(definitions);
    var used = new Set();
    var nodes = 0;
    var visit = function (node) {
        if (!isSchema(node))
            return node;
        nodes++;
        var reference = referenceOf(node);
        if (reference === undefined || definitions[reference] === undefined)
            return flatten(convert(node));
        var _ = node.$ref, siblings = __rest(node, ["$ref"]);
        if (recursive.has(reference) || nodes > maxNodes) {
            used.add(reference);
            return flatten(__assign(__assign({}, convert(siblings)), { $ref: "#/$defs/".concat(escapePointer(reference)) }));
        }
        var target = visit(definitions[reference]);
        return flatten(isSchema(target) ? __assign(__assign({}, target), convert(siblings)) : convert(siblings));
    };
    var convert = function (node) {
        var result = {};
        for (var _i = 0, _a = Object.entries(tuple(node)); _i < _a.length; _i++) {
            var _b = _a[_i], key = _b[0], value = _b[1];
            if (noise.includes(key) || isNoise(key, value))
                continue;
            if (mapsOfSchemas.includes(key) && isSchema(value)) {
                result[key] = Object.fromEntries(Object.entries(value).map(function (_a) {
                    var name = _a[0], member = _a[1];
                    return [name, visit(member)];
                }));
            }
            else if (schemas.includes(key)) {
                result[key] = visit(value);
            }
            else if (listsOfSchemas.includes(key) && Array.isArray(value)) {
                result[key] = value.map(visit);
            }
            else {
                result[key] = value;
            }
        }
        return result;
    };
    var rootReference = referenceOf(schema);
    var rootTarget = rootReference === undefined ? undefined : definitions[rootReference];
    var root = isSchema(rootTarget) ? flatten(convert(rootTarget)) : visit(schema);
    var kept = {};
    for (var _i = 0, used_1 = used; _i < used_1.length; _i++) {
        var name_1 = used_1[_i];
        var target = definitions[name_1];
        kept[name_1] = isSchema(target) ? flatten(convert(target)) : target;
    }
    var object = asObject(isSchema(root) ? root : {});
    return used.size === 0 ? object : __assign(__assign({}, object), { $defs: kept });
};
exports.clean = clean;
var definitionsOf = function (schema) { return (__assign(__assign({}, (isSchema(schema["definitions"]) ? schema["definitions"] : {})), (isSchema(schema["$defs"]) ? schema["$defs"] : {}))); };
var escapePointer = function (name) { return name.replaceAll("~", "~0").replaceAll("/", "~1"); };
var referenceOf = function (node) {
    var _a;
    if (!isSchema(node) || typeof node["$ref"] !== "string")
        return undefined;
    var name = (_a = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(node["$ref"])) === null || _a === void 0 ? void 0 : _a[1];
    return name === null || name === void 0 ? void 0 : name.replaceAll("~1", "/").replaceAll("~0", "~");
};
var references = function (node, found) {
    if (found === void 0) { found = new Set(); }
    var reference = referenceOf(node);
    if (reference !== undefined)
        found.add(reference);
    if (Array.isArray(node))
        node.forEach(function (member) { return references(member, found); });
    else if (isSchema(node))
        Object.values(node).forEach(function (member) { return references(member, found); });
    return found;
};
var recursiveNames = function (definitions) {
    var direct = new Map(Object.entries(definitions).map(function (_a) {
        var name = _a[0], node = _a[1];
        return [name, references(node)];
    }));
    var reaches = function (start) {
        var _a, _b;
        var seen = new Set();
        var open = __spreadArray([], ((_a = direct.get(start)) !== null && _a !== void 0 ? _a : []), true);
        for (var next = open.pop(); next !== undefined; next = open.pop()) {
            if (next === start)
                return true;
            if (seen.has(next))
                continue;
            seen.add(next);
            open.push.apply(open, ((_b = direct.get(next)) !== null && _b !== void 0 ? _b : []));
        }
        return false;
    };
    return new Set(__spreadArray([], direct.keys(), true).filter(reaches));
};
var flatten = function (node) {
    var parts = node["allOf"];
    if (!Array.isArray(parts) || !parts.every(isSchema))
        return node;
    var _ = node.allOf, rest = __rest(node, ["allOf"]);
    var merged = {};
    for (var _i = 0, parts_1 = parts; _i < parts_1.length; _i++) {
        var part = parts_1[_i];
        for (var _a = 0, _b = Object.entries(part); _a < _b.length; _a++) {
            var _c = _b[_a], key = _c[0], value = _c[1];
            if (key in merged && JSON.stringify(merged[key]) !== JSON.stringify(value))
                return node;
            merged[key] = value;
        }
    }
    return __assign(__assign({}, merged), rest);
};
var tuple = function (node) {
    if (!Array.isArray(node["items"]))
        return node;
    var additionalItems = node.additionalItems, items = node.items, rest = __rest(node, ["additionalItems", "items"]);
    return __assign(__assign(__assign({}, rest), { prefixItems: items }), (additionalItems === undefined ? {} : { items: additionalItems }));
};
var builtInDescription = /^(an integer|a non empty string|a (positive|negative|non-negative|non-positive) number|a number (between|greater than|less than) [^.]{0,60})$/;
var isNoise = function (key, value) {
    return (key === "description" && typeof value === "string" && builtInDescription.test(value)) ||
        (key === "required" && Array.isArray(value) && value.length === 0);
};
var asObject = function (root) {
    var _a;
    if (root["type"] === "object")
        return isSchema(root["properties"]) || root["additionalProperties"] !== undefined ? root : __assign(__assign({}, root), { properties: {} });
    var alternatives = (_a = root["anyOf"]) !== null && _a !== void 0 ? _a : root["oneOf"];
    var onlyObjects = Array.isArray(alternatives) && alternatives.every(function (part) { return isSchema(part) && isSchema(part["properties"]); });
    if (onlyObjects)
        return __assign({ type: "object" }, root);
    return isSchema(root["properties"]) || "$ref" in root
        ? __assign({ type: "object" }, root) : { type: "object", properties: {}, additionalProperties: false };
};
