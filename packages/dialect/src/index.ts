/**
 * How models speak tools: native, in prose, or wrapped in someone else's format.
 *
 * @since 0.1.0
 */
export * as Dialect from "./Dialect.js"
export * as Emulation from "./Emulation.js"
export * as JsonArguments from "./JsonArguments.js"
export * as ModelCapability from "./ModelCapability.js"
export * as ModelId from "./ModelId.js"
export * as Normaliser from "./Normaliser.js"
export * as TextCall from "./TextCall.js"
export * as TextStream from "./TextStream.js"
export * as ToolDescription from "./ToolDescription.js"
export * as ToolNames from "./ToolNames.js"
export * as ToolSchema from "./ToolSchema.js"
