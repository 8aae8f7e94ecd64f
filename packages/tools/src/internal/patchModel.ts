/** What an LP1 patch is, and what can be wrong with it. */
import * as Schema from "effect/Schema"

/**
 * What is done to a file, with the 1-based line of the patch that says so. `match` is found as whole lines; `nth` says
 * which of several matches is meant, undefined that there must be one only. Lines are without their ends.
 *
 * @since 0.1.0
 * @category models
 */
export type Operation =
  | {
    readonly _tag: "Replace" | "InsertAfter" | "InsertBefore"
    readonly line: number
    readonly nth: number | undefined
    readonly match: ReadonlyArray<string>
    readonly text: ReadonlyArray<string>
  }
  | {
    readonly _tag: "Delete"
    readonly line: number
    readonly nth: number | undefined
    readonly match: ReadonlyArray<string>
  }
  | { readonly _tag: "Append" | "Prepend"; readonly line: number; readonly text: ReadonlyArray<string> }
  | { readonly _tag: "FinalNewline"; readonly line: number; readonly present: boolean }

/**
 * What is done to one file, in this order. `line` is where the patch names it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Section {
  readonly path: string
  readonly line: number
  readonly operations: ReadonlyArray<Operation>
}

/**
 * A patch that was read.
 *
 * @since 0.1.0
 * @category models
 */
export interface Patch {
  readonly sections: ReadonlyArray<Section>
}

/**
 * What a patch makes of one text. `before` is undefined for a file that the patch creates. `touched` are the lines (1-based,
 * of `before`) that were matched or that something was put beside; `origins` has for each line of `after` the line of
 * `before` that it is, 0 for a new one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Change {
  readonly path: string
  readonly before: string | undefined
  readonly after: string
  readonly touched: ReadonlyArray<number>
  readonly origins: ReadonlyArray<number>
}

/**
 * A patch that cannot be read (`syntax`), or cannot be applied: its match is not there, or more than once, the file does
 * not exist, has line ends that cannot be kept, stands in it twice, or the search would take too long. `line` is the line
 * of the patch, 1-based; `fix` says what to do.
 *
 * @since 0.1.0
 * @category errors
 */
export class PatchError extends Schema.TaggedError<PatchError>("@capstan/tools/PatchError")("PatchError", {
  reason: Schema.Literal(
    "syntax",
    "not-found",
    "ambiguous",
    "missing-file",
    "line-ends",
    "same-file",
    "too-large"
  ),
  line: Schema.Number,
  message: Schema.String,
  fix: Schema.String
}) {}

/** The letter that stands for each operation. */
export const letters = {
  Replace: "R",
  InsertAfter: "I",
  InsertBefore: "P",
  Delete: "E",
  Append: "T",
  Prepend: "B",
  FinalNewline: "N"
} as const satisfies Record<Operation["_tag"], string>

/** The error of an operation that cannot be done. */
export const failed = (
  reason: PatchError["reason"],
  line: number,
  what: string,
  fix: string
) => new PatchError({ reason, line, message: `Line ${line} of the patch: ${what} Nothing was changed.`, fix })
