import { Journal } from "@capstan/core/Journal"
import * as SqlJournal from "@capstan/sql/SqlJournal"
import { assert, describe, it, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import stringWidth from "string-width"
import * as Project from "../src/demo/Project.js"
import * as Proofs from "../src/demo/Proofs.js"
import { type Ended, type Folders, folders, run, start } from "./program.js"
import * as tmux from "./tmux.js"

const patient = { timeout: 90_000 }

/** Where the demo may put its folder, so that it can be found. */
const temporary = (at: Folders) => {
  const folder = path.join(at.base, "tmp")
  fs.mkdirSync(folder, { recursive: true })
  return folder
}

const demoFolders = (at: Folders) => fs.readdirSync(temporary(at)).map((name) => path.join(temporary(at), name))

const environment = (at: Folders) => ({ TMPDIR: temporary(at) })

const until = (what: () => boolean) => tmux.eventually(Effect.sync(what), (yes) => yes)

const converted = (at: Folders): string | undefined =>
  demoFolders(at).map((root) => path.join(Project.folders(root).project, "migrations.log")).find((file) =>
    fs.existsSync(file)
  )

/** Processes that know the folder. */
const runningIn = (root: string): ReadonlyArray<string> =>
  !fs.existsSync("/proc/self/environ") ?
    [] :
    fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
      try {
        return ["environ", "cmdline"].some((file) => fs.readFileSync(`/proc/${pid}/${file}`, "utf8").includes(root))
      } catch {
        return false
      }
    })

/** A demo that ran to its end. */
class Ran extends Context.Tag("Ran")<Ran, { readonly at: Folders; readonly ended: Ended }>() {
  static readonly layer = Layer.scoped(
    Ran,
    Effect.gen(function*() {
      const at = yield* folders
      return { at, ended: yield* run(at, ["demo"], { environment: environment(at) }) }
    })
  )
}

const rootOf = Effect.map(Ran, ({ at }) => demoFolders(at)[0] ?? "")

/** What the demo looked at, looked at again. */
const factsOf = Effect.gen(function*() {
  const root = yield* rootOf
  const filename = path.join(Project.folders(root).data, "capstan", "capstan.db")
  const rows = yield* Effect.gen(function*() {
    const journal = yield* Journal
    const [session] = yield* journal.sessions({ project: undefined })
    return yield* journal.read({ session: session?.id ?? "" })
  }).pipe(Effect.provide(SqlJournal.layerSqlite({ filename })))
  const facts: Proofs.Facts = {
    signal: "SIGKILL",
    atCrash: rows.slice(0, rows.findIndex(({ record }) => record._tag === "Recovered")),
    rows,
    breaks: 0,
    traces: yield* Project.traces(Project.folders(root)),
    alive: [],
    passedBefore: false,
    passesNow: true
  }
  return facts
})

