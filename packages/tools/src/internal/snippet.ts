/** Replacing a snippet of a text whatever line ends either has. */

/** A text with line feeds only, and where each of its characters stands in the original. */
interface Normalised {
  readonly text: string
  readonly toOriginal: (position: number) => number
}

const normalise = (text: string): Normalised => {
  if (!text.includes("\r\n")) return { text, toOriginal: (position) => position }
  const removed: Array<number> = []
  for (let at = text.indexOf("\r\n"); at !== -1; at = text.indexOf("\r\n", at + 2)) removed.push(at - removed.length)
  // Before position p of the short text as many carriage returns are gone as line ends of their kind lie before p.
  const toOriginal = (position: number): number => {
    let low = 0
    let high = removed.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((removed[middle] ?? 0) < position) low = middle + 1
      else high = middle
    }
    return position + low
  }
  return { text: text.replaceAll("\r\n", "\n"), toOriginal }
}

const occurrences = (text: string, snippet: string, step: number): ReadonlyArray<number> => {
  const found: Array<number> = []
  for (let at = text.indexOf(snippet); at !== -1; at = text.indexOf(snippet, at + step)) found.push(at)
  return found
}

/** Where a snippet stands; `end` is exclusive. */
export interface Place {
  readonly start: number
  readonly end: number
}

/** Where a snippet stands in a text, and how to put another in its place. */
export interface Found {
  /** Overlapping ones too: they make a snippet ambiguous. */
  readonly places: ReadonlyArray<Place>
  /** Those that are replaced together. */
  readonly separate: ReadonlyArray<Place>
  /** The new text with the line ends that it should have. */
  readonly replacement: string
}

/** Looks for the snippet as it is; where it is not there, whatever the line ends are. */
export const find = (text: string, snippet: string, replacement: string): Found => {
  const crlf = text.includes("\r\n")
  const exact = occurrences(text, snippet, 1).map((start) => ({ start, end: start + snippet.length }))
  if (exact.length > 0 && (!crlf || snippet.includes("\r\n"))) return found(exact, replacement)
  const haystack = normalise(text)
  const needle = snippet.replaceAll("\r\n", "\n")
  const plain = replacement.replaceAll("\r\n", "\n")
  const starts = occurrences(haystack.text, needle, 1)
  const places = starts.map((start) => ({
    start: haystack.toOriginal(start),
    end: haystack.toOriginal(start + needle.length)
  }))
  return found(places, endsLikeCrlf(text) ? plain.replaceAll("\n", "\r\n") : plain)
}

const found = (places: ReadonlyArray<Place>, replacement: string): Found => ({
  places,
  separate: places.reduce<Array<Place>>((kept, place) => {
    const last = kept.at(-1)
    if (last === undefined || place.start >= last.end) kept.push(place)
    return kept
  }, []),
  replacement
})

/** Whether most lines of a text end with CRLF. */
const endsLikeCrlf = (text: string): boolean => {
  const crlf = occurrences(text, "\r\n", 2).length
  return crlf > 0 && crlf * 2 >= occurrences(text, "\n", 1).length
}

/** The text with something else in these places. */
export const replace = (text: string, places: ReadonlyArray<Place>, replacement: string): string => {
  const pieces: Array<string> = []
  let from = 0
  for (const { end, start } of places) {
    pieces.push(text.slice(from, start), replacement)
    from = end
  }
  return pieces.join("") + text.slice(from)
}
