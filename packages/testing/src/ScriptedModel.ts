/**
 * A model that answers from a script, checks what it is asked, and remembers it.
 *
 * @since 0.1.0
 */
import * as CallAssembly from "@capstan/core/CallAssembly"
import type { ReasoningPart } from "@capstan/core/Message"
import { type FinishReason, ModelDelta } from "@capstan/core/ModelDelta"
import { type Model, ModelError, ModelProvider, type ModelRequest } from "@capstan/core/ModelProvider"
import type { Usage } from "@capstan/core/Usage"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as HistoryValidator from "./HistoryValidator.js"

/**
 * A look at the request that a step answers. One that throws or fails ends the run with that defect.
 *
 * @since 0.1.0
 * @category models
 */
export type Expectation = (request: ModelRequest) => void | Effect.Effect<void, unknown>

/**
 * A call of a reply: `raw` is the text of its arguments as the model wrote it, `id` what it wrote as id (default: one that
 * is unique in the script; `""`: none).
 *
 * @since 0.1.0
 * @category models
 */
export interface RawCall {
  readonly id?: string
  readonly name: string
  readonly raw: string
}

/**
 * What a reply holds, in the order thinking, reasoning, text, calls. `finish` follows from the calls unless it is given;
 * `length` cuts the last call off.
 *
 * @since 0.1.0
 * @category models
 */
export interface Reply {
  readonly thinking?: string
  readonly reasoning?: ReasoningPart
  readonly text?: string
  readonly calls?: ReadonlyArray<RawCall>
  readonly finish?: FinishReason
  readonly usage?: Usage
}

/**
 * What happens at one request: a reply, exactly these deltas with what comes after them, or what a function makes of the
 * request (`n` counts requests from 0).
 *
 * @since 0.1.0
 * @category models
 */
export type Step =
  & { readonly expect?: Expectation }
  & (
    | { readonly _tag: "Reply"; readonly reply: Reply }
    | {
      readonly _tag: "Deltas"
      readonly deltas: ReadonlyArray<ModelDelta>
      readonly end: "complete" | "hang" | ModelError
    }
    | { readonly _tag: "Respond"; readonly respond: (request: ModelRequest, n: number) => Step | Effect.Effect<Step> }
  )

/**
 * Steps in order, or a function that answers every request.
 *
 * @since 0.1.0
 * @category models
 */
export type Script = ReadonlyArray<Step> | ((request: ModelRequest, n: number) => Step | Effect.Effect<Step>)

/**
 * `provider` is the provider's id (default `scripted`), `model` overrides what is known of the model (default: 200,000
 * tokens of context, 8,192 of answer, no prices), `chunkSize` the characters in a delta of text or arguments (default 16),
 * `usage` what replies report that say nothing else (default: nothing).
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly provider?: string
  readonly model?: Partial<Omit<Model, "provider">>
  readonly chunkSize?: number
  readonly usage?: Usage
}

/**
 * The model of a script: the requests that came so far (none where they are not kept), and how many.
 *
 * @since 0.1.0
 * @category services
 */
export class ScriptedModel extends Context.Tag("@capstan/testing/ScriptedModel")<ScriptedModel, {
  readonly requests: Effect.Effect<ReadonlyArray<ModelRequest>>
  readonly count: Effect.Effect<number>
}>() {}

/**
 * The requests that came so far.
 *
 * @since 0.1.0
 * @category accessors
 */
export const requests: Effect.Effect<ReadonlyArray<ModelRequest>, never, ScriptedModel> = Effect.flatMap(
  ScriptedModel,
  (model) => model.requests
)

/**
 * A reply as it would come from a service, with text and arguments byte for byte.
 *
 * @since 0.1.0
 * @category constructors
 */
export const raw = (reply: Reply): Step => ({ _tag: "Reply", reply })

/**
 * An answer in words, which ends the turn.
 *
 * @since 0.1.0
 * @category constructors
 */
export const text = (text: string): Step => raw({ text })

/**
 * One tool call, with `text` before it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const call = (
  name: string,
  args: Readonly<Record<string, unknown>>,
  options: { readonly id?: string; readonly text?: string } = {}
): Step => calls([{ ...options, name, arguments: args }], options)

/**
 * Several tool calls in one response, with `text` before them.
 *
 * @since 0.1.0
 * @category constructors
 */
