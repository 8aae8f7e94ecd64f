/**
 * What the demo tells its child processes.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * The environment variable that makes a process the demo's child. It holds a {@link Part}.
 *
 * @since 0.1.0
 * @category constants
 */
export const variable = "CAPSTAN_DEMO_PART"

/**
 * What a child process is to do: `work` begins the task and is killed, `resume` takes the session over. `root` is the demo's
 * folder.
 *
 * @since 0.1.0
 * @category models
 */
export const Part = Schema.parseJson(Schema.Struct({
  part: Schema.Literal("work", "resume"),
  root: Schema.String,
  session: Schema.String
}))

/**
 * What a child process is to do.
 *
 * @since 0.1.0
 * @category models
 */
export type Part = typeof Part.Type
