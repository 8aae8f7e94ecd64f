/** Reads the Responses API's events: pure, one at a time. */
import * as CallAssembly from "@capstan/core/CallAssembly"
import { type FinishReason, ModelDelta } from "@capstan/core/ModelDelta"
import * as ModelFailure from "@capstan/core/ModelFailure"
import type { Decoder, Step } from "@capstan/core/ModelStream"
import type { Wait } from "@capstan/core/ModelTimeouts"
import type { Usage } from "@capstan/core/Usage"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

const maybe = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

const WireUsage = Schema.Struct({
  input_tokens: maybe(Schema.Number),
  output_tokens: maybe(Schema.Number),
  input_tokens_details: maybe(Schema.Struct({ cached_tokens: maybe(Schema.Number) })),
  output_tokens_details: maybe(Schema.Struct({ reasoning_tokens: maybe(Schema.Number) }))
})

const Outcome = Schema.Struct({
  model: maybe(Schema.String),
  usage: maybe(WireUsage),
  error: maybe(Schema.Struct({ code: maybe(Schema.String), message: maybe(Schema.String) })),
  incomplete_details: maybe(Schema.Struct({ reason: maybe(Schema.String) }))
})

type Outcome = typeof Outcome.Type

const place = { output_index: maybe(Schema.Number), item_id: maybe(Schema.String) }

const Known = Schema.Union(
  Schema.Struct({
    type: Schema.Literal("response.output_text.delta", "response.refusal.delta"),
    delta: Schema.String
  }),
  Schema.Struct({
    type: Schema.Literal("response.reasoning_summary_text.delta", "response.reasoning_text.delta"),
    delta: Schema.String
  }),
  Schema.Struct({
    type: Schema.Literal("response.reasoning_summary_part.added"),
    summary_index: maybe(Schema.Number)
  }),
  Schema.Struct({ type: Schema.Literal("response.output_item.added"), ...place, item: Schema.Unknown }),
  Schema.Struct({ type: Schema.Literal("response.output_item.done"), ...place, item: Schema.Unknown }),
  Schema.Struct({
    type: Schema.Literal("response.function_call_arguments.delta"),
    ...place,
    delta: Schema.String
  }),
  Schema.Struct({ type: Schema.Literal("response.completed"), response: Outcome }),
  Schema.Struct({ type: Schema.Literal("response.incomplete"), response: Outcome }),
  Schema.Struct({ type: Schema.Literal("response.failed"), response: Outcome }),
  Schema.Struct({ type: Schema.Literal("error"), code: maybe(Schema.String), message: maybe(Schema.String) })
)

type Known = typeof Known.Type

const knownTypes: ReadonlySet<unknown> = new Set(Known.members.flatMap((member) => [...member.fields.type.literals]))

const decodeKnown = Schema.decodeUnknownEither(Known)

const CallItem = Schema.Struct({
  type: Schema.Literal("function_call"),
  id: maybe(Schema.String),
  call_id: maybe(Schema.String),
  name: maybe(Schema.String),
  arguments: maybe(Schema.String)
})

const decodeCall = Schema.decodeUnknownOption(CallItem)

const decodeReasoning = Schema.decodeUnknownOption(Schema.Struct({
  type: Schema.Literal("reasoning"),
  encrypted_content: Schema.NonEmptyString,
  summary: maybe(Schema.Array(Schema.Struct({ text: Schema.String })))
}))

export interface State {
  readonly calls: CallAssembly.CallAssembly
  readonly began: boolean
  readonly refused: boolean
  readonly finished: boolean
}

const typeOf = (event: unknown): string =>
  typeof event === "object" && event !== null && "type" in event ? String(event.type) : ""

/** While a model reasons nothing need be shown, for long. */
export const waitsFor = (event: unknown): Wait | "nothing" => {
  switch (typeOf(event)) {
    case "response.completed":
    case "response.incomplete":
      return "nothing"
    case "response.created":
    case "response.in_progress":
    case "response.queued":
      return "first-token"
    case "response.output_item.added":
      return typeof event === "object" && event !== null && "item" in event && typeOf(event.item) === "reasoning"
        ? "first-token"
        : "token"
    default:
      return "token"
  }
}

export const decoder = (target: ModelFailure.Target): Decoder<unknown, State> => ({
  initial: { calls: CallAssembly.empty, began: false, refused: false, finished: false },
  step: (state, event) => {
    const type = typeOf(event)
    if (!knownTypes.has(type)) {
      return Either.right([{ ...state, began: state.began || type.startsWith("response.") }, []])
    }
    return Either.flatMap(
      Either.mapLeft(decodeKnown(event), (error) => ModelFailure.unreadable(target, error.message, error)),
      (known) => read(target, { ...state, began: true }, known)
    )
  },
  end: (state) =>
    state.finished
      ? Either.right([])
      : Either.left(
        state.began
          ? ModelFailure.brokenOff(target)
          : ModelFailure.unreadable(target, "it held no events of this protocol")
      )
})

