import { FileError } from "@capstan/core/FileError"
import { Sandbox } from "@capstan/core/Sandbox"
import type { FileWritten } from "@capstan/core/Workspace"
import { NodeSandbox } from "@capstan/node"
import { FakeSandbox } from "@capstan/testing"
import { ApplyPatch, EditFile, FileTools, LinePatch, ReadFile, SearchFiles, WriteFile } from "@capstan/tools"
import { describe, expect, it } from "@effect/vitest"
import { Effect, FastCheck, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { change, machines, temporaryFolder, textOf } from "./machines.js"
import { snapshot } from "./patchGround.js"
import { call, fail, prepare, type Session, session, text } from "./toolCalls.js"

const tool = ApplyPatch.tool

const patchOf = (...sections: ReadonlyArray<string>) => `LP1\n${sections.join("\n")}\nEND\n`
const apply = (patch: string, at?: Session) => call(tool, { patch }, at)
const refused = (patch: string, at?: Session) => fail(tool, { patch }, at)

/** A session that has read these files. */
const having = (...paths: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const at = session()
    for (const path of paths) yield* call(ReadFile.tool, { path }, at)
    return at
  })

const exists = (path: string) =>
  Effect.flatMap(Sandbox, ({ files }) => Effect.map(Effect.option(files.stat({ path })), ({ _tag }) => _tag === "Some"))

