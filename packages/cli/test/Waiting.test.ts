import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { folders, run, script } from "./program.js"
import * as tmux from "./tmux.js"

const inTerminal = { timeout: 90_000 }

const write = (file: string) => ({ name: "write_file", arguments: { path: file, content: "Hello\n" } })

const command = (command: string) => ({ name: "run_command", arguments: { command } })

describe.skipIf(!tmux.available)("what waits, in a terminal", () => {
  it.scopedLive("asks here about what another process did not answer", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const model = script(at, [{ calls: [write("a"), write("b")] }, { text: "Done." }])
      yield* run(at, ["run", "write", "--ask", "queue", "--model", model])
      yield* run(at, ["approvals", "deny", "last", "1", "--reason", "not b"])
      const terminal = yield* tmux.open(at)
      yield* terminal.capstan("resume")
      const asked = yield* terminal.sees("[y] yes")
      assert.include(asked, "  │ a\n")
      assert.notInclude(asked, "  │ b\n")
      yield* terminal.type("y")
      const done = yield* terminal.sees(/code \d/)
      assert.include(done, "denied: not b")
      assert.match(done, /\n2 calls · [\d.]+ m?s/)
      assert.deepStrictEqual(fs.readdirSync(at.work), ["a"])
      assert.match((yield* run(at, ["audit"])).stdout, /approved \(user\).*\n.*denied \(process:/)
    }), inTerminal)

  it.scopedLive("takes an answer of another process while it asks", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const terminal = yield* tmux.open(at)
      const model = script(at, [{ calls: [write("a")] }, { text: "Done." }])
      yield* terminal.capstan(`run go --model ${model}`)
      yield* terminal.sees("[y] yes")
      assert.match((yield* run(at, ["approvals"])).stdout, /by a run that waits, for /)
      yield* run(at, ["approvals", "approve", "last"])
      const done = yield* terminal.sees("code 0")
      assert.include(done, "→ answered by another process")
      assert.deepStrictEqual(fs.readdirSync(at.work), ["a"])
    }), inTerminal)

  it.scopedLive("denies a question that nobody answers in time", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const terminal = yield* tmux.open(at)
      const model = script(at, [{ calls: [write("a")] }, { text: "Then not." }])
      yield* terminal.capstan(`run go --approval-timeout 2 --model ${model}`)
      yield* terminal.sees("[y] yes")
      const done = yield* terminal.sees("code 3")
      assert.include(done, "denied: Nobody answered within 2s")
      assert.deepStrictEqual(fs.readdirSync(at.work), [])
      yield* terminal.type("echo ba''ck")
      yield* terminal.press("Enter")
      yield* terminal.sees("\nback")
    }), inTerminal)

  it.scopedLive("keeps what was allowed for the project until it is taken back", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const terminal = yield* tmux.open(at)
      const model = script(at, [{ calls: [command("touch 'a b'")] }, { text: "Done." }])
      yield* terminal.capstan(`run go --model ${model}`)
      yield* terminal.sees("[a] always")
      yield* terminal.type("a")
      assert.include(yield* terminal.sees("[p] in this project"), "  │ run_command(touch 'a b')\n")
      yield* terminal.type("p")
      yield* terminal.sees("code 0")
      const unasked = yield* run(at, ["run", "again", "--model", model])
      assert.strictEqual(unasked.code, 0, unasked.stderr)
      const { stdout } = yield* run(at, ["approvals", "permissions"])
      const [, id = ""] =
        /^(\S+) {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}project {2}run_command\(touch 'a b'\)\n$/.exec(stdout) ?? []
      yield* terminal.capstan("chat --model " + model)
      yield* terminal.sees("›")
      yield* terminal.type("::approve")
      yield* terminal.press("Enter")
      assert.include(yield* terminal.sees("capstan approvals revoke ID"), `allowed: ${id}`)
      yield* terminal.press("C-d")
      yield* terminal.sees("code 0")
      assert.include((yield* run(at, ["approvals", "revoke", id])).stdout, "✓ taken back: run_command(touch 'a b').")
      assert.strictEqual((yield* run(at, ["run", "again", "--model", model])).code, 3)
    }), inTerminal)

  it.scopedLive(
    "takes the results of calls in the chat, one by one, and goes on when all are there",
    () =>
      Effect.gen(function*() {
        const at = yield* folders
        const terminal = yield* tmux.open(at)
        const line = (text: string) => Effect.zipRight(terminal.type(text), terminal.press("Enter"))
        const model = script(at, [{ calls: [{ id: "w1", ...write("a") }, write("b")] }, { text: "I know enough." }])
        yield* terminal.capstan(`chat --mode parse_only --model ${model}`)
        yield* terminal.sees("›")
        yield* line("::tool 0 early")
        yield* terminal.sees("No call waits for a result.")
        yield* line("look")
        yield* terminal.sees("Give what the model waits for: ::tool 0 RESULT, ::tool 1 RESULT")
        yield* line("hello?")
        yield* terminal.sees("✗ Give what the model waits for")
        yield* line("::tool 7 x")
        yield* terminal.sees("✗ No open call is \"7\".")
        yield* line("::tool w1 one thing")
        yield* terminal.sees(/one thing\s+○ 1 {2}write_file/)
        yield* line("::tool 1 another")
        yield* terminal.sees("I know enough.")
        yield* terminal.press("C-d")
        yield* terminal.sees("code 0")
        assert.include((yield* run(at, ["show", "--json"])).stdout, "one thing")
        yield* terminal.capstan("replay")
        const again = yield* terminal.sees("code 0")
        assert.include(again, "› look")
        assert.include(again, "I know enough.")
      }),
    inTerminal
  )
})
