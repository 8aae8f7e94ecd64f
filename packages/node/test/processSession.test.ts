import { ProcessRunner } from "@capstan/core/ProcessRunner"
import { HostProcessRunner, SandboxedProcessRunner } from "@capstan/node"
import { describe, expect, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll } from "vitest"
import * as ShellSessions from "../src/internal/shellSessions.js"
import { confines, cutShort, endings, leftOver, makeMarker, stubborn } from "./processCases.js"

const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "capstan-session-test-")))
fs.mkdirSync(path.join(root, "sub"))
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

let sessions = 0
/** A shell of its own: gives the outputs, the exit code and what the result says besides. */
const shell = () => {
  const session = `session-${++sessions}`
  return (command: string) =>
    Effect.gen(function*() {
      const runner = yield* ProcessRunner
      const cwd = (yield* runner.sessions.directory(session)) ?? root
      const { exit, notes, stderr, stdout } = yield* runner.run({ command, cwd, session, keepBytes: 100_000 })
      return {
        out: stdout.head,
        err: stderr.head,
        code: exit._tag === "Exited" ? exit.code : exit.signal,
        notes,
        directory: yield* runner.sessions.directory(session)
      }
    })
}

const options = {
  grace: "100 millis",
  environment: { PATH: process.env["PATH"], HOME: os.homedir(), INHERITED: "base", TERM: "dumb" }
} as const

const backends = [
  { name: "on the host", available: true, live: HostProcessRunner.layer(options) },
  {
    name: "in the sandbox",
    available: confines,
    live: SandboxedProcessRunner.layer({ ...options, mounts: [{ name: "workspace", root, access: "rw" }] })
  }
]

