/**
 * Makes untrusted text safe to show and to read: terminal controls and invisible characters out, printable text untouched.
 *
 * A parser of ECMA-48 that works on streams: text may come in any pieces and the result is the same.
 *
 * @since 0.1.0
 */
import * as Invisible from "./internal/invisible.js"

/** An unterminated sequence swallows no more than this many UTF-8 bytes. */
const maxSequenceBytes = 4_096

/**
 * How much was taken out: control characters and sequences, and invisible characters. A carriage return that became a line
 * end is not counted; a sequence that broke into another counts with it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Stripped {
  readonly controls: number
  readonly invisible: number
}

/**
 * Where a stream of text stands. Of bounded size; begin with `initial`.
 *
 * @since 0.1.0
 * @category models
 */
export interface State {
  /** `osc` ends with BEL or ST, the other strings with ST only. */
  readonly mode: "ground" | "escape" | "intermediate" | "csi" | "osc" | "string"
  /** UTF-8 bytes of the sequence so far. */
  readonly swallowed: number
  /** Whether the last line end was a carriage return, of which a line feed is a part. */
  readonly returned: boolean
  /** The last character of the line, which a backspace would take back. */
  readonly held: string
  /** A high surrogate whose other half may come. */
  readonly high: string
  readonly hidden: Invisible.State
}

/**
 * Lines with characters that cannot be seen, 1-based, each character once, as `U+202E`.
 *
 * @since 0.1.0
 * @category models
 */
export interface HiddenLine {
  readonly line: number
  readonly codePoints: ReadonlyArray<string>
}

/**
 * A word that may be taken for another: `scripts` are those of its letters, `codePoints` the letters that are not Latin.
 *
 * @since 0.1.0
 * @category models
 */
export interface LookAlike {
  readonly word: string
  readonly scripts: ReadonlyArray<string>
  readonly codePoints: ReadonlyArray<string>
}

/**
 * The state before the first piece of a text.
 *
 * @since 0.1.0
 * @category constructors
 */
export const initial: State = {
  mode: "ground",
  swallowed: 0,
  returned: false,
  held: "",
  high: "",
  hidden: Invisible.initial
}

const special = /[\p{Control}\p{Surrogate}]/gu

const utf8Bytes = (unit: number): number => unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xD800 && unit <= 0xDFFF) ? 2 : 3

/** Which kind of sequence a character opens; `escape` says that it came after ESC, so that 0x40–0x5F mean C1. */
const opened = (code: number): State["mode"] => {
  switch (code) {
    case 0x1B:
      return "escape"
    case 0x9B:
      return "csi"
    case 0x9D:
      return "osc"
    case 0x90:
    case 0x98:
    case 0x9E:
    case 0x9F:
      return "string"
    default:
      return "ground"
  }
}

/** What follows ESC. `ESC k` opens the title string of screen and tmux. */
const afterEscape = (code: number): State["mode"] =>
  code >= 0x20 && code <= 0x2F
    ? "intermediate"
    : code === 0x6B
    ? "string"
    : opened(code >= 0x40 && code <= 0x5F ? code + 0x40 : 0)

/** What a character does inside a sequence: goes on in a mode, or ends it and is shown as text itself (`again`). */
const within = (mode: State["mode"], code: number): State["mode"] | "again" => {
  const isString = mode === "osc" || mode === "string"
  if (code === 0x0A || code === 0x0D) {
    return "again"
  }
  if (code === 0x18 || code === 0x1A || (mode === "osc" && code === 0x07) || (isString && code === 0x9C)) {
    return "ground"
  }
  if (code === 0x1B) {
    return "escape"
  }
  if (code >= 0x80 && code <= 0x9F) {
    return "again"
  }
  if (isString || code < 0x20 || code === 0x7F) {
    return mode
  }
  if (code > 0x7F) {
    return "again"
  }
  switch (mode) {
    case "escape":
      return afterEscape(code)
    case "csi":
      return code < 0x40 ? "csi" : "ground"
    default:
      return code < 0x30 ? "intermediate" : "ground"
  }
}

