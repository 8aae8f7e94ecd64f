/**
 * LP1, the line-oriented language of patches: reading, printing, and applying to texts. Knows nothing of disks. Pure.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as LineText from "./internal/lineText.js"
import { applySection } from "./internal/patchApplying.js"
import {
  type Change,
  failed,
  letters,
  type Operation,
  type Patch,
  PatchError,
  type Section
} from "./internal/patchModel.js"
import * as PatchText from "./internal/patchText.js"

export { type Change, type Operation, type Patch, PatchError, type Section } from "./internal/patchModel.js"

/** A patch being read: its lines, and the index of the next one. */
interface Reader {
  readonly lines: ReadonlyArray<string>
  next: number
}

const syntax = (line: number, what: string, fix: string) =>
  Either.left(new PatchError({ reason: "syntax", line, message: `Line ${line} of the patch ${what}.`, fix }))

/** The next line that is neither blank nor a comment; its number is then that of `reader.next`. */
const significant = (reader: Reader): string | undefined => {
  while (reader.next < reader.lines.length) {
    const line = reader.lines[reader.next++]
    if (line !== undefined && !PatchText.isBlankOrComment(line)) return line
  }
  return undefined
}

const readBlock = (reader: Reader, operation: number): Either.Either<ReadonlyArray<string>, PatchError> => {
  const content: Array<string> = []
  const first = reader.next + 1
  while (reader.next < reader.lines.length) {
    const line = reader.lines[reader.next++] ?? ""
    const read = PatchText.blockLine(line)
    if (read._tag === "End") return Either.right(content)
    if (read._tag === "LoneDot") {
      return syntax(
        reader.next,
        `begins with a single dot inside a block: ${PatchText.shown(line)}`,
        `Where the file has a line that begins with a dot, write one more dot in front: ${
          PatchText.shown(`.${line}`)
        }. A block ends with a line that holds nothing but one dot.`
      )
    }
    content.push(read.line)
  }
  const swallowed = reader.lines.findIndex((line, at) => at >= first - 1 && /^(?:F .+|END)$/.test(line)) + 1
  return syntax(
    operation,
    `${PatchText.shown(reader.lines[operation - 1] ?? "")} opens a block in line ${first} that is never closed`
      + (swallowed > 0
        ? `; line ${swallowed}, ${PatchText.shown(reader.lines[swallowed - 1] ?? "")}, was read as content of it`
        : ""),
    "End every block with a line that holds nothing but one dot; R, I and P have two blocks, E, T and B have one."
  )
}

const readMatch = (reader: Reader, operation: number): Either.Either<ReadonlyArray<string>, PatchError> =>
  Either.flatMap(readBlock(reader, operation), (match) =>
    match.length > 0
      ? Either.right(match)
      : syntax(
        operation,
        `${PatchText.shown(reader.lines[operation - 1] ?? "")} has no lines in its match block`,
        "Put the lines of the file there that it is about. To add lines at the end of a file use T, at its beginning B."
      ))

const matching = {
  R: "Replace",
  I: "InsertAfter",
  P: "InsertBefore",
  E: "Delete"
} as const

const readOperation = (
  reader: Reader,
  written: string
): Either.Either<Operation, PatchError> | undefined => {
  const line = reader.next
  if (written === "N +" || written === "N -") {
    return Either.right({ _tag: "FinalNewline", line, present: written === "N +" })
  }
  if (written === "T" || written === "B") {
    return Either.map(readBlock(reader, line), (text) => ({ _tag: written === "T" ? "Append" : "Prepend", line, text }))
  }
  const [, letter, number] = /^([RIPE])(?: ([1-9][0-9]{0,14}))?$/.exec(written) ?? []
  if (letter !== "R" && letter !== "I" && letter !== "P" && letter !== "E") return undefined
  const nth = number === undefined ? undefined : Number(number)
  const _tag = matching[letter]
  return Either.flatMap(readMatch(reader, line), (match): Either.Either<Operation, PatchError> =>
    _tag === "Delete"
      ? Either.right({ _tag, line, nth, match })
      : Either.map(readBlock(reader, line), (text) => ({ _tag, line, nth, match, text })))
}

const unsuitable = /\r(?!\n)|\p{Surrogate}/u

/**
 * Reads a patch, in time that grows with its length. Lines may end in LF or CRLF.
 *
 * @since 0.1.0
 * @category constructors
 */
