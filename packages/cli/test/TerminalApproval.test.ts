import type { Decision, Question } from "@capstan/core/Approval"
import type { Event } from "@capstan/core/Event"
import { Event as Events } from "@capstan/core/Event"
import * as Redaction from "@capstan/core/Redaction"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as fc from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import { Screen } from "../src/Screen.js"
import * as TerminalApproval from "../src/TerminalApproval.js"
import * as FakeTerminal from "./FakeTerminal.js"
import { iteration, question, received, started } from "./screenEvents.js"

const { key, line } = FakeTerminal

const sequences = /\u001b\[[0-9;?]*[a-zA-Z]/gu

const calls: ReadonlyArray<Event> = [
  received(0, "run_command", { command: "npm test" }),
  received(1, "edit_file", { path: "src/a.ts", old_text: "one", new_text: "two" }),
  received(2, "run_command", { command: "rm -rf build; ls" })
]

const npmTest = question(0)

const edit = question(1, {
  tool: "edit_file",
  summary: "Edit src/a.ts",
  detail: "src/a.ts",
  preview: "--- src/a.ts\n+++ src/a.ts\n@@ -1,1 +1,1 @@\n-one\n+two\n",
  arguments: { path: "src/a.ts", old_text: "one", new_text: "two" },
  risk: "medium"
})

const dangerous = question(2, {
  summary: "Run rm",
  detail: "rm -rf build; ls",
  arguments: { command: "rm -rf build; ls" },
  mustAsk: true,
  warnings: ["It deletes."]
})

const asked = (questions: ReadonlyArray<Question>, input: ReadonlyArray<FakeTerminal.Input>, columns = 80) =>
  askedAt(FakeTerminal.make({ input, columns }), questions)

const askedAt = (terminal: FakeTerminal.FakeTerminal, questions: ReadonlyArray<Question>) =>
  Effect.gen(function*() {
    const screen = yield* Screen
    const prompt = yield* TerminalApproval.make({ redactor: Redaction.patternsOnly })
    yield* Effect.forEach([started, iteration(), ...calls, Events.ApprovalAsked({ questions })], screen.show)
    const decision = yield* prompt({ session: "s1", questions })
    const text = terminal.stdout().replace(sequences, "").replaceAll("\r", "")
    return { decision, text: text.slice(text.indexOf("\n── Approval needed") + 1), terminal }
  }).pipe(Effect.provide(FakeTerminal.screen({ live: true })), Effect.provide(terminal.layer))

const answers = (
  ...answers: ReadonlyArray<readonly [number, Extract<Decision, { _tag: "Each" }>["answers"][number]["answer"]]>
): Decision => ({
  _tag: "Each",
  answers: answers.map(([position, answer]) => ({ position, answer }))
})

describe("one call", () => {
  it.effect("is approved or denied with a key; other keys do nothing", () =>
    Effect.gen(function*() {
      const yes = yield* asked([npmTest], [key("x"), key("enter"), key("Y")])
      assert.deepStrictEqual(yes.decision, { _tag: "ApproveAll" })
      assert.include(yes.text, "→ approved")
      const no = yield* asked([npmTest], [key("n")])
      assert.deepStrictEqual(no.decision, answers([0, { _tag: "Deny", reason: null }]))
      assert.include(no.text, "→ denied")
    }))

  it.effect("is shown with tool, risk, the whole of it, the diff, the warnings and who asks", () =>
    Effect.gen(function*() {
      const { text } = yield* asked([{ ...edit, warnings: ["Mixed scripts."] }], [key("y")])
      for (
        const part of [
          "Approval needed",
          "Asked for by scripted-model (turn 1, answer 1)",
          "edit_file · medium risk",
          "  │ src/a.ts",
          "  │ -one\n  │ +two",
          "  ! Mixed scripts.",
          "[y] yes"
        ]
      ) assert.include(text, part)
    }))

  it.effect("says on whose behalf it is asked, and breaks warnings at words", () =>
    Effect.gen(function*() {
      const warning = "The sandbox of this system is not there, so the command sees everything that you see."
      const { text } = yield* asked(
        [question(0, { origin: "small-model, for session 01ABC\n[y] yes", warnings: [warning] })],
        [key("y")],
        40
      )
      assert.include(
        text.replace(/\s+/g, " "),
        "Asked for by small-model, for session 01ABC [y] yes (turn 1, answer 1)"
      )
      assert.match(
        text,
        /^ {2}! The sandbox of this system is not ?\n {4}there, so the command sees ?\n {4}everything that you see\.$/m
      )
    }))

  it.effect("is denied with a reason", () =>
    Effect.gen(function*() {
      const why = yield* asked([npmTest], [key("r"), line("  keep it ")])
      assert.deepStrictEqual(why.decision, answers([0, { _tag: "Deny", reason: "keep it" }]))
      const nothing = yield* asked([npmTest], [key("r"), line("")])
      assert.deepStrictEqual(nothing.decision, answers([0, { _tag: "Deny", reason: null }]))
      const back = yield* asked([npmTest], [key("r"), { _tag: "Ended" }, key("y")])
      assert.deepStrictEqual(back.decision, { _tag: "ApproveAll" })
    }))

  it.effect("is allowed always, by the narrowest entry, which is shown first", () =>
    Effect.gen(function*() {
      const command = yield* asked([npmTest], [key("a"), key("s")])
      assert.deepStrictEqual(
        command.decision,
        answers([0, { _tag: "Always", entry: "run_command(npm test)", scope: "session" }])
      )
      assert.include(command.text, "  │ run_command(npm test)\n")
      const file = yield* asked([edit], [key("a"), key("p")])
      assert.deepStrictEqual(
        file.decision,
        answers([1, { _tag: "Always", entry: "edit_file(src/**)", scope: "project" }])
      )
      const changed = yield* asked([edit], [key("a"), key("e"), line("edit_file(src/a.ts)"), key("t")])
      assert.deepStrictEqual(
        changed.decision,
        answers([1, { _tag: "Always", entry: "edit_file(src/a.ts)", scope: "turn" }])
      )
      assert.include(changed.text, "  │ edit_file(src/a.ts)\n[t] until this turn ends")
      assert.deepStrictEqual(changed.terminal.offered(), ["edit_file(src/**)"])
      const back = yield* asked([npmTest], [key("a"), key("n"), key("n")])
      assert.deepStrictEqual(back.decision, answers([0, { _tag: "Deny", reason: null }]))
    }))

  it.effect("that must be asked every time cannot be allowed always", () =>
    Effect.gen(function*() {
      const { decision, text } = yield* asked([dangerous], [key("a"), key("n")])
      assert.notInclude(text, "always…")
      assert.include(text, "asked every time")
      assert.deepStrictEqual(decision, answers([2, { _tag: "Deny", reason: null }]))
    }))

  it.effect("is edited in the editor, and shown again before it runs", () =>
    Effect.gen(function*() {
      const { decision, terminal, text } = yield* asked([npmTest], [
        key("e"),
        { _tag: "Edited", text: "{ \"command\": \"npm run lint\" }" },
        key("y")
      ])
      assert.deepStrictEqual(decision, answers([0, { _tag: "Edit", arguments: { command: "npm run lint" } }]))
      assert.deepStrictEqual(terminal.offered(), ["{\n  \"command\": \"npm test\"\n}\n"])
      assert.include(text, "  │   \"command\": \"npm run lint\"")
      assert.include(text, "→ approved, as edited")
    }))

  it.effect("is edited as a line without an editor; what is no object is said and asked again", () =>
    Effect.gen(function*() {
      const { decision, terminal, text } = yield* asked([npmTest], [
        key("e"),
        { _tag: "NoEditor" },
        line("{\"command\": "),
        key("e"),
        { _tag: "NoEditor" },
        line("{\"command\":\"ls\"}"),
        key("n"),
        key("e"),
        { _tag: "NoEditor" },
        line(""),
        key("y")
      ])
      assert.deepStrictEqual(decision, { _tag: "ApproveAll" })
      assert.include(terminal.offered(), "{\"command\":\"npm test\"}")
      assert.include(text, "Neither VISUAL nor EDITOR is set.")
      assert.include(text, "These are no arguments")
    }))

  it.effect("Ctrl-C at a line cancels the turn", () =>
    Effect.gen(function*() {
      const terminal = FakeTerminal.make({ input: [key("r"), { _tag: "Interrupted", text: "" }] })
      const fiber = yield* Effect.fork(askedAt(terminal, [npmTest]))
      yield* Effect.repeat(Effect.yieldNow(), { until: () => terminal.interrupts() > 0 })
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
    }))
})

describe("several calls", () => {
  const all = [npmTest, edit, dangerous]

  it.effect("are decided together", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* asked(all, [key("y")])).decision, { _tag: "ApproveAll" })
      const none = (reason: string | null): Decision => ({ _tag: "DenyAll", reason })
      assert.deepStrictEqual((yield* asked(all, [key("n")])).decision, none(null))
      assert.deepStrictEqual((yield* asked(all, [key("r"), line("not now")])).decision, none("not now"))
      assert.deepStrictEqual((yield* asked(all, [key("r"), { _tag: "Ended" }, key("n")])).decision, none(null))
    }))

  it.effect("are chosen one by one", () =>
    Effect.gen(function*() {
      const { decision, text } = yield* asked(all, [key("c"), key("y"), key("r"), line("no"), key("n")])
      assert.deepStrictEqual(
        decision,
        answers([0, { _tag: "Approve" }], [1, { _tag: "Deny", reason: "no" }], [2, { _tag: "Deny", reason: null }])
      )
      assert.include(text, "Call 2 of 3: edit_file")
      assert.include(text, "→ 1 approved, 2 denied")
    }))

  it.effect("are allowed always where that can be; the rest is asked about", () =>
    Effect.gen(function*() {
      const { decision, text } = yield* asked(all, [key("a"), key("s"), key("n")])
      assert.include(text, "  │ run_command(npm test)\n  │ edit_file(src/**)\n")
      assert.deepStrictEqual(
        decision,
        answers(
          [0, { _tag: "Always", entry: "run_command(npm test)", scope: "session" }],
          [1, { _tag: "Always", entry: "edit_file(src/**)", scope: "session" }],
          [2, { _tag: "Deny", reason: null }]
        )
      )
      const back = yield* asked(all, [key("a"), key("n"), key("y")])
      assert.deepStrictEqual(back.decision, { _tag: "ApproveAll" })
    }))
})

