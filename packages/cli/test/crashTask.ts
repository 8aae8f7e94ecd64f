/** What the crash program is told to do. */
import * as Schema from "effect/Schema"
import { scenarios } from "./crashScenarios.js"

const names = Object.keys(scenarios)

const isName = (name: unknown): name is keyof typeof scenarios => typeof name === "string" && names.includes(name)

/** Where a journal is: a database file in the case's folder, or a Postgres server. */
export const Store = Schema.Union(
  Schema.Struct({ _tag: Schema.Literal("sqlite") }),
  Schema.Struct({ _tag: Schema.Literal("postgres"), url: Schema.String })
)

export type Store = typeof Store.Type

/** The n-th record of a kind (from 1, over all sessions of the case). */
export const Point = Schema.Struct({
  when: Schema.Literal("before", "after"),
  kind: Schema.String,
  n: Schema.Number
})

export type Point = typeof Point.Type

const Choice = Schema.Literal("partial", "discard")

/**
 * Each case has a folder and a session of its own; the process is killed once each is at its point. `turn` runs the
 * scenario, `succeed` goes on with a session that a crash left. `wait` holds the model back until a line comes.
 */
export const Task = Schema.Struct({
  mode: Schema.Literal("turn", "succeed"),
  scenario: Schema.declare(isName),
  store: Store,
  cases: Schema.Array(Schema.Struct({
    folder: Schema.String,
    session: Schema.String,
    choice: Choice,
    point: Schema.optional(Point)
  })),
  wait: Schema.optional(Schema.Boolean)
})

export type Task = typeof Task.Type

export type Case = Task["cases"][number]
