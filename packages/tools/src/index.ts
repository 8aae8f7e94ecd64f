/**
 * The built-in tools of Capstan.
 *
 * @since 0.1.0
 */
export * as EditFile from "./EditFile.js"
export * as FileTools from "./FileTools.js"
export * as ListDirectory from "./ListDirectory.js"
export * as ReadFile from "./ReadFile.js"
export * as SearchFiles from "./SearchFiles.js"
export * as WriteFile from "./WriteFile.js"