for (const machine of machines) {
  describe(`apply_patch ${machine.name}`, () => {
    it.effect("changes and creates files together, and says what it did to each", () =>
      Effect.gen(function*() {
        const at = yield* having("a", "dir/b")
        expect(
          yield* apply(
            patchOf(
              "F a\nR\ntwo\n.\n2\n2b\n.",
              "F \"dir/b\"\nT\nend\n.",
              "F \"new dir/c\"\nT\n..hidden\n.",
              "F d\nB\nfirst\n."
            ),
            at
          )
        ).toBe("modified: a\nmodified: dir/b\ncreated: new dir/c\ncreated: d")
        expect(yield* textOf("a")).toBe("one\n2\n2b\nthree\n")
        expect(yield* textOf("dir/b")).toBe("\uFEFFx\r\nend\r\n")
        expect(yield* textOf("new dir/c")).toBe(".hidden\n")
        expect(yield* textOf("d")).toBe("first\n")
        expect(at.written).toEqual([40])
      }).pipe(Effect.provide(machine.layer({ a: "one\ntwo\nthree\n", "dir/b": "\uFEFFx\r\n" }))))

    it.effect("writes nothing where nothing changes", () =>
      Effect.gen(function*() {
        const at = yield* having("a", "b")
        const before = yield* Effect.flatMap(Sandbox, ({ files }) => files.stat({ path: "a" }))
        expect(yield* apply("LP1\nEND", at)).toBe("No changes applied.")
        expect(yield* apply(patchOf("F a\nR\n1\n.\n1\n.\nN +", "F missing"), at)).toBe("No changes applied.")
        expect(yield* apply(patchOf("F a\nN +", "F b\nN -"), at)).toBe("modified: b")
        expect(yield* Effect.flatMap(Sandbox, ({ files }) => files.stat({ path: "a" }))).toEqual(before)
        expect(yield* textOf("b")).toBe("2")
        expect(at.written).toEqual([1])
      }).pipe(Effect.provide(machine.layer({ a: "1\n", b: "2\n" }))))

    it.effect("keeps the line ends of a file, whatever those of the patch are", () =>
      Effect.gen(function*() {
        const at = yield* having("lf", "crlf")
        const patch = patchOf("F lf\nI\na\n.\nb\n.", "F crlf\nI\na\n.\nb\n.", "F new\nT\na\n.")
        yield* apply(patch.replaceAll("\n", "\r\n"), at)
        expect(yield* textOf("lf")).toBe("a\nb\n")
        expect(yield* textOf("crlf")).toBe("a\r\nb\r\n")
        expect(yield* textOf("new")).toBe("a\n")
      }).pipe(Effect.provide(machine.layer({ lf: "a\n", crlf: "a\r\n" }))))

    it.effect("refuses what was not read, shows all of it, and then does it", () =>
      Effect.gen(function*() {
        const at = session()
        const patch = patchOf("F a\nR\n1\n.\n2\n.", "F b\nT\nx\n.", "F c\nT\nnew\n.")
        const stale = yield* refused(patch, at)
        expect(stale).toMatchObject({ _tag: "StaleFile", details: { path: "a" } })
        expect(text(stale)).toContain("File was not read before patching. Nothing was written. a has 2 bytes, 1 line")
        expect(text(stale)).toContain("b has 3 bytes, 1 line; this is its content, which now counts as read:\nbb\n")
        expect(text(stale)).toContain("Now send the patch again")
        expect(yield* exists("c")).toBe(false)
        expect(yield* apply(patch, at)).toBe("modified: a\nmodified: b\ncreated: c")
      }).pipe(Effect.provide(machine.layer({ a: "1\n", b: "bb\n" }))))

    it.effect("refuses what has changed since it was read", () =>
      Effect.gen(function*() {
        const at = yield* having("a", "b")
        yield* change("b", "theirs\n")
        const stale = yield* refused(patchOf("F a\nT\nx\n.", "F b\nT\nx\n."), at)
        expect(stale).toMatchObject({ _tag: "StaleFile", details: { path: "b" } })
        expect(text(stale)).toContain("File content changed since last read: b")
        expect(yield* textOf("a")).toBe("1\n")
        expect(yield* textOf("b")).toBe("theirs\n")
      }).pipe(Effect.provide(machine.layer({ a: "1\n", b: "2\n" }))))

    it.effect("counts what the session wrote, copied out of errors or patched itself as read, and not what it searched", () =>
      Effect.gen(function*() {
        const at = session()
        yield* call(WriteFile.tool, { path: "w", content: "1\n" }, at)
        yield* apply(patchOf("F w\nT\n2\n.", "F new\nT\na\n."), at)
        yield* apply(patchOf("F w\nE\n1\n.", "F new\nR\na\n.\nb\n."), at)
        yield* call(EditFile.tool, { path: "new", old_text: "b", new_text: "c" }, at)
        yield* apply(patchOf("F new\nE\nc\n."), at)
        expect(yield* textOf("w")).toBe("2\n")
        expect(yield* textOf("new")).toBe("")
        yield* call(SearchFiles.tool, { pattern: "found" }, at)
        expect(yield* refused(patchOf("F s\nE\nfound\n."), at)).toMatchObject({ _tag: "StaleFile" })
      }).pipe(Effect.provide(machine.layer({ s: "found\n" }))))

    it.effect("edits only lines that were shown, also after they have moved", () =>
      Effect.gen(function*() {
        const at = session()
        yield* call(ReadFile.tool, { path: "a", start_line: 3, end_line: 4 }, at)
        const unseen = yield* refused(patchOf("F a\nR\nl3\n.\nx\n.\nE\nl6\nl7\n.\nT\nz\n."), at)
        expect(unseen).toMatchObject({ _tag: "StaleFile", details: { path: "a" } })
        expect(text(unseen)).toContain(
          "File was not read before patching at lines 6-7, line 9 of a. Nothing was written."
        )
        expect(text(unseen)).toContain("which now counts as read:\nl6\nl7\n...\nl9")
        expect(yield* apply(patchOf("F a\nR\nl3\n.\nx\ny\n.\nE\nl6\nl7\n.\nT\nz\n."), at)).toBe("modified: a")
        expect(yield* textOf("a")).toBe("l1\nl2\nx\ny\nl4\nl5\nl8\nl9\nz\n")
        expect([...at.reads.values()].map(({ lines }) => lines)).toEqual([[[3, 5], [8, 9]]])
        expect(yield* refused(patchOf("F a\nB\nhead\n."), at)).toMatchObject({ _tag: "StaleFile" })
        expect(yield* refused(patchOf("F a\nI\nl5\n.\nx\n."), at)).toMatchObject({ _tag: "StaleFile" })
        expect(yield* apply(patchOf("F a\nR\nl4\n.\n4\n."), at)).toBe("modified: a")
      }).pipe(Effect.provide(machine.layer({ a: "l1\nl2\nl3\nl4\nl5\nl6\nl7\nl8\nl9\n" }))))

    it.effect("names the lines to read where they are too long to be shown", () =>
      Effect.gen(function*() {
        const at = session()
        yield* call(ReadFile.tool, { path: "a", start_line: 1, end_line: 1 }, at)
        const unseen = yield* refused(patchOf(`F a\nE\n${"x".repeat(5_000)}\n.`), at)
        expect(text(unseen)).toContain(
          "Read these lines: read_file {\"path\":\"a\",\"start_line\":2,\"end_line\":2}."
        )
        const unread = yield* refused(patchOf("F a\nE\n1\n."), session())
        expect(text(unread)).toContain("Read it first: read_file {\"path\":\"a\"}")
      }).pipe(Effect.provide(machine.layer({ a: `1\n${"x".repeat(5_000)}\n3\n` }))))

    it.effect("says in which line a patch is wrong, and that of an operation that fails, and writes nothing", () =>
      Effect.gen(function*() {
        const at = yield* having("a")
        expect(yield* refused("LP1\nF a\nR\n1\n.\nEND", at)).toMatchObject({
          _tag: "PatchFailed",
          details: { line: 3 }
        })
        const missing = yield* refused(patchOf("F new\nT\nx\n.", "F a\nE\n2\n."), at)
        expect(missing).toMatchObject({ _tag: "PatchFailed", details: { line: 7 } })
        expect(text(missing)).toContain("Line 7 of the patch: the match of E is in a 0 times.")
        const several = yield* refused(patchOf("F new\nT\nx\n.", "F a\nE\n1\n.\nE\nz\n."), at)
        expect(text(several)).toContain("Line 7 of the patch: the match of E is in a 2 times: line 1, line 3.")
        const nowhere = yield* refused(patchOf("F src/a\nE\nz\n."), at)
        expect(nowhere).toMatchObject({ _tag: "PatchFailed", details: { line: 3 } })
        expect(text(nowhere)).toContain("src/a does not exist, so E has nothing to work on.")
        expect(text(nowhere)).toContain("Did you mean \"a\"? To create the file, begin with T and its lines.")
        expect(yield* exists("new")).toBe(false)
        expect(yield* textOf("a")).toBe("1\nz\n1\n")
      }).pipe(Effect.provide(machine.layer({ a: "1\nz\n1\n" }))))

    it.effect("refuses two sections for one file, however it is written", () =>
      Effect.gen(function*() {
        const at = yield* having("dir/a")
        for (const other of ["dir/a", "./dir/a", "dir/../dir/a", "link/a", "name"]) {
          const twice = yield* refused(patchOf("F dir/a\nT\nx\n.", `F ${other}\nT\ny\n.`), at)
          expect(twice).toMatchObject({ _tag: "PatchFailed", details: { line: 6 } })
          expect(text(twice)).toContain("is the file of line 2")
        }
        expect(yield* refused(patchOf("F new\nT\nx\n.", "F ./new\nT\ny\n."), at)).toMatchObject({ _tag: "PatchFailed" })
        expect(yield* textOf("dir/a")).toBe("1\n")
        expect(yield* exists("new")).toBe(false)
        expect(yield* apply(patchOf("F name\nT\n2\n."), at)).toMatch(/^modified: /)
        expect(yield* textOf("dir/a")).toBe("1\n2\n")
      }).pipe(Effect.provide(machine.layer({ "dir/a": "1\n", link: { link: "dir" }, name: { link: "dir/a" } }))))

    it.effect("refuses all of a patch for one path that is out of reach", () =>
      Effect.gen(function*() {
        const at = session()
        for (const path of ["../out", "/etc/passwd", ".env", ".git/config", "\"~/x\"", "link/x"]) {
          expect(yield* refused(patchOf("F new\nT\nx\n.", `F ${path}\nT\nx\n.`), at)).toMatchObject({
            _tag: "Permission"
          })
        }
        expect(yield* exists("new")).toBe(false)
      }).pipe(Effect.provide(machine.layer({ link: { link: "/etc" } }))))

    it.effect("refuses what is not UTF-8 text, a folder, and what is too large", () =>
      Effect.gen(function*() {
        const at = session({ limits: { maxReadFileScanBytes: 100 } })
        const why = (path: string) => Effect.map(refused(patchOf("F new\nT\nx\n.", `F ${path}\nT\nx\n.`), at), text)
        expect(yield* why("latin")).toContain("latin is not UTF-8 text and cannot be patched. Nothing was written.")
        expect(yield* why("binary")).toContain("not UTF-8 text")
        expect(yield* why("dir")).toContain("folder")
        expect(yield* why("large")).toContain("files up to 100 bytes can be patched")
        expect(yield* why("file/x")).not.toBe("")
        expect(yield* exists("new")).toBe(false)
      }).pipe(Effect.provide(machine.layer({
        latin: new Uint8Array([0xe4, 10]),
        binary: new Uint8Array([0]),
        "dir/a": "",
        large: "x".repeat(101),
        file: ""
      }))))

    it.effect("refuses a patch above the limit before it reads it, and what the quota does not allow", () =>
      Effect.gen(function*() {
        const limited = session({ limits: { maxApplyPatchBytes: 20 } })
        const large = yield* refused("ä".repeat(11), limited)
        expect(large).toMatchObject({ _tag: "Limit", details: { limit: "max_apply_patch_bytes", value: 20 } })
        expect(yield* refused("ä".repeat(10), limited)).toMatchObject({ _tag: "PatchFailed" })
        const poor = session({ limits: { bytesWrittenPerSession: 3 } })
        expect(yield* refused(patchOf("F a\nT\n1\n.", "F b\nT\n2\n."), poor)).toMatchObject({ _tag: "Limit" })
        expect(yield* exists("a")).toBe(false)
        expect(yield* apply(patchOf("F a\nT\n1\n."), poor)).toBe("created: a")
      }).pipe(Effect.provide(machine.layer({}))))

    it.effect("shows a diff of every file before, and one path a line", () =>
      Effect.gen(function*() {
        const call = prepare(tool, { patch: patchOf("F a\nR\n2\n.\n3\n.", "F b/c\nT\nx\n.", "F same\nN +") })
        expect(yield* call.preview).toBe(
          "--- a\n+++ a\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n--- /dev/null\n+++ b/c\n@@ -0,0 +1,1 @@\n+x\n"
        )
        expect(call).toMatchObject({
          paths: [{ path: "a", access: "write" }, { path: "b/c", access: "write" }, { path: "same", access: "write" }],
          detail: "a\nb/c\nsame",
          summary: "Patch a, b/c, same"
        })
        expect(yield* prepare(tool, { patch: patchOf("F a\nE\n9\n.") }).preview).toBeUndefined()
        expect(yield* prepare(tool, { patch: "?" }).preview).toBeUndefined()
      }).pipe(Effect.provide(machine.layer({ a: "1\n2\n", same: "s\n" }))))

    it.effect("knows after a crash whether a patch was applied", () =>
      Effect.gen(function*() {
        const at = yield* having("a")
        const prepared = prepare(tool, { patch: patchOf("F a\nT\nx\n.", "F new\nT\ny\n.") })
        expect(yield* prepared.reconcile(at.context)).toBeUndefined()
        yield* prepared.run(at.context)
        const settled = yield* prepared.reconcile(at.context)
        expect(settled?.content).toEqual([{
          type: "text",
          text: "The program was stopped, but the patch was applied as a whole before. Do not send it again.\n"
            + "modified or created: a\nmodified or created: new"
        }])
        expect(yield* textOf("a")).toBe("1\nx\n")
      }).pipe(Effect.provide(machine.layer({ a: "1\n" }))))
  })
}

