/** A process of its own for the crash tests: does a {@link Task} and says one line of JSON for each thing. */
import * as CrashPoint from "@capstan/testing/CrashPoint"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as readline from "node:readline"
import { crashAt, layer, succeed, turn } from "./crashLoop.js"
import { type Case, Task } from "./crashTask.js"

const task = Schema.decodeSync(Schema.parseJson(Task))(process.argv[2] ?? "")

const say = (report: Record<string, unknown>) =>
  Effect.sync(() => {
    process.stdout.write(`${JSON.stringify(report)}\n`)
  })

const line = Effect.async<void>((resume) => {
  const input = readline.createInterface({ input: process.stdin })
  input.once("line", () => resume(Effect.void))
  return Effect.sync(() => input.close())
})

const waiting = Effect.zipRight(say({ asked: true }), line)

let left = task.cases.length

/** Whoever comes last kills the process; the others stand still where they are. */
const arrive = Effect.suspend(() => {
  left -= 1
  return left === 0 ? CrashPoint.kill : Effect.never
})

const run = ({ choice, folder, point, session }: Case) =>
  Effect.gen(function*() {
    const { text } = yield* task.mode === "turn" ? turn(session) : succeed(session, choice)
    yield* say({ text })
  }).pipe(
    Effect.provide(layer({
      scenario: task.scenario,
      store: task.store,
      folder,
      session,
      ...(task.wait === true ? { before: waiting } : {}),
      points: point === undefined ? [] : [crashAt(point, arrive)]
    })),
    Effect.catchAll((error) =>
      say({ error: error._tag, message: error.message, ...("reason" in error ? { reason: error.reason } : {}) })
    )
  )

void Effect.runPromise(Effect.forEach(task.cases, run, { concurrency: "unbounded", discard: true })).then(() =>
  process.exit(0)
)
