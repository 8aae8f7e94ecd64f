/** Applying the operations on one file to its text. */
import * as Either from "effect/Either"
import * as Closest from "./closest.js"
import * as LineText from "./lineText.js"
import { type Change, failed, letters, type Operation, type PatchError, type Section } from "./patchModel.js"
import * as PatchText from "./patchText.js"
import { lineRange } from "./textFile.js"

/** Lines that may be looked at for the operations of one section, all together: about a second. */
const maxLinesSearched = 100_000_000
const placesNamed = 8
const maxPassageCharacters = 4_096

/** Lines that are put into an array with one call. */
const spliced = 10_000

/** A text while operations change it. */
interface Draft {
  readonly lines: Array<string>
  /** Where each line stood before the patch, 0 for new ones. */
  readonly origins: Array<number>
  finalNewline: boolean
}

type Searching = Extract<Operation, { readonly match: ReadonlyArray<string> }>

const notFound = (draft: Draft, { _tag, line, match }: Searching, path: string): PatchError => {
  const what = `the match of ${letters[_tag]} is in ${path} 0 times.`
  const text = `${draft.lines.join("\n")}\n`
  const passage = Closest.closest(text, `${match.join("\n")}\n`, "match")
  return passage === undefined || passage.text.length > maxPassageCharacters
    ? failed(
      "not-found",
      line,
      `${what} Nothing there is like it.`,
      `Read ${path} again and copy whole lines out of it, with their indentation.`
    )
    : failed(
      "not-found",
      line,
      `${what} The closest is ${lineRange(passage.first, passage.last)}. ${passage.difference}`,
      `If that is meant, the match block is exactly this:\n${
        PatchText.block(draft.lines.slice(passage.first - 1, passage.last)).join("\n")
      }`
    )
}

/** Where the match begins (0-based). */
const find = (draft: Draft, operation: Searching, path: string): Either.Either<number, PatchError> => {
  const { _tag, line, match, nth } = operation
  const places = LineText.occurrences(draft.lines, match)
  if (places.length === 0) return Either.left(notFound(draft, operation, path))
  const named = Closest.nameLines(places.map((at) => [at + 1, at + match.length]), placesNamed)
  const place = places[(nth ?? 1) - 1]
  if (place === undefined) {
    return Either.left(failed(
      "not-found",
      line,
      `${letters[_tag]} asks for match number ${nth}, but ${path} has ${places.length}: ${named}.`,
      `Send a number from 1 to ${places.length}.`
    ))
  }
  return nth === undefined && places.length > 1
    ? Either.left(failed(
      "ambiguous",
      line,
      `the match of ${letters[_tag]} is in ${path} ${places.length} times: ${named}.`,
      `Add the lines before or after it to the match (and, for R, to its replacement) until it is the only one, or say which: ${
        letters[_tag]
      } 1 is the first.`
    ))
    : Either.right(place)
}

/** Changes an array in place: copying a long text for each operation takes too long. */
const splice = <A>(all: Array<A>, at: number, removed: number, added: ReadonlyArray<A>): void => {
  all.splice(at, removed, ...added.slice(0, spliced))
  for (let from = spliced; from < added.length; from += spliced) {
    all.splice(at + from, 0, ...added.slice(from, from + spliced))
  }
}

const replace = (draft: Draft, at: number, removed: number, added: ReadonlyArray<string>): void => {
  splice(draft.lines, at, removed, added)
  splice(draft.origins, at, removed, added.map(() => 0))
}

const endNewline = (draft: Draft, present: boolean): void => {
  const { lines } = draft
  draft.finalNewline = present
  if (present && lines.length === 0) replace(draft, 0, 0, [""])
  if (!present && lines.length === 1 && lines[0] === "") replace(draft, 0, 1, [])
}

/** Does an operation; gives where the lines came from that it rests on. */
const perform = (
  draft: Draft,
  operation: Operation,
  path: string
): Either.Either<ReadonlyArray<number>, PatchError> => {
  const { lines, origins } = draft
  switch (operation._tag) {
    case "Append": {
      const last = origins.slice(-1)
      replace(draft, lines.length, 0, operation.text)
      return Either.right(last)
    }
    case "Prepend": {
      const first = origins.slice(0, 1)
      replace(draft, 0, 0, operation.text)
      return Either.right(first)
    }
    case "FinalNewline": {
      const last = origins.slice(-1)
      endNewline(draft, operation.present)
      return Either.right(last)
    }
    default:
      return Either.map(find(draft, operation, path), (at) => {
        const { _tag, match } = operation
        const matched = origins.slice(at, at + match.length)
        if (_tag === "Delete") replace(draft, at, match.length, [])
        else if (_tag === "Replace") replace(draft, at, match.length, operation.text)
        else replace(draft, _tag === "InsertAfter" ? at + match.length : at, 0, operation.text)
        return matched
      })
  }
}

const empty: LineText.LineText = { lines: [], finalNewline: true, eol: "\n" }

const readText = ({ line, path }: Section, text: string) =>
  Either.mapLeft(LineText.read(text), (problem) =>
    failed(
      "line-ends",
      line,
      `${path} ${problem.why}, in its line ${problem.line}, so that a patch cannot keep its line ends.`,
      "Change this file with edit_file."
    ))

/** What the operations of a section make of a text; undefined where there is neither. */
export const applySection = (
  section: Section,
  before: string | undefined
): Either.Either<Change | undefined, PatchError> =>
  Either.gen(function*() {
    const { operations, path } = section
    const [first] = operations
    if (before === undefined) {
      if (first === undefined) return undefined
      if (first._tag !== "Append" && first._tag !== "Prepend") {
        return yield* Either.left(failed(
          "missing-file",
          first.line,
          `${path} does not exist, so ${letters[first._tag]} has nothing to work on.`,
          "Check the path. To create the file, begin with T and its lines."
        ))
      }
    }
    const text = before === undefined ? empty : yield* readText(section, before)
    const { lines } = text
    const draft: Draft = {
      lines: [...lines],
      origins: lines.map((_, index) => index + 1),
      finalNewline: text.finalNewline
    }
    const touched = new Set<number>()
    let searched = 0
    for (const operation of operations) {
      searched += draft.lines.length
      if (searched > maxLinesSearched) {
        return yield* Either.left(failed(
          "too-large",
          operation.line,
          `there are too many operations for a file as long as ${path}.`,
          "Send them in several patches."
        ))
      }
      for (const origin of yield* perform(draft, operation, path)) if (origin > 0) touched.add(origin)
    }
    const after = LineText.write({ ...draft, eol: text.eol })
    return { path, before, after, touched: [...touched].sort((left, right) => left - right), origins: draft.origins }
  })