/** The machine in memory with another way of writing several files. */
const withFiles = (
  files: Readonly<Record<string, FakeSandbox.Content>>,
  other: Partial<Sandbox["Type"]["files"]>
) =>
  Layer.effect(Sandbox, Effect.map(Sandbox, (sandbox) => ({ ...sandbox, files: { ...sandbox.files, ...other } })))
    .pipe(Layer.provide(FakeSandbox.layer({ files })))

const failing = (reason: FileError["reason"], message: string) =>
  Effect.fail(new FileError({ reason, path: "a", message }))

describe("apply_patch", () => {
  it.effect("says what became of the files where writing fails", () =>
    Effect.gen(function*() {
      const patch = patchOf("F a\nT\nx\n.")
      const outcome = (reason: FileError["reason"]) =>
        Effect.provide(
          refused(patch),
          withFiles({}, { writeAll: () => failing(reason, "It failed. No file was changed.") })
        )
      expect(text(yield* outcome("io"))).toBe("It failed. No file was changed.")
      for (const reason of ["changed", "exists"] as const) {
        const stale = yield* outcome(reason)
        expect(stale).toMatchObject({ _tag: "StaleFile", details: { path: "a" } })
        expect(text(stale)).toContain(
          "File content changed since last read. It failed. No file was changed.\nRead it first"
        )
      }
    }))

  it.effect("writes over what was read only, where nothing was only if nothing is", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const layer = withFiles({ a: "1\n" }, {
        writeAll: ({ files, key }) =>
          Effect.sync((): ReadonlyArray<FileWritten> => {
            asked.push(key, ...files.map(({ expect, path }) => [path, expect]))
            return []
          })
      })
      yield* Effect.gen(function*() {
        const at = yield* having("a")
        yield* apply(patchOf("F a\nT\nx\n.", "F b\nT\nx\n."), at)
        expect(asked).toEqual(["key", ["a", [...at.reads.values()][0]?.sha256], ["b", "absent"]])
      }).pipe(Effect.provide(layer))
    }))

  it.effect("says that a patch was taken back, and nothing where that cannot be known", () =>
    Effect.gen(function*() {
      const prepared = prepare(tool, { patch: patchOf("F a\nT\nx\n.") })
      const settled = (settleWriteAll: Sandbox["Type"]["files"]["settleWriteAll"]) =>
        Effect.provide(prepared.reconcile(session().context), withFiles({}, { settleWriteAll }))
      expect(JSON.stringify(yield* settled(() => Effect.succeed("taken-back")))).toContain(
        "No changes applied. The program was stopped in the middle of the patch; every file is as it was before."
      )
      expect(yield* settled(() => Effect.succeed("unknown"))).toBeUndefined()
      expect(yield* settled(() => failing("changed", "somebody else wrote a"))).toBeUndefined()
    }))

  it.effect("asks about a patch that can be read, for every path in it", () =>
    Effect.gen(function*() {
      const prepared = prepare(tool, { patch: patchOf("F src/a\nN +", "F ./src/../docs/b\nN +") })
      expect(prepared.allowedBy("src/**")).toBe(false)
      expect(prepared.allowedBy("**")).toBe(true)
      expect(prepared.allowedBy("src/**", "docs/*")).toBe(true)
      expect(prepared.allowedBy("src/**", "lib/*")).toBe(false)
      expect(prepared.deniedBy("docs/*")).toBe(true)
      expect(prepared.deniedBy("lib/*")).toBe(false)
      expect(yield* prepared.assess).toEqual({ risk: "medium", approval: "by-policy", warnings: [] })
      const unreadable = prepare(tool, { patch: "?" })
      expect(unreadable).toMatchObject({ paths: [], summary: "Patch without a change", detail: "" })
      expect(unreadable.allowedBy("**")).toBe(false)
      expect((yield* unreadable.assess).approval).toBe("never")
      expect(prepare(tool, { patch: patchOf("F a\nF b\nF c\nF d") }).summary).toBe("Patch a, b, c and 1 more")
      expect(tool).toMatchObject({ safety: "side-effect", trust: "workspace", verbatim: true })
      expect(FileTools.all).toContain(tool)
    }).pipe(Effect.provide(FakeSandbox.layer({}))))

  it.effect("has a description whose example works", () =>
    Effect.gen(function*() {
      const example = /LP1\n[^]*?\nEND\n/.exec(tool.definition.description)?.[0] ?? ""
      expect(yield* apply(example, yield* having("docs/guide.md"))).toBe(
        "modified: docs/guide.md\ncreated: docs/new.md"
      )
      expect(yield* textOf("docs/guide.md")).toBe("a\ncolor\nb\nlast line\n")
      expect(JSON.stringify(tool.definition.parameters)).toContain("LP1\\nF docs/guide.md")
    }).pipe(Effect.provide(FakeSandbox.layer({ files: { "docs/guide.md": "a\ncolour\nb\n" } }))))

  it.effect.prop(
    "knows after a patch the lines that it knew before, wherever they went, and no others",
    [
      FastCheck.integer({ min: 1, max: 10 }),
      FastCheck.integer({ min: 0, max: 4 }),
      FastCheck.array(
        FastCheck.record({
          tag: FastCheck.constantFrom(
            "Replace" as const,
            "InsertAfter" as const,
            "InsertBefore" as const,
            "Delete" as const
          ),
          at: FastCheck.nat(),
          added: FastCheck.integer({ min: 0, max: 3 })
        }),
        { minLength: 1, maxLength: 3 }
      )
    ],
    ([first, more, edits]) => {
      const lines = Array.from({ length: 12 }, (_, index) => `l${index + 1}.`)
      const last = Math.min(12, first + more)
      const seen = lines.slice(first - 1, last)
      const struck = new Set<string>()
      const operations = edits.flatMap(({ added, at, tag }): ReadonlyArray<LinePatch.Operation> => {
        const line = seen[at % seen.length] ?? ""
        if (struck.has(line)) return []
        struck.add(line)
        const text = [...Array.from({ length: added }, () => "n"), line]
        return [
          tag === "Delete"
            ? { _tag: tag, line: 0, nth: undefined, match: [line] }
            : { _tag: tag, line: 0, nth: undefined, match: [line], text }
        ]
      })
      return Effect.gen(function*() {
        const at = session()
        yield* call(ReadFile.tool, { path: "a", start_line: first, end_line: last }, at)
        const patch = LinePatch.print({ sections: [{ path: "a", line: 0, operations }] })
        yield* apply(patch, at)
        const after = (yield* textOf("a")).split("\n").slice(0, -1)
        const known = [...at.reads.values()][0]?.lines ?? [[1, after.length]]
        const shown = new Set(
          known.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index))
        )
        for (const [index, line] of after.entries()) {
          expect([line, shown.has(index + 1)]).toEqual([line, line === "n" || seen.includes(line)])
        }
      }).pipe(Effect.provide(FakeSandbox.layer({ files: { a: `${lines.join("\n")}\n` } })))
    },
    { fastCheck: { numRuns: 60 } }
  )
})

