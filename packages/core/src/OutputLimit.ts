/**
 * How much of a tool's output the model gets to see, and how a longer one is cut.
 *
 * @since 0.1.0
 */
import type { Values } from "./Limits.js"

const bytesPerToken = 4
const unknownCapacityBytes = 65_536
const maxReserveTokens = 4_096
const reserveShare = 1 / 8
const marginShare = 0.02

/** How far a cut moves back to end at a line, and how much text is looked at for a whole grapheme; UTF-16 code units. */
const lineReach = 256
const graphemeReach = 64

/**
 * The tokens of a window that are kept free: for the answer 4,096 or an eighth of the window, the smaller (less if the model's
 * `maxOutput` is less), and a margin of 2 %.
 *
 * @since 0.1.0
 * @category constructors
 */
export const answerReserve = (window: number, maxOutput: number | null): number =>
  Math.min(maxReserveTokens, window * reserveShare, maxOutput ?? maxReserveTokens) + window * marginShare

/**
 * The bytes of output that still fit into the model's context: four for each token that is neither in use nor kept free (see
 * {@link answerReserve}). Whole bytes, never negative; 65,536 if the window or its use is unknown (null).
 *
 * @since 0.1.0
 * @category constructors
 */
export const capacity = (options: {
  readonly contextWindow: number | null
  readonly tokensInUse: number | null
  readonly maxOutput?: number | null
}): number => {
  const { contextWindow, maxOutput, tokensInUse } = options
  if (contextWindow === null || tokensInUse === null) {
    return unknownCapacityBytes
  }
  const free = contextWindow - tokensInUse - answerReserve(contextWindow, maxOutput ?? null)
  return Math.floor(bytesPerToken * Math.max(0, free))
}

/**
 * The output budget of one call in bytes: the limit, or what the context still holds if that is less.
 *
 * @since 0.1.0
 * @category constructors
 */
export const budget = (limits: Pick<Values, "maxOutputBytes">, capacity: number): number =>
  Math.min(limits.maxOutputBytes, capacity)

const isHigh = (unit: number): boolean => unit >= 0xD800 && unit <= 0xDBFF
const isLow = (unit: number): boolean => unit >= 0xDC00 && unit <= 0xDFFF

/** UTF-8 bytes of the character that starts at `index`; a lone surrogate is written as U+FFFD, three bytes. */
const bytesAt = (text: string, index: number): number => {
  const unit = text.charCodeAt(index)
  if (unit < 0x80) {
    return 1
  }
  if (unit < 0x800) {
    return 2
  }
  return isHigh(unit) && isLow(text.charCodeAt(index + 1)) ? 4 : 3
}

const unitsOf = (bytes: number): number => bytes === 4 ? 2 : 1

/**
 * The length of a text in UTF-8 bytes.
 *
 * @since 0.1.0
 * @category combinators
 */
export const byteLength = (text: string): number => {
  let bytes = 0
  for (let index = 0; index < text.length;) {
    const size = bytesAt(text, index)
    bytes += size
    index += unitsOf(size)
  }
  return bytes
}

/** Where the longest prefix ends that has at most so many bytes. */
const prefixEnd = (text: string, maxBytes: number): number => {
  let index = 0
  let bytes = 0
  while (index < text.length) {
    const size = bytesAt(text, index)
    if (bytes + size > maxBytes) {
      break
    }
    bytes += size
    index += unitsOf(size)
  }
  return index
}

/** Where the longest suffix starts that has at most so many bytes. */
const suffixStart = (text: string, maxBytes: number): number => {
  let index = text.length
  let bytes = 0
  while (index > 0) {
    const paired = index > 1 && isLow(text.charCodeAt(index - 1)) && isHigh(text.charCodeAt(index - 2))
    const start = paired ? index - 2 : index - 1
    const size = bytesAt(text, start)
    if (bytes + size > maxBytes) {
      break
    }
    bytes += size
    index = start
  }
  return index
}

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" })

