import { FakeSandbox } from "@capstan/testing"
import { EditFile, ReadFile, WriteFile } from "@capstan/tools"
import { describe, expect, it } from "@effect/vitest"
import { Effect, FastCheck } from "effect"
import { change, machines, textOf } from "./machines.js"
import { call, fail, prepare, session, text } from "./toolCalls.js"

const edit = EditFile.tool
const readAll = (path: string) =>
  Effect.map(Effect.succeed(session()), (at) => at).pipe(
    Effect.tap((at) => call(ReadFile.tool, { path }, at))
  )

for (const machine of machines) {
  describe(`edit_file ${machine.name}`, () => {
    it.effect("replaces the one occurrence and shows the lines around it", () =>
      Effect.gen(function*() {
        const at = yield* readAll("a")
        expect(yield* call(edit, { path: "a", old_text: "port = 80", new_text: "port = 8080" }, at)).toBe(
          "edited a: replaced 1 occurrence (line 2). The file is changed and has 3 lines now; this step is done. With line numbers it says there:\n" +
            "1 | host = x\n2 | port = 8080\n3 | end"
        )
        expect(yield* textOf("a")).toBe("host = x\nport = 8080\nend\n")
        expect(yield* call(edit, { path: "a", old_text: "end", new_text: "END" }, at)).toContain(
          "replaced 1 occurrence (line 3)"
        )
      }).pipe(Effect.provide(machine.layer({ a: "host = x\nport = 80\nend\n" }))))

    it.effect("replaces all occurrences when told to, and names the lines when not", () =>
      Effect.gen(function*() {
        const at = yield* readAll("a")
        const several = yield* fail(edit, { path: "a", old_text: "x", new_text: "y" }, at)
        expect(text(several)).toContain("old_text is in a 3 times: line 1, line 3, line 3.")
        expect(text(several)).toContain("\"replace_all\": true")
        expect(yield* textOf("a")).toBe("x\nb\nx x\n")
        expect(yield* call(edit, { path: "a", old_text: "x", new_text: "y", replace_all: true }, at)).toContain(
          "replaced 3 occurrences"
        )
        expect(yield* textOf("a")).toBe("y\nb\ny y\n")
      }).pipe(Effect.provide(machine.layer({ a: "x\nb\nx x\n" }))))

    it.effect("keeps CRLF and the byte order mark when the snippet has LF", () =>
      Effect.gen(function*() {
        const at = yield* readAll("a")
        yield* call(edit, { path: "a", old_text: "one\ntwo", new_text: "1\n2\n3" }, at)
        expect(yield* textOf("a")).toBe("\uFEFF1\r\n2\r\n3\r\nend\r\n")
        yield* call(edit, { path: "a", old_text: "end", new_text: "the\nend" }, at)
        expect(yield* textOf("a")).toBe("\uFEFF1\r\n2\r\n3\r\nthe\r\nend\r\n")
        yield* call(edit, { path: "a", old_text: "2\r\n", new_text: "" }, at)
        expect(yield* textOf("a")).toBe("\uFEFF1\r\n3\r\nthe\r\nend\r\n")
      }).pipe(Effect.provide(machine.layer({ a: "\uFEFFone\r\ntwo\r\nend\r\n" }))))

    it.effect("matches a CRLF snippet in an LF file", () =>
      Effect.gen(function*() {
        const at = yield* readAll("a")
        yield* call(edit, { path: "a", old_text: "one\r\ntwo", new_text: "1\r\n2" }, at)
        expect(yield* textOf("a")).toBe("1\n2\n")
      }).pipe(Effect.provide(machine.layer({ a: "one\ntwo\n" }))))

    it.effect("says that a line is left empty, and not where it went as a whole", () =>
      Effect.gen(function*() {
        const at = yield* readAll("a")
        expect(yield* call(edit, { path: "a", old_text: "two", new_text: "" }, at)).toContain("Line 2 is now empty")
        expect(yield* call(edit, { path: "a", old_text: "three\n", new_text: "" }, at)).not.toContain("is now empty")
        expect(yield* textOf("a")).toBe("one\n\n\nfour\n")
      }).pipe(Effect.provide(machine.layer({ a: "one\ntwo\nthree\n\nfour\n" }))))

    it.effect("hands over the exact text where white space differs, and that text then works", () =>
      Effect.gen(function*() {
        const at = yield* readAll("a")
        const old_text = "if (x) {\n  go()\n}\n"
        const refused = yield* fail(edit, { path: "a", old_text, new_text: "stop()\n" }, at)
        expect(refused).toMatchObject({ _tag: "NotFound", details: { what: "old_text" } })
        expect(text(refused)).toContain("The closest is lines 2-4:\n    if (x) {\n    \tgo()\n    }\n")
        expect(text(refused)).toContain(
          "Only white space differs. Line 2 has an indentation of 4 spaces, your old_text has no indentation."
        )
        const exact: unknown = JSON.parse(/exactly this: "old_text": (".*")$/.exec(text(refused))?.[1] ?? "")
        expect(exact).toBe("    if (x) {\n    \tgo()\n    }\n")
        yield* call(edit, { path: "a", old_text: exact, new_text: "stop()\n" }, at)
        expect(yield* textOf("a")).toBe("start()\nstop()\nend()\n")
      }).pipe(Effect.provide(machine.layer({ a: "start()\n    if (x) {\n    \tgo()\n    }\nend()\n" }))))

    it.effect("says how else the closest passage differs", () =>
      Effect.gen(function*() {
        const at = yield* readAll("a")
        const why = (old_text: string) => Effect.map(fail(edit, { path: "a", old_text, new_text: "?" }, at), text)
        expect(yield* why("const port = 81;")).toContain(
          "Line 1 is \"const port = 80;\", your old_text has \"const port = 81;\""
        )
        expect(yield* why("Const port = 80;")).toContain("Line 1 has other upper and lower case")
        expect(yield* why("const port =  80;")).toContain("within line 1")
        expect(yield* why("const port = 80;  ")).toContain("does not end with the blanks")
        expect(yield* why("const name = \\\"x\\\";")).toContain("backslashes that the file has not")
        expect(yield* why("const name = \\\"x\\\";")).toContain("\"old_text\": \"const name = \\\"x\\\";\"")
        expect(yield* why("zzzzqqqq")).toContain("nothing there is like it. This is all of the file:\nconst port")
        expect(yield* why("const tail = 1;\nvar x")).toContain("The closest is")
      }).pipe(Effect.provide(machine.layer({ a: "const port = 80;\nconst name = \"x\";\nconst tail = 1;  \n" }))))

    it.effect("says that the change is there already", () =>
      Effect.gen(function*() {
        const at = yield* readAll("a")
        const again = yield* fail(edit, { path: "a", old_text: "port = 80\n", new_text: "port = 8080" }, at)
        expect(text(again)).toContain("new_text is, at line 2. If this was the change, it is done already")
      }).pipe(Effect.provide(machine.layer({ a: "x\nport = 8080\n" }))))

    it.effect("refuses what was not read, shows it, and then does it", () =>
      Effect.gen(function*() {
        const at = session()
        const refused = yield* fail(edit, { path: "a", old_text: "1", new_text: "2" }, at)
        expect(refused).toMatchObject({ _tag: "StaleFile" })
        expect(text(refused)).toContain("File was not read before editing. Nothing was written. a has 2 bytes, 1 line")
        yield* call(edit, { path: "a", old_text: "1", new_text: "2" }, at)
        expect(yield* textOf("a")).toBe("2\n")
      }).pipe(Effect.provide(machine.layer({ a: "1\n" }))))

    it.effect("refuses what has changed since it was read", () =>
      Effect.gen(function*() {
        const at = yield* readAll("a")
        yield* change("a", "1\ntheirs\n")
        expect(yield* fail(edit, { path: "a", old_text: "1", new_text: "2" }, at)).toMatchObject({ _tag: "StaleFile" })
        expect(yield* textOf("a")).toBe("1\ntheirs\n")
      }).pipe(Effect.provide(machine.layer({ a: "1\n" }))))

    it.effect("edits only lines that were shown, also after they have moved", () =>
      Effect.gen(function*() {
        const at = session()
        yield* call(ReadFile.tool, { path: "a", start_line: 2, end_line: 3 }, at)
        const unseen = yield* fail(edit, { path: "a", old_text: "l5", new_text: "x" }, at)
        expect(text(unseen)).toContain(
          "File was not read before editing at line 5 of a. Nothing was written. There it says, which now counts as read:\nl5"
        )
        yield* call(edit, { path: "a", old_text: "l2\n", new_text: "l2\nnew\nnewer\n" }, at)
        expect(text(yield* fail(edit, { path: "a", old_text: "l6", new_text: "x" }, at))).toContain("line 8")
        expect(yield* call(edit, { path: "a", old_text: "l5", new_text: "x" }, at)).toContain("line 7")
        yield* call(edit, { path: "a", old_text: "newer\nl3\n", new_text: "" }, at)
        expect(yield* textOf("a")).toBe("l1\nl2\nnew\nl4\nx\nl6\n")
        expect([...at.reads.values()][0]?.lines).toEqual([[2, 3], [5, 6]])
      }).pipe(Effect.provide(machine.layer({ a: "l1\nl2\nl3\nl4\nl5\nl6\n" }))))

    it.effect("edits what the session wrote", () =>
      Effect.gen(function*() {
        const at = session()
        yield* call(WriteFile.tool, { path: "new", content: "a\n" }, at)
        yield* call(edit, { path: "new", old_text: "a", new_text: "b" }, at)
        expect(yield* textOf("new")).toBe("b\n")
      }).pipe(Effect.provide(machine.layer({}))))

    it.effect("refuses arguments that make no sense, and files that are no text", () =>
      Effect.gen(function*() {
        expect(text(yield* fail(edit, { path: "a", old_text: "", new_text: "x" }))).toContain("write_file")
        expect(yield* fail(edit, { path: "a", old_text: "x", new_text: "x" })).toMatchObject({ _tag: "Validation" })
        expect(text(yield* fail(edit, { path: "b", old_text: "x", new_text: "y" }))).toContain("binary")
        expect(text(yield* fail(edit, { path: "c", old_text: "x", new_text: "y" }))).toContain(
          "There is no \"c\". \".\" has: a, b, large."
        )
        expect(
          yield* fail(
            edit,
            { path: "large", old_text: "x", new_text: "y" },
            session({ limits: { maxReadFileScanBytes: 100 } })
          )
        )
          .toMatchObject({ _tag: "Limit" })
      }).pipe(Effect.provide(machine.layer({ a: "1", b: new Uint8Array([0]), large: "x".repeat(101) }))))

    it.effect("shows a diff before", () =>
      Effect.gen(function*() {
        const call = prepare(edit, { path: "a", old_text: "1\n2", new_text: "1\n3" })
        expect(yield* call.preview).toBe("--- a\n+++ a\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n")
        expect(call).toMatchObject({ paths: [{ path: "a", access: "write" }], detail: "a", summary: "Edit a" })
        expect(yield* prepare(edit, { path: "a", old_text: "9", new_text: "1" }).preview).toBeUndefined()
        expect(yield* prepare(edit, { path: "z", old_text: "9", new_text: "1" }).preview).toBeUndefined()
      }).pipe(Effect.provide(machine.layer({ a: "1\n2\n" }))))
  })
}

