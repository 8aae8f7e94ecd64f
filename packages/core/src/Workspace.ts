/**
 * The files that tools may touch: named mounts, a path decision that can be asked without doing anything, and file
 * operations that cannot be led out of the mounts. Implemented by `@capstan/node` on the real machine and by
 * `@capstan/testing` in memory.
 *
 * Paths are what a model writes: relative to the working directory of the workspace, or absolute inside a mount.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { FileError, FileErrorReason } from "./FileError.js"

/**
 * What an operation wants to do with a path: `read` its bytes, `list` or stat it, `write` (create or replace) or
 * `delete` it, or `vault`: copy a file out of a read-only mount with somebody's leave. Deny patterns can differ by access:
 * `.git` may be read and not written; what may not be read may not be taken out of a vault.
 *
 * @since 0.1.0
 * @category models
 */
export type Access = "read" | "list" | "write" | "delete" | "vault"

/**
 * A class of tools that sees some mounts and not others: those for files, those that run commands, and the one that copies
 * out of read-only mounts.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolClass = "files" | "commands" | "vault"

/**
 * A root folder that tools may see. `root` is absolute; `access` is the most that is granted there, `seenBy` names the
 * classes of tools that see it (default: all).
 *
 * @since 0.1.0
 * @category models
 */
export interface Mount {
  readonly name: string
  readonly root: string
  readonly access: "ro" | "rw"
  readonly seenBy?: ReadonlyArray<ToolClass>
}

/**
 * Whether a class of tools sees a mount.
 *
 * @since 0.1.0
 * @category guards
 */
export const isSeenBy = (mount: Mount, tools: ToolClass): boolean => mount.seenBy?.includes(tools) ?? true

/**
 * Whether a path may be used, decided without touching it: `canonical` is absolute with links resolved (as far as the
 * path exists), `display` is the path as it should be shown (relative to the working directory where it lies below it).
 *
 * @since 0.1.0
 * @category models
 */
export type PathDecision =
  | {
    readonly _tag: "Allowed"
    readonly path: string
    readonly canonical: string
    readonly display: string
    readonly mount: Mount
  }
  | {
    readonly _tag: "Refused"
    readonly path: string
    readonly resolved: string | undefined
    readonly reason: FileErrorReason
    readonly pattern: string | undefined
    readonly message: string
  }

/**
 * The kind of a directory entry. Links are never followed to find it out.
 *
 * @since 0.1.0
 * @category models
 */
export type FileKind = "file" | "dir" | "symlink" | "other"

/**
 * What is known of a path without reading it. `size` in bytes, `modified` in milliseconds since the epoch, `mode` the
 * permission bits, `links` the number of hard links.
 *
 * @since 0.1.0
 * @category models
 */
export interface FileStat {
  readonly kind: FileKind
  readonly canonical: string
  readonly size: number
  readonly modified: number
  readonly mode: number
  readonly links: number
}

/**
 * Bytes of a regular file. `size` is the whole file's, `sha256` (hex) is of the whole file and null where only a part
 * was read (`bytes.length < size`).
 *
 * @since 0.1.0
 * @category models
 */
export interface FileBytes {
  readonly canonical: string
  readonly display: string
  readonly bytes: Uint8Array
  readonly size: number
  readonly modified: number
  readonly sha256: string | null
}

/**
 * An entry of one directory. `error` says why its metadata could not be read; the other fields are null then.
 *
 * @since 0.1.0
 * @category models
 */
export interface DirectoryEntry {
  readonly name: string
  readonly kind: FileKind | "unknown"
  readonly size: number | null
  readonly modified: number | null
  readonly error: {
    readonly code: "metadata_unavailable" | "permission_denied" | "io_error" | "unknown"
    readonly message: string
  } | null
}

/**
 * What a write did. `sha256` (hex) is of the new content.
 *
 * @since 0.1.0
 * @category models
 */
