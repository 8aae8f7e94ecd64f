/**
 * Journal, audit and memory of Capstan on an SQL client, SQLite by default.
 *
 * @since 0.1.0
 */
export * as HashChain from "./HashChain.js"
export * as LeaseOwner from "./LeaseOwner.js"
export * as SqlApprovalStore from "./SqlApprovalStore.js"
export * as SqliteFile from "./SqliteFile.js"
export * as SqlJournal from "./SqlJournal.js"
