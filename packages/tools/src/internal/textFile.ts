import * as Option from "effect/Option"

/** Of each file this much is looked at for NUL, the sign of a binary. */
const sniffed = 8192

/** The content of a file: text with its byte order mark kept apart, or something else. */
export type Content =
  | { readonly _tag: "Text"; readonly text: string; readonly bom: boolean }
  | { readonly _tag: "Binary" }

const bomCharacter = "\uFEFF"

const decodeUtf8 = Option.liftThrowable((bytes: Uint8Array, cut: boolean) =>
  new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: cut })
)

/** Binary is what has NUL near its beginning or is not UTF-8. `cut`: the bytes may end inside a character. */
export const decode = (bytes: Uint8Array, cut: boolean): Content => {
  if (bytes.subarray(0, sniffed).includes(0)) return { _tag: "Binary" }
  return Option.match(decodeUtf8(bytes, cut), {
    onNone: (): Content => ({ _tag: "Binary" }),
    onSome: (text): Content => {
      const bom = text.startsWith(bomCharacter)
      return { _tag: "Text", text: bom ? text.slice(1) : text, bom }
    }
  })
}

/** The bytes of a text, with the byte order mark back in front. */
export const encode = (text: string, bom: boolean): Uint8Array =>
  new TextEncoder().encode(bom ? bomCharacter + text : text)

/** The lines of a text without their line feeds; a line feed at the end begins no new line. */
export const linesOf = (text: string): ReadonlyArray<string> => {
  const lines = text.split("\n")
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines
}

/** The 1-based line in which each position lies; positions in ascending order. */
export const lineNumbers = (text: string, positions: ReadonlyArray<number>): ReadonlyArray<number> => {
  let line = 1
  let from = 0
  return positions.map((position) => {
    for (let at = text.indexOf("\n", from); at !== -1 && at < position; at = text.indexOf("\n", at + 1)) {
      line++
      from = at + 1
    }
    return line
  })
}

/** `1 line`, `2 lines`. */
export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`

/** `line 3` or `lines 3-5`. */
export const lineRange = (first: number, last: number): string =>
  first === last ? `line ${first}` : `lines ${first}-${last}`