describe("edit_file", () => {
  const piece = FastCheck.string({ maxLength: 8, unit: FastCheck.constantFrom("a", "b", "\n", " ", "😀", "$&") })

  it.effect.prop(
    "does what replacing strings does",
    [
      piece,
      piece,
      FastCheck.string({ minLength: 1, maxLength: 2, unit: FastCheck.constantFrom("a", "b", "\n") }),
      piece,
      FastCheck.boolean()
    ],
    ([before, after, old_text, new_text, replace_all]) => {
      const file = before + old_text + after
      return Effect.gen(function*() {
        if (old_text === new_text) return
        const at = session()
        yield* call(ReadFile.tool, { path: "a" }, at)
        const args = { path: "a", old_text, new_text, replace_all }
        const once = file.indexOf(old_text) === file.lastIndexOf(old_text)
        if (!once && !replace_all) {
          yield* fail(edit, args, at)
          expect(yield* textOf("a")).toBe(file)
        } else {
          yield* call(edit, args, at)
          expect(yield* textOf("a")).toBe(file.split(old_text).join(new_text))
        }
      }).pipe(Effect.provide(FakeSandbox.layer({ files: { a: file } })))
    },
    { fastCheck: { numRuns: 150 } }
  )

  it.effect.prop(
    "knows after an edit the lines that it knew before, wherever they went",
    [
      FastCheck.integer({ min: 1, max: 8 }),
      FastCheck.integer({ min: 0, max: 3 }),
      FastCheck.integer({ min: 0, max: 3 }),
      FastCheck.boolean()
    ],
    ([first, more, added, ended]) => {
      const lines = Array.from({ length: 12 }, (_, index) => `l${index + 1}.`)
      const last = Math.min(12, first + more)
      return Effect.gen(function*() {
        const at = session()
        yield* call(ReadFile.tool, { path: "a", start_line: first, end_line: last }, at)
        const old_text = lines.slice(first - 1, last).join("\n") + (ended ? "\n" : "")
        const fresh = Array.from({ length: added }, (_, index) => `n${index}`).join("\n") +
          (ended && added > 0 ? "\n" : "")
        yield* call(edit, { path: "a", old_text, new_text: fresh }, at)
        const after = (yield* textOf("a")).split("\n")
        for (const [from, to] of [...at.reads.values()][0]?.lines ?? []) {
          for (const line of after.slice(from - 1, to)) expect(line === "" || line.startsWith("n")).toBe(true)
        }
      }).pipe(Effect.provide(FakeSandbox.layer({ files: { a: lines.join("\n") + "\n" } })))
    },
    { fastCheck: { numRuns: 60 } }
  )
})