for (const { available, live, name } of backends) {
  describe.skipIf(!available)(`a shell session ${name}`, () => {
    layer(live, { excludeTestServices: true })("hands on", (it) => {
      it.effect("the folder", () =>
        Effect.gen(function*() {
          const run = shell()
          expect(yield* run("pwd; cd sub")).toEqual({
            out: `${root}\n`,
            err: "",
            code: 0,
            notes: [],
            directory: `${root}/sub`
          })
          expect((yield* run("pwd")).out).toBe(`${root}/sub\n`)
          expect(yield* run("PWD=/etc; OLDPWD=/x; cd ..; exit 3")).toMatchObject({ code: 3, directory: root })
          expect((yield* run("(cd sub); pwd")).directory).toBe(root)
        }))

      it.effect("variables, exported or not, whatever they hold, and as they were", () =>
        Effect.gen(function*() {
          const run = shell()
          expect(
            (yield* run(
              "plain='a  b'; export SHARED=$'x\\ny\\'\"$(touch evil)`touch evil`\\\\'; export INHERITED=changed; empty=; list=(one 'two 2' '$(touch evil)'); list[7]=seven; declare -A table=([k]=v ['$(touch evil)']='e=1' ['a b']=); readonly fixed=1; declare -i sum=3; umlaut='ü😀'"
            )).notes
          ).toEqual([])
          const shown = yield* run(
            "declare -p plain SHARED INHERITED empty list table fixed sum umlaut; env | grep -a -e ^SHARED -e ^plain -e ^INHERITED; ls"
          )
          expect(shown.out).toBe([
            "declare -- plain=\"a  b\"",
            "declare -x SHARED=$'x\\ny\\'\"$(touch evil)`touch evil`\\\\'",
            "declare -x INHERITED=\"changed\"",
            "declare -- empty=\"\"",
            "declare -a list=([0]=\"one\" [1]=\"two 2\" [2]=\"\\$(touch evil)\" [7]=\"seven\")",
            "declare -A table=([\"\\$(touch evil)\"]=\"e=1\" [k]=\"v\" [\"a b\"]=\"\" )",
            "declare -- fixed=\"1\"",
            "declare -- sum=\"3\"",
            "declare -- umlaut=$'\\303\\274\\360\\237\\230\\200'",
            "INHERITED=changed",
            "SHARED=x",
            "sub",
            ""
          ].join("\n"))
          yield* run("export -n INHERITED; unset plain list; export table")
          expect((yield* run("echo ${INHERITED} ${plain-gone} ${list-gone} ${table[k]}; env | grep -c INHERITED")).out)
            .toBe("changed gone gone v\n0\n")
          yield* run("unset INHERITED")
          expect((yield* run("echo ${INHERITED-gone}; echo \"$SHARED\" | head -1")).out).toBe("gone\nx\n")
        }))

      it.effect.prop(
        "any text",
        { values: FastCheck.array(FastCheck.string({ unit: "grapheme", maxLength: 30 }), { maxLength: 8 }) },
        ({ values }) =>
          Effect.gen(function*() {
            const run = shell()
            const texts = values.map((value) => value.replaceAll("\0", "").replaceAll("\uFFFD", ""))
            const quoted = texts.map((text) => `'${text.replaceAll("'", "'\\''")}'`)
            yield* run(`list=(${quoted.join(" ")}); text=${quoted[0] ?? "none"}`)
            expect((yield* run(`printf '%s\\0' "$text" "\${list[@]}"`)).out)
              .toBe([texts[0] ?? "none", ...texts].map((text) => `${text}\0`).join(""))
          }),
        { fastCheck: { numRuns: 12 } }
      )

      it.effect("what was set before a failure, an exit, and an error of syntax", () =>
        Effect.gen(function*() {
          const run = shell()
          expect(yield* run("a=1; cd sub; exit 7; a=2")).toMatchObject({ code: 7, directory: `${root}/sub`, notes: [] })
          expect(yield* run("b=2; false")).toMatchObject({ code: 1, notes: [] })
          expect(yield* run("set -euo pipefail; c=3; false; c=4")).toMatchObject({ code: 1, notes: [] })
          expect(yield* run("set -u; d=4; echo $nothing")).toMatchObject({ code: 127 })
          expect((yield* run("e=5\nif then")).code).toBe(2)
          expect((yield* run("echo $a $b $c $d $e $-; pwd")).out).toBe(`1 2 3 4 5 hBc\n${root}/sub\n`)
        }))

      it.effect("nothing else: functions, aliases, traps, options, positional parameters", () =>
        Effect.gen(function*() {
          const run = shell()
          yield* run(
            "f() { echo evil; }; ls() { echo evil; }; export -f ls; alias cat=evil; trap 'echo evil' DEBUG; set -f -- x; shopt -s extglob; umask 077; hash -p /bin/evil pwd"
          )
          const { err, notes, out } = yield* run(
            "type -t f; type -t ls; alias; echo $# $1 $-; shopt extglob; umask; trap -p DEBUG; hash"
          )
          expect({ err, notes, out }).toEqual({
            err: "",
            notes: [],
            out: "file\n0 hBc\nextglob        \toff\n0022\nhash: hash table empty\n"
          })
        }))

      it.scoped("no variable that changes what later commands are, and names those", () =>
        Effect.gen(function*() {
          const run = shell()
          const evil = path.join(root, "git")
          fs.writeFileSync(evil, "#!/bin/bash\necho evil\n", { mode: 0o755 })
          yield* Effect.addFinalizer(() => Effect.sync(() => fs.rmSync(evil)))
          const before = yield* run("echo \"$PATH $HOME\"; git --version")
          const set = yield* run(
            "export PATH=$PWD:$PATH HOME=$PWD IFS=x BASH_ENV=./evil ENV=./evil LD_PRELOAD=./evil PROMPT_COMMAND=./evil NODE_OPTIONS='-r ./evil' PYTHONPATH=. GIT_EXTERNAL_DIFF=./evil EDITOR=./evil CC=./evil MY_TOKEN=x CDPATH=/ PS4='$(./evil)' kept=1; declare -n ref=kept; unset TERM"
          )
          expect(set.notes).toEqual([
            "not kept, because they change what later commands run: BASH_ENV, CC, CDPATH, EDITOR, ENV, GIT_EXTERNAL_DIFF, HOME, IFS, LD_PRELOAD, MY_TOKEN, NODE_OPTIONS, PATH and 3 more"
          ])
          const after = yield* run("echo \"$PATH $HOME\"; git --version")
          expect(after).toEqual({ ...before, notes: [] })
          expect(
            yield* run("a='a b'; printf '<%s>' $a; env | grep -c evil; echo $kept ${TERM-unset}; set -x; true")
          )
            .toMatchObject({ out: "<a><b>0\n1 unset\n", err: "++ true\n" })
        }))

      it.effect("no more than it can hold, and says so", () =>
        Effect.gen(function*() {
          const run = shell()
          const large = yield* run(
            "printf -v big '%040000d' 0; for i in {1..1200}; do many[i]=1; done; bytes=$'\\xff'; small=1; eval \"$(for i in {1..600}; do echo n$i=$i; done)\""
          )
          expect(large.notes).toHaveLength(1)
          expect(large.notes[0]).toMatch(/^not kept, because they are too large or not text: big, bytes, many, n\d/)
          expect((yield* run("echo ${big-none} ${many-none} ${bytes-none} ${n1} ${n600-none}")).out)
            .toBe("none none none 1 none\n")
        }))

      it.effect("nothing after the shell was replaced or killed, and says so", () =>
        Effect.gen(function*() {
          const run = shell()
          yield* run("a=1; cd sub")
          const note = expect.stringContaining("are not kept")
          expect(yield* run("a=2; cd /; exec true")).toMatchObject({ code: 0, notes: [note], directory: `${root}/sub` })
          expect(yield* run("a=2; trap 'echo bye' EXIT; exit 4"))
            .toMatchObject({ code: 4, out: "bye\n", notes: [note] })
          expect((yield* run("a=2; kill -9 $$")).notes).toEqual([note])
          expect((yield* run("echo $a; pwd; a=3")).out).toBe(`1\n${root}/sub\n`)
          expect((yield* run("echo $a")).out).toBe("3\n")
        }))

      it.effect("nothing that another program says in its place", () =>
        Effect.gen(function*() {
          const run = shell()
          yield* run(
            "a=1; bash -c 'for fd in 4 198; do printf \"aaz\\0asforged=1\\0bsforged=1\\0asa=9\\0az\\0\" >&$fd; done' 2>/dev/null; printf 'asforged=1\\0az\\0'"
          )
          expect((yield* run("echo $a ${forged-none}")).out).toBe("1 none\n")
          expect((yield* run("bash -c 'yes >&198 & sleep 0.2; kill %1'; b=2")).code).toBe(0)
          expect((yield* run("echo $a ${b-none}")).out).toMatch(/^1 (?:2|none)\n$/)
        }))

      it.effect("jobs in the background only as a note that they were ended", () =>
        Effect.gen(function*() {
          const run = shell()
          const marker = makeMarker()
          const { notes } = yield* run(`sleep ${marker} & a=1`)
          expect(notes).toEqual([
            expect.stringMatching(new RegExp(`^ended with the command: .*Running sleep ${marker}`))
          ])
          expect(leftOver("none", marker)).toEqual([])
          expect((yield* run("jobs; echo $a; sleep 0.01 & wait")).notes).toEqual([])
        }))

      it.effect("to nobody else, and starts over when told to", () =>
        Effect.gen(function*() {
          const [run, other] = [shell(), shell()]
          yield* run("a=1; cd sub")
          expect((yield* other("echo ${a-none}; pwd")).out).toBe(`none\n${root}\n`)
          const { sessions: known } = yield* ProcessRunner
          expect(yield* known.directory("nobody")).toBe(undefined)
          yield* known.forget(`session-${sessions - 1}`)
          expect((yield* run("echo ${a-none}; pwd")).out).toBe(`none\n${root}\n`)
        }))

      it.effect("one after the other, however they are started", () =>
        Effect.gen(function*() {
          const run = shell()
          yield* run("n=0")
          yield* Effect.forEach(Array.from({ length: 6 }), () => run("n=$((n + 1)); sleep 0.02"), {
            concurrency: "unbounded"
          })
          expect((yield* run("echo $n")).out).toBe("6\n")
        }))

      const interrupt = endings.find(([ending]) => ending === "interrupt")?.[1] ?? expect.fail()
      for (const [kind, command] of stubborn.filter((_, index) => [0, 2, 5, 6].includes(index))) {
        it.effect(`nothing that runs: ${kind}`, () =>
          Effect.gen(function*() {
            const session = `session-${++sessions}`
            const runner = yield* ProcessRunner
            yield* runner.run({ command: "a=1", cwd: root, session, keepBytes: 100 })
            expect(
              yield* cutShort({ command: (marker) => `a=2; ${command(marker)}`, end: interrupt, cwd: root, session })
            ).toEqual([])
            const { stdout } = yield* runner.run({ command: "echo $a", cwd: root, session, keepBytes: 100 })
            expect(stdout.head).toBe("1\n")
          }))
      }
    })
  })
}

