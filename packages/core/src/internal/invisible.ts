/**
 * Invisible characters, found in text that comes in pieces. One of them is left alone only where writing needs it; whether it
 * does is known from the characters next to it, so at most one (or one run of tag characters) waits for its successor.
 */

/** Where a text stands: the last visible character, and the invisible ones that wait for what follows. */
export interface State {
  readonly previous: string
  /** Whether `previous` has its variation selector. */
  readonly selected: boolean
  /** Whether the line has a right-to-left letter so far. */
  readonly rightToLeft: boolean
  readonly waiting: string
}

/** What stands in the place of a hidden character. */
export type Hide = (character: string) => string

export const initial: State = { previous: "", selected: false, rightToLeft: false, waiting: "" }

const candidates = /[\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/gu

const pictograph = /[\p{Extended_Pictographic}\p{Emoji_Modifier}]/u
const emoji = /\p{Emoji}/u
const mark = /\p{M}/u
const jamo = /[\u1100-\u11FF\uA960-\uA97F\uD7B0-\uD7FF]/
const mongolian = /\p{Script=Mongolian}/u
const han = /\p{Script=Han}/u
const rightToLeft = /[\u05BE-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u

/** Scripts whose letters change with ZWJ and ZWNJ. */
const joining = new RegExp(
  `[${
    [
      "Adlm",
      "Arab",
      "Beng",
      "Cakm",
      "Deva",
      "Gran",
      "Gujr",
      "Guru",
      "Khmr",
      "Knda",
      "Laoo",
      "Mand",
      "Mlym",
      "Mong",
      "Mymr",
      "Nkoo",
      "Orya",
      "Rohg",
      "Sinh",
      "Syrc",
      "Taml",
      "Telu",
      "Thai",
      "Tibt"
    ].map((script) => `\\p{Script_Extensions=${script}}`).join("")
  }]`,
  "u"
)

/** Scripts that are written without spaces and mark where a line may break. */
const breaking = /[\p{Script=Khmer}\p{Script=Lao}\p{Script=Myanmar}\p{Script=Thai}\p{Script=Tibetan}]/u

/** What has standardised variants other than emoji: ideographs, CJK punctuation, mathematical signs, zero, some scripts. */
const varying = /[\p{Script=Han}\p{Sm}\p{Script=Myanmar}\p{Script=Phags_Pa}\p{Script=Manichaean}、。！，．：；？0]/u

const blackFlag = "\u{1F3F4}"
const cancelTag = "\u{E007F}"

/** In UTF-16 code units: five letters and the end. */
const longestFlag = 12

const isTag = (text: string): boolean => {
  const code = text.codePointAt(0) ?? 0
  return code >= 0xE0020 && code <= 0xE007F
}

/** The flags of England, Scotland and Wales: the only tag sequences in general use. All others can carry hidden text. */
const flags = new Set(
  ["gbeng", "gbsct", "gbwls"].map((region) =>
    Array.from(region, (letter) => String.fromCodePoint(0xE0000 + letter.charCodeAt(0))).join("") + cancelTag
  )
)

/** Whether writing needs the character, which waited for `next`. */
const needed = (state: State, next: string): boolean => {
  const either = (pattern: RegExp) => pattern.test(state.previous) || pattern.test(next)
  switch (state.waiting) {
    case "\u200D":
      return either(joining) || (pictograph.test(state.previous) && pictograph.test(next))
    case "\u200C":
      return either(joining)
    case "\u200B":
      return either(breaking)
    case "\u200E":
    case "\u200F":
    case "\u061C":
      return state.rightToLeft || rightToLeft.test(next)
    case "\u180E":
      return either(mongolian)
    case "\u034F":
      return either(mark)
    case "\u115F":
    case "\u1160":
      return either(jamo)
    default:
      return flags.has(state.waiting)
  }
}

const waits = new Set([
  "\u200D",
  "\u200C",
  "\u200B",
  "\u200E",
  "\u200F",
  "\u061C",
  "\u180E",
  "\u034F",
  "\u115F",
  "\u1160"
])

/** Whether the character is a variation selector that suits the one before. */
const selects = (state: State, character: string): boolean => {
  const code = character.codePointAt(0) ?? 0
  if (state.selected || state.waiting !== "") {
    return false
  }
  if (code === 0xFE0E || code === 0xFE0F) {
    return emoji.test(state.previous)
  }
  if (code >= 0xFE00 && code <= 0xFE0D) {
    return varying.test(state.previous)
  }
  if (code >= 0xE0100 && code <= 0xE01EF) {
    return han.test(state.previous)
  }
  return ((code >= 0x180B && code <= 0x180D) || code === 0x180F) && mongolian.test(state.previous)
}

const hideAll = (text: string, hide: Hide): string => {
  let out = ""
  for (const character of text) {
    out += hide(character)
  }
  return out
}

const waiting = (state: State, characters: string): State =>
  state.waiting === characters ? state : { ...state, waiting: characters }

/** Visible text: it decides on what waited, and is what the next one is judged by. */
const visible = (state: State, run: string, hide: Hide): readonly [State, string] => {
  const next = String.fromCodePoint(run.codePointAt(0) ?? 0)
  const before = needed(state, next) ? state.waiting : hideAll(state.waiting, hide)
  const last = run.codePointAt(run.length - 2) ?? 0
  const previous = last > 0xFFFF ? String.fromCodePoint(last) : run.slice(-1)
  const line = run.slice(run.lastIndexOf("\n") + 1)
  const sameLine = line.length === run.length && state.rightToLeft
  return [
    { previous, selected: false, rightToLeft: sameLine || rightToLeft.test(line), waiting: "" },
    before + run
  ]
}

/** A tag character after a black flag waits until the flag is one that is known, or is none. */
const tagged = (state: State, character: string, hide: Hide): readonly [State, string] => {
  const tags = isTag(state.waiting) ? state.waiting + character : character
  const dropped = isTag(state.waiting) ? "" : hideAll(state.waiting, hide)
  if (flags.has(tags)) {
    return [{ ...state, selected: true, waiting: "" }, dropped + tags]
  }
  return character === cancelTag || tags.length >= longestFlag
    ? [waiting(state, ""), dropped + hideAll(tags, hide)]
    : [waiting(state, tags), dropped]
}

/** One invisible character: kept, hidden or put to wait. A character that waited is needed by no invisible one. */
const invisible = (state: State, character: string, hide: Hide): readonly [State, string] => {
  if (selects(state, character)) {
    return [{ ...state, selected: true }, character]
  }
  if (state.previous === blackFlag && !state.selected && isTag(character)) {
    return tagged(state, character, hide)
  }
  const dropped = hideAll(state.waiting, hide)
  return waits.has(character)
    ? [waiting(state, character), dropped]
    : [waiting(state, ""), dropped + hide(character)]
}

/** Takes a piece of well-formed text; `hide` gets each hidden character, in order. */
export const step = (from: State, text: string, hide: Hide): readonly [State, string] => {
  let state = from
  let out = ""
  let index = 0
  while (index < text.length) {
    candidates.lastIndex = index
    const found = candidates.exec(text)
    const end = found === null ? text.length : found.index
    if (end > index) {
      const [next, shown] = visible(state, text.slice(index, end), hide)
      state = next
      out += shown
    }
    if (found !== null) {
      const [next, shown] = invisible(state, found[0], hide)
      state = next
      out += shown
    }
    index = end + (found === null ? 0 : found[0].length)
  }
  return [state, out]
}

/** What waited to the end of the text. */
export const end = (state: State, hide: Hide): string =>
  needed(state, "") ? state.waiting : hideAll(state.waiting, hide)

/** A whole text at once. */
export const filter = (text: string, hide: Hide): string => {
  const [state, out] = step(initial, text, hide)
  return out + end(state, hide)
}