/** Sections of which each is right or wrong on its own. */
const section = FastCheck.constantFrom(
  { written: "F a.txt\nT\nx\n.", wrong: false },
  { written: "F dir/b.txt\nR\ntwo\n.\n2\n.", wrong: false },
  { written: "F new/deep/c.txt\nT\nx\n.", wrong: false },
  { written: "F dir/d.txt\nB\nx\n.", wrong: false },
  { written: "F e.txt\nN -", wrong: false },
  { written: "F e.txt\nE\nnot there\n.", wrong: true },
  { written: "F unread.txt\nT\nx\n.", wrong: true },
  { written: "F changed.txt\nT\nx\n.", wrong: true },
  { written: "F latin.txt\nT\nx\n.", wrong: true },
  { written: "F mixed.txt\nT\nx\n.", wrong: true },
  { written: "F missing.txt\nN +", wrong: true },
  { written: "F ../outside.txt\nT\nx\n.", wrong: true },
  { written: "F .env\nT\nx\n.", wrong: true },
  { written: "F e.txt/below\nT\nx\n.", wrong: true },
  { written: "F dir\nT\nx\n.", wrong: true },
  { written: "R\nx", wrong: true }
)

describe("a patch that fails", () => {
  it.scoped.prop(
    "leaves every byte, mode and time as it was, and nothing that it created",
    [FastCheck.uniqueArray(section, { minLength: 1, maxLength: 5, selector: ({ written }) => written.split("\n")[0] })],
    ([sections]) =>
      Effect.gen(function*() {
        const folder = yield* temporaryFolder
        const workspace = Path.join(folder, "workspace")
        Fs.mkdirSync(Path.join(workspace, "dir"), { recursive: true })
        const put = (path: string, content: string | Uint8Array, mode: number) => {
          Fs.writeFileSync(Path.join(workspace, path), content)
          Fs.chmodSync(Path.join(workspace, path), mode)
          Fs.utimesSync(Path.join(workspace, path), 1_600_000_000, 1_500_000_000.5)
        }
        put("a.txt", "one\n", 0o750)
        put("dir/b.txt", "one\r\ntwo\r\n", 0o604)
        put("e.txt", "e\n", 0o644)
        put("unread.txt", "u\n", 0o644)
        put("changed.txt", "1\n", 0o644)
        put("latin.txt", new Uint8Array([0xe4]), 0o644)
        put("mixed.txt", "a\nb\r\n", 0o644)
        yield* Effect.gen(function*() {
          const at = yield* having("a.txt", "dir/b.txt", "e.txt", "changed.txt", "latin.txt", "mixed.txt")
          put("changed.txt", "2\n", 0o644)
          const before = snapshot(workspace)
          const outcome = yield* Effect.either(apply(patchOf(...sections.map(({ written }) => written)), at))
          const wrong = sections.some((one) => one.wrong)
          expect(outcome._tag).toBe(wrong ? "Left" : "Right")
          if (wrong) expect(snapshot(workspace)).toEqual(before)
          else {
            expect(Object.keys(snapshot(workspace)).filter((path) => path.includes(".capstan"))).toEqual([])
            expect(Fs.statSync(Path.join(workspace, "a.txt")).mode & 0o777).toBe(0o750)
          }
          expect(Fs.readdirSync(folder).filter((name) => name !== "workspace" && name !== "undo")).toEqual([])
        }).pipe(
          Effect.provide(
            NodeSandbox.layer({ mounts: { workspace }, undoFolder: Path.join(folder, "undo"), osSandbox: "off" })
          )
        )
      }),
    { fastCheck: { numRuns: 25 } }
  )

  it.effect.prop(
    "leaves the machine in memory as it was, whichever file cannot be written",
    [FastCheck.uniqueArray(FastCheck.constantFrom("a", "dir/b", "new/c", "d"), { minLength: 1 }), FastCheck.nat()],
    ([paths, at]) => {
      const broken = paths[at % paths.length]
      return Effect.gen(function*() {
        const before = yield* FakeSandbox.files
        const reader = yield* having("a", "dir/b")
        const outcome = yield* refused(patchOf(...paths.map((path) => `F ${path}\nT\nx\n.`)), reader)
        expect(text(outcome)).toContain("the disk is full")
        expect(yield* FakeSandbox.files).toEqual(before)
        expect(yield* exists("new")).toBe(false)
      }).pipe(Effect.provide(FakeSandbox.layer({
        files: { a: "1\n", "dir/b": "2\n" },
        fault: ({ name, path }) =>
          name === "writeAll" && path === broken
            ? new FileError({ reason: "no-space", path, message: "the disk is full" })
            : undefined
      })))
    },
    { fastCheck: { numRuns: 30 } }
  )
})