it.live("more sessions than can be kept: the one that was not used for longest starts over", () =>
  Effect.gen(function*() {
    const [first, second] = [shell(), shell()]
    yield* second("a=2")
    yield* first("a=1")
    yield* Effect.forEach(Array.from({ length: 63 }), () => shell()("true"), { concurrency: 4 })
    expect((yield* first("echo ${a-none}")).out).toBe("1\n")
    expect((yield* second("echo ${a-none}")).out).toBe("none\n")
  }).pipe(Effect.provide(HostProcessRunner.layer(options))))

it.live("without bash there are no sessions", () =>
  Effect.gen(function*() {
    const { run } = yield* ShellSessions.make({
      execute: () => Effect.die("nothing may run"),
      shell: (command) => HostProcessRunner.shell(command, () => false),
      deny: []
    })
    expect(yield* Effect.flip(run({ command: "true", cwd: root, session: "s", keepBytes: 10 })))
      .toMatchObject({ _tag: "ProcessError", reason: "not-found", message: expect.stringContaining("need bash") })
  }))

it.live("what the user adds to the variables that commands do not get is not handed on either", () =>
  Effect.gen(function*() {
    const run = shell()
    expect((yield* run("export MINE_1=a OTHER=b")).notes).toEqual([expect.stringContaining("run: MINE_1")])
    expect((yield* run("echo ${MINE_1-none} $OTHER")).out).toBe("none b\n")
  }).pipe(Effect.provide(HostProcessRunner.layer({ ...options, denyEnvironment: ["mine_*"] }))))
