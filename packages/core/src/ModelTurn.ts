/**
 * One response of a model, from its stream into the journal.
 *
 * @since 0.1.0
 */
import type * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { ActiveTime } from "./ActiveTime.js"
import { Event } from "./Event.js"
import type { JournalError, LeaseError } from "./Journal.js"
import type { ResponsePart } from "./JournalRecord.js"
import type { LiveSession } from "./LiveSession.js"
import type { FinishReason, ModelDelta } from "./ModelDelta.js"
import { type Model, ModelError, type ModelProvider, type ModelRequest } from "./ModelProvider.js"
import { type Redactor, redactRecord } from "./Redaction.js"
import * as Telemetry from "./Telemetry.js"
import type { CallRef, ToolCall } from "./ToolCall.js"
import * as Usage from "./Usage.js"

/**
 * A response that stands in history. `calls` are as the model wrote them, secrets included, for planning; the journal has
 * them redacted.
 *
 * @since 0.1.0
 * @category models
 */
export interface Response {
  readonly calls: ReadonlyArray<{ readonly ref: CallRef; readonly call: ToolCall }>
  readonly finish: FinishReason
  readonly endsWithCall: boolean
}

interface Options {
  readonly session: LiveSession
  readonly provider: ModelProvider["Type"]
  readonly model: Model
  readonly redactor: Redactor
  readonly turn: number
  readonly iteration: number
  readonly request: ModelRequest
  readonly active: ActiveTime
  readonly emit: (event: Event) => Effect.Effect<void>
}

/**
 * Asks the model once and journals its answer. What a stream said that breaks off, or ends without a word, is void, and it is
 * asked for once more; a second answer without a word is one. A request that fails before anything came leaves no trace.
 *
 * @since 0.1.0
 * @category combinators
 */
export const respond = (options: Options): Effect.Effect<Response, ModelError | JournalError | LeaseError> =>
  attempt(options, "refuse").pipe(
    Effect.catchIf(
      (error): error is ModelError => error._tag === "ModelError" && error.reason === "broken",
      () => attempt(options, "accept")
    )
  )

const attempt = (
  options: Options,
  emptyAnswer: "refuse" | "accept"
): Effect.Effect<Response, ModelError | JournalError | LeaseError> =>
  Effect.suspend(() => {
    let begun = false
    const begin = () => {
      begun = true
    }
    const received = Effect.scoped(
      Effect.flatMap(Stream.toPull(options.provider.stream(options.request)), (pull) => drain(options, pull, begin))
    )
    return Telemetry.chat({ session: options.session.id, model: options.model }, received, ({ finish }) => finish).pipe(
      Effect.flatMap((received) => complete(options, received, emptyAnswer)),
      Effect.tapErrorTag("ModelError", (error) => begun ? voided(options, error.message) : Effect.void)
    )
  })

/** A pull costs half of what the stream's own folds do, and this is on the path of every response. */
const drain = (
  options: Options,
  pull: Effect.Effect<Chunk.Chunk<ModelDelta>, Option.Option<ModelError>>,
  begin: () => void
): Effect.Effect<Received, ModelError | JournalError | LeaseError> =>
  Effect.gen(function*() {
    let received = nothing
    while (true) {
      const deltas = yield* Effect.catchAll(
        pull,
        Option.match({ onNone: () => Effect.succeed(undefined), onSome: Effect.fail })
      )
      if (deltas === undefined) return received
      for (const delta of deltas) {
        if (delta._tag !== "Retry") begin()
        yield* pass(options, delta)
        received = receive(received, delta, options)
      }
    }
  })

const voided = ({ emit, iteration, session, turn }: Options, reason: string) =>
  Effect.zipRight(session.append([{ _tag: "Voided", turn, iteration, reason }]), emit(Event.Voided({ reason })))

interface Received {
  readonly parts: ReadonlyArray<ResponsePart>
  readonly calls: Response["calls"]
  readonly finish: Extract<ModelDelta, { readonly _tag: "Finish" }> | null
}

