import { LinePatch } from "@capstan/tools"
import { describe, expect, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"

const patchOf = (text: string) => Either.getOrThrowWith(LinePatch.parse(text), (error) => error)
const parseError = (text: string) => Either.getOrThrow(Either.flip(LinePatch.parse(text)))

/** What it takes of the processor: other programs on the machine do not count. */
const milliseconds = (run: () => void): number => {
  const before = process.cpuUsage()
  run()
  const { system, user } = process.cpuUsage(before)
  return (system + user) / 1_000
}

type Texts = Readonly<Record<string, string>>

const changes = (text: string, texts: Texts) => LinePatch.apply(patchOf(text), new Map(Object.entries(texts)))
const applied = (text: string, texts: Texts) =>
  Object.fromEntries(
    Either.getOrThrowWith(changes(text, texts), (error) => error).map(({ after, path }) => [path, after])
  )
const applyError = (text: string, texts: Texts) => Either.getOrThrow(Either.flip(changes(text, texts)))

/** What the operations make of the one file `a`. */
const edited = (operations: string, before: string) => applied(`LP1\nF a\n${operations}\nEND\n`, { a: before })["a"]

describe("LinePatch.parse", () => {
  it("reads every operation, with the lines that they stand in", () => {
    const text = "LP1\nF a\nR\none\n.\ntwo\n.\nI 2\nx\n.\n.\nP\nx\n.\ny\n.\nE 10\nx\n.\nT\n.\nB\nz\n.\nN +\nN -\nEND\n"
    expect(patchOf(text)).toEqual({
      sections: [{
        path: "a",
        line: 2,
        operations: [
          { _tag: "Replace", line: 3, nth: undefined, match: ["one"], text: ["two"] },
          { _tag: "InsertAfter", line: 8, nth: 2, match: ["x"], text: [] },
          { _tag: "InsertBefore", line: 12, nth: undefined, match: ["x"], text: ["y"] },
          { _tag: "Delete", line: 17, nth: 10, match: ["x"] },
          { _tag: "Append", line: 20, text: [] },
          { _tag: "Prepend", line: 22, text: ["z"] },
          { _tag: "FinalNewline", line: 25, present: true },
          { _tag: "FinalNewline", line: 26, present: false }
        ]
      }]
    })
  })

  it("allows comments and blank lines where an operation could stand, and blanks around LP1 and END", () => {
    const text = "\n# why\n \t LP1\t\n  # one\nF a\n\n#F b\nT\n# content\n\n.\n\t\n END \n# done\n\n"
    expect(patchOf(text)).toEqual({
      sections: [{ path: "a", line: 5, operations: [{ _tag: "Append", line: 8, text: ["# content", ""] }] }]
    })
    expect(patchOf("LP1\nEND")).toEqual({ sections: [] })
    expect(patchOf("LP1\nF a\nF b\nEND").sections.map(({ path }) => path)).toEqual(["a", "b"])
  })

  it("takes the line ends of the patch off, LF and CRLF", () => {
    const lf = "LP1\nF a\nR\none\n.\n\n.\nEND"
    expect(patchOf(lf.replaceAll("\n", "\r\n"))).toEqual(patchOf(lf))
    expect(patchOf("LP1\r\nF a\nT\r\nx\n.\r\nEND")).toEqual(patchOf("LP1\nF a\nT\nx\n.\nEND"))
  })

  it("takes exactly one dot away, after it has looked for the end of the block", () => {
    const text = "LP1\nF a\nT\n..\n...\n..x\n.. \n .\n. \t\nEND"
    expect(patchOf(text).sections[0]?.operations).toEqual([
      { _tag: "Append", line: 3, text: [".", "..", ".x", ". ", " ."] }
    ])
  })

  it("reads bare and quoted paths", () => {
    const path = (written: string) => patchOf(`LP1\nF ${written}\nEND`).sections[0]?.path
    expect(path("src/a.ts")).toBe("src/a.ts")
    expect(path("a\\b")).toBe("a\\b")
    expect(path("#a")).toBe("#a")
    expect(path("\"a\"")).toBe("a")
    expect(path("\"two words\"")).toBe("two words")
    expect(path("\"a\\\"b\\\\c\"")).toBe("a\"b\\c")
    expect(path("\"😀 ü\"")).toBe("😀 ü")
  })

  const refused = (name: string, text: string, line: number, message: string) =>
    it(`refuses ${name}`, () => {
      const error = parseError(text)
      expect(error).toMatchObject({ _tag: "PatchError", reason: "syntax", line })
      expect(error.message).toContain(`Line ${line} of the patch `)
      expect(error.message).toContain(message)
      expect(error.fix).not.toBe("")
    })

  refused("nothing", "", 1, "should be \"LP1\", but the patch is empty")
  refused("only comments", "# a\n\n", 2, "but the patch is empty")
  refused("a code fence", "```\nLP1\nEND\n```", 1, "should be \"LP1\": \"```\"")
  refused("another word", "\nlp1\nEND", 2, "should be \"LP1\": \"lp1\"")
  refused("no END", "LP1\nF a\nN +\n", 3, "there is no END")
  refused("what follows END", "LP1\nEND\n# a\nF a", 4, "stands after END: \"F a\"")
  refused("a second LP1", "LP1\nLP1\nEND", 2, "is not an operation: \"LP1\"")
  refused("an operation without a file", "LP1\nT\nx\n.\nEND", 2, "before any file is named: \"T\"")
  refused("text outside of blocks", "LP1\nF a\nhello\nEND", 3, "is not an operation: \"hello\"")
  refused("a dot outside of blocks", "LP1\nF a\nT\nx\n.\n.\nEND", 6, "holds a dot where no block is open")
  refused("a third block", "LP1\nF a\nR\nx\n.\ny\n.\nz\n.\nEND", 8, "\"z\"")
  refused("a block that never ends", "LP1\nF a\nR\nx\n.\ny\nF b\nEND", 3, "line 7, \"F b\", was read as content")
  refused("a block that the text ends in", "LP1\nF a\nT", 3, "opens a block in line 4 that is never closed")
  refused("a lone dot in a block", "LP1\nF a\nT\n.x\n.\nEND", 4, "single dot inside a block: \".x\"")
  refused("a dot and a blank and more", "LP1\nF a\nT\n. x\n.\nEND", 4, "single dot inside a block")
  refused("an empty match", "LP1\nF a\nR\n.\nx\n.\nEND", 3, "no lines in its match block")
  refused("blanks around an operation", "LP1\nF a\n  T\nx\n.\nEND", 3, "is not an operation: \"  T\"")
  for (
    const operation of ["R 0", "R 01", "R -1", "R +1", "R 1.5", "R x", "R  1", "R\t1", "R 1 ", "E ", "I1", "R 1e3"]
  ) {
    refused(`"${operation}"`, `LP1\nF a\n${operation}\nx\n.\ny\n.\nEND`, 3, JSON.stringify(operation))
  }
  for (const operation of ["T 1", "B 2", "N", "N  +", "N *", "N+", "r", "D", "X 1", "END F"]) {
    refused(`"${operation}"`, `LP1\nF a\n${operation}\nEND`, 3, JSON.stringify(operation))
  }
  for (const path of ["a b", "a\"b", "\"a", "\"a\"b", "\"a\\n\"", "\"a\\\"", "\"\"", "a\u00a0b", "", " a"]) {
    refused(`the path ${JSON.stringify(path)}`, `LP1\nF ${path}\nEND`, 2, "does not name a file")
  }
  refused("F alone", "LP1\nF\nEND", 2, "does not name a file")
  refused("a lone carriage return", "LP1\nF a\nT\nx\ry\n.\nEND", 4, "carriage return")
  refused("a doubled carriage return", "LP1\r\nF a\r\r\nEND", 2, "carriage return")
  refused("half a character", "LP1\nF a\nT\n\ud800\n.\nEND", 4, "lone surrogate")

  it("shows a line cut where it is long, and nothing hidden", () => {
    expect(parseError(`LP1\n${"x".repeat(5_000)}\nEND`).message.length).toBeLessThan(200)
    expect(parseError("LP1\n\u001b[31mred\u202e\u200b\nEND").message).not.toMatch(/[\u001b\u202e\u200b]/)
  })

  const word = FastCheck.constantFrom(
    "LP1",
    "END",
    "F a",
    "F \"b c\"",
    "R",
    "I 2",
    "P",
    "E",
    "T",
    "B",
    "N +",
    "N -",
    ".",
    "..",
    ". ",
    ".x",
    "#",
    "",
    " ",
    "\r",
    "x",
    "\u2028",
    "\ud800",
    "F",
    "\t",
    "F \"\\"
  )

  it.prop("gives a patch or an error with its line for any text", [
    FastCheck.oneof(
      FastCheck.string({ unit: "binary" }),
      FastCheck.array(word, { maxLength: 24 }).map((lines) => lines.join("\n")),
      FastCheck.array(word, { maxLength: 24 }).map((lines) => ["LP1", "F a", ...lines, "END"].join("\n"))
    )
  ], ([text]) => {
    const read = LinePatch.parse(text)
    if (Either.isRight(read)) expect(LinePatch.parse(LinePatch.print(read.right))._tag).toBe("Right")
    else {
      expect(read.left.line).toBeGreaterThan(0)
      expect(read.left.line).toBeLessThanOrEqual(text.split("\n").length)
    }
  }, { fastCheck: { numRuns: 500 } })

  const megabyte = 1_048_576
  for (
    const [name, text] of Object.entries({
      newlines: "\n".repeat(megabyte),
      blanks: " ".repeat(megabyte),
      comments: "#\n".repeat(megabyte / 2),
      "blanks around LP1": `${" ".repeat(megabyte)}LP1\nEND`,
      dots: `LP1\nF a\nT\n${".\n".repeat(megabyte / 2)}`,
      "dots and blanks": `LP1\nF a\nT\n.${" \t".repeat(megabyte / 2)}x`,
      "open blocks": `LP1\nF a\n${"T\n".repeat(megabyte / 2)}`,
      sections: `LP1\n${"F a\n".repeat(megabyte / 4)}END`,
      operations: `LP1\nF a\n${"N +\n".repeat(megabyte / 4)}END`,
      backslashes: `LP1\nF "${"\\".repeat(megabyte)}"\nEND`,
      "a quoted path": `LP1\nF "${"a ".repeat(megabyte / 2)}"\nEND`,
      "carriage returns": "\r".repeat(megabyte),
      "a line": `LP1\n${"x".repeat(megabyte)}`,
      "blanks and a letter": `LP1\nF a\n${" ".repeat(megabyte)}x`
    })
  ) {
    it(`reads a megabyte of ${name} in under a second`, () => {
      expect(milliseconds(() => LinePatch.parse(text))).toBeLessThan(1_000)
    })
  }
})

const line = FastCheck.oneof(
  {
    weight: 4,
    arbitrary: FastCheck.constantFrom("a", "b", "", ".", "..", ". ", ".x", " ", "END", "# c", "F x", "LP1")
  },
  { weight: 1, arbitrary: FastCheck.string({ unit: "grapheme" }).filter((text) => !/[\r\n\p{Surrogate}]/u.test(text)) }
)
const block = FastCheck.array(line, { maxLength: 5 })
const match = FastCheck.array(line, { minLength: 1, maxLength: 5 })
const nth = FastCheck.option(FastCheck.integer({ min: 1, max: 999_999_999_999_999 }), { nil: undefined })
const path = FastCheck.string({
  minLength: 1,
  unit: FastCheck.constantFrom("a", "/", " ", "\"", "\\", "ü", "😀", "#", ".")
})

const operation: FastCheck.Arbitrary<LinePatch.Operation> = FastCheck.oneof(
  FastCheck.record({
    _tag: FastCheck.constantFrom("Replace" as const, "InsertAfter" as const, "InsertBefore" as const),
    line: FastCheck.constant(0),
    nth,
    match,
    text: block
  }),
  FastCheck.record({ _tag: FastCheck.constant("Delete" as const), line: FastCheck.constant(0), nth, match }),
  FastCheck.record({
    _tag: FastCheck.constantFrom("Append" as const, "Prepend" as const),
    line: FastCheck.constant(0),
    text: block
  }),
  FastCheck.record({
    _tag: FastCheck.constant("FinalNewline" as const),
    line: FastCheck.constant(0),
    present: FastCheck.boolean()
  })
)

const patch: FastCheck.Arbitrary<LinePatch.Patch> = FastCheck.record({
  sections: FastCheck.array(
    FastCheck.record({ path, line: FastCheck.constant(0), operations: FastCheck.array(operation, { maxLength: 6 }) }),
    { maxLength: 4 }
  )
})

const withoutLines = ({ sections }: LinePatch.Patch): LinePatch.Patch => ({
  sections: sections.map((section) => ({
    ...section,
    line: 0,
    operations: section.operations.map((operation) => ({ ...operation, line: 0 }))
  }))
})

describe("LinePatch.print", () => {
  it.prop("is read as the same patch, also with CRLF", [patch], ([patch]) => {
    const printed = LinePatch.print(patch)
    const read = patchOf(printed)
    expect(withoutLines(read)).toEqual(patch)
    expect(patchOf(LinePatch.print(read))).toEqual(read)
    expect(patchOf(printed.replaceAll("\n", "\r\n"))).toEqual(read)
  }, { fastCheck: { numRuns: 300 } })
})

interface Text {
  readonly lines: ReadonlyArray<string>
  readonly finalNewline: boolean
}

const render = ({ finalNewline, lines }: Text, eol: string): string =>
  lines.length === 0 ? "" : lines.join(eol) + (finalNewline ? eol : "")

/** A generated edit: which operation, where it may strike, and the lines that it brings. */
const edit = FastCheck.record({
  letter: FastCheck.constantFrom(..."RIPETBN"),
  at: FastCheck.nat(),
  size: FastCheck.integer({ min: 1, max: 3 }),
  numbered: FastCheck.boolean(),
  text: block
})
type Edit = typeof edit extends FastCheck.Arbitrary<infer A> ? A : never

/** The edit done on an array of lines, and the same as an operation of a patch; undefined where it has no place. */
const doneByHand = ({ finalNewline, lines }: Text, { at, letter, numbered, size, text }: Edit) => {
  if (letter === "T") {
    return { after: { lines: [...lines, ...text], finalNewline }, written: { _tag: "Append" as const, text } }
  }
  if (letter === "B") {
    return { after: { lines: [...text, ...lines], finalNewline }, written: { _tag: "Prepend" as const, text } }
  }
  if (letter === "N") {
    const present = at % 2 === 0
    return {
      after: present && lines.length === 0
        ? { lines: [""], finalNewline: true }
        : !present && lines.join("\n") === ""
        ? { lines: lines.slice(1), finalNewline: false }
        : { lines, finalNewline: present },
      written: { _tag: "FinalNewline" as const, present }
    }
  }
  if (lines.length === 0) return undefined
  const start = at % lines.length
  const match = lines.slice(start, start + size)
  const places = lines.flatMap((_, index) =>
    JSON.stringify(lines.slice(index, index + match.length)) === JSON.stringify(match) ? [index] : []
  )
  const nth = numbered || places.length > 1 ? places.indexOf(start) + 1 : undefined
  const end = start + match.length
  const [tag, from, to] = letter === "R"
    ? ["Replace" as const, start, end]
    : letter === "I"
    ? ["InsertAfter" as const, end, end]
    : letter === "P"
    ? ["InsertBefore" as const, start, start]
    : ["Delete" as const, start, end]
  return {
    after: { lines: [...lines.slice(0, from), ...(tag === "Delete" ? [] : text), ...lines.slice(to)], finalNewline },
    written: tag === "Delete" ? { _tag: tag, nth, match } : { _tag: tag, nth, match, text }
  }
}

describe("LinePatch.apply", () => {
  it.prop(
    "does what the same edits do on arrays of lines",
    [
      FastCheck.array(line, { maxLength: 8 }),
      FastCheck.boolean(),
      FastCheck.array(edit, { maxLength: 6 }),
      FastCheck.boolean(),
      FastCheck.boolean()
    ],
    ([lines, ended, edits, crlf, crlfPatch]) => {
      const start: Text = {
        lines: lines.join("") === "" && !ended ? [] : lines,
        finalNewline: ended && lines.length > 0
      }
      const eol = crlf && (start.lines.length > 1 || start.finalNewline) ? "\r\n" : "\n"
      const operations: Array<LinePatch.Operation> = []
      let text = start
      for (const one of edits) {
        const done = doneByHand(text, one)
        if (done === undefined) continue
        operations.push({ ...done.written, line: 0 })
        text = done.after
      }
      const before = render(start, eol)
      // A text whose last line is empty and not ended is another text, which has its own cases below.
      FastCheck.pre(start.finalNewline || start.lines.at(-1) !== "")
      const printed = LinePatch.print({ sections: [{ path: "a", line: 0, operations }] })
      const [change] = Either.getOrThrowWith(
        changes(crlfPatch ? printed.replaceAll("\n", "\r\n") : printed, { a: before }),
        (error) => error
      )
      expect(change).toMatchObject({ before, after: render(text, eol) })
      expect(change?.origins.length).toBe(text.lines.length)
      for (const [index, origin] of change?.origins.entries() ?? []) {
        if (origin > 0) expect(text.lines[index]).toBe(start.lines[origin - 1])
      }
    },
    { fastCheck: { numRuns: 500 } }
  )

  it("replaces, inserts, deletes, appends and prepends", () => {
    expect(edited("R\nb\n.\nB\n.", "a\nb\nc\n")).toBe("a\nB\nc\n")
    expect(edited("R\na\nb\n.\nx\ny\nz\n.", "a\nb\nc\n")).toBe("x\ny\nz\nc\n")
    expect(edited("I\nb\n.\nx\ny\n.", "a\nb\nc\n")).toBe("a\nb\nx\ny\nc\n")
    expect(edited("P\nb\n.\nx\n.", "a\nb\nc\n")).toBe("a\nx\nb\nc\n")
    expect(edited("E\nb\nc\n.", "a\nb\nc\n")).toBe("a\n")
    expect(edited("T\nx\n.", "a\n")).toBe("a\nx\n")
    expect(edited("B\nx\n.", "a\n")).toBe("x\na\n")
    expect(edited("", "a\n")).toBe("a\n")
  })

  it("applies operations to what the ones before have left", () => {
    expect(edited("R\na\n.\nb\n.\nR\nb\n.\nc\n.", "a\n")).toBe("c\n")
    expect(edited("T\na\n.\nE 2\na\n.", "a\n")).toBe("a\n")
  })

  it("takes the n-th match by start line, overlapping ones counted", () => {
    expect(edited("R 2\na\na\n.\nx\n.", "a\na\na\n")).toBe("a\nx\n")
    expect(edited("R 3\na\n.\nx\n.", "a\nb\na\nb\na\n")).toBe("a\nb\na\nb\nx\n")
    expect(edited("E 1\na\n.", "a\n")).toBe("")
  })

  it("compares whole lines exactly", () => {
    for (const near of ["A", " a", "a ", "aa", "á", "a\u0301"]) {
      expect(applyError(`LP1\nF f\nE\n${near}\n.\nEND`, { f: "a\nb\n" })).toMatchObject({
        reason: "not-found",
        line: 3
      })
    }
    expect(applyError("LP1\nF f\nE\n\u00e9\n.\nEND", { f: "e\u0301\n" })).toMatchObject({ reason: "not-found" })
  })

  it("keeps to the newline model", () => {
    const cases: ReadonlyArray<readonly [operations: string, before: string, after: string]> = [
      ["", "", ""],
      ["", "\n", "\n"],
      ["", "a", "a"],
      ["", "a\r\nb", "a\r\nb"],
      ["N +", "", "\n"],
      ["N -", "\n", ""],
      ["N -", "", ""],
      ["N +", "\n", "\n"],
      ["N +", "a", "a\n"],
      ["N -", "a\n", "a"],
      ["N +\nN -", "a", "a"],
      ["N -\nN +", "a", "a\n"],
      ["N -\nN +", "\n", "\n"],
      ["N +", "a\r\nb", "a\r\nb\r\n"],
      ["N -", "a\r\n", "a"],
      ["T\nb\n.", "a", "a\nb"],
      ["T\nb\n.", "a\r\n", "a\r\nb\r\n"],
      ["T\nb\n.", "", "b"],
      ["T\nb\n.", "\n", "\nb\n"],
      ["E\n\n.", "\n", ""],
      ["E\na\n.", "a\n", ""],
      ["E\na\n.\nT\nb\n.", "a\n", "b\n"],
      ["B\nx\n.", "\r\n", "x\r\n\r\n"],
      ["R\na\n.\n.", "a\nb", "b"]
    ]
    for (const [operations, before, after] of cases) {
      expect([operations, edited(operations, before)]).toEqual([operations, after])
    }
  })

  it("edits an LF file with a CRLF patch and leaves it LF, and the other way round", () => {
    const text = "LP1\nF a\nR\none\n.\n1\n2\n.\nT\nlast\n.\nEND\n"
    expect(applied(text.replaceAll("\n", "\r\n"), { a: "zero\none\n" })).toEqual({ a: "zero\n1\n2\nlast\n" })
    expect(applied(text, { a: "zero\r\none\r\n" })).toEqual({ a: "zero\r\n1\r\n2\r\nlast\r\n" })
  })

  it("refuses line ends that it could not keep, and says in which line of the file", () => {
    const why = (a: string) => applyError("LP1\n\nF a\nN +\nEND", { a })
    expect(why("a\rb\n")).toMatchObject({ reason: "line-ends", line: 3 })
    expect(why("a\n\r").message).toContain("a carriage return that no line feed follows, in its line 2")
    expect(why("a\r\r\n").message).toContain("in its line 1")
    expect(why("a\r\nb\r\nc\nd\r\n").message).toContain("mixes LF and CRLF as line ends, in its line 3")
    expect(why("a\nb\r\n").message).toContain("mixes LF and CRLF as line ends, in its line 2")
  })

  it("creates a file with T or B, with LF and a final newline, and refuses all else on what is not there", () => {
    expect(applied("LP1\nF a\nT\nx\n.\nF b\r\nB\r\ny\r\n.\r\nEND", {})).toEqual({ a: "x\n", b: "y\n" })
    expect(applied("LP1\nF a\nT\n.\nEND", {})).toEqual({ a: "" })
    expect(applied("LP1\nF a\nT\nx\n.\nR\nx\n.\ny\n.\nN -\nEND", {})).toEqual({ a: "y" })
    expect(applied("LP1\nF a\nEND", {})).toEqual({})
    for (const operation of ["R\nx\n.\n.", "I\nx\n.\n.", "P\nx\n.\n.", "E\nx\n.", "N +", "N -"]) {
      const error = applyError(`LP1\nF a\n${operation}\nT\nx\n.\nEND`, {})
      expect(error).toMatchObject({ reason: "missing-file", line: 3 })
      expect(error.message).toContain("a does not exist")
    }
  })

  it("says of several matches how many there are and where", () => {
    const error = applyError("LP1\nF f\n# c\nR\na\n.\nx\n.\nEND", { f: "a\nb\na\na\n" })
    expect(error).toMatchObject({ reason: "ambiguous", line: 4 })
    expect(error.message).toBe(
      "Line 4 of the patch: the match of R is in f 3 times: line 1, line 3, line 4. Nothing was changed."
    )
    expect(error.fix).toContain("R 1 is the first")
    expect(applyError("LP1\nF f\nE\na\n.\nEND", { f: "a\n".repeat(50) }).message).toContain("50 times: line 1")
  })

  it("says of a match that is not there what is closest, as the block to send", () => {
    const error = applyError("LP1\nF f\nR\nif (x) {\n  ..y()\n.\n.\nEND", { f: "start\n    if (x) {\n    .y()\n}\n" })
    expect(error).toMatchObject({ reason: "not-found", line: 3 })
    expect(error.message).toContain("Line 3 of the patch: the match of R is in f 0 times. The closest is lines 2-3.")
    expect(error.message).toContain("Only white space differs. Line 2 has an indentation of 4 spaces")
    expect(error.fix).toBe("If that is meant, the match block is exactly this:\n    if (x) {\n    .y()\n.")
    const other = applyError("LP1\nF f\nE\nzzzz\n.\nEND", { f: "a\n" })
    expect(other.message).toContain("is in f 0 times. Nothing there is like it.")
    const dots = applyError("LP1\nF f\nE\n..hidden \n.\nEND", { f: ".hidden\n" })
    expect(dots.fix).toContain("exactly this:\n..hidden\n.")
  })

  it("says of a number that is too high how many matches there are", () => {
    const error = applyError("LP1\nF f\nI 3\na\n.\nx\n.\nEND", { f: "a\nb\na\n" })
    expect(error).toMatchObject({ reason: "not-found", line: 3 })
    expect(error.message).toContain("asks for match number 3, but f has 2: line 1, line 3")
  })

  it("refuses a second section for a path, before any operation is tried", () => {
    const error = applyError("LP1\nF a\nE\nnot there\n.\nF b\nN +\nF \"a\"\nN +\nEND", { a: "x\n", b: "" })
    expect(error).toMatchObject({ reason: "same-file", line: 8 })
    expect(error.message).toContain("the file of line 2")
    const same = LinePatch.repeated(patchOf("LP1\nF a\nF ./a\nEND"), (path) => path.replace("./", ""))
    expect(same).toMatchObject({ reason: "same-file", line: 3 })
  })

  it("gives nothing at all where one operation fails", () => {
    expect(applyError("LP1\nF a\nT\nx\n.\nF b\nT\ny\n.\nE\nz\n.\nEND", { a: "", b: "" })).toMatchObject({ line: 10 })
  })

  it("says which lines an edit rests on, and where the others went", () => {
    const [change] = Either.getOrThrow(
      changes("LP1\nF f\nR\nb\n.\nx\ny\n.\nE\nd\n.\nR\nx\n.\nz\n.\nEND", { f: "a\nb\nc\nd\ne\n" })
    )
    expect(change).toMatchObject({ touched: [2, 4], origins: [1, 0, 0, 3, 5] })
    const [ends] = Either.getOrThrow(changes("LP1\nF f\nT\nz\n.\nB\ny\n.\nEND", { f: "a\nb\nc\n" }))
    expect(ends).toMatchObject({ touched: [1, 3], origins: [0, 1, 2, 3, 0] })
    const [newline] = Either.getOrThrow(changes("LP1\nF f\nN -\nEND", { f: "a\nb\n" }))
    expect(newline).toMatchObject({ touched: [2], origins: [1, 2] })
  })

  it("takes a block of any length", () => {
    const added = "x\n".repeat(200_000)
    expect(edited(`R\nb\n.\n${added}.`, "a\nb\nc\n")).toBe(`a\n${added}c\n`)
    expect(edited(`E\n${added}.`, `a\n${added}`)).toBe("a\n")
  })

  it("finds a match that nearly repeats itself in time that grows with the file", () => {
    const lines = "a\n".repeat(500_000)
    const patch = `LP1\nF f\nE\n${"a\n".repeat(100_000)}b\n.\nEND`
    expect(milliseconds(() => expect(applyError(patch, { f: lines })).toMatchObject({ reason: "not-found" })))
      .toBeLessThan(4_000)
  })

  it("refuses more work than a second's", () => {
    const patch = `LP1\nF f\n${"R\nx\n.\nx\n.\n".repeat(1_000)}END`
    const f = `${"a\n".repeat(200_000)}x\n`
    expect(milliseconds(() => expect(applyError(patch, { f })).toMatchObject({ reason: "too-large" })))
      .toBeLessThan(5_000)
  })
})
