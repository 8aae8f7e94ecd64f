import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as http from "node:http"
import * as path from "node:path"
import process from "node:process"
import { type Folders, folders, run, script, start } from "./program.js"
import * as tmux from "./tmux.js"

const inTerminal = { timeout: 60_000 }

const crashed = (at: Folders) =>
  Effect.scoped(Effect.gen(function*() {
    const model = script(at, [
      { calls: [{ name: "run_command", arguments: { command: "echo up > up.txt; sleep 60" } }] },
      { text: "All right." }
    ])
    const { child, ended } = yield* start(at, ["run", "work", "--yes", "--model", model])
    yield* tmux.eventually(Effect.sync(() => fs.existsSync(path.join(at.work, "up.txt"))), (is) => is)
    child.kill("SIGKILL")
    yield* ended
  }))

/** Answers as a local server does, on LM Studio's port; undefined: somebody else is there. */
const localServer = Effect.acquireRelease(
  Effect.async<http.Server | undefined>((resume) => {
    const server = http.createServer((request, response) => {
      response.setHeader("content-type", "application/json")
      response.statusCode = request.url === "/v1/models" ? 200 : 400
      response.end(
        JSON.stringify(request.url === "/v1/models" ? { data: [{ id: "m" }] } : { error: { message: "no" } })
      )
    })
    server.once("error", () => resume(Effect.succeed(undefined)))
    server.listen(1234, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.sync(() => server?.close())
)

describe.skipIf(!tmux.available)("a question before the model is at work", () => {
  it.scopedLive("lets the user choose what becomes of a crashed batch", () =>
    Effect.gen(function*() {
      const at = yield* folders
      yield* crashed(at)
      const terminal = yield* tmux.open(at)
      yield* terminal.capstan("resume")
      const asked = yield* terminal.sees("[partial/discard]")
      assert.include(asked, "outcome unknown: run_command (0)")
      yield* terminal.type("what?")
      yield* terminal.press("Enter")
      yield* tmux.eventually(terminal.text, (text) => text.split("[partial/discard]").length === 3)
      yield* terminal.type("p")
      yield* terminal.press("Enter")
      assert.include(yield* terminal.sees("code 0"), "All right.")
      assert.include((yield* run(at, ["show"])).stdout, "recovered after a crash: partial")
    }), inTerminal)

  it.scopedLive("leaves a crashed batch as it is on Ctrl-C", () =>
    Effect.gen(function*() {
      const at = yield* folders
      yield* crashed(at)
      const terminal = yield* tmux.open(at)
      yield* terminal.capstan("resume")
      yield* terminal.sees("[partial/discard]")
      yield* terminal.press("C-c")
      yield* terminal.sees("code 130")
      assert.notInclude((yield* run(at, ["show"])).stdout, "recovered")
    }), inTerminal)

  it.scopedLive("asks once whether a local server may be used", () =>
    Effect.gen(function*() {
      const at = yield* folders
      if ((yield* localServer) === undefined) {
        process.stderr.write("No test of a local server: port 1234 is in use.\n")
        return
      }
      const unattended = yield* run(at, ["run", "x"])
      assert.strictEqual(unattended.code, 2)
      assert.include(unattended.stderr, "allow it with --base-url http://127.0.0.1:1234/v1")
      const terminal = yield* tmux.open(at)
      yield* terminal.capstan("run x")
      yield* terminal.sees("Use the local server LM Studio at http://127.0.0.1:1234/v1 with m? [yes/no]")
      yield* terminal.type("n")
      yield* terminal.press("Enter")
      yield* terminal.sees("code 2")
      yield* terminal.capstan("run x")
      yield* terminal.sees("[yes/no]")
      yield* terminal.type("y")
      yield* terminal.press("Enter")
      yield* terminal.sees("code 4")
      yield* terminal.capstan("run x")
      assert.notInclude(yield* terminal.sees("code 4"), "Use the local server")
    }), inTerminal)
})
