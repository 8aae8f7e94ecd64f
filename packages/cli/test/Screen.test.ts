import { Event } from "@capstan/core/Event"
import * as ToolFailure from "@capstan/core/ToolFailure"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fc from "effect/FastCheck"
import * as TestClock from "effect/TestClock"
import { Screen, type ScreenOptions } from "../src/Screen.js"
import * as FakeTerminal from "./FakeTerminal.js"
import {
  denied,
  failed,
  final,
  finished,
  iteration,
  output,
  question,
  received,
  ref,
  started,
  succeeded,
  text,
  toolStarted
} from "./screenEvents.js"

const shown = (events: ReadonlyArray<Event>, options: Partial<ScreenOptions> = {}, columns = 80) => {
  const terminal = FakeTerminal.make({ columns })
  return Effect.gen(function*() {
    const screen = yield* Screen
    yield* Effect.forEach(events, screen.show)
  }).pipe(
    Effect.provide(FakeTerminal.screen(options)),
    Effect.provide(terminal.layer),
    Effect.as({ stdout: terminal.stdout, stderr: terminal.stderr })
  )
}

const controls = /(?![\n\t])\p{Control}/u

const task = [
  started,
  iteration(),
  text("I look at "),
  text("the file.\n"),
  Event.CallStarted({ position: 0, name: "read_file" }),
  Event.CallDelta({ position: 0, text: "{\"path\"" }),
  received(0, "read_file", { path: "a.ts" }),
  received(1, "run_command", { command: "npm test" }),
  received(2, "delete_file", { path: "b.ts" }),
  Event.Planned({ refused: [], asked: [], stages: [[0], [1]] }),
  toolStarted(0, "read_file", "Read a.ts"),
  finished(0, "read_file", succeeded),
  toolStarted(1, "run_command", "Run npm test"),
  output(1, "one\ntwo\n"),
  output(1, "three\nfour\n"),
  finished(1, "run_command", succeeded, 1_234),
  finished(2, "delete_file", denied("keep it")),
  Event.IterationFinished({ iteration: 0 }),
  iteration(1),
  text("All is well.\n\n"),
  final({
    text: "All is well.",
    usage: { input: 1_204, output: 311, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
    cost: 0.0123,
    calls: [0, 1, 2].map((position) => ({
      ref: ref(position),
      name: "x",
      arguments: null,
      outcome: succeeded,
      durationMillis: 1
    }))
  })
]

describe("plain", () => {
  it.effect("prints the answer to stdout and what happens to stderr", () =>
    Effect.gen(function*() {
      const { stderr, stdout } = yield* shown(task, { stream: false })
      assert.strictEqual(stdout(), "All is well.\n")
      assert.deepStrictEqual(stderr().split("\n"), [
        "I look at the file.",
        "✓ Read a.ts · read_file · 12 ms",
        "✓ Run npm test · run_command · 1.2 s",
        "  │ … 1 line before",
        "  │ two",
        "  │ three",
        "  │ four",
        "⊘ delete_file {\"path\":\"b.ts\"}: denied: keep it",
        "3 calls · 0 ms · 1,204 tokens in, 311 out · $0.0123 · session s1",
        ""
      ])
    }))

  it.effect("prints everything that is said to stdout where it is streamed", () =>
    Effect.gen(function*() {
      const { stdout } = yield* shown(task)
      assert.strictEqual(stdout(), "I look at the file.\nAll is well.\n")
    }))

  it.effect("shows the diff of an edit that nobody was asked about", () =>
    Effect.gen(function*() {
      const edit = toolStarted(0, "edit_file", "Edit a", "--- a\n+++ a\n@@ -1,1 +1,1 @@\n-one\n+two\n")
      const { stderr } = yield* shown([edit, finished(0, "edit_file", succeeded), final()])
      assert.include(stderr(), "  │ -one\n  │ +two\n")
    }))

  it.effect("prints the answer only where it shall be quiet", () =>
    Effect.gen(function*() {
      const { stderr, stdout } = yield* shown(task, { quiet: true })
      assert.deepStrictEqual([stdout(), stderr()], ["All is well.\n", ""])
    }))

  it.effect("says so when the model ended without a word", () =>
    Effect.gen(function*() {
      const { stderr } = yield* shown([started, iteration(), final({ end: "answered", text: "" })])
      assert.include(stderr(), "The model ended without a word.\n")
    }))

  it.effect("shows why a call did not do well, and how a turn ended", () =>
    Effect.gen(function*() {
      const { stderr } = yield* shown([
        started,
        iteration(),
        Event.Retry({ attempt: 2, delayMillis: 2_000, reason: "overloaded\u001b[2J" }),
        text("half an answ"),
        Event.Voided({ reason: "connection lost" }),
        received(0, "run_command", { command: "npm test" }),
        received(1, "edit_file", { path: "a" }),
        received(2, "run_command", { command: "sleep 9" }),
        finished(0, "run_command", failed("exit code 1\nmore of it")),
        finished(1, "edit_file", { _tag: "Refused", failure: ToolFailure.notFound("a", "There is no a.") }),
        toolStarted(2, "run_command", "Run sleep 9"),
        final({ end: "cancelled", reason: "Cancelled by user", text: "" })
      ])
      assert.deepStrictEqual(stderr().split("\n"), [
        "↻ Try 2 in 2.0 s: overloaded",
        "✗ The answer broke off; what it said does not count, and nothing of it runs. connection lost",
        "✗ run_command {\"command\":\"npm test\"}: exit code 1",
        "  │ more of it",
        "⊘ edit_file {\"path\":\"a\"}: There is no a.",
        "⊘ Run sleep 9 · run_command · 0 ms: cancelled",
        "Cancelled.",
        "0 ms · session s1",
        ""
      ])
    }))

  it.effect("shows the diff of an edit that nobody was asked about", () =>
    Effect.gen(function*() {
      const preview = "--- a.ts\n+++ a.ts\n@@ -1,1 +1,1 @@\n-one\n+two\n"
      const edit = (by: string) => [
        started,
        iteration(),
        received(0, "edit_file", { path: "a.ts" }),
        Event.ApprovalAsked({ questions: [question(0, { tool: "edit_file", summary: "Edit a.ts", preview })] }),
        Event.ApprovalAnswered({ by, decision: { _tag: "ApproveAll" } }),
        toolStarted(0, "edit_file", "Edit a.ts"),
        finished(0, "edit_file", succeeded)
      ]
      const unasked = yield* shown(edit("--yes"))
      assert.include(unasked.stderr(), "  │ -one\n  │ +two\n")
      const asked = yield* shown(edit("user"))
      assert.notInclude(asked.stderr(), "+two")
    }))

  it.effect("says what waits for a result", () =>
    Effect.gen(function*() {
      const call = { id: "1", name: "get_weather", raw: "{\"city\":\"Ulm\"}", arguments: { city: "Ulm" }, repairs: [] }
      const { stderr } = yield* shown([
        started,
        iteration(),
        final({ end: "awaiting", pending: [{ ref: ref(0), call }] })
      ])
      assert.include(stderr(), "○ get_weather {\"city\":\"Ulm\"} waits\n")
      assert.include(stderr(), "Waiting for somebody.\n")
    }))

  it.effect("shows thinking and repairs when asked to say more", () =>
    Effect.gen(function*() {
      const events = [
        started,
        iteration(),
        Event.ThinkingDelta({ text: "hm, " }),
        Event.ThinkingDelta({ text: "well\n" }),
        received(0, "read_file", { path: "a" }),
        Event.Repaired({ ref: ref(0), repairs: [{ kind: "trailing-comma", detail: "a comma too much" }] })
      ]
      assert.strictEqual((yield* shown(events)).stderr(), "")
      assert.strictEqual(
        (yield* shown(events, { verbose: true })).stderr(),
        "hm, well\n~ Repaired read_file: a comma too much\n"
      )
    }))

  it.effect("keeps secrets to itself", () =>
    Effect.gen(function*() {
      const secret = `ghp_${"a1B2c3D4".repeat(5)}`
      const { stderr, stdout } = yield* shown([
        started,
        iteration(),
        text(`the key is ${secret.slice(0, 9)}`),
        text(`${secret.slice(9)}, is it not\n`),
        received(0, "run_command", { command: `echo ${secret}` }),
        output(0, secret.slice(0, 20)),
        output(0, secret.slice(20)),
        finished(0, "run_command", failed(`no ${secret}`)),
        final({ text: `it was ${secret}` })
      ])
      assert.notInclude(stdout() + stderr(), secret)
      assert.include(stdout(), "the key is [redacted:")
    }))

  const nasty = fc.string({
    unit: fc.constantFrom(
      "\u001b",
      "[",
      "]",
      "2J",
      "m",
      "0",
      ";",
      "\u0007",
      "\r",
      "\b",
      "\u009b",
      "\u0090",
      "x",
      "\n",
      "\u202e",
      "é",
      "\u001b]0;",
      "\u0000"
    ),
    maxLength: 30
  })

  it.effect.prop(
    "writes no control character, whatever models and tools say",
    [nasty, nasty, fc.boolean()],
    ([said, printed, stream]) =>
      Effect.map(
        shown([
          started,
          iteration(),
          Event.ThinkingDelta({ text: said }),
          text(said),
          text(printed),
          Event.Retry({ attempt: 1, delayMillis: 1, reason: said }),
          Event.CallStarted({ position: 0, name: said }),
          received(0, said, { a: printed }),
          Event.Repaired({ ref: ref(0), repairs: [{ kind: "x", detail: said }] }),
          Event.ApprovalAsked({ questions: [question(0, { summary: said, preview: printed, tool: said })] }),
          toolStarted(0, said, printed),
          output(0, printed),
          output(0, said, "stderr"),
          finished(0, printed, succeeded),
          received(1, said, {}),
          finished(1, said, denied(printed)),
          Event.Voided({ reason: said }),
          final({ text: said, end: "refused", reason: printed })
        ], { stream, verbose: true }),
        ({ stderr, stdout }) => {
          assert.notMatch(stdout() + stderr(), controls)
        }
      ),
    { fastCheck: { numRuns: 60 } }
  )
})

describe("live", () => {
  const events = task.slice(0, -1)
  const sequences = /\u001b\[[0-9;?]*[a-zA-Z]/gu

  it.effect("writes control sequences of its own only", () =>
    Effect.gen(function*() {
      const { stderr, stdout } = yield* shown([...task, text("\u001b[31mred\u001b]0;title\u0007\n")], { live: true })
      assert.strictEqual(stderr(), "")
      const kinds = new Set(stdout().match(sequences)?.map((sequence) => sequence.slice(2).replace(/\d+(?=[Am])/, "n")))
      assert.includeMembers(["2K", "?2026h", "?2026l", "?25h", "?25l", "J", "nA", "nm"], [...kinds])
      assert.notMatch(stdout().replace(sequences, "").replaceAll("\r", ""), controls)
    }))

  it.effect("moves a spinner while a call runs, with the last lines of its output", () =>
    Effect.gen(function*() {
      const terminal = FakeTerminal.make()
      yield* Effect.gen(function*() {
        const screen = yield* Screen
        yield* Effect.forEach(events.slice(0, -7), screen.show)
        yield* screen.show(toolStarted(1, "run_command", "Run npm test"))
        yield* screen.show(output(1, Array.from({ length: 70 }, (_, n) => `line ${n}\n`).join("")))
        const before = terminal.stdout().length
        yield* TestClock.adjust("3 seconds")
        const after = terminal.stdout().slice(before).replace(sequences, "")
        assert.match(after, /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] Run npm test · run_command · 2 s/)
        assert.include(after, "line 69")
        assert.include(after, "lines before")
        assert.notInclude(after, "line 40\n")
      }).pipe(Effect.provide(FakeTerminal.screen({ live: true })), Effect.provide(terminal.layer))
    }))

  it.effect("does not draw while somebody else has the terminal, nor count that time", () =>
    Effect.gen(function*() {
      const terminal = FakeTerminal.make()
      yield* Effect.gen(function*() {
        const screen = yield* Screen
        yield* Effect.forEach([started, iteration(), text("Well.\n"), received(0, "run_command", {})], screen.show)
        yield* screen.show(Event.ApprovalAsked({ questions: [question(0)] }))
        yield* screen.exclusive({
          after: ref(0),
          use: Effect.gen(function*() {
            const before = terminal.stdout()
            yield* TestClock.adjust("1 minute")
            assert.strictEqual(terminal.stdout(), before)
          })
        })
        yield* screen.show(finished(0, "run_command", succeeded))
        yield* TestClock.adjust("2 seconds")
        yield* screen.show(final())
      }).pipe(Effect.provide(FakeTerminal.screen({ live: true })), Effect.provide(terminal.layer))
      assert.include(terminal.stdout(), "2.0 s (and 1 min 0 s waiting for you)")
    }))

  it.effect("says what it waits for", () =>
    Effect.gen(function*() {
      const terminal = FakeTerminal.make()
      yield* Effect.gen(function*() {
        const screen = yield* Screen
        yield* Effect.forEach([started, iteration()], screen.show)
        yield* TestClock.adjust("5 seconds")
        assert.include(terminal.stdout(), "Waiting for scripted-model · 4 s")
        yield* screen.show(Event.ThinkingDelta({ text: "hm" }))
        yield* TestClock.adjust("1 second")
        assert.include(terminal.stdout(), "Thinking · 0 s")
        yield* screen.show(Event.CallStarted({ position: 0, name: "write_file" }))
        yield* screen.show(Event.CallDelta({ position: 0, text: "x".repeat(2_048) }))
        yield* TestClock.adjust("1 second")
        assert.include(terminal.stdout(), "Writing write_file · 2,048 characters · 0 s")
        yield* screen.note("by the way")
        yield* screen.show(final())
      }).pipe(Effect.provide(FakeTerminal.screen({ live: true })), Effect.provide(terminal.layer))
      assert.include(terminal.stdout(), "by the way")
    }))
})