/** Takes the controls out, and leaves well-formed text. */
const withoutControls = (from: State, chunk: string): readonly [Omit<State, "hidden">, string, number] => {
  let { held, mode, returned, swallowed } = from
  let text = from.high + chunk
  const lastUnit = text.charCodeAt(text.length - 1)
  const high = lastUnit >= 0xD800 && lastUnit <= 0xDBFF ? text.slice(-1) : ""
  text = text.slice(0, text.length - high.length)
  let out = ""
  let controls = 0

  const show = (run: string) => {
    const last = run.length - ((run.codePointAt(run.length - 2) ?? 0) > 0xFFFF ? 2 : 1)
    out += held + run.slice(0, last)
    held = run.slice(last)
    returned = false
  }
  const endLine = () => {
    out += `${held}\n`
    held = ""
  }
  const control = (code: number) => {
    switch (code) {
      case 0x09:
        return show("\t")
      case 0x0A:
        if (!returned) {
          endLine()
        }
        returned = false
        return
      case 0x0D:
        endLine()
        returned = true
        return
      case 0x08:
        held = ""
        controls++
        return
      default:
        if (code >= 0xD800) {
          return show("\uFFFD")
        }
        mode = opened(code)
        swallowed = utf8Bytes(code)
        controls++
    }
  }

  let index = 0
  while (index < text.length) {
    if (mode === "ground") {
      special.lastIndex = index
      const found = special.exec(text)
      const end = found === null ? text.length : found.index
      if (end > index) {
        show(text.slice(index, end))
      }
      if (found !== null) {
        control(found[0].charCodeAt(0))
      }
      index = end + 1
      continue
    }
    const code = text.charCodeAt(index)
    const next = within(mode, code)
    swallowed = next === "escape" ? 1 : swallowed + utf8Bytes(code)
    if (next === "again" || swallowed > maxSequenceBytes) {
      mode = "ground"
    } else {
      mode = next
      index++
    }
  }
  return [{ held, high, mode, returned, swallowed }, out, controls]
}

/**
 * Takes the next piece of a text. Gives what can be shown so far, which may be one character short of what came, and what
 * was taken out on the way.
 *
 * Gone are control sequences and strings (CSI, OSC, DCS, APC, PM, SOS; the text of a hyperlink stays), C0 and C1 controls
 * other than tab and newline, DEL, what a backspace strikes over, bidirectional embeddings, overrides and isolates, and
 * invisible characters, unless writing needs them: joiners within emoji and between letters of scripts that join, variation
 * selectors that suit the character before, direction marks on right-to-left lines, the tags of the flags of England,
 * Scotland and Wales. A carriage return, alone or with a line feed, is a line end. Lone surrogates become U+FFFD. A sequence
 * ends with its line, and swallows no more than 4 KiB.
 *
 * @since 0.1.0
 * @category combinators
 */
export const step = (state: State, chunk: string): readonly [State, string, Stripped] => {
  const [next, clean, controls] = withoutControls(state, chunk)
  let invisible = 0
  const [hidden, text] = Invisible.step(state.hidden, clean, () => {
    invisible++
    return ""
  })
  return [{ ...next, hidden }, text, { controls, invisible }]
}

/**
 * What was held back at the end of a text. A sequence that is still open is dropped.
 *
 * @since 0.1.0
 * @category combinators
 */
export const end = (state: State): string => finish(state)[0]

const finish = (state: State): readonly [string, number] => {
  const rest = state.held + (state.high !== "" && state.mode === "ground" ? "\uFFFD" : "")
  let invisible = 0
  const hide = () => {
    invisible++
    return ""
  }
  const [hidden, text] = Invisible.step(state.hidden, rest, hide)
  return [text + Invisible.end(hidden, hide), invisible]
}

/**
 * A whole text at once, and how much was taken out of it: see `step`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const sanitise = (
  text: string
): { readonly text: string; readonly invisible: number; readonly controls: number } => {
  const [state, head, stripped] = step(initial, text)
  const [tail, invisible] = finish(state)
  return { text: head + tail, invisible: stripped.invisible + invisible, controls: stripped.controls }
}

const codePoint = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`

const bracketed = (character: string): string => `<${codePoint(character)}>`

/** Controls, lone surrogates, and blanks that look like a space or a line end and are none; the ideographic space stays. */
const deceptive =
  /(?![\t\n\u3000])[\p{Control}\p{Surrogate}\p{Line_Separator}\p{Paragraph_Separator}]|(?![ \u3000])\p{Space_Separator}/gu

