/**
 * The built-in tools of Capstan.
 *
 * @since 0.1.0
 */
export * as ApplyPatch from "./ApplyPatch.js"
export * as CommandPolicy from "./CommandPolicy.js"
export * as CommandTools from "./CommandTools.js"
export * as CopyFile from "./CopyFile.js"
export * as DeleteFile from "./DeleteFile.js"
export * as EditFile from "./EditFile.js"
export * as FileInfo from "./FileInfo.js"
export * as FileTools from "./FileTools.js"
export * as GlobFiles from "./GlobFiles.js"
export * as LinePatch from "./LinePatch.js"
export * as ListDirectory from "./ListDirectory.js"
export * as MoveFile from "./MoveFile.js"
export * as ReadFile from "./ReadFile.js"
export * as RunCommand from "./RunCommand.js"
export * as SearchFiles from "./SearchFiles.js"
export * as ShellSession from "./ShellSession.js"
export * as VaultCopy from "./VaultCopy.js"
export * as WriteFile from "./WriteFile.js"