export interface FileWritten {
  readonly canonical: string
  readonly display: string
  readonly created: boolean
  readonly bytes: number
  readonly sha256: string
}

/**
 * A search over files: `pattern` is a regular expression (or the text itself with `literal`), `glob` limits the file
 * names, `limit` the number of matches returned after `offset`, `contextLines` the lines around each. Files above
 * `maxFileBytes` are skipped and counted.
 *
 * @since 0.1.0
 * @category models
 */
export interface SearchRequest {
  readonly path: string
  readonly pattern: string
  readonly literal: boolean
  readonly caseSensitive: boolean
  readonly glob: string | undefined
  readonly contextLines: number
  readonly limit: number
  readonly offset: number
  readonly maxFileBytes: number
}

/**
 * One line of a search result. `line` is 1-based; context lines have `match: false`.
 *
 * @since 0.1.0
 * @category models
 */
export interface SearchLine {
  readonly path: string
  readonly line: number
  readonly text: string
  readonly match: boolean
}

/**
 * What a search found. `total` counts matching lines over all files searched, `more` says that `limit` cut the list,
 * `skippedLarge` counts files above the size limit.
 *
 * @since 0.1.0
 * @category models
 */
export interface SearchResult {
  readonly lines: ReadonlyArray<SearchLine>
  readonly matches: number
  readonly total: number
  readonly files: number
  readonly more: boolean
  readonly skippedLarge: number
}

/**
 * One file of a {@link WriteAllRequest}: its whole new content. `expect` as in `write`.
 *
 * @since 0.1.0
 * @category models
 */
export interface FileContent {
  readonly path: string
  readonly content: Uint8Array
  readonly expect?: string
}

/**
 * Files to write together, all or none. `key` names the write for `settleWriteAll`: unique to it, any text.
 *
 * @since 0.1.0
 * @category models
 */
export interface WriteAllRequest {
  readonly key: string
  readonly files: ReadonlyArray<FileContent>
}

/**
 * What became of a `writeAll` that may have been cut off: `whole` if every file has its new content, `taken-back` if every
 * file is as it was before, `unknown` if nothing is known of it (it never began, or was too long ago).
 *
 * @since 0.1.0
 * @category models
 */
export type Settled = "whole" | "taken-back" | "unknown"

/**
 * Which files to list: those below the folder `path` whose path from there fits `glob` (undefined: all; `!` in front
 * excludes). Hidden files count with `includeHidden` or a glob that names something hidden. At most `limit` are returned.
 *
 * @since 0.1.0
 * @category models
 */
export interface FilesRequest {
  readonly path: string
  readonly glob: string | undefined
  readonly includeHidden: boolean
  readonly limit: number
}

/**
 * A regular file of a listing. `path` is the one to show, `size` in bytes, `modified` in milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface FoundFile {
  readonly path: string
  readonly size: number
  readonly modified: number
}

/**
 * Files that fit, newest first (same time: by path). `total` counts all of them, `more` says that `limit` cut the list.
 *
 * @since 0.1.0
 * @category models
 */
export interface FilesResult {
  readonly files: ReadonlyArray<FoundFile>
  readonly total: number
  readonly more: boolean
}

/**
 * The files that tools may touch. Every operation decides the path again and then acts in a way that a link swapped in
 * between cannot move; all fail with {@link FileError} and leave the disk as it was when they do.
 *
 * @since 0.1.0
 * @category services
 */
