/** Reads the events of Chat Completions, the vendor's and those of servers that are like it: pure, one at a time. */
import * as CallAssembly from "@capstan/core/CallAssembly"
import { type FinishReason, ModelDelta } from "@capstan/core/ModelDelta"
import * as ModelFailure from "@capstan/core/ModelFailure"
import type { Decoder } from "@capstan/core/ModelStream"
import type { Wait } from "@capstan/core/ModelTimeouts"
import type { Usage } from "@capstan/core/Usage"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { encodeReasoning } from "./chatRequest.js"

const maybe = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

const CallPiece = Schema.Struct({
  index: maybe(Schema.Number),
  id: maybe(Schema.String),
  function: maybe(Schema.Struct({
    name: maybe(Schema.String),
    arguments: maybe(Schema.Union(Schema.String, Schema.Record({ key: Schema.String, value: Schema.Unknown })))
  }))
})

type CallPiece = typeof CallPiece.Type

const Delta = Schema.Struct({
  content: maybe(Schema.Union(Schema.String, Schema.Array(Schema.Struct({ text: maybe(Schema.String) })))),
  refusal: maybe(Schema.String),
  reasoning_content: maybe(Schema.String),
  reasoning: maybe(Schema.String),
  tool_calls: maybe(Schema.Array(CallPiece))
})

type Delta = typeof Delta.Type

const WireUsage = Schema.Struct({
  prompt_tokens: maybe(Schema.Number),
  completion_tokens: maybe(Schema.Number),
  prompt_tokens_details: maybe(Schema.Struct({ cached_tokens: maybe(Schema.Number) })),
  completion_tokens_details: maybe(Schema.Struct({ reasoning_tokens: maybe(Schema.Number) }))
})

type WireUsage = typeof WireUsage.Type

const Chunk = Schema.Struct({
  object: maybe(Schema.String),
  message: maybe(Schema.String),
  model: maybe(Schema.String),
  choices: maybe(Schema.Array(Schema.Struct({
    index: maybe(Schema.Number),
    delta: maybe(Delta),
    message: maybe(Delta),
    finish_reason: maybe(Schema.String)
  }))),
  usage: maybe(WireUsage)
})

const decodeChunk = Schema.decodeUnknownEither(Chunk)

interface Reasoning {
  readonly field: "reasoning_content" | "reasoning"
  readonly text: string
}

export interface State {
  readonly model: string
  readonly usage: WireUsage | null
  readonly calls: CallAssembly.CallAssembly
  readonly reasoning: Reasoning | null
  readonly refused: boolean
  readonly finishReason: string | null
  readonly began: boolean
}

export const waitsFor = (event: unknown): Wait | "nothing" =>
  Either.match(decodeChunk(event), {
    onLeft: () => "token",
    onRight: ({ choices, usage }) => {
      if ((choices ?? []).length === 0) {
        return (usage?.completion_tokens ?? 0) > 0 ? "nothing" : "first-token"
      }
      const says = (choices ?? []).some((choice) =>
        typeof choice.finish_reason === "string" || Object.values(choice.delta ?? {}).some(isFilled)
      )
      return says ? "token" : "first-token"
    }
  })

const isFilled = (value: unknown): boolean => value !== null && value !== undefined && value !== ""

/**
 * `lenient`: servers that end an answer without a finish reason are believed, unless a call is not whole; the vendor's own
 * service always gives one.
 */
export const decoder = (target: ModelFailure.Target, lenient: boolean): Decoder<unknown, State> => ({
  initial: {
    model: target.model,
    usage: null,
    calls: CallAssembly.empty,
    reasoning: null,
    refused: false,
    finishReason: null,
    began: false
  },
  step: (state, event) =>
    Either.flatMap(
      Either.mapLeft(decodeChunk(event), (error) => ModelFailure.unreadable(target, error.message, error)),
      (chunk) => {
        if (chunk.object === "error") {
          return Either.left(ModelFailure.fromReported(target, { message: chunk.message ?? "" }))
        }
        const choice = chunk.choices?.find((choice) => (choice.index ?? 0) === 0)
        const next: State = {
          ...state,
          began: true,
          model: isFilled(chunk.model) ? chunk.model ?? state.model : state.model,
          usage: chunk.usage ?? state.usage,
          finishReason: isFilled(choice?.finish_reason) ? choice?.finish_reason ?? null : state.finishReason
        }
        const delta = choice?.delta ?? choice?.message
        return Either.right(delta === null || delta === undefined ? [next, []] as const : read(target, next, delta))
      }
    ),
  end: (state) => {
    if (!state.began) {
      return Either.left(ModelFailure.unreadable(target, "it held no events of this protocol"))
    }
    const complete = state.finishReason !== null || (lenient && state.calls.open.every(CallAssembly.isWhole))
    return complete ? Either.right(finish(target, state)) : Either.left(ModelFailure.brokenOff(target))
  }
})

