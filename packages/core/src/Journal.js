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
exports.layerMemory = exports.titleOf = exports.Journal = exports.LeaseError = exports.JournalError = void 0;
/**
 * The durable, append-only record of what happened, one log per session. Implemented in memory here and in SQL by
 * `@capstan/sql`.
 *
 * A session is written by one owner at a time. {@link Journal} `open` takes the session over if its last owner is dead and
 * refuses otherwise; every append checks that nobody has taken over since.
 *
 * @since 0.1.0
 */
var Clock = require("effect/Clock");
var Context = require("effect/Context");
var Effect = require("effect/Effect");
var Layer = require("effect/Layer");
var Schema = require("effect/Schema");
/**
 * The store did not take or give what it was asked for. `closed`: an earlier append failed and nothing more is written to
 * this session; `newer`: it was written by a newer version and is left alone; `busy`: another program held the lock for
 * longer than the wait allows.
 *
 * @since 0.1.0
 * @category errors
 */
var JournalError = /** @class */ (function (_super) {
    __extends(JournalError, _super);
    function JournalError() {
        return _super !== null && _super.apply(this, arguments) || this;
    }
    return JournalError;
}(Schema.TaggedError("@capstan/core/JournalError")("JournalError", {
    reason: Schema.Literal("unavailable", "busy", "full", "corrupt", "newer", "closed", "not-found", "io"),
    message: Schema.String,
    cause: Schema.optionalWith(Schema.Defect, { exact: true })
})));
exports.JournalError = JournalError;
/**
 * Another owner has the session, or has taken it over in the meantime (`lost`).
 *
 * @since 0.1.0
 * @category errors
 */
var LeaseError = /** @class */ (function (_super) {
    __extends(LeaseError, _super);
    function LeaseError() {
        return _super !== null && _super.apply(this, arguments) || this;
    }
    return LeaseError;
}(Schema.TaggedError("@capstan/core/LeaseError")("LeaseError", {
    reason: Schema.Literal("held", "lost"),
    session: Schema.String,
    owner: Schema.String,
    message: Schema.String
})));
exports.LeaseError = LeaseError;
/**
 * The durable record of what happened.
 *
 * @since 0.1.0
 * @category services
 */
var Journal = /** @class */ (function (_super) {
    __extends(Journal, _super);
    function Journal() {
        return _super !== null && _super.apply(this, arguments) || this;
    }
    return Journal;
}(Context.Tag("@capstan/core/Journal")()));
exports.Journal = Journal;
/**
 * The beginning of a message, for listings: one line of at most 80 characters.
 *
 * @since 0.1.0
 * @category combinators
 */
var titleOf = function (records) {
    for (var _i = 0, records_1 = records; _i < records_1.length; _i++) {
        var record = records_1[_i];
        if (record._tag !== "TurnStarted")
            continue;
        var text = record.content.flatMap(function (part) { return part.type === "text" ? [part.text] : []; }).join(" ");
        var line = text.replace(/\s+/g, " ").trim();
        return line.length <= 80 ? line : "".concat(__spreadArray([], line, true).slice(0, 79).join(""), "\u2026");
    }
    return undefined;
};
exports.titleOf = titleOf;
/**
 * A journal that lives as long as the layer: for tests and for runs that nobody will ask about. Its fingerprints are the
 * texts themselves, since they never leave the process.
 *
 * @since 0.1.0
 * @category layers
 */
exports.layerMemory = Layer.sync(Journal, function () {
    var sessions = new Map();
    var acquire = function (id, project) {
        return Effect.flatMap(Clock.currentTimeMillis, function (now) {
            var _a;
            var session = (_a = sessions.get(id)) !== null && _a !== void 0 ? _a : { info: { project: project, created: now }, rows: [], held: false };
            sessions.set(id, session);
            if (session.held) {
                return new LeaseError({
                    reason: "held",
                    session: id,
                    owner: "this process",
                    message: "Session ".concat(id, " is running already. Wait for it, or use another session.")
                });
            }
            session.held = true;
            return Effect.succeed(session);
        });
    };
    var write = function (session) { return function (records) {
        return Effect.map(Clock.currentTimeMillis, function (at) {
            for (var _i = 0, records_2 = records; _i < records_2.length; _i++) {
                var record = records_2[_i];
                session.rows.push({ seq: session.rows.length + 1, at: at, record: record });
            }
        });
    }; };
    return {
        open: function (_a) {
            var project = _a.project, id = _a.session;
            return Effect.map(Effect.acquireRelease(acquire(id, project), function (session) {
                return Effect.sync(function () {
                    session.held = false;
                });
            }), function (session) { return ({
                id: id,
                epoch: 1,
                rows: function (_a) {
                    var after = _a.after;
                    return Effect.sync(function () { return session.rows.slice(after); });
                },
                append: write(session),
                commit: write(session)
            }); });
        },
        read: function (_a) {
            var id = _a.session;
            var session = sessions.get(id);
            return session === undefined
                ? new JournalError({ reason: "not-found", message: "There is no session ".concat(id, ".") })
                : Effect.sync(function () { return session.rows.slice(); });
        },
        sessions: function (_a) {
            var project = _a.project;
            return Effect.sync(function () {
                return __spreadArray([], sessions, true).filter(function (_a) {
                    var session = _a[1];
                    return project === undefined || session.info.project === project;
                })
                    .map(function (_a) {
                    var _b, _c, _d;
                    var id = _a[0], session = _a[1];
                    return ({
                        id: id,
                        project: session.info.project,
                        title: (_b = (0, exports.titleOf)(session.rows.map(function (row) { return row.record; }))) !== null && _b !== void 0 ? _b : "",
                        created: session.info.created,
                        updated: (_d = (_c = session.rows.at(-1)) === null || _c === void 0 ? void 0 : _c.at) !== null && _d !== void 0 ? _d : session.info.created,
                        records: session.rows.length
                    });
                })
                    .sort(function (a, b) { return b.updated - a.updated; });
            });
        },
        fingerprint: function (text) { return text; }
    };
});