export class Workspace extends Context.Tag("@capstan/core/Workspace")<Workspace, {
  readonly mounts: ReadonlyArray<Mount>
  /** The absolute folder that relative paths start from. */
  readonly workingDirectory: string
  /** How strictly paths are held: by the kernel (`anchored`), or re-verified around each operation (`best-effort`). */
  readonly enforcement: "anchored" | "best-effort"
  readonly decide: (options: { readonly path: string; readonly access: Access }) => Effect.Effect<PathDecision>
  /** `vault: true` looks at a file that is only seen by copying it out of its mount. */
  readonly stat: (options: { readonly path: string; readonly vault?: boolean }) => Effect.Effect<FileStat, FileError>
  /** Reads a regular file. `offset` and `length` in bytes; FIFOs, sockets, devices and directories fail at once. */
  readonly read: (options: {
    readonly path: string
    readonly offset?: number
    readonly length?: number
  }) => Effect.Effect<FileBytes, FileError>
  /** SHA-256 (hex) of a regular file up to `maxBytes`; larger ones fail with `too-large`. */
  readonly sha256: (options: { readonly path: string; readonly maxBytes: number }) => Effect.Effect<string, FileError>
  /**
   * Replaces or creates a file atomically (temporary file beside it, fsync, rename, fsync of the directory). Parents are
   * created, the mode of an existing file is kept. `expect` is checked right before the rename: a SHA-256 (hex) that the
   * file must still have, or `"absent"`; otherwise `changed` or `exists`.
   */
  readonly write: (options: {
    readonly path: string
    readonly content: Uint8Array
    readonly expect?: string
  }) => Effect.Effect<FileWritten, FileError>
  /**
   * Writes several files, all or none: everything is decided and checked first, each content goes to a temporary file
   * beside its target, an undo record outside of the mounts is made durable, then the files are renamed. Where a step
   * fails the files are put back with their bytes, mode and time, created files and folders are gone, and the error says
   * so; after a crash `settleWriteAll` does the same.
   */
  readonly writeAll: (options: WriteAllRequest) => Effect.Effect<ReadonlyArray<FileWritten>, FileError>
  /**
   * Brings a `writeAll` that may have been cut off to an end: it is found whole, or taken back now. Fails with `changed`
   * where somebody else wrote one of its files since; nothing is touched then.
   */
  readonly settleWriteAll: (options: { readonly key: string }) => Effect.Effect<Settled, FileError>
  /**
   * Copies one regular file of up to 1 GiB, also between mounts; the target appears whole or not at all. Parents are
   * created; a new file gets the permission bits of the original, an existing one keeps its own. A link at either end is
   * refused (`not-a-file`): name what it leads to. `overwrite: false` fails with `exists`; `vault: true` takes the file out
   * of a read-only mount that {@link ToolClass} `vault` sees.
   */
  readonly copy: (options: {
    readonly from: string
    readonly to: string
    readonly overwrite: boolean
    readonly vault?: boolean
  }) => Effect.Effect<FileWritten, FileError>
  /** The entries of one directory by name in code unit order, denied ones left out; links are not followed. */
  readonly list: (options: { readonly path: string }) => Effect.Effect<ReadonlyArray<DirectoryEntry>, FileError>
  readonly makeDirectory: (options: { readonly path: string }) => Effect.Effect<void, FileError>
  /** Removes a file, a link (itself, never what it leads to), or a folder: an empty one, or with `recursive`. */
  readonly remove: (options: { readonly path: string; readonly recursive: boolean }) => Effect.Effect<void, FileError>
  /**
   * Renames a file, folder or link; a link is moved itself and may lead elsewhere then, one at `to` is replaced itself.
   * Between mounts or file systems one regular file is copied, then removed; folders and links are refused (`bad-path`).
   * `overwrite: false` fails with `exists`.
   */
  readonly move: (options: {
    readonly from: string
    readonly to: string
    readonly overwrite: boolean
  }) => Effect.Effect<void, FileError>
  /** Searches files below `path` (ignore files honoured, denied files never opened or named). */
  readonly search: (options: SearchRequest) => Effect.Effect<SearchResult, FileError>
  /** Regular files below a folder by glob (ignore files honoured, denied files left out, links not followed). */
  readonly files: (options: FilesRequest) => Effect.Effect<FilesResult, FileError>
}>() {}
