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

/** UTF-16 code units that the memory of a process holds for all sessions. */
const memoryLength = 32 * 1_024 * 1_024

/**
 * A store in memory, gone with the process. It holds 32 Mi characters (`maxLength`); the oldest texts make room for new ones.
 *
 * @since 0.1.0
 * @category constructors
 */
export const memory = (options: { readonly maxLength?: number } = {}): OutputStore["Type"] => {
  const { maxLength = memoryLength } = options
  const texts = new Map<string, string>()
  let length = 0
  const key = (session: string, handle: string) => `${handle} ${session}`
  const drop = (key: string) => {
    length -= texts.get(key)?.length ?? 0
    texts.delete(key)
  }
  return {
    put: ({ handle, session, text }) =>
      Effect.sync(() => {
        drop(key(session, handle))
        texts.set(key(session, handle), text)
        length += text.length
        for (const oldest of texts.keys()) {
          if (length <= maxLength || texts.size === 1) break
          drop(oldest)
        }
      }),
    get: ({ handle, session }) => Effect.sync(() => texts.get(key(session, handle)))
  }
}

/**
 * Keeps outputs in memory.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory: Layer.Layer<OutputStore> = Layer.sync(OutputStore, () => memory())
