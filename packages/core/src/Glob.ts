/**
 * Matching names and paths against patterns of allow and deny lists.
 *
 * @since 0.1.0
 */

/**
 * Whether `pattern` covers the whole of `text`: `*` stands for any characters but `/`, `**` for any characters, `?` for one
 * character but `/`; everything else, braces and other brackets included, stands for itself, and so do the star and the
 * question mark in `[*]` and `[?]`. A folder that is `**` may also be missing: `docs/<two stars>/x` covers `docs/x`. Takes time in proportion to the product of both lengths.
 *
 * @since 0.1.0
 * @category combinators
 */
export const matches = (pattern: string, text: string): boolean => {
  const chars = [...text]
  const start: ReadonlyArray<boolean> = [true, ...chars.map(() => false)]
  return tokenize(pattern).reduce((reached, token) => advance(token, chars, reached), start).at(-1) === true
}

/**
 * A path without `.`, `..` and doubled slashes (`.` for where it starts); undefined where it leads above that.
 *
 * @since 0.1.0
 * @category combinators
 */
export const plain = (path: string): string | undefined => {
  const kept: Array<string> = []
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue
    if (segment !== "..") kept.push(segment)
    else if (kept.pop() === undefined) return undefined
  }
  const clean = (path.startsWith("/") ? "/" : "") + kept.join("/")
  return clean === "" ? "." : clean
}

/**
 * Whether `pattern` covers a path however it is written: `./docs//a` and `x/../docs/a` are `docs/a`. A path that leads above
 * where it starts is covered by none. Links are not looked at.
 *
 * @since 0.1.0
 * @category combinators
 */
export const matchesPath = (pattern: string, path: string): boolean => {
  const clean = plain(path)
  return clean !== undefined && matches(pattern, clean)
}

/**
 * The pattern that covers a path, however it is written, and no other; undefined where the path leads above where it starts.
 *
 * @since 0.1.0
 * @category constructors
 */
export const exactly = (path: string): string | undefined => plain(path)?.replace(/[*?]/g, "[$&]")

const tokenize = (pattern: string): ReadonlyArray<string> => pattern.match(/\*\*\/|\*\*|\[[*?]\]|[^]/gu) ?? []

/** `reached[i]`: the tokens so far cover the first `i` characters. */
const advance = (
  token: string,
  chars: ReadonlyArray<string>,
  reached: ReadonlyArray<boolean>
): ReadonlyArray<boolean> => {
  let before = false
  return reached.map((here, i) => {
    const char = i === 0 ? undefined : chars[i - 1]
    const earlier = before
    switch (token) {
      case "*":
        before = here || (before && char !== "/")
        return before
      case "**":
        before = here || before
        return before
      case "**/":
        before = here || before
        return here || (earlier && char === "/")
      case "[*]":
      case "[?]":
        before = here
        return earlier && char === token[1]
      default:
        before = here
        return earlier && (token === "?" ? char !== "/" : token === char)
    }
  })
}
