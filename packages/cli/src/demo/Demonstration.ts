/**
 * The demo itself: makes the project, has a child process work on it until it is killed and another one take over, and
 * proves what it claims.
 *
 * @since 0.1.0
 */
import { Journal, type JournalRow } from "@capstan/core/Journal"
import type { ProcessIdentity } from "@capstan/core/ProcessRunner"
import { ProcessRunner } from "@capstan/core/ProcessRunner"
import * as SessionState from "@capstan/core/SessionState"
import * as DisabledProcessRunner from "@capstan/node/DisabledProcessRunner"
import * as SqliteFile from "@capstan/sql/SqliteFile"
import * as SqlJournal from "@capstan/sql/SqlJournal"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import process from "node:process"
import * as CommandError from "../CommandError.js"
import * as Composition from "../Composition.js"
import { Host } from "../Host.js"
import type { Places } from "../Places.js"
import * as Ulid from "../Ulid.js"
import * as Page from "./Page.js"
import * as Part from "./Part.js"
import * as ProcessTable from "./ProcessTable.js"
import * as Project from "./Project.js"
import * as Proofs from "./Proofs.js"
import * as Worker from "./Worker.js"

/** How long a child may take to clean up when the demo is broken off, in milliseconds. */
const grace = 4_000

/** So much of a session's id is enough for a journal with one session. */
const prefix = 10

interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

const ending = (child: ChildProcess): Effect.Effect<Ending> =>
  Effect.async((resume) => {
    const told = () => resume(Effect.succeed({ code: child.exitCode, signal: child.signalCode }))
    if (child.exitCode !== null || child.signalCode !== null) told()
    else child.once("exit", told).once("error", told)
  })

const end = (child: ChildProcess): Effect.Effect<void> =>
  Effect.sync(() => child.kill("SIGTERM")).pipe(
    Effect.zipRight(ending(child)),
    Effect.timeoutTo({
      duration: grace,
      onSuccess: () => Effect.void,
      onTimeout: () => Effect.sync(() => void child.kill("SIGKILL"))
    }),
    Effect.flatten
  )

/** This program again, for one part; it has the terminal, if there is one. */
const started = (part: Part.Part): Effect.Effect<ChildProcess, CommandError.CommandError, Host | Scope.Scope> =>
  Effect.gen(function*() {
    const { environment } = yield* Host
    const text = yield* Effect.orDie(Schema.encode(Part.Part)(part))
    return yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [...process.execArgv, process.argv[1] ?? "", "demo"], {
          // What a killed process leaves among temporary files goes with the demo.
          env: { ...environment, TMPDIR: Project.folders(part.root).temporary, [Part.variable]: text },
          stdio: ["inherit", "inherit", "inherit", "ipc"]
        })
      ),
      end
    )
  })

/** The terminal as it was: a process that was killed could not put it back. */
const terminal: Effect.Effect<Effect.Effect<void>, never, Host> = Effect.map(Host, (host) => {
  if (!host.terminal) return Effect.void
  const stty = (...words: ReadonlyArray<string>) =>
    spawnSync("stty", words, { stdio: ["inherit", "pipe", "ignore"], encoding: "utf8" }).stdout ?? ""
  const before = stty("-g").trim()
  return Effect.sync(() => void (before === "" ? "" : stty(before))).pipe(Effect.zipRight(host.write("\r\n")))
})

const rowsOf = (places: Places, session: string) =>
  Effect.flatMap(Journal, (journal) => journal.read({ session })).pipe(
    Effect.mapError(CommandError.ofRunError),
    Effect.provide(Composition.stored(places))
  )

const groupsOf = (rows: ReadonlyArray<JournalRow>): ReadonlyArray<ProcessIdentity> =>
  rows.flatMap(({ record }) => record._tag === "ProcessStarted" ? [record.process] : [])

/** A folder that goes when the demo is broken off, with what the session still runs; what is kept is said at the end. */
const temporary = (session: string) =>
  Effect.gen(function*() {
    let isKept = false
    const root = yield* Effect.acquireRelease(
      Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "capstan-demo-")))),
      (root) =>
        Effect.suspend(() =>
          isKept ? Effect.void : Effect.gen(function*() {
            const runner = yield* ProcessRunner
            const rows = yield* Effect.orElseSucceed(rowsOf(Worker.placesOf(root), session), () => [])
            yield* runner.reap(groupsOf(rows))
          }).pipe(
            Effect.provide(DisabledProcessRunner.layer),
            Effect.zipRight(Effect.sync(() => fs.rmSync(root, { recursive: true, force: true })))
          )
        )
    )
    const keep = Effect.sync(() => {
      isKept = true
      fs.rmSync(Project.folders(root).temporary, { recursive: true, force: true })
    })
    return { root, keep }
  })

/** How this program was started, for commands that the user can copy. */
const program = (): string => {
  const script = process.argv[1] ?? "capstan"
  if (path.basename(script) === "capstan") return "capstan"
  const relative = path.relative(process.cwd(), script)
  return `node ${relative.startsWith("..") ? script : relative}`
}

