/**
 * How models speak tools: native, in prose, or wrapped in someone else's format.
 *
 * @since 0.1.0
 */
export * as JsonArguments from "./JsonArguments.js"
export * as Normaliser from "./Normaliser.js"
export * as TextCall from "./TextCall.js"
export * as TextStream from "./TextStream.js"
export * as ToolNames from "./ToolNames.js"