const nothing: Received = { parts: [], calls: [], finish: null }

const receive = (received: Received, delta: ModelDelta, options: Options): Received => {
  switch (delta._tag) {
    case "TextDelta": {
      const last = received.parts.at(-1)
      return last?.type === "text"
        ? { ...received, parts: [...received.parts.slice(0, -1), { type: "text", text: last.text + delta.text }] }
        : { ...received, parts: [...received.parts, { type: "text", text: delta.text }] }
    }
    case "Reasoning":
      return { ...received, parts: [...received.parts, delta.part] }
    case "ToolCallEnd":
      return {
        ...received,
        parts: [...received.parts, { type: "call", position: delta.index }],
        calls: [...received.calls, { ref: refOf(options, delta.index), call: delta.call }]
      }
    case "Finish":
      return { ...received, finish: delta }
    default:
      return received
  }
}

const refOf = ({ iteration, turn }: Options, position: number): CallRef => ({ turn, iteration, position })

const pass = (options: Options, delta: ModelDelta): Effect.Effect<void, JournalError | LeaseError> => {
  const { emit, redactor, session } = options
  switch (delta._tag) {
    case "TextDelta":
      return emit(Event.TextDelta({ text: delta.text }))
    case "ThinkingDelta":
      return emit(Event.ThinkingDelta({ text: delta.text }))
    case "ToolCallStart":
      return emit(Event.CallStarted({ position: delta.index, name: delta.name }))
    case "ToolCallDelta":
      return emit(Event.CallDelta({ position: delta.index, text: delta.text }))
    case "ToolCallEnd": {
      const ref = refOf(options, delta.index)
      return Effect.zipRight(
        session.append([{ _tag: "CallReceived", ref, call: redacted(delta.call, redactor) }]),
        emit(Event.CallReceived({ ref, call: delta.call }))
      )
    }
    case "Retry":
      return emit(Event.Retry(delta))
    case "Reasoning":
    case "Finish":
      return Effect.void
  }
}

const redacted = (call: ToolCall, redactor: Redactor): ToolCall => ({
  ...call,
  raw: redactor.redact(call.raw),
  arguments: call.arguments === null ? null : redactRecord(redactor, call.arguments)
})

const complete = (
  options: Options,
  received: Received,
  emptyAnswer: "refuse" | "accept"
): Effect.Effect<Response, ModelError | JournalError | LeaseError> => {
  const { emit, iteration, model, redactor, session, turn } = options
  const { calls, finish } = received
  const parts = received.parts.flatMap((part) => kept(part, redactor))
  if (finish === null) return broken(model, "The answer broke off before its end.")
  if (parts.length === 0 && finish.reason !== "refusal" && emptyAnswer === "refuse") {
    return broken(model, "The answer was empty.")
  }
  return Effect.gen(function*() {
    yield* session.note([{
      _tag: "Responded",
      turn,
      iteration,
      parts,
      finish: finish.reason,
      usage: finish.usage,
      prices: model.prices,
      millis: yield* options.active.lap
    }])
    if (finish.usage !== null) {
      yield* emit(Event.UsageReported({ usage: finish.usage, cost: Usage.cost(finish.usage, model.prices) }))
    }
    return { calls, finish: finish.reason, endsWithCall: received.parts.at(-1)?.type === "call" }
  })
}

const broken = (model: Model, message: string) =>
  new ModelError({ reason: "broken", provider: model.provider, message: `${message} Try again, or use another model.` })

const kept = (part: ResponsePart, redactor: Redactor): ReadonlyArray<ResponsePart> => {
  switch (part.type) {
    case "text":
      return part.text.trim() === "" ? [] : [{ type: "text", text: redactor.redact(part.text) }]
    case "reasoning":
      return redactor.redact(part.text) === part.text && redactor.redact(part.data) === part.data ? [part] : []
    case "call":
      return [part]
  }
}
