import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Sanitiser from "../src/Sanitiser.js"

/** As it happens with a stream: bytes in any pieces are decoded, then sanitised. */
const ofBytes = (bytes: Uint8Array, cuts: ReadonlyArray<number>): string => {
  const decoder = new TextDecoder()
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((left, right) => left - right)
  let state = Sanitiser.initial
  let text = ""
  const take = (piece: string) => {
    const [next, shown] = Sanitiser.step(state, piece)
    state = next
    text += shown
  }
  let from = 0
  for (const to of [...places, bytes.length]) {
    take(decoder.decode(bytes.subarray(from, to), { stream: true }))
    from = to
  }
  take(decoder.decode())
  return text + Sanitiser.end(state)
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

/** What was published against terminals and programs that print to them, what is left of it, and where it is described. */
const attacks: ReadonlyArray<readonly [name: string, text: string, expected: string]> = [
  // CVE-2021-25743, kubectl: events with escape sequences; the same in CVE-2024-50349, git: a credential prompt for another host.
  ["CVE-2021-25743", "Warning\x1B[2J\x1B[3J\x1B[1;1HEverything is fine", "WarningEverything is fine"],
  ["CVE-2024-50349", "Username for 'https://\x1B[8mevil.example\x1B[0m'", "Username for 'https://evil.example'"],
  // CVE-2022-44702, Windows Terminal: OSC 9;9 sets a folder that a new tab runs a program from.
  ["CVE-2022-44702", "a\x1B]9;9;\"C:\\evil\"\x07b", "ab"],
  // CVE-2022-41322, kitty: a notification whose identifier is run.
  ["CVE-2022-41322", "a\x1B]99;i=$(touch x):d=0;hi\x1B\\b", "ab"],
  // CVE-2023-39150 and CVE-2022-46387, ConEmu; CVE-2024-38396, iTerm2; CVE-2024-56803, Ghostty: titles that are reported back.
  ["CVE-2023-39150", "a\x1B]2;\rcalc.exe\r\x07\x1B[21tb", "a\ncalc.exe\nb"],
  ["CVE-2024-38396", "a\x1B]0;\x1B[?1;2c;touch x;\x07\x1B[20tb", "a;touch x;b"],
  // CVE-2022-24130 and CVE-2023-40359, xterm: sixel and ReGIS graphics.
  ["CVE-2022-24130", "a\x1BPq#0;2;0;0;0!999999~\x1B\\b", "ab"],
  ["CVE-2023-40359", "a\x1BPpS(E)W(M1)@:A@;@A\x1B\\b", "ab"],
  // CVE-2003-0069 and CVE-2003-0070: window titles and icon names; VT220 and VT420 manuals: user-defined keys, macros, answerback.
  ["user-defined keys", "a\x1BP0;1|17/726D202D7266\x1B\\b", "ab"],
  ["macros that are defined and called", "a\x1BP1;0;1!z6c73\x1B\\\x1B[1*zb", "ab"],
  ["answerback", "a\x05b", "ab"],
  ["device attributes and status", "a\x1B[c\x1B[>c\x1B[=c\x1B[6n\x1BZb", "ab"],
  ["setting and reading of modes", "a\x1B[?1$p\x1B[?1003h\x1B[?2004h\x1B[4h\x1B[>4;1mb", "ab"],
  ["media copy to a printer", "a\x1B[5ievil\x1B[4ib", "aevilb"],
  ["a repeated character", "a\x1B[65535bb", "ab"],
  ["margins and insertion", "a\x1B[1;1r\x1B[99@\x1B[99L\x1B[99Mb", "ab"],
  ["the other screen, and saved places", "a\x1B[?1049h\x1B7\x1B8\x1B[s\x1B[ub", "ab"],
  ["double height", "a\x1B#3\x1B#4\x1B#6b", "ab"],
  ["a paste that ends early", "a\x1B[200~x\x1B[201~b", "axb"],
  // tmux(1), allow-passthrough; screen(1): a sequence within a sequence.
  ["passed through tmux", "a\x1BPtmux;\x1B\x1B]52;c;eA==\x07\x1B\\b", "ab"],
  ["passed through screen", "a\x1BP\x1B]52;c;eA==\x07\x1B\\b", "ab"],
  // Embrace the Red, "Terminal DiLLMa" (2024), and Trail of Bits on escape codes in tool descriptions (2025).
  ["link that carries data away", "\x1B]8;id=1;http://evil.example/?q=secret\x07click\x1B]8;;\x07", "click"],
  ["white on white", "ok\x1B[38;2;255;255;255m; rm -rf ~\x1B[0m", "ok; rm -rf ~"],
  ["moved over and erased", "ok; rm -rf ~\x1B[10D\x1B[0K\x1B[1A\x1B[2Kfine", "ok; rm -rf ~fine"],
  ["palette, colours and cursor", "a\x1B]4;1;rgb:00/00/00\x07\x1B]10;#000\x07\x1B]11;?\x07\x1B]12;#fff\x1B\\b", "ab"],
  // iTerm2 and kitty protocols: downloads, variables, marks, files, keys, sized text.
  ["download", "a\x1B]1337;File=name=eA==;inline=0:AAAA\x07\x1B]1337;SetUserVar=x=eA==\x07b", "ab"],
  ["shell integration", "a\x1B]133;A\x07\x1B]7;file:///evil\x07\x1B]633;E;rm\x07b", "ab"],
  ["file transfer and keys", "a\x1B]5113;ac=send\x1B\\\x1B[>1u\x1B[=5;1ub", "ab"],
  ["sized text", "a\x1B]66;s=7;evil\x07b", "ab"],
  // ECMA-35: locking shifts and other sets of characters; single shifts.
  ["shifts", "a\x0E\x0F\x1Bn\x1Bo\x1BN\x1BO\x8E\x8F\x1B|\x1B}\x1B~b", "ab"],
  ["other coding systems", "a\x1B%@\x1B%G\x1B%/Ib", "ab"],
  // An eight-bit control can be written with more bytes than it needs, or be a byte of its own: neither is UTF-8.
  ["strings with mixed ends", "a\x9D0;t\x1B\\b\x1B]0;t\x9Cc\x90x\x1B\\d", "abcd"]
]

describe("published terminal attacks", () => {
  it.each(attacks)("%s", (_, text, expected) => {
    expect(Sanitiser.sanitise(text).text).toBe(expected)
    const bytes = encode(text)
    expect(ofBytes(bytes, Array.from(bytes, (_, index) => index))).toBe(expected)
  })

  it("bytes that are no UTF-8 are shown as such, and are no controls", () => {
    for (
      const bytes of [[0x9B, 0x33, 0x31, 0x6D], [0xC0, 0x9B], [0xE0, 0x80, 0x9B], [0xFF, 0x1B, 0x5B, 0x6D], [0xF5]]
    ) {
      const text = ofBytes(new Uint8Array([0x61, ...bytes, 0x62]), [1, 2, 3])
      expect(text).toMatch(/^a\uFFFD+(?:31m)?b$/)
    }
  })
})

describe("a stream of bytes", () => {
  const piece = FastCheck.oneof(
    FastCheck.constantFrom(...attacks.map(([, text]) => text)).map(encode),
    FastCheck.uint8Array({ maxLength: 6 }),
    FastCheck.string({ unit: "grapheme", maxLength: 6 }).map(encode),
    FastCheck.constantFrom("\x1B", "\x1B[", "\x1B]0;", "\x9B", "\r", "\n", "\b", "\u202E", "😀", "é").map(encode)
  )
  const stream = FastCheck.array(piece, { maxLength: 12 }).map((pieces) =>
    new Uint8Array(pieces.flatMap((one) => [...one]))
  )

  it.prop(
    "gives the same text wherever it is cut, also within a character, and never a control",
    { bytes: stream, cuts: FastCheck.array(FastCheck.nat(), { maxLength: 12 }) },
    ({ bytes, cuts }) => {
      const whole = ofBytes(bytes, [])
      expect(ofBytes(bytes, cuts)).toBe(whole)
      expect(ofBytes(bytes, Array.from(bytes, (_, index) => index))).toBe(whole)
      expect(whole).toBe(Sanitiser.sanitise(new TextDecoder().decode(bytes)).text)
      expect(whole).not.toMatch(/(?![\t\n])\p{Control}|\p{Surrogate}|[\u202A-\u202E\u2066-\u2069]/u)
      expect([...encode(whole)].every((byte) => byte >= 0x20 || byte === 0x09 || byte === 0x0A)).toBe(true)
    },
    { fastCheck: { numRuns: 500 } }
  )
})