const read = (target: ModelFailure.Target, state: State, event: Known): Step<State> => {
  switch (event.type) {
    case "response.output_text.delta":
      return shown(state, event.delta, (text) => ModelDelta.TextDelta({ text }))
    case "response.refusal.delta":
      return shown({ ...state, refused: true }, event.delta, (text) => ModelDelta.TextDelta({ text }))
    case "response.reasoning_summary_text.delta":
    case "response.reasoning_text.delta":
      return shown(state, event.delta, (text) => ModelDelta.ThinkingDelta({ text }))
    case "response.reasoning_summary_part.added":
      return shown(state, (event.summary_index ?? 0) > 0 ? "\n\n" : "", (text) => ModelDelta.ThinkingDelta({ text }))
    case "response.output_item.added": {
      const [settled, ended] = CallAssembly.settle(state.calls)
      const [calls, deltas] = Option.match(decodeCall(event.item), {
        onNone: (): CallAssembly.Assembled => [settled, []],
        onSome: (item) => CallAssembly.put(settled, { ...identityOf(item), key: keyOf(event, item.id) })
      })
      return Either.right([{ ...state, calls }, [...ended, ...deltas]])
    }
    case "response.function_call_arguments.delta": {
      const [calls, deltas] = CallAssembly.put(state.calls, { key: keyOf(event, event.item_id), text: event.delta })
      return Either.right([{ ...state, calls }, deltas])
    }
    case "response.output_item.done": {
      const [calls, deltas] = Option.match(decodeCall(event.item), {
        onNone: (): CallAssembly.Assembled => [state.calls, []],
        onSome: (item) => closed(state.calls, keyOf(event, item.id), item)
      })
      return Either.right([{ ...state, calls }, [...deltas, ...reasoningOf(target, event.item)]])
    }
    case "response.completed":
    case "response.incomplete":
      return state.finished
        ? Either.right([state, []])
        : Either.right([{ ...state, finished: true }, finish(target, state, event)])
    case "response.failed":
      return Either.left(ModelFailure.fromReported(target, {
        code: event.response.error?.code ?? undefined,
        message: event.response.error?.message ?? ""
      }))
    case "error":
      return Either.left(
        ModelFailure.fromReported(target, { code: event.code ?? undefined, message: event.message ?? "" })
      )
  }
}

const shown = (state: State, text: string, toDelta: (text: string) => ModelDelta): Step<State> =>
  Either.right([state, text === "" ? [] : [toDelta(text)]])

const keyOf = (event: { readonly output_index?: number | null | undefined }, id: string | null | undefined): string =>
  typeof event.output_index === "number" ? String(event.output_index) : id ?? ""

const identityOf = (item: typeof CallItem.Type) => ({ id: item.call_id ?? item.id ?? "", name: item.name ?? "" })

/** The whole arguments stand in the item; they count where no pieces of them came before. */
const closed = (
  calls: CallAssembly.CallAssembly,
  key: string,
  item: typeof CallItem.Type
): CallAssembly.Assembled => {
  const known = calls.open.find((call) => call.key === key)
  const text = known === undefined || known.raw === "" ? item.arguments ?? "" : ""
  const [next, deltas] = CallAssembly.put(calls, { ...identityOf(item), key, text })
  return [CallAssembly.close(next, key), deltas]
}

const reasoningOf = (target: ModelFailure.Target, item: unknown): ReadonlyArray<ModelDelta> =>
  Option.match(decodeReasoning(item), {
    onNone: () => [],
    onSome: ({ summary }) => [ModelDelta.Reasoning({
      part: {
        type: "reasoning",
        provider: target.provider,
        text: (summary ?? []).map((part) => part.text).join("\n\n"),
        data: JSON.stringify(item)
      }
    })]
  })

const finish = (
  target: ModelFailure.Target,
  state: State,
  event: { readonly type: string; readonly response: Outcome }
): ReadonlyArray<ModelDelta> => {
  const reason = reasonOf(state, event)
  return [
    ...CallAssembly.finish(state.calls, cutOf(reason)),
    ModelDelta.Finish({
      reason,
      usage: toUsage(event.response),
      model: event.response.model ?? target.model
    })
  ]
}

const cutOf = (reason: FinishReason): string | undefined => {
  switch (reason) {
    case "length":
      return CallAssembly.cutByLength
    case "refusal":
    case "other":
      return "the service stopped the answer"
    default:
      return undefined
  }
}

const reasonOf = (state: State, event: { readonly type: string; readonly response: Outcome }): FinishReason => {
  if (event.type === "response.completed") {
    return state.calls.count > 0 ? "tool-calls" : state.refused ? "refusal" : "stop"
  }
  switch (event.response.incomplete_details?.reason) {
    case "max_output_tokens":
      return "length"
    case "content_filter":
      return "refusal"
    default:
      return "other"
  }
}

const toUsage = ({ usage }: Outcome): Usage | null =>
  usage === null || usage === undefined ? null : {
    input: usage.input_tokens ?? 0,
    output: usage.output_tokens ?? 0,
    cacheRead: usage.input_tokens_details?.cached_tokens ?? 0,
    cacheWrite: 0,
    reasoning: usage.output_tokens_details?.reasoning_tokens ?? 0
  }
