/**
 * Model servers on this machine: where they usually listen, and what they serve.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/**
 * A server that answered, with the ids of its models.
 *
 * @since 0.1.0
 * @category models
 */
export interface LocalServer {
  readonly name: string
  readonly baseUrl: string
  readonly models: ReadonlyArray<string>
}

/**
 * A server did not list its models: `message` says why.
 *
 * @since 0.1.0
 * @category errors
 */
export class ServerError extends Schema.TaggedError<ServerError>("@capstan/cli/ServerError")("ServerError", {
  message: Schema.String
}) {}

/**
 * Where local servers usually listen.
 *
 * @since 0.1.0
 * @category models
 */
export const usual: ReadonlyArray<{ readonly name: string; readonly baseUrl: string }> = [
  { name: "Ollama", baseUrl: "http://127.0.0.1:11434/v1" },
  { name: "llama.cpp", baseUrl: "http://127.0.0.1:8080/v1" },
  { name: "LM Studio", baseUrl: "http://127.0.0.1:1234/v1" }
]

const ModelList = Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String })) })

/**
 * The models of a server, in its own order.
 *
 * @since 0.1.0
 * @category constructors
 */
export const models = (options: {
  readonly baseUrl: string
  readonly key: string | undefined
  readonly timeout: Duration.DurationInput
}): Effect.Effect<ReadonlyArray<string>, ServerError> => {
  const { baseUrl, key } = options
  return Effect.tryPromise({
    try: async (signal) => {
      const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
      const response = await fetch(`${baseUrl}/models`, { headers, signal, redirect: "error" })
      if (!response.ok) throw new Error(`HTTP ${response.status}`)
      return response.json()
    },
    catch: (error) => new ServerError({ message: causeOf(error) })
  }).pipe(
    Effect.flatMap((body) =>
      Effect.mapError(
        Schema.decodeUnknown(ModelList)(body),
        () => new ServerError({ message: "its answer is not a list of models" })
      )
    ),
    Effect.timeoutFail({
      duration: options.timeout,
      onTimeout: () => new ServerError({ message: `no answer in ${Duration.format(options.timeout)}` })
    }),
    Effect.map(({ data }) => data.map(({ id }) => id))
  )
}

/** What `fetch` says is always "fetch failed"; the reason is below. */
const causeOf = (error: unknown): string => {
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (typeof inner === "object" && inner !== null && "code" in inner && inner.code === "ECONNREFUSED") {
    return "nothing listens there"
  }
  return inner instanceof Error && inner.message !== "" ? inner.message : "it cannot be reached"
}

/**
 * The usual servers that answer within 200 ms and have a model.
 *
 * @since 0.1.0
 * @category constructors
 */
export const search: Effect.Effect<ReadonlyArray<LocalServer>> = Effect.forEach(
  usual,
  (server) =>
    models({ baseUrl: server.baseUrl, key: undefined, timeout: "200 millis" }).pipe(
      Effect.map((models) => models.length === 0 ? [] : [{ ...server, models }]),
      Effect.orElseSucceed(() => [])
    ),
  { concurrency: "unbounded" }
).pipe(Effect.map((found) => found.flat()))