/**
 * Shows what cannot be seen, as `<U+202E>`: for approvals and diffs, where nothing may be hidden and nothing left out.
 * Tabs and newlines stay, carriage returns do not; an invisible character stays where `sanitise` would keep it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const escapeInvisible = (text: string): string => Invisible.filter(text, bracketed).replace(deceptive, bracketed)

/**
 * The lines of a text that hold characters which `sanitise` would take out: for a warning next to text that must stay as
 * it is. The carriage return of a CRLF does not count.
 *
 * @since 0.1.0
 * @category combinators
 */
export const hiddenCharacters = (text: string): ReadonlyArray<HiddenLine> =>
  text.split("\n").flatMap((content, index) => {
    const found = new Set<string>()
    const note = (character: string) => {
      found.add(codePoint(character))
      return ""
    }
    for (const [character] of Invisible.filter(content.replace(/\r$/, ""), note).matchAll(special)) {
      if (character !== "\t") {
        note(character)
      }
    }
    return found.size === 0 ? [] : [{ line: index + 1, codePoints: [...found] }]
  })

/** Scripts with letters that pass for Latin ones: all their letters, and those that do. */
const scripts = [
  { name: "Cyrillic", letter: /\p{Script=Cyrillic}/u, alike: /[асԁеһіјӏорԛѕԝхуАВСЕНІЈКМОРЅТХУ]/u },
  { name: "Greek", letter: /\p{Script=Greek}/u, alike: /[αγικνορτυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧ]/u },
  { name: "Armenian", letter: /\p{Script=Armenian}/u, alike: /[ցհոսօՏՍՕ]/u },
  { name: "Cherokee", letter: /\p{Script=Cherokee}/u, alike: /[ᎪᎬᎳᎷᎻᏀᏃᏎᏒᏞᏟᏢᏦᏴᎡᎢᎫᎥᎠᎵ]/u }
] as const

const latin = /\p{Script=Latin}/u

/**
 * Words that can be taken for others: letters of Cyrillic, Greek, Armenian or Cherokee that look Latin, among Latin letters
 * or among each other; and words wholly of such letters, next to Latin ones and longer than one, in a text that otherwise does not use their
 * script. Ordinary Greek symbols (`kΩ`, `Δt`) are not flagged. Each word once.
 *
 * @since 0.1.0
 * @category combinators
 */
export const lookAlikes = (text: string): ReadonlyArray<LookAlike> => {
  const words = [...new Set(text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [])].map((word) => {
    const letters = Array.from(word).filter((character) => /\p{L}/u.test(character))
    const foreign = scripts.filter(({ letter }) => letter.test(word))
    return {
      word,
      foreign,
      isLatin: latin.test(word),
      isAlike: letters.length > 1 && foreign.length > 0 &&
        letters.every((letter) => foreign.some(({ alike }) => alike.test(letter))),
      hasAlike: foreign.some(({ alike, name }) => name === "Cyrillic" || alike.test(word))
    }
  })
  const hasLatin = words.some(({ isLatin }) => isLatin)
  const atHome = new Set(
    words.filter(({ isAlike, isLatin }) => !isAlike && !isLatin).flatMap(({ foreign }) =>
      foreign.map(({ name }) => name)
    )
  )
  return words
    .filter(({ foreign, hasAlike, isAlike, isLatin }) =>
      (hasAlike && foreign.length + (isLatin ? 1 : 0) > 1) ||
      (isAlike && hasLatin && foreign.every(({ name }) => !atHome.has(name)))
    )
    .map(({ foreign, isLatin, word }) => ({
      word,
      scripts: [...(isLatin ? ["Latin"] : []), ...foreign.map(({ name }) => name)],
      codePoints: Array.from(word)
        .filter((character) => foreign.some(({ letter }) => letter.test(character)))
        .map(codePoint)
    }))
}
