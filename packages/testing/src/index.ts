/**
 * Scripted models, a fake sandbox, crash points and conformance suites for Capstan.
 *
 * @since 0.1.0
 */
export * as CrashPoint from "./CrashPoint.js"
export * as FakeSandbox from "./FakeSandbox.js"
export * as HistoryValidator from "./HistoryValidator.js"
export * as JournalConformance from "./JournalConformance.js"
export * as ScriptedApproval from "./ScriptedApproval.js"
export * as ScriptedModel from "./ScriptedModel.js"
export * as TestLoop from "./TestLoop.js"
export * as WorkspaceConformance from "./WorkspaceConformance.js"
