import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { type Folders, folders, script } from "./program.js"
import * as tmux from "./tmux.js"

const edit = { name: "edit_file", arguments: { path: "math.js", old_text: "a - b", new_text: "a + b" } }

const read = { name: "read_file", arguments: { path: "math.js" } }

const command = (command: string) => ({ calls: [{ name: "run_command", arguments: { command } }] })

const task = (at: Folders) => {
  fs.writeFileSync(path.join(at.work, "math.js"), "export const add = (a, b) => a - b\n")
  return script(at, [{ text: "I read it.", calls: [read] }, { calls: [edit] }, { text: "The sign is right now." }])
}

const source = (at: Folders) => fs.readFileSync(path.join(at.work, "math.js"), "utf8")

/** Processes that run this, by the arguments that they were started with. */
const running = (mark: string): ReadonlyArray<string> =>
  execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }).split("\n").filter((line) =>
    line.startsWith(`sleep ${mark}`)
  )

const until = (what: () => boolean) => tmux.eventually(Effect.sync(what), (yes) => yes)

const occurrences = (text: string, part: string): number => text.split(part).length - 1

const inTerminal = { timeout: 60_000 }

describe.skipIf(!tmux.available)("in a terminal", () => {
  it.scopedLive("shows the diff, asks, and edits after y", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const terminal = yield* tmux.open(at)
      yield* terminal.capstan(`run --model ${task(at)} 'fix it'`)
      const asked = yield* terminal.sees("[y] yes")
      for (
        const part of [
          "I read it.",
          "✓ Read math.js",
          "Approval needed",
          "edit_file · medium risk",
          "  │ -export const add = (a, b) => a - b",
          "  │ +export const add = (a, b) => a + b"
        ]
      ) assert.include(asked, part)
      assert.include(source(at), "a - b")
      yield* terminal.type("y")
      const done = yield* terminal.sees("code 0")
      assert.include(done, "→ approved")
      assert.include(done, "✓ Edit math.js")
      assert.include(done, "The sign is right now.")
      assert.match(done, /2 calls · .* waiting for you|2 calls · /)
      assert.include(source(at), "a + b")
    }), inTerminal)

  it.scopedLive("tells the model why it was denied", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const terminal = yield* tmux.open(at, { columns: 50, rows: 20 })
      yield* terminal.capstan(`run --model ${task(at)} 'fix it'`)
      yield* terminal.sees("[r] no")
      yield* terminal.type("r")
      yield* terminal.sees("Why not?")
      yield* terminal.type("leave it as it is")
      yield* terminal.press("Enter")
      const done = yield* terminal.sees(/code \d/)
      assert.include(done, "→ denied")
      assert.match(done, /⊘ Edit math\.js · edit_file: denied: leave\s+it as\s+it\s+is/)
      assert.include(source(at), "a - b")
    }), inTerminal)

  it.scopedLive("opens the editor for the arguments", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const terminal = yield* tmux.open(at, { environment: { EDITOR: "sed -i s/one/two/" } })
      yield* terminal.capstan(`run --model ${script(at, [command("touch one"), { text: "Done." }])} go`)
      yield* terminal.sees("[e] edit")
      yield* terminal.type("e")
      yield* terminal.sees("\"command\": \"touch two\"")
      yield* terminal.type("y")
      yield* terminal.sees("code 0")
      assert.deepStrictEqual(fs.readdirSync(at.work), ["two"])
    }), inTerminal)

  it.scopedLive("Ctrl-C ends a running command, its child and the run with 130", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const terminal = yield* tmux.open(at)
      const mark = `300.${process.pid}`
      yield* terminal.capstan(`run --yes --model ${script(at, [command(`sleep ${mark}`), { text: "no" }])} go`)
      yield* terminal.sees(`Run sleep ${mark} · run_command · `)
      yield* until(() => running(mark).length > 0)
      yield* terminal.press("C-c")
      const done = yield* terminal.sees("code 130")
      assert.include(done, "cancelled")
      assert.deepStrictEqual(running(mark), [])
    }), inTerminal)

  it.scopedLive("Ctrl-C at the question cancels", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const terminal = yield* tmux.open(at)
      yield* terminal.capstan(`run --model ${script(at, [command("touch one"), { text: "no" }])} go`)
      yield* terminal.sees("[y] yes")
      yield* terminal.press("C-c")
      yield* terminal.sees("code 130")
      assert.deepStrictEqual(fs.readdirSync(at.work), [])
      yield* terminal.type("echo ba''ck")
      yield* terminal.press("Enter")
      yield* terminal.sees("\nback")
    }), inTerminal)

  it.scopedLive(
    "asks about what must be asked even with --yes, and allows always what it says",
    () =>
      Effect.gen(function*() {
        const at = yield* folders
        const terminal = yield* tmux.open(at)
        const model = script(at, [
          command("touch one"),
          command("touch two"),
          command("touch two"),
          command("sudo true"),
          {
            text: "Done."
          }
        ])
        yield* terminal.capstan(`run --yes --model ${model} go`)
        const asked = yield* terminal.sees("[y] yes")
        assert.include(asked, "sudo true")
        assert.include(asked, "asked every time")
        assert.notInclude(asked, "[a] always")
        assert.deepStrictEqual(fs.readdirSync(at.work), ["one", "two"])
        yield* terminal.type("n")
        yield* terminal.sees(/code \d/)

        const again = script(at, [command("touch three"), command("touch three"), { text: "Done." }])
        yield* terminal.capstan(`run --model ${again} go`)
        yield* terminal.sees("[a] always")
        yield* terminal.type("a")
        yield* terminal.sees("  │ run_command(touch three)")
        yield* terminal.type("s")
        const done = yield* terminal.sees("code 0")
        assert.strictEqual(occurrences(done, "✓ Run touch three"), 2)
        assert.strictEqual(occurrences(done, "Approval needed"), 1)
      }),
    inTerminal
  )

  it.scopedLive("asks nobody and shows no colours with NO_COLOR", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const terminal = yield* tmux.open(at, { environment: { NO_COLOR: "1" } })
      yield* terminal.capstan(`run --model ${task(at)} 'fix it'`)
      const done = yield* terminal.sees("code 3")
      assert.include(done, "--allow")
      assert.notInclude(done, "[y] yes")
    }), inTerminal)

  it.scopedLive("keeps to narrow terminals, and to those that change", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const terminal = yield* tmux.open(at, { columns: 44, rows: 14 })
      const long =
        "for n in $(seq 1 200); do echo a rather long line of output that does not fit number $n; sleep 0.02; done"
      yield* terminal.capstan(`run --yes --model ${script(at, [command(long), { text: "Done with all of it." }])} go`)
      yield* terminal.sees("lines before")
      for (const columns of [30, 60, 38, 80]) {
        yield* terminal.resize(columns, 14)
        const shown = yield* tmux.eventually(
          terminal.rows,
          (rows) => rows.filter((row) => /^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] Run /.test(row)).length === 1
        )
        assert.isAtMost(Math.max(...shown.map((row) => row.length)), columns)
      }
      const done = yield* terminal.sees("code 0")
      assert.include(done, "✓ Run for n in")
      assert.include(done, "Done with all of it.")
      assert.strictEqual(occurrences((yield* terminal.rows).join("\n"), "Run for n in"), 1)
    }), inTerminal)

  it.scopedLive("talks, knows its commands, and stays when a turn is cancelled", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const terminal = yield* tmux.open(at)
      const mark = `301.${process.pid}`
      const model = script(at, [
        { text: "Hello yourself." },
        { text: "That was two lines." },
        command(`sleep ${mark}`),
        { text: "Still here." }
      ])
      yield* terminal.capstan(`chat --model ${model} --allow run_command`)
      const line = (text: string) => Effect.zipRight(terminal.type(text), terminal.press("Enter"))
      yield* terminal.sees("›")
      yield* line("hello")
      yield* terminal.sees("Hello yourself.")
      yield* line("::quux")
      yield* terminal.sees("Unknown command: ::quux. Try ::help")
      yield* line("::help")
      yield* terminal.sees("::context")
      yield* line("::context")
      yield* terminal.sees("in use")
      yield* line("::tools")
      yield* terminal.sees("run_command ")
      yield* terminal.paste("one\ntwo")
      yield* terminal.press("Enter")
      yield* terminal.sees("That was two lines.")
      yield* line("wait")
      yield* terminal.sees(`Run sleep ${mark} · run_command · `)
      yield* until(() => running(mark).length > 0)
      yield* terminal.press("C-c")
      yield* terminal.sees("Cancelled.")
      assert.deepStrictEqual(running(mark), [])
      yield* line("and now?")
      yield* terminal.sees("Still here.")
      yield* terminal.press("C-c")
      yield* terminal.sees("Ctrl-C again leaves")
      yield* terminal.press("C-c")
      yield* terminal.sees("code 0")
    }), inTerminal)

  it.scopedLive("changes model, trust and approval, begins anew, and leaves", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const terminal = yield* tmux.open(at)
      const line = (text: string) => Effect.zipRight(terminal.type(text), terminal.press("Enter"))
      const first = script(at, [{ text: "I am the first." }])
      const second = script(at, [{ text: "I am new." }, { text: "I am the second." }, {
        calls: [{ name: "write_file", arguments: { path: "a", content: "1" } }]
      }, { text: "Written." }])
      yield* terminal.capstan(`chat --model ${first}`)
      yield* terminal.sees("›")
      yield* line("who?")
      yield* terminal.sees("I am the first.")
      yield* line("::model scripted//nowhere.json")
      yield* terminal.sees("cannot be read")
      yield* line(`::model ${second}`)
      yield* terminal.sees("From now on")
      yield* line("and you?")
      yield* terminal.sees("I am the second.")
      yield* line("::approve auto")
      yield* terminal.sees("From now on: approve auto")
      yield* line("write")
      yield* terminal.sees("Written.")
      assert.strictEqual(fs.readFileSync(path.join(at.work, "a"), "utf8"), "1")
      yield* line("::trust read_only")
      yield* terminal.sees("From now on: trust read_only")
      yield* line("::trust none")
      yield* terminal.sees("::trust takes one of")
      yield* line("::clear")
      yield* terminal.sees("A new session")
      yield* line("hm?")
      yield* terminal.sees("I am new.")
      yield* line("::exit")
      yield* terminal.sees("code 0")
    }), inTerminal)

  it.scopedLive("asks what to do with what a crash left", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const terminal = yield* tmux.open(at)
      const mark = `302.${process.pid}`
      const model = script(at, [command(`echo $PPID > pid; sleep ${mark}`), { text: "I go on." }])
      const line = (text: string) => Effect.zipRight(terminal.type(text), terminal.press("Enter"))
      yield* terminal.capstan(`chat --yes --model ${model}`)
      yield* terminal.sees("›")
      yield* line("go")
      yield* until(() => running(mark).length > 0)
      yield* terminal.press("C-z")
      yield* terminal.sees("Stopped")
      yield* line("kill -9 %1; wait; clear")
      yield* terminal.capstan(`chat --yes --resume last --model ${model}`)
      yield* terminal.sees("›")
      yield* line("go on")
      yield* terminal.sees("partial or discard?")
      yield* line("what?")
      yield* terminal.sees(/discard\? what\?\s+partial or discard\?/)
      yield* line("partial")
      yield* terminal.sees("I go on.")
      assert.deepStrictEqual(running(mark), [])
      yield* terminal.press("C-d")
      yield* terminal.sees("code 0")
    }), inTerminal)
})
