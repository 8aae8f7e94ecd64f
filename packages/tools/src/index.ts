/**
 * The built-in tools of Capstan.
 *
 * @since 0.1.0
 */
export * as CommandPolicy from "./CommandPolicy.js"
export * as CommandTools from "./CommandTools.js"
export * as EditFile from "./EditFile.js"
export * as FileTools from "./FileTools.js"
export * as LinePatch from "./LinePatch.js"
export * as ListDirectory from "./ListDirectory.js"
export * as ReadFile from "./ReadFile.js"
export * as RunCommand from "./RunCommand.js"
export * as SearchFiles from "./SearchFiles.js"
export * as ShellSession from "./ShellSession.js"
export * as WriteFile from "./WriteFile.js"