/** The bounds of the grapheme around `cut`; both are `cut` if it lies between two, or if a bound is not near. */
const graphemeAround = (text: string, cut: number): readonly [start: number, end: number] => {
  const reach = isLow(text.charCodeAt(cut - graphemeReach)) ? graphemeReach + 1 : graphemeReach
  const from = Math.max(0, cut - reach)
  const near = text.slice(from, cut + graphemeReach)
  const segment = graphemes.segment(near).containing(cut - from)
  if (segment === undefined || segment.index === 0) {
    return [cut, cut]
  }
  const start = from + segment.index
  const end = start + segment.segment.length
  return start === cut ? [cut, cut] : [start, end < from + near.length || end === text.length ? end : cut]
}

/** Moves the end of a prefix back to the end of a line, or else of a grapheme, if there is one near. */
const neatEnd = (text: string, end: number): number => {
  if (end === 0) {
    return end
  }
  const line = text.lastIndexOf("\n", end - 1) + 1
  return line > 0 && end - line <= Math.min(lineReach, end / 4) ? line : graphemeAround(text, end)[0]
}

/** Moves the start of a suffix on to the start of a line, or else of a grapheme, if there is one near. */
const neatStart = (text: string, start: number): number => {
  if (text.charAt(start - 1) === "\n") {
    return start
  }
  const line = text.indexOf("\n", start) + 1
  return line > 0 && line - start <= Math.min(lineReach, (text.length - start) / 4)
    ? line
    : graphemeAround(text, start)[1]
}

/** The most telling marker that fits: with the hint, without it, bare, none. */
const marker = (originalBytes: number, hint: string | undefined, maxBytes: number): string => {
  const size = `truncated: ${originalBytes} bytes in all`
  const candidates = [...(hint === undefined || hint === "" ? [] : [`[${size}; ${hint}]`]), `[${size}]`, "[truncated]"]
  return candidates.find((candidate) => byteLength(candidate) <= maxBytes) ?? ""
}

/**
 * Cuts a text to a budget in UTF-8 bytes, at the end of a line or a grapheme where one is near and never inside a
 * character. `keep` says what stays: the beginning, or beginning and end in equal parts. A marker stands where something
 * is missing; it is part of the budget and says the original size and the `hint`, which should tell how to ask for less. A
 * budget too small for that gets a shorter marker, or none and the beginning only. A text that fits is returned as it is.
 * `lostBytes` had been taken out of the text before, and count as original.
 *
 * @since 0.1.0
 * @category combinators
 */
export const truncate = (text: string, options: {
  readonly maxBytes: number
  readonly keep: "head" | "head-and-tail"
  readonly hint?: string
  readonly lostBytes?: number
}): { readonly text: string; readonly truncated: boolean; readonly originalBytes: number } => {
  const maxBytes = Math.max(0, Math.floor(options.maxBytes))
  const bytes = byteLength(text)
  const originalBytes = bytes + (options.lostBytes ?? 0)
  if (bytes <= maxBytes) {
    return { text, truncated: false, originalBytes }
  }
  const note = marker(originalBytes, options.hint, maxBytes)
  if (note === "") {
    return { text: text.slice(0, neatEnd(text, prefixEnd(text, maxBytes))), truncated: true, originalBytes }
  }
  const breaks = options.keep === "head" ? 1 : 2
  const room = Math.max(0, maxBytes - byteLength(note) - breaks)
  const tailBytes = options.keep === "head" ? 0 : Math.floor(room / 2)
  const head = text.slice(0, neatEnd(text, prefixEnd(text, room - tailBytes)))
  const tail = text.slice(neatStart(text, suffixStart(text, tailBytes)))
  const before = head === "" || head.endsWith("\n") ? "" : "\n"
  const after = tail === "" ? "" : "\n"
  return { text: `${head}${before}${note}${after}${tail}`, truncated: true, originalBytes }
}
