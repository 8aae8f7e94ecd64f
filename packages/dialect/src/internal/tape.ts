/** The text is over. */
export const END = -1
/** The text goes on, but not yet. */
export const MORE = -2

/**
 * Text that arrives in pieces and is read by absolute position, one UTF-16 unit at a time, in constant time. What was
 * given out is forgotten.
 */
export class Tape {
  private readonly absent = new Set<string>()
  private units = new Uint16Array(1024)
  private start = 0
  private end = 0
  private over = false

  append(text: string): void {
    const kept = this.end - this.start
    if (kept + text.length > this.units.length) {
      const grown = new Uint16Array(Math.max(this.units.length * 2, kept + text.length))
      grown.set(this.units.subarray(0, kept))
      this.units = grown
    }
    for (let index = 0; index < text.length; index++) this.units[kept + index] = text.charCodeAt(index)
    this.end += text.length
  }

  finish(): void {
    this.over = true
  }

  /**
   * Searches for these words reached the end of the text in vain, so they need not be made again from further on.
   * After 32 different ones no search is worth its time.
   */
  isAbsent(word: string): boolean {
    return this.absent.has(word) || this.absent.size >= 32
  }

  noteAbsent(word: string): void {
    this.absent.add(word)
  }

  code(position: number): number {
    if (position < this.end) return this.units[position - this.start] ?? END
    return this.over ? END : MORE
  }

  slice(from: number, to: number): string {
    const pieces: Array<string> = []
    for (let at = from - this.start; at < to - this.start; at += 8192) {
      pieces.push(String.fromCharCode(...this.units.subarray(at, Math.min(at + 8192, to - this.start))))
    }
    return pieces.join("")
  }

  discard(upTo: number): void {
    const gone = upTo - this.start
    if (upTo < this.end && gone < this.units.length / 2) return
    this.units.copyWithin(0, gone, this.end - this.start)
    this.start = upTo
  }
}

/** A reader that pauses where the text has not arrived yet. */
export type Reading<A> = Generator<void, A>

export const isSpaceCode = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9

/** Letters, digits, `_`, `$`, and everything outside of ASCII. */
export const isWordCode = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95 ||
  code === 36 || code > 160

/** The first position from `at` that holds no white space. */
export function* skipSpace(tape: Tape, at: number): Reading<number> {
  for (;;) {
    const code = tape.code(at)
    if (code === MORE) yield
    else if (isSpaceCode(code)) at++
    else return at
  }
}

/** The code at `at`, or `END`. */
export function* peek(tape: Tape, at: number): Reading<number> {
  for (;;) {
    const code = tape.code(at)
    if (code !== MORE) return code
    yield
  }
}

/** How often the unit at `at` repeats. */
export function* run(tape: Tape, at: number): Reading<number> {
  const first = yield* peek(tape, at)
  let end = at + 1
  while ((yield* peek(tape, end)) === first) end++
  return end - at
}

/** Words that are looked for at a position, with all their beginnings. */
export class Words {
  private readonly whole: ReadonlySet<string>
  private readonly beginnings = new Set<string>()

  constructor(words: ReadonlyArray<string>) {
    this.whole = new Set(words)
    for (const word of words) {
      for (let length = 1; length <= word.length; length++) this.beginnings.add(word.slice(0, length))
    }
  }

  /** The longest of the words that stands at `at`, or `""`. */
  *at(tape: Tape, at: number): Reading<string> {
    let text = ""
    let found = ""
    for (;;) {
      const code = tape.code(at + text.length)
      if (code === MORE) {
        yield
        continue
      }
      if (code === END) return found
      text += String.fromCharCode(code)
      if (!this.beginnings.has(text)) return found
      if (this.whole.has(text)) found = text
    }
  }
}

/** Whether `word` stands at `at`. */
export function* stands(tape: Tape, at: number, word: string): Reading<boolean> {
  for (let index = 0; index < word.length; index++) {
    if ((yield* peek(tape, at + index)) !== word.charCodeAt(index)) return false
  }
  return true
}