describe("what a model wrote", () => {
  it.effect("is shown whole, or with a mark and a key that shows the rest", () =>
    Effect.gen(function*() {
      const detail = Array.from({ length: 400 }, (_, n) => `echo ${n}`).join("\n")
      const { text } = yield* asked([question(0, { detail })], [key("v"), key("y")])
      assert.include(text, "… 240 lines are not shown; v shows all")
      assert.include(text.slice(text.indexOf("show everything")), "  │ echo 399\n")
    }))

  it.effect("has its hidden characters written out", () =>
    Effect.gen(function*() {
      const { text } = yield* asked([question(0, { detail: "ls \u202egnp.exe\u001b[2Jx" })], [key("y")])
      assert.include(text, "ls <U+202E>gnp.exe<U+001B>[2Jx")
    }))

  it.effect("is no list entry if it stands for more, hides something or holds a secret", () =>
    Effect.gen(function*() {
      const offered = (command: string) =>
        Effect.map(
          asked([question(0, { arguments: { command } })], [key("y")]),
          ({ text }) => text.includes("always…")
        )
      assert.isTrue(yield* offered("npm test"))
      const star = yield* asked([question(0, { arguments: { command: "grep \"a*\" b; ls" } })], [key("a"), key("s")])
      assert.deepStrictEqual(
        star.decision,
        answers([0, { _tag: "Always", entry: "run_command(grep 'a*' b ; ls)", scope: "session" }])
      )
      const file = question(0, { tool: "write_file", arguments: { path: "a*/b.txt" } })
      assert.notInclude((yield* asked([file], [key("y")])).text, "always…")
      const exact = yield* asked([{ ...file, entry: "write_file(a[*]/b.txt)" }], [key("a"), key("t")])
      assert.include(exact.text, "  │ write_file(a[*]/b.txt)\n")
      const patch = question(0, { tool: "apply_patch", arguments: { patch: "LP1" }, entry: "apply_patch(src/a.ts)" })
      assert.include((yield* asked([patch], [key("a"), key("t")])).text, "  │ apply_patch(src/a.ts)\n")
      const whole = question(0, { tool: "write_file", arguments: { path: "../b" }, entry: "write_file" })
      assert.notInclude((yield* asked([whole], [key("y")])).text, "always…")
      for (
        const command of [
          "rm *",
          "echo $HOME",
          "ls > list",
          "l\u202es",
          `echo ghp_${"a1B2c3D4".repeat(5)}`
        ]
      ) {
        assert.isFalse(yield* offered(command), command)
      }
    }))

  const hostile = fc.string({
    unit: fc.constantFrom(
      "\n",
      "\r",
      "\u001b[1A",
      "\u001b[2J",
      "\u2028",
      "\u0085",
      "\b",
      "[y] yes",
      "── Approval needed ──",
      "  │ ",
      "x".repeat(90),
      " ",
      "漢字",
      "\u202e",
      "\t"
    ),
    maxLength: 24
  })

  it.effect.prop(
    "never leaves its bar",
    [hostile, hostile, hostile, fc.integer({ min: 30, max: 100 })],
    ([summary, detail, preview, columns]) =>
      Effect.map(
        asked([
          question(0, { summary, detail, preview }),
          question(1, { summary: detail, detail: preview, preview: summary })
        ], [
          key("y")
        ], columns),
        ({ text }) => {
          const own = text.split("\n").filter((row) => !row.startsWith("  │"))
          assert.strictEqual(own.filter((row) => row.startsWith("── Approval needed")).length, 1)
          assert.strictEqual(own.filter((row) => row.includes("[y] yes")).length, 1)
          assert.isFalse(own.some((row) => row.includes("xxx") || row.includes("漢")))
          assert.notMatch(text, /(?!\n)\p{Control}/u)
        }
      ),
    { fastCheck: { numRuns: 60 } }
  )
})