export const calls = (
  calls: ReadonlyArray<{
    readonly id?: string
    readonly name: string
    readonly arguments: Readonly<Record<string, unknown>>
  }>,
  options: { readonly text?: string } = {}
): Step =>
  raw({
    ...(options.text === undefined ? {} : { text: options.text }),
    calls: calls.map(({ arguments: args, id, name }) => ({
      ...(id === undefined ? {} : { id }),
      name,
      raw: JSON.stringify(args)
    }))
  })

/**
 * Exactly these deltas; the last one should be a `Finish`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const deltas = (deltas: ReadonlyArray<ModelDelta>): Step => ({ _tag: "Deltas", deltas, end: "complete" })

/**
 * A stream that breaks off after these deltas (see {@link deltasOf}), by default as a lost connection does.
 *
 * @since 0.1.0
 * @category constructors
 */
export const broken = (
  afterDeltas: ReadonlyArray<ModelDelta>,
  error: ModelError = new ModelError({
    reason: "broken",
    provider: "scripted",
    message: "The connection was lost in the middle of the answer."
  })
): Step => ({ _tag: "Deltas", deltas: afterDeltas, end: error })

/**
 * A request that fails before the first token.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fail = (error: ModelError): Step => broken([], error)

/**
 * A stream that says nothing more after these deltas and does not end.
 *
 * @since 0.1.0
 * @category constructors
 */
export const hangAfter = (afterDeltas: ReadonlyArray<ModelDelta>): Step => ({
  _tag: "Deltas",
  deltas: afterDeltas,
  end: "hang"
})

/**
 * A stream that never says anything.
 *
 * @since 0.1.0
 * @category constructors
 */
export const hang: Step = hangAfter([])

/**
 * An answer that depends on the request; `n` counts requests from 0.
 *
 * @since 0.1.0
 * @category constructors
 */
export const respond = (respond: (request: ModelRequest, n: number) => Step | Effect.Effect<Step>): Step => ({
  _tag: "Respond",
  respond
})

/**
 * A step that looks at its request first.
 *
 * @since 0.1.0
 * @category combinators
 */
export const expecting = (self: Step, expect: Expectation): Step => ({ ...self, expect })

/**
 * The deltas of a reply, `Finish` included; `n` is the number of its request and makes the ids of calls that have none.
 *
 * @since 0.1.0
 * @category combinators
 */
export const deltasOf = (
  reply: Reply,
  options: { readonly n?: number; readonly chunkSize?: number; readonly model?: string; readonly usage?: Usage } = {}
): ReadonlyArray<ModelDelta> => {
  const { chunkSize = 16, model = "scripted-model", n = 0 } = options
  const finish = reply.finish ?? ((reply.calls ?? []).length > 0 ? "tool-calls" : "stop")
  return [
    ...split(reply.thinking ?? "", chunkSize).map((text) => ModelDelta.ThinkingDelta({ text })),
    ...(reply.reasoning === undefined ? [] : [ModelDelta.Reasoning({ part: reply.reasoning })]),
    ...split(reply.text ?? "", chunkSize).map((text) => ModelDelta.TextDelta({ text })),
    ...callDeltas(reply.calls ?? [], n, chunkSize, finish),
    ModelDelta.Finish({ reason: finish, usage: reply.usage ?? options.usage ?? null, model })
  ]
}

/** Goes through the assembly that real providers use, so that calls are read and cut off as theirs are. */
const callDeltas = (
  calls: ReadonlyArray<RawCall>,
  n: number,
  chunkSize: number,
  finish: FinishReason
): ReadonlyArray<ModelDelta> => {
  const out: Array<ModelDelta> = []
  let assembly = CallAssembly.empty
  const next = ([state, deltas]: CallAssembly.Assembled) => {
    assembly = state
    out.push(...deltas)
  }
  calls.forEach(({ id, name, raw }, position) => {
    const key = String(position)
    next(CallAssembly.settle(assembly))
    next(CallAssembly.put(assembly, { key, id: id ?? `call_${n}_${position}`, name }))
    for (const text of split(raw, chunkSize)) next(CallAssembly.put(assembly, { key, text }))
    assembly = CallAssembly.close(assembly, key)
  })
  return [...out, ...CallAssembly.finish(assembly, finish === "length" ? CallAssembly.cutByLength : undefined)]
}

const split = (text: string, size: number): ReadonlyArray<string> => {
  const characters = [...text]
  return Array.from(
    { length: Math.ceil(characters.length / size) },
    (_, index) => characters.slice(index * size, (index + 1) * size).join("")
  )
}

