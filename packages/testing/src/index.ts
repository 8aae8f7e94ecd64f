/**
 * Scripted models, a fake sandbox, scripted approvals and crash points for Capstan. The conformance suites need vitest and
 * are imported by their own path: `@capstan/testing/ApprovalStoreConformance`, `@capstan/testing/JournalConformance`,
 * `@capstan/testing/OutputStoreConformance`, `@capstan/testing/WorkspaceConformance`.
 *
 * @since 0.1.0
 */
export * as CrashPoint from "./CrashPoint.js"
export * as FakeSandbox from "./FakeSandbox.js"
export * as HistoryValidator from "./HistoryValidator.js"
export * as JournalValidator from "./JournalValidator.js"
export * as PostgresServer from "./PostgresServer.js"
export * as ScriptedApproval from "./ScriptedApproval.js"
export * as ScriptedModel from "./ScriptedModel.js"
export * as TestLoop from "./TestLoop.js"