const read = (
  target: ModelFailure.Target,
  state: State,
  delta: Delta
): readonly [State, ReadonlyArray<ModelDelta>] => {
  const thought = thoughtOf(delta)
  const refusal = delta.refusal ?? ""
  const text = textOf(delta.content) + refusal
  const pieces = delta.tool_calls ?? []
  const thoughts = Option.isSome(thought) ? [ModelDelta.ThinkingDelta({ text: thought.value.text })] : []
  const thinking = Option.match(thought, {
    onNone: () => state.reasoning,
    onSome: (piece): Reasoning => ({ field: piece.field, text: (state.reasoning?.text ?? "") + piece.text })
  })
  const goesOn = text !== "" || pieces.length > 0
  const [calls, deltas] = pieces.reduce<CallAssembly.Assembled>(([calls, deltas], piece) => {
    const [next, more] = CallAssembly.put(calls, toPiece(calls, piece))
    return [next, [...deltas, ...more]]
  }, [state.calls, []])
  return [
    { ...state, calls, reasoning: goesOn ? null : thinking, refused: state.refused || refusal !== "" },
    [
      ...thoughts,
      ...(goesOn ? reasoningOf(target, thinking) : []),
      ...(text === "" ? [] : [ModelDelta.TextDelta({ text })]),
      ...deltas
    ]
  ]
}

const thoughtOf = (delta: Delta): Option.Option<Reasoning> => {
  const field = isFilled(delta.reasoning_content) ? "reasoning_content" : "reasoning"
  const text = delta[field] ?? ""
  return text === "" ? Option.none() : Option.some({ field, text })
}

const textOf = (content: Delta["content"]): string =>
  typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("")

const reasoningOf = (target: ModelFailure.Target, reasoning: Reasoning | null): ReadonlyArray<ModelDelta> =>
  reasoning === null ? [] : [ModelDelta.Reasoning({
    part: { type: "reasoning", provider: target.provider, text: reasoning.text, data: encodeReasoning(reasoning) }
  })]

const toPiece = (calls: CallAssembly.CallAssembly, piece: CallPiece): Parameters<typeof CallAssembly.put>[1] => {
  const given = piece.function?.arguments ?? ""
  const text = typeof given === "string" ? given : JSON.stringify(given)
  const id = piece.id ?? ""
  const name = piece.function?.name ?? ""
  return { key: keyOf(calls, { index: piece.index ?? undefined, id, name, text }), id, name, text }
}

/**
 * Which call a piece belongs to. The vendor tells its calls apart by index; servers also leave it out, give every call the
 * index 0 or the same id, or repeat the name with each piece.
 */
const keyOf = (
  calls: CallAssembly.CallAssembly,
  piece: { readonly index: number | undefined; readonly id: string; readonly name: string; readonly text: string }
): string => {
  const place = `${piece.index ?? "-"}:`
  const candidates = calls.open.filter((call) => call.key.startsWith(place))
  const current = piece.index === undefined && piece.id !== ""
    ? candidates.findLast((call) => call.id === piece.id) ?? (piece.name === "" ? candidates.at(-1) : undefined)
    : candidates.at(-1)
  return current === undefined || isAnother(current, piece) ? `${place}${calls.count}` : current.key
}

const isAnother = (
  current: CallAssembly.OpenCall,
  piece: { readonly id: string; readonly name: string; readonly text: string }
): boolean =>
  piece.name !== "" && current.name !== "" && (
    piece.name !== current.name ||
    (piece.id !== "" && current.id !== "" && piece.id !== current.id) ||
    (current.raw.trim() !== "" && CallAssembly.isWhole(current) && piece.text.trimStart().startsWith("{"))
  )

const finish = (target: ModelFailure.Target, state: State): ReadonlyArray<ModelDelta> => {
  const reason = reasonOf(state)
  return [
    ...reasoningOf(target, state.reasoning),
    ...CallAssembly.finish(state.calls, cutOf(reason)),
    ModelDelta.Finish({ reason, usage: toUsage(state.usage), model: state.model })
  ]
}

const cutOf = (reason: FinishReason): string | undefined =>
  reason === "length"
    ? CallAssembly.cutByLength
    : reason === "refusal"
    ? "the service refused to go on"
    : undefined

const reasonOf = (state: State): FinishReason => {
  switch (state.finishReason) {
    case "length":
      return "length"
    case "content_filter":
      return "refusal"
    case null:
    case "stop":
    case "tool_calls":
    case "function_call":
      return state.calls.count > 0 ? "tool-calls" : state.refused ? "refusal" : "stop"
    default:
      return "other"
  }
}

const toUsage = (usage: WireUsage | null): Usage | null =>
  usage === null ? null : {
    input: usage.prompt_tokens ?? 0,
    output: usage.completion_tokens ?? 0,
    cacheRead: usage.prompt_tokens_details?.cached_tokens ?? 0,
    cacheWrite: 0,
    reasoning: usage.completion_tokens_details?.reasoning_tokens ?? 0
  }
