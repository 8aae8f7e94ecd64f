/**
 * The tools for files. A further one is one file and one line here.
 *
 * @since 0.1.0
 */
import type { Sandbox } from "@capstan/core/Sandbox"
import type { Tool } from "@capstan/core/Tool"
import * as EditFile from "./EditFile.js"
import * as ListDirectory from "./ListDirectory.js"
import * as ReadFile from "./ReadFile.js"
import * as SearchFiles from "./SearchFiles.js"
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
  ListDirectory.tool,
  SearchFiles.tool
]