export const parse = (text: string): Either.Either<Patch, PatchError> =>
  Either.gen(function*() {
    const reader: Reader = { lines: PatchText.linesOf(text), next: 0 }
    const strange = unsuitable.exec(text)
    if (strange !== null) {
      const line = LineText.lineAt(text, strange.index)
      return yield* strange[0] === "\r"
        ? syntax(line, "has a carriage return that no line feed follows", "End lines with LF or CRLF.")
        : syntax(line, "is not valid Unicode text (a lone surrogate)", "Write the line again.")
    }
    const first = significant(reader)
    if (first === undefined || !/^[ \t]*LP1[ \t]*$/.test(first)) {
      return yield* syntax(
        Math.max(1, reader.next),
        first === undefined
          ? "should be \"LP1\", but the patch is empty"
          : `should be "LP1": ${PatchText.shown(first)}`,
        "Begin the patch with a line LP1, then F <path> and its operations; no code fence around it, and no format of diff."
      )
    }
    const sections: Array<Section & { readonly operations: Array<Operation> }> = []
    for (let line = significant(reader); line !== undefined; line = significant(reader)) {
      const at = reader.next
      if (/^[ \t]*END[ \t]*$/.test(line)) {
        const rest = significant(reader)
        if (rest === undefined) return { sections }
        return yield* syntax(
          reader.next,
          `stands after END: ${PatchText.shown(rest)}`,
          "END is the last line. Put what follows before it; END does not close blocks, a line with one dot does."
        )
      }
      const path = line.startsWith("F ") ? PatchText.readPath(line.slice(2)) : undefined
      if (path !== undefined) {
        sections.push({ path, line: at, operations: [] })
        continue
      }
      const operation = readOperation(reader, line)
      if (operation === undefined) {
        const { fix, what } = PatchText.misread(line)
        return yield* syntax(at, what, fix)
      }
      const section = sections.at(-1)
      if (section === undefined) {
        return yield* syntax(
          at,
          `is an operation before any file is named: ${PatchText.shown(line)}`,
          "Put F <path> before it."
        )
      }
      section.operations.push(yield* operation)
    }
    return yield* syntax(
      Math.max(1, reader.lines.length),
      "is the last one, and there is no END",
      "End the patch with a line END. If it was cut off, send fewer changes in one patch."
    )
  })

const printOperation = (operation: Operation): ReadonlyArray<string> => {
  const letter = letters[operation._tag]
  switch (operation._tag) {
    case "FinalNewline":
      return [`${letter} ${operation.present ? "+" : "-"}`]
    case "Append":
    case "Prepend":
      return [letter, ...PatchText.block(operation.text)]
    default:
      return [
        operation.nth === undefined ? letter : `${letter} ${operation.nth}`,
        ...PatchText.block(operation.match),
        ...(operation._tag === "Delete" ? [] : PatchText.block(operation.text))
      ]
  }
}

/**
 * A patch as text that {@link parse} reads as the same patch; its `line`s are not looked at.
 *
 * @since 0.1.0
 * @category combinators
 */
export const print = ({ sections }: Patch): string =>
  [
    "LP1",
    ...sections.flatMap(({ operations, path }) => [
      `F ${PatchText.writePath(path)}`,
      ...operations.flatMap(printOperation)
    ]),
    "END",
    ""
  ].join("\n")

/**
 * The error for the first file that a patch names a second time; `identify` says which paths are the same file.
 *
 * @since 0.1.0
 * @category combinators
 */
export const repeated = (patch: Patch, identify: (path: string) => string): PatchError | undefined => {
  const named = new Map<string, Section>()
  for (const section of patch.sections) {
    const file = identify(section.path)
    const before = named.get(file)
    if (before !== undefined) {
      return failed(
        "same-file",
        section.line,
        `F names ${section.path}, which is the file of line ${before.line} (${before.path}) again.`,
        "Put all operations on a file below one F, in their order."
      )
    }
    named.set(file, section)
  }
  return undefined
}

/**
 * Applies a patch to texts by path, of which a file that is not there does not exist. Gives the change of every file that
 * the patch names, also where a text stays as it is; nothing at all where one operation fails.
 *
 * @since 0.1.0
 * @category combinators
 */
export const apply = (
  patch: Patch,
  texts: ReadonlyMap<string, string>
): Either.Either<ReadonlyArray<Change>, PatchError> => {
  const twice = repeated(patch, (path) => path)
  return twice === undefined
    ? Either.map(
      Either.all(patch.sections.map((section) => applySection(section, texts.get(section.path)))),
      (changes) => changes.flatMap((change) => change ?? [])
    )
    : Either.left(twice)
}
