/** The lines of a patch as they are written: the reader's place in them, blocks, and how a line is shown in an error. */
import * as Sanitiser from "@capstan/core/Sanitiser"

/** Of a line that is shown, this much. */
const shownCharacters = 100

/** A line as one may show it: quoted, nothing hidden, cut where it is long. */
export const shown = (line: string): string => {
  const cut = line.length > shownCharacters ? `${line.slice(0, shownCharacters)}...` : line
  return Sanitiser.escapeInvisible(JSON.stringify(cut))
}

/** The lines of a text without their ends, LF or CRLF; a line end at the end begins no new line. */
export const linesOf = (text: string): ReadonlyArray<string> => {
  const lines = text.split("\n").map((line) => line.endsWith("\r") ? line.slice(0, -1) : line)
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines
}

/** Whether a line stands for nothing where an operation could stand. */
export const isBlankOrComment = (line: string): boolean => /^[ \t]*(?:#|$)/.test(line)

/** A line of a block as content, its end, or neither. */
export type BlockLine =
  | { readonly _tag: "Content"; readonly line: string }
  | { readonly _tag: "End" }
  | { readonly _tag: "LoneDot" }

/** What a line means inside a block. */
export const blockLine = (line: string): BlockLine =>
  !line.startsWith(".")
    ? { _tag: "Content", line }
    : line.startsWith("..")
    ? { _tag: "Content", line: line.slice(1) }
    : /^\.[ \t]*$/.test(line)
    ? { _tag: "End" }
    : { _tag: "LoneDot" }

/** A block with the line that closes it. */
export const block = (lines: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...lines.map((line) => line.startsWith(".") ? `.${line}` : line),
  "."
]

/** A path as it stands after `F`: quoted where it has to be. */
export const writePath = (path: string): string => /^[^\s"]+$/.test(path) ? path : `"${path.replace(/["\\]/g, "\\$&")}"`

/** The path that stands after `F`, or undefined where none does. */
export const readPath = (written: string): string | undefined => {
  if (!written.startsWith("\"")) return /^[^\s"]+$/.test(written) ? written : undefined
  const pieces: Array<string> = []
  let from = 1
  for (let at = 1; at < written.length; at++) {
    if (written[at] === "\"") {
      const path = pieces.join("") + written.slice(from, at)
      return at === written.length - 1 && path !== "" ? path : undefined
    }
    if (written[at] !== "\\") continue
    const escaped = written[at + 1]
    if (escaped !== "\"" && escaped !== "\\") return undefined
    pieces.push(written.slice(from, at))
    from = at + 1
    at++
  }
  return undefined
}

/** What is wrong with a line outside of blocks that is no operation, and what to do. */
export const misread = (line: string): { readonly what: string; readonly fix: string } => {
  const what = `is not an operation: ${shown(line)}`
  const trimmed = line.trim()
  if (trimmed !== line && /^(?:[RIPETBN]\b|F .|\.)/.test(trimmed)) {
    return { what, fix: "Write it without blanks before and after it." }
  }
  if (line.startsWith(".")) {
    return {
      what: `holds a dot where no block is open: ${shown(line)}`,
      fix: "R, I and P have two blocks, E, T and B have one, each closed by a line with one dot."
    }
  }
  switch (/^[A-Z]\b/.exec(line)?.[0]) {
    case "F":
      return {
        what: `does not name a file: ${shown(line)}`,
        fix: "Write F, one space and the path. A path with blanks or quotation marks stands in quotes: "
          + "F \"a path\", with \\\" for a quotation mark and \\\\ for a backslash in it."
      }
    case "R":
    case "I":
    case "P":
    case "E":
      return {
        what,
        fix: `Write ${line[0]} alone, or ${line[0]}, one space and the number of the match, from 1. Lines follow below.`
      }
    case "T":
    case "B":
      return { what, fix: `Write ${line[0]} alone in its line. Lines follow below, then a line with one dot.` }
    case "N":
      return { what, fix: "Write N + or N -." }
    default:
      return {
        what,
        fix: "Between blocks stand only F <path>, R, I, P, E, T, B, N +, N -, comments (#) and END. "
          + "Lines of a file stand in a block: right after the operation, up to a line with one dot."
      }
  }
}
