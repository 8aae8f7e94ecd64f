/**
 * What a path may look like before anything on disk is asked: the refusals that need only the text, and paths as lists
 * of segments. Pure.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"

/**
 * A path as its segments: empty ones and `.` are gone, `..` is kept (only the links on disk tell where it leads).
 * `prefix` is the root of an absolute path (`/`, or a drive on Windows), `folder` says that it ended with a separator.
 *
 * @since 0.1.0
 * @category models
 */
export interface ParsedPath {
  readonly prefix: string | undefined
  readonly segments: ReadonlyArray<string>
  readonly folder: boolean
}

/**
 * Which separators and names hold.
 *
 * @since 0.1.0
 * @category models
 */
export type PathStyle = "posix" | "windows"

/**
 * The longest path that is looked at, in UTF-8 bytes.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxPathBytes = 4096

const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u
const surrogate = /\p{Surrogate}/u
/** Joiners and selectors that belong to what is visible: emoji sequences, and letters of scripts that are written joined. */
const visibleJoins = new RegExp(
  [
    "\\p{Emoji}\\u{FE0F}",
    "(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\u{FE0F}])\\u{200D}(?=\\p{Extended_Pictographic})",
    "(?<=[\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Mongolian}\\p{Script=Devanagari}\\p{Script=Bengali}\\p{Script=Gujarati}"
    + "\\p{Script=Gurmukhi}\\p{Script=Kannada}\\p{Script=Khmer}\\p{Script=Malayalam}\\p{Script=Oriya}\\p{Script=Sinhala}"
    + "\\p{Script=Tamil}\\p{Script=Telugu}])[\\u{200C}\\u{200D}](?=\\p{L})"
  ].join("|"),
  "gu"
)
const url = /^(?:[a-z][a-z0-9+.-]*:\/\/|file:)/i
const drive = /^[a-z]:[\\/]/i
const networkOrDevice = /^(?:\\\\|\/\/(?!\/)|\\\/|\/\\)/
const reservedName = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\..*)?$/i
const windowsOnlyCharacter = /[<>:"|?*]/

const showCodePoint = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`

const lexicalRefusal = (path: string): string | undefined => {
  if (path.length === 0) return "The path is empty. Give a path, or \".\" for the working directory."
  if (path.length > maxPathBytes || Buffer.byteLength(path) > maxPathBytes) {
    return `The path is longer than ${maxPathBytes} bytes. Give a shorter one.`
  }
  if (surrogate.test(path)) return "The path is not valid Unicode text (a lone surrogate). Write the name again."
  const found = hidden.exec(path.replace(visibleJoins, ""))
  if (found !== null) {
    return `The path has a control or invisible character (${showCodePoint(found[0])}). Write it without.`
  }
  if (url.test(path)) return "The path is a URL. Give the path of a file instead."
  if (path.startsWith("~")) {
    return "A leading \"~\" is not expanded here. Give a path relative to the working directory (a file whose name starts with \"~\": \"./~name\")."
  }
  if (networkOrDevice.test(path)) {
    return "Network (UNC) and device paths are refused. Give a path in the working directory."
  }
  return undefined
}

const windowsRefusal = (segments: ReadonlyArray<string>): string | undefined => {
  for (const segment of segments) {
    if (segment === "..") continue
    if (windowsOnlyCharacter.test(segment)) {
      return `The name "${segment}" has a character that Windows gives another meaning.`
    }
    if (reservedName.test(segment)) return `The name "${segment}" is a device on Windows. Use another name.`
    if (/[. ]$/.test(segment)) {
      return `The name "${segment}" ends with a dot or space, which Windows drops. Write it without.`
    }
  }
  return undefined
}

/**
 * Reads a path as somebody typed it. `Left` is a sentence that says why it is refused and what to do: NUL, control and
 * invisible characters, URLs, a leading `~`, device and network forms, more than {@link maxPathBytes}.
 *
 * @since 0.1.0
 * @category constructors
 */
export const parse = (path: string, style: PathStyle): Either.Either<ParsedPath, string> => {
  const refused = lexicalRefusal(path)
  if (refused !== undefined) return Either.left(refused)
  const windows = style === "windows"
  const onDrive = drive.test(path)
  if (onDrive && !windows) {
    return Either.left("Drive letters do not exist on this system. Give a path relative to the working directory.")
  }
  if (!windows && path.includes("\\") && path.split(/[\\/]/).includes("..")) {
    return Either.left("The path has \"..\" with backslashes. Write \"/\" between the names of folders.")
  }
  const prefix = windows
    ? (onDrive ? `${path.slice(0, 2).toUpperCase()}\\` : undefined)
    : (path.startsWith("/") ? "/" : undefined)
  if (windows && prefix === undefined && /^[\\/]/.test(path)) {
    return Either.left("The path has no drive. Give a path relative to the working directory.")
  }
  const rest = onDrive ? path.slice(3) : path
  const segments = split(rest, style)
  const name = windows ? windowsRefusal(segments) : undefined
  if (name !== undefined) return Either.left(name)
  return Either.right({ prefix, segments, folder: asksForFolder(path, style) })
}

/**
 * Whether a path ends with a separator (or with `.`), so that it can only lead to a folder.
 *
 * @since 0.1.0
 * @category combinators
 */
export const asksForFolder = (path: string, style: PathStyle): boolean =>
  (style === "windows" ? /[\\/]\.?$/ : /\/\.?$/).test(path)

/**
 * The segments of a path without its empty ones and `.`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const split = (path: string, style: PathStyle): ReadonlyArray<string> =>
  path.split(style === "windows" ? /[\\/]/ : "/").filter((segment) => segment !== "" && segment !== ".")

/**
 * What remains of `segments` below `root`, or undefined when they do not start with it. Whole segments are compared, so
 * `/work-old` is not below `/work`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const below = (
  root: ReadonlyArray<string>,
  segments: ReadonlyArray<string>
): ReadonlyArray<string> | undefined =>
  root.length <= segments.length && root.every((segment, index) => segment === segments[index])
    ? segments.slice(root.length)
    : undefined

/**
 * Segments with each `..` taking its left neighbour away, as if there were no links; leading ones are dropped.
 *
 * @since 0.1.0
 * @category combinators
 */
export const collapse = (segments: ReadonlyArray<string>): ReadonlyArray<string> => {
  const kept: Array<string> = []
  for (const segment of segments) {
    if (segment === "..") kept.pop()
    else kept.push(segment)
  }
  return kept
}

/**
 * A name as file systems that ignore case compare it: composed, then folded both ways (`ſ` and `s`, `ß` and `ss` are the
 * same there).
 *
 * @since 0.1.0
 * @category combinators
 */
export const fold = (name: string): string =>
  isPlain(name) ? name.toLowerCase() : name.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC")

const isPlain = (name: string): boolean => /^[\x20-\x7e]*$/.test(name)