const stateOf = (rows: ReadonlyArray<JournalRow>) =>
  rows.reduce((state, { record }) => SessionState.step(state, record), SessionState.empty)

const callsOf = (rows: ReadonlyArray<JournalRow>) => {
  const calls = stateOf(rows).batch?.calls ?? []
  const names = (select: (call: SessionState.BatchCall) => boolean) => calls.filter(select).map(({ call }) => call.name)
  return {
    finished: names(({ settled }) => settled !== null),
    unknown: names(({ settled, started }) => settled === null && started),
    neverStarted: names(({ settled, started }) => settled === null && !started),
    ended: []
  }
}

/** Those that are alive once a sandbox, which ends by itself, has had the time to. */
const settled = (groups: ReadonlyArray<ProcessIdentity>): Effect.Effect<ReadonlyArray<number>> =>
  Effect.repeat(ProcessTable.alive(groups), {
    until: (alive) => alive.length === 0,
    schedule: Schedule.intersect(Schedule.spaced("50 millis"), Schedule.recurs(10))
  }).pipe(Effect.zipRight(ProcessTable.alive(groups)))

/** The demo is over when a child ended in another way than the plan says. */
const expected = (ending: Ending, holds: boolean) => {
  if (holds) return Effect.void
  if (ending.code === 3) return CommandError.ended(3, "Denied")
  return ending.code === 130 ? CommandError.ended(130, "Interrupted") : new CommandError.CommandError({
    code: 1,
    tag: "DemoError",
    message: `The demo's process ended with ${
      ending.signal ?? `exit code ${ending.code ?? "none"}`
    }, which is not part of the plan.`
  })
}

/**
 * Shows everything and proves it. Exit code 1 if a claim does not hold, 3 if the user denied a call.
 *
 * @since 0.1.0
 * @category constructors
 */
export const show: Effect.Effect<void, CommandError.CommandError, Host> = Effect.scoped(Effect.gen(function*() {
  const page = yield* Page.make
  const host = yield* Host
  const session = yield* Ulid.make
  const { keep, root } = yield* temporary(session)
  const places = Worker.placesOf(root)
  const folders = Project.folders(root)
  yield* Project.make(folders)
  const passedBefore = yield* Project.passes(folders)

  yield* page.heading("1. A task")
  yield* page.say([
    `The project: ${folders.project}`,
    passedBefore ? "Its tests pass, which they should not." : "Its tests fail; the demo has just run them.",
    host.terminal
      ? "You are asked before a file is changed or a command is run."
      : "There is no terminal here, so the demo answers the questions itself."
  ])
  const restore = yield* terminal
  const first = yield* started({ part: "work", root, session })
  const killed = yield* ending(first)
  if (killed.signal !== null) yield* restore
  yield* host.write("\n")
  yield* expected(killed, killed.signal === "SIGKILL")

  const atCrash = yield* rowsOf(places, session)
  const orphans = yield* settled(groupsOf(atCrash))
  yield* page.heading("2. kill -9")
  yield* page.say([
    `Process ${first.pid ?? ""} is dead: ended by ${killed.signal ?? ""}, while a command ran.`,
    "What its journal says of the last three calls:",
    ...Page.calls(callsOf(atCrash)),
    orphans.length === 0
      ? "Nothing that the command started is alive."
      : `What the command started is alive still: ${orphans.length === 1 ? "process" : "processes"} ${
        orphans.join(", ")
      }.`
  ])

  yield* page.heading("3. A new process opens the session from the journal")
  const second = yield* started({ part: "resume", root, session })
  const resumed = yield* ending(second)
  yield* host.write("\n")
  yield* expected(resumed, resumed.code === 0)

  const rows = yield* rowsOf(places, session)
  const breaks = yield* SqlJournal.verify({ session }).pipe(
    Effect.provide(SqliteFile.layer({ filename: places.database })),
    Effect.mapError(CommandError.ofRunError)
  )
  const proofs = Proofs.of({
    signal: killed.signal,
    atCrash,
    rows,
    breaks: breaks.length,
    traces: yield* Project.traces(folders),
    alive: yield* ProcessTable.alive(groupsOf(rows)),
    passedBefore,
    passesNow: yield* Project.passes(folders)
  })
  yield* keep
  yield* page.heading("4. What was proved")
  yield* Effect.forEach(proofs, ({ because, claim, holds }) => page.mark(holds, claim, because))
  yield* host.write("\n")
  const broken = proofs.filter(({ holds }) => !holds).length
  yield* page.say(["The model was scripted: what it said was written beforehand. All else was real."])
  yield* host.write([
    "The journal is kept:",
    `  ${places.database}`,
    "Look at it:",
    `  XDG_DATA_HOME=${folders.data} \\`,
    `  ${program()} show ${session.slice(0, prefix)}`,
    "Remove everything:",
    `  rm -r ${root}`,
    ""
  ].join("\n"))
  if (broken > 0) {
    return yield* new CommandError.CommandError({
      code: 1,
      tag: "DemoError",
      message: `${broken} of ${proofs.length} claims of the demo do not hold.`
    })
  }
}))