layer(Ran.layer, patient)("capstan demo without a terminal", (it) => {
  it.effect("proves every claim, and says that the model is scripted", () =>
    Effect.gen(function*() {
      const { ended: { code, stderr, stdout } } = yield* Ran
      assert.deepStrictEqual([code, stderr], [0, ""])
      const [before = "", proofs = ""] = stdout.split("── 4. What was proved")
      assert.include(before.split("\n")[0], "the model is scripted")
      assert.include(proofs, "The model was scripted")
      assert.include(before, "There is no terminal: the demo answers yes.")
      assert.strictEqual(proofs.split("\n").filter((line) => line.startsWith("✓ ")).length, 10)
      assert.notInclude(stdout, "\u001b")
      const wide = stdout.split("\n").filter((line) => stringWidth(line) > 80 && !line.includes("/"))
      assert.deepStrictEqual(wide, [])
    }))

  it.effect("keeps the journal, which the command that it prints shows", () =>
    Effect.gen(function*() {
      const { at, ended: { stdout } } = yield* Ran
      const [, data = "", session = ""] = /XDG_DATA_HOME=(\S+) \\\n.* show (\w+)\n/.exec(stdout) ?? []
      const shown = yield* run(at, ["show", session], { environment: { XDG_DATA_HOME: data } })
      assert.strictEqual(shown.code, 0)
      assert.include(shown.stdout, "recovered after a crash: partial")
      assert.deepStrictEqual(fs.readdirSync(yield* rootOf).toSorted(), ["data", "project"])
    }))

  it.effect("would say so if a claim did not hold", () =>
    Effect.gen(function*() {
      const facts = yield* factsOf
      const broken = (change: Partial<Proofs.Facts>) =>
        Proofs.of({ ...facts, ...change }).filter(({ holds }) => !holds).map(({ claim }) =>
          claim.split(/[ ,.]/, 4).join(" ")
        )
      const at = (tag: string) => facts.rows.findIndex(({ record }) => record._tag === tag)
      const without = (tag: string) => facts.rows.toSpliced(at(tag), 1)
      const twice = (tag: string) => facts.rows.toSpliced(at(tag), 0, ...facts.rows.slice(at(tag), at(tag) + 1))
      const { traces } = facts

      assert.deepStrictEqual(broken({}), [])
      assert.deepStrictEqual(broken({ signal: null }), ["The process died by"])
      assert.deepStrictEqual(broken({ traces: { ...traces, conversions: 2 } }), ["Nothing ran twice "])
      assert.deepStrictEqual(broken({ traces: { ...traces, apple: 5000 } }), ["Nothing ran twice "])
      assert.deepStrictEqual(broken({ breaks: 1 }), ["The journal's chain of"])
      assert.deepStrictEqual(broken({ alive: [1] }), ["No process is left"])
      assert.deepStrictEqual(broken({ passesNow: false }), ["The tests failed before"])
      assert.deepStrictEqual(broken({ passedBefore: true }), ["The tests failed before"])
      assert.include(broken({ rows: without("Settled") }), "Every call has exactly")
      assert.include(broken({ rows: twice("Settled") }), "Every call has exactly")
      assert.include(broken({ rows: twice("Intent") }), "Nothing ran twice ")
      assert.include(broken({ rows: without("Decided") }), "Nothing that needs approval")
      assert.include(broken({ rows: without("TurnStarted") }), "The history after the")
      assert.include(
        broken({ rows: facts.rows.filter(({ record }) => record._tag !== "Settled") }),
        "Every request was valid"
      )
      assert.include(broken({ rows: facts.atCrash }), "The history after the")
      assert.include(
        broken({ rows: facts.rows.filter(({ record }) => record._tag !== "CallReceived") }),
        "The tool that the"
      )
    }))
})

describe("capstan demo", () => {
  it.scopedLive("fails when something happened twice behind its back", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const running = yield* start(at, ["demo"], { environment: environment(at) })
      yield* until(() => converted(at) !== undefined)
      fs.appendFileSync(converted(at) ?? "", "prices.json: euros to cents\n")
      const { code, stderr, stdout } = yield* running.ended
      assert.strictEqual(code, 1)
      assert.strictEqual(stderr, "capstan: 1 of 10 claims of the demo do not hold.\n")
      assert.match(stdout, /✗ Nothing ran twice.*\n {2}.*migrations\.log has 2 lines/)
    }), patient)

  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    it.scopedLive(`leaves nothing behind after ${signal}`, () =>
      Effect.gen(function*() {
        const at = yield* folders
        const running = yield* start(at, ["demo"], { environment: environment(at) })
        yield* until(() => converted(at) !== undefined)
        const [root = ""] = demoFolders(at)
        running.child.kill(signal)
        assert.strictEqual((yield* running.ended).code, 130)
        assert.deepStrictEqual(demoFolders(at), [])
        yield* until(() => runningIn(root).length === 0)
      }), patient)
  }
})

describe.skipIf(!tmux.available)("capstan demo in a terminal", () => {
  const opened = (at: Folders) => tmux.open(at, { rows: 50, environment: environment(at) })

  it.scopedLive("asks, and gives the terminal back after the kill", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const terminal = yield* opened(at)
      yield* terminal.capstan("demo")
      for (const answer of [1, 4, 5, 7]) {
        yield* terminal.sees(new RegExp(`answer ${answer}\\)[^]*\\[y\\] yes`))
        yield* terminal.type("y")
      }
      const shown = yield* terminal.sees("code 0")
      assert.include(shown, "2. kill -9")
      assert.include(shown, "✓ The tests failed before and pass now.")
      yield* terminal.type("stty -a | tr ' ' '\\n' | grep -x icanon; echo cooked $?")
      yield* terminal.press("Enter")
      yield* terminal.sees("cooked 0")
    }), patient)

  it.scopedLive("ends with code 3 when it is denied something, and with 130 at Ctrl-C", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const terminal = yield* opened(at)
      yield* terminal.capstan("demo")
      yield* terminal.sees("[r] no")
      yield* terminal.type("n")
      assert.include(yield* terminal.sees("code 3"), "You denied that")
      yield* terminal.capstan("demo")
      yield* terminal.sees("[r] no")
      yield* terminal.press("C-c")
      yield* terminal.sees("code 130")
      assert.deepStrictEqual(demoFolders(at), [])
    }), patient)
})
