/**
 * A process of its own for the crash tests. `turn` runs the batch, `recover` closes it as chosen and goes on. Where cases
 * have points, each stops there and the process is killed when all have. `wait` holds the model back until a line comes. Says
 * one line of JSON for each thing.
 */
import * as ToolLoop from "@capstan/core/ToolLoop"
import * as CrashPoint from "@capstan/testing/CrashPoint"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as readline from "node:readline"
import { layer, script, session } from "./crashLoop.js"
import { Task } from "./crashTask.js"

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

const turn = ToolLoop.run({ session, message: "Go." })

const recover = ToolLoop.recover({ session, choice: task.choice ?? "partial" }).pipe(
  Effect.catchTag("ConfigurationError", () => Effect.void),
  Effect.zipRight(ToolLoop.run({ session }))
)

let left = task.cases.length

/** Whoever comes last kills the process; the others stand still where they are. */
const arrive = Effect.suspend(() => {
  left -= 1
  return left === 0 ? CrashPoint.kill : Effect.never
})

const run = ({ folder, point }: (typeof task.cases)[number]) =>
  Effect.gen(function*() {
    const { text } = yield* task.mode === "turn" ? turn : recover
    yield* say({ text })
  }).pipe(
    Effect.provide(layer({
      folder,
      script: script(task.shape, task.wait === true ? waiting : Effect.void),
      machine: task.shape === "command" ? "node" : "fake",
      points: point === undefined ? [] : [{ when: point.when, place: point.n, happens: arrive }]
    })),
    Effect.catchAll((error) =>
      say({ error: error._tag, message: error.message, ...("reason" in error ? { reason: error.reason } : {}) })
    )
  )

void Effect.runPromise(Effect.forEach(task.cases, run, { concurrency: "unbounded", discard: true })).then(() =>
  process.exit(0)
)
