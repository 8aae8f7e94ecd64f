/** What the crash program is told to do. */
import * as Schema from "effect/Schema"

/** A case has a folder of its own and shares nothing with others; the process is killed once each is at its point. */
export const Task = Schema.Struct({
  mode: Schema.Literal("turn", "recover"),
  shape: Schema.Literal("parallel", "sequential", "command"),
  cases: Schema.Array(Schema.Struct({
    folder: Schema.String,
    point: Schema.optional(Schema.Struct({ when: Schema.Literal("before", "after"), n: Schema.Number }))
  })),
  choice: Schema.optional(Schema.Literal("partial", "discard")),
  wait: Schema.optional(Schema.Boolean)
})

export type Task = typeof Task.Type
