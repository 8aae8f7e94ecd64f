/**
 * Where the whole of an output is kept when the model gets only a part of it.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { type CallRef, keyOf } from "./ToolCall.js"

/**
 * An output could not be kept or read again.
 *
 * @since 0.1.0
 * @category errors
 */
export class OutputStoreError extends Schema.TaggedError<OutputStoreError>("@capstan/core/OutputStoreError")(
  "OutputStoreError",
  { message: Schema.String, cause: Schema.optionalWith(Schema.Defect, { exact: true }) }
) {}

/**
 * Outputs by session and handle. Texts are sanitised and redacted before they get here.
 *
 * @since 0.1.0
 * @category services
 */
export class OutputStore extends Context.Tag("@capstan/core/OutputStore")<OutputStore, {
  /** Keeps a text; the same handle again replaces it. */
  readonly put: (options: {
    readonly session: string
    readonly handle: string
    readonly text: string
  }) => Effect.Effect<void, OutputStoreError>
  /** The text under a handle; undefined: there is none. */
  readonly get: (options: {
    readonly session: string
    readonly handle: string
  }) => Effect.Effect<string | undefined, OutputStoreError>
}>() {}

/**
 * The handle of a call's output, as a model writes it to `read_file`: `output:<turn>.<iteration>.<position>`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const handleOf = (ref: CallRef): string => `output:${keyOf(ref)}`

/**
 * Whether a text is a handle.
 *
 * @since 0.1.0
 * @category guards
 */
export const isHandle = (text: string): boolean => /^output:\d+\.\d+\.\d+$/.test(text)

/**
 * A store in memory, gone with the process.
 *
 * @since 0.1.0
 * @category constructors
 */
export const memory = (): OutputStore["Type"] => {
  const texts = new Map<string, string>()
  const key = (session: string, handle: string) => `${session} ${handle}`
  return {
    put: ({ handle, session, text }) => Effect.sync(() => void texts.set(key(session, handle), text)),
    get: ({ handle, session }) => Effect.sync(() => texts.get(key(session, handle)))
  }
}

/**
 * Keeps outputs in memory.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory: Layer.Layer<OutputStore> = Layer.sync(OutputStore, memory)