/**
 * A provider and its handle, for programs with several providers. `checked` runs every request through
 * {@link HistoryValidator} with the rules of all dialects and keeps it; a broken rule, a failed expectation and the end of the
 * script are defects that say so.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  script: Script,
  options: Options & { readonly checked?: boolean } = {}
): { readonly provider: ModelProvider["Type"]; readonly handle: ScriptedModel["Type"] } => {
  const { chunkSize, checked = true, provider = "scripted", usage } = options
  const kept: Array<ModelRequest> = []
  let count = 0

  const modelOf = (id: string | undefined): Model => ({
    provider,
    id: id ?? "scripted-model",
    contextWindow: 200_000,
    maxOutput: 8_192,
    prices: null,
    ...options.model
  })

  const resolve = (step: Step, request: ModelRequest, n: number): Effect.Effect<Exclude<Step, { _tag: "Respond" }>> =>
    Effect.gen(function*() {
      yield* meets(step, request)
      if (step._tag !== "Respond") return step
      const answer = step.respond(request, n)
      return yield* resolve(Effect.isEffect(answer) ? yield* answer : answer, request, n)
    })

  const stream = (request: ModelRequest) =>
    Stream.unwrap(Effect.gen(function*() {
      const n = count++
      if (checked) {
        kept.push(request)
        yield* valid(request, n)
      }
      const written = typeof script === "function" ? respond(script) : script[n]
      if (written === undefined) return yield* Effect.dieMessage(exhausted(script.length, n, request))
      const step = yield* resolve(written, request, n)
      if (step._tag === "Reply") {
        return paced(
          deltasOf(step.reply, {
            n,
            model: modelOf(request.model).id,
            ...(chunkSize === undefined ? {} : { chunkSize }),
            ...(usage === undefined ? {} : { usage })
          }),
          checked
        )
      }
      const before = paced(step.deltas, checked)
      switch (step.end) {
        case "complete":
          return before
        case "hang":
          return Stream.concat(before, Stream.never)
        default:
          return Stream.concat(before, Stream.fail(step.end))
      }
    }))

  return {
    provider: { model: (id) => Effect.sync(() => modelOf(id)), stream },
    handle: { requests: Effect.sync(() => kept.slice()), count: Effect.sync(() => count) }
  }
}

/** Each delta in a chunk of its own, as from a network; all at once where time is measured. */
const paced = (all: ReadonlyArray<ModelDelta>, oneByOne: boolean): Stream.Stream<ModelDelta> =>
  oneByOne ? Stream.rechunk(Stream.fromIterable(all), 1) : Stream.fromIterable(all)

const meets = (step: Step, request: ModelRequest): Effect.Effect<void> =>
  Effect.suspend(() => {
    const result = step.expect?.(request)
    return Effect.isEffect(result) ? Effect.orDie(result) : Effect.void
  })

const valid = (request: ModelRequest, n: number): Effect.Effect<void> => {
  const broken = HistoryValidator.dialects.flatMap((dialect) => HistoryValidator.validateRequest(request, dialect))
  return broken.length === 0
    ? Effect.void
    : Effect.dieMessage(
      `Request ${n + 1} to the scripted model breaks rules of the providers:\n${
        [...new Set(HistoryValidator.toText(broken).split("\n"))].join("\n")
      }`
    )
}

const exhausted = (length: number, n: number, request: ModelRequest): string =>
  `The script has ${length} response${length === 1 ? "" : "s"}, and request ${n + 1} came (${lastOf(request)}). `
  + "Add a step for it, or find out why the loop asks again."

const lastOf = (request: ModelRequest): string => {
  const last = request.messages.at(-1)
  switch (last?.role) {
    case undefined:
      return "without messages"
    case "tool":
      return `after the results of ${last.results.map((result) => result.name).join(", ")}`
    default:
      return `after a message of ${last?.role}`
  }
}

const layerOf = (script: Script, options: Options & { readonly checked: boolean }) =>
  Layer.effectContext(Effect.sync(() => {
    const { handle, provider } = make(script, options)
    return Context.make(ModelProvider, provider).pipe(Context.add(ScriptedModel, handle))
  }))

/**
 * A model that follows a script. Every request is checked and kept; see {@link make}.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (script: Script, options: Options = {}): Layer.Layer<ModelProvider | ScriptedModel> =>
  layerOf(script, { ...options, checked: true })

/**
 * The same without checks and without keeping requests, so that a turn costs the same however long the history is: for
 * benchmarks.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerUnchecked = (script: Script, options: Options = {}): Layer.Layer<ModelProvider | ScriptedModel> =>
  layerOf(script, { ...options, checked: false })
