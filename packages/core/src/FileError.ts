/**
 * What can go wrong with a file of the sandbox, as one error class whose `reason` a caller can switch on.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Why a file operation failed. `outside`, `denied`, `read-only` and `bad-path` are refusals of the sandbox, `bad-pattern`
 * is an expression or glob that cannot be read; the rest is what the file system said.
 *
 * @since 0.1.0
 * @category models
 */
export const FileErrorReason = Schema.Literal(
  "bad-path",
  "bad-pattern",
  "outside",
  "denied",
  "read-only",
  "not-found",
  "exists",
  "not-a-file",
  "not-a-directory",
  "not-empty",
  "permission",
  "too-large",
  "changed",
  "no-space",
  "quota",
  "io"
)

/**
 * Why a file operation failed.
 *
 * @since 0.1.0
 * @category models
 */
export type FileErrorReason = typeof FileErrorReason.Type

/**
 * A file operation of the sandbox that was refused or failed. `path` is what was asked for, `resolved` where it led to
 * (if that is known), `pattern` the deny pattern that matched. Nothing was changed on disk when this is returned.
 *
 * @since 0.1.0
 * @category errors
 */
export class FileError extends Schema.TaggedError<FileError>("@capstan/core/FileError")("FileError", {
  reason: FileErrorReason,
  path: Schema.String,
  resolved: Schema.optionalWith(Schema.String, { exact: true }),
  pattern: Schema.optionalWith(Schema.String, { exact: true }),
  message: Schema.String,
  cause: Schema.optionalWith(Schema.Defect, { exact: true })
}) {}
