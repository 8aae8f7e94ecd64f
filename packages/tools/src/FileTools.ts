/**
 * The tools for files. A further one is one file and one line here.
 *
 * @since 0.1.0
 */
import type { Sandbox } from "@capstan/core/Sandbox"
import type { Tool } from "@capstan/core/Tool"
import * as ApplyPatch from "./ApplyPatch.js"
import * as CopyFile from "./CopyFile.js"
import * as DeleteFile from "./DeleteFile.js"
import * as EditFile from "./EditFile.js"
import * as FileInfo from "./FileInfo.js"
import * as GlobFiles from "./GlobFiles.js"
import * as ListDirectory from "./ListDirectory.js"
import * as MoveFile from "./MoveFile.js"
import * as ReadFile from "./ReadFile.js"
import * as SearchFiles from "./SearchFiles.js"
import * as VaultCopy from "./VaultCopy.js"
import * as WriteFile from "./WriteFile.js"

/**
 * All tools for files.
 *
 * @since 0.1.0
 * @category tools
 */
export const all: ReadonlyArray<Tool<Sandbox>> = [
  ReadFile.tool,
  WriteFile.tool,
  EditFile.tool,
  ApplyPatch.tool,
  ListDirectory.tool,
  SearchFiles.tool,
  GlobFiles.tool,
  FileInfo.tool,
  CopyFile.tool,
  MoveFile.tool,
  DeleteFile.tool,
  VaultCopy.tool
]
