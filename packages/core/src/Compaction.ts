/**
 * Makes room in a model's context before a request that would not fit: old results give way to handles, then a summary to old
 * messages, and when nothing helps the turn ends in words. The journal keeps everything.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Content from "./Content.js"
import * as ContextGuard from "./ContextGuard.js"
import { Event } from "./Event.js"
import type { JournalError, LeaseError } from "./Journal.js"
import type { JournalRecord } from "./JournalRecord.js"
import type { LiveSession } from "./LiveSession.js"
import type { Message, ToolResultPart } from "./Message.js"
import type { ModelDelta } from "./ModelDelta.js"
import { type Model, ModelError, type ModelProvider, type ModelRequest } from "./ModelProvider.js"
import { byteLength } from "./OutputLimit.js"
import { handleOf, type OutputStore } from "./OutputStore.js"
import type { Redactor } from "./Redaction.js"
import * as Telemetry from "./Telemetry.js"
import * as Usage from "./Usage.js"

/**
 * What room is made with.
 *
 * @since 0.1.0
 * @category models
 */
export interface Environment {
  readonly session: LiveSession
  readonly provider: ModelProvider["Type"]
  readonly model: Model
  readonly redactor: Redactor
  readonly outputs: OutputStore["Type"]
  readonly emit: (event: Event) => Effect.Effect<void>
}

type Failure = JournalError | LeaseError

/** Each summary leaves less to summarise; more of them in a row say that the model's are no shorter than what they replace. */
const mostSummaries = 4

/** A model whose window is unknown, or smaller than it says, has refused a request: its window is taken to be this part of it. */
const refusedShare = 3 / 4

/**
 * Sends a request that fits. Where the window is unknown the request goes out as it is; if the provider finds it too long, room
 * is made and it is sent once more. Undefined: there is no room to be made, and `BudgetReached` is journaled, so that the turn
 * ends.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withRoom = <A, E>(environment: Environment, options: {
  readonly turn: number
  readonly request: () => ModelRequest
  readonly respond: (request: ModelRequest) => Effect.Effect<A, ModelError | E>
}): Effect.Effect<A | undefined, ModelError | E | Failure> => {
  const { request, respond, turn } = options
  const { contextWindow } = environment.model
  const within = (window: number) => makeRoom(environment, { turn, request, window })
  const afterRefusal = Effect.suspend(() => {
    const load = loadOf(environment, request())
    const window = Math.floor(ContextGuard.estimate(load, load.use.bytes) * refusedShare)
    return Effect.flatMap(within(Math.min(window, contextWindow ?? window)), (fits) =>
      fits
        ? Effect.catchIf(Effect.suspend(() => respond(request())), isTooLong, () => full(environment, turn))
        : full(environment, turn))
  })
  return Effect.flatMap(contextWindow === null ? Effect.succeed(true) : within(contextWindow), (fits) =>
    fits
      ? Effect.catchIf(Effect.suspend(() => respond(request())), isTooLong, () => afterRefusal)
      : full(environment, turn))
}

const isTooLong = (error: unknown): error is ModelError =>
  error instanceof ModelError && error.reason === "context-length"

const loadOf = ({ session }: Environment, request: ModelRequest): ContextGuard.Load => ({
  messages: request.messages,
  use: session.state().context,
  overheadBytes: byteLength(request.instructions) + definitionBytes(request.tools)
})

/** Tools stay the same from request to request. */
const measured = new WeakMap<ModelRequest["tools"], number>()

const definitionBytes = (tools: ModelRequest["tools"]): number => {
  const known = measured.get(tools)
  if (known !== undefined) return known
  const bytes = byteLength(JSON.stringify(tools))
  measured.set(tools, bytes)
  return bytes
}

const makeRoom = (environment: Environment, options: {
  readonly turn: number
  readonly request: () => ModelRequest
  readonly window: number
}): Effect.Effect<boolean, Failure> =>
  Effect.gen(function*() {
    const { request, turn, window } = options
    const room = { window, maxOutput: environment.model.maxOutput }
    let shortened = false
    let summaries = 0
    while (true) {
      const next = request()
      const measure = ContextGuard.decide(loadOf(environment, next), room, { shortened })
      switch (measure._tag) {
        case "Fits":
          return true
        case "Full":
          return false
        case "Shorten":
          yield* shorten(environment, next.messages, measure.ids)
          shortened = true
          break
        case "Compact":
          summaries += 1
          if (
            summaries > mostSummaries || !(yield* compact(environment, next, { turn, kept: measure.kept }))
          ) return false
      }
    }
  })

const full = ({ emit, model, session }: Environment, turn: number): Effect.Effect<undefined, Failure> => {
  const message = `The context of ${model.id} is full, and nothing more of this conversation can be taken out of it. ` +
    "Begin a new session, or go on with a model that has a larger context."
  return session.commit([{ _tag: "BudgetReached", turn, budget: "context", message }]).pipe(
    Effect.zipRight(emit(Event.BudgetReached({ budget: "context", message }))),
    Effect.as(undefined)
  )
}

type Shortened = Extract<JournalRecord, { readonly _tag: "Shortened" }>["results"][number]

const shorten = (
  environment: Environment,
  messages: ReadonlyArray<Message>,
  ids: ReadonlyArray<string>
): Effect.Effect<void, Failure> =>
  Effect.gen(function*() {
    const { emit, session } = environment
    const wanted = new Set(ids)
    const found = messages.flatMap((message) =>
      message.role === "tool" ? message.results.filter(({ id }) => wanted.has(id)) : []
    )
    const results = (yield* Effect.forEach(found, (result) => putAway(environment, result))).flat()
    if (results.length === 0) return
    yield* session.commit([{ _tag: "Shortened", results }])
    yield* emit(Event.Shortened({ handles: results.map(({ handle }) => handle) }))
  })

/** An output that was too long for its result is stored whole already, and stays so. */
const putAway = (
  { outputs, session }: Environment,
  { content, id }: ToolResultPart
): Effect.Effect<ReadonlyArray<Shortened>> =>
  Effect.gen(function*() {
    const ref = Option.getOrUndefined(HashMap.get(session.state().wireIds, id))
    if (ref === undefined) return []
    const handle = handleOf(ref)
    const stored = yield* outputs.get({ session: session.id, handle })
    const text = stored ?? Content.toText(content)
    if (stored === undefined) yield* outputs.put({ session: session.id, handle, text })
    return [{ id, handle, bytes: byteLength(text) }]
  }).pipe(
    Effect.catchTag("OutputStoreError", (error) =>
      Effect.as(Effect.logWarning("An old result could not be put away, and stays", error), []))
  )

const instruction =
  `Your context is nearly full. What you write now will take the place of all messages above, so that you can go on from it alone. Write down, without calling a tool:
- what the user wants, with every wish, limit and decision that still holds, in their own words where these matter;
- what was done so far and what came of it: files, commands, findings, exact names, numbers and error messages, what was tried in vain;
- where the work stands, and what the next steps are.`

const compact = (environment: Environment, request: ModelRequest, options: {
  readonly turn: number
  readonly kept: number
}): Effect.Effect<boolean, Failure> =>
  Effect.gen(function*() {
    const { emit, model, redactor, session } = environment
    const { kept, turn } = options
    const answer = yield* ask(environment, {
      ...request,
      messages: [
        ...request.messages.slice(0, request.messages.length - kept),
        { role: "user", content: [Content.text(instruction)] }
      ],
      toolChoice: "none"
    })
    const summary = redactor.redact(answer.text.trim())
    if (summary === "") return false
    const usage = answer.finish?.usage ?? null
    yield* session.commit([{ _tag: "Compacted", turn, summary, kept, usage, prices: model.prices }])
    if (usage !== null) yield* emit(Event.UsageReported({ usage, cost: Usage.cost(usage, model.prices) }))
    yield* emit(Event.Compacted({ summary }))
    return true
  })

interface Answer {
  readonly text: string
  readonly finish: Extract<ModelDelta, { readonly _tag: "Finish" }> | null
}

const nothing: Answer = { text: "", finish: null }

const ask = ({ emit, model, provider, session }: Environment, request: ModelRequest): Effect.Effect<Answer> => {
  const answer = Stream.runFoldEffect(provider.stream(request), nothing, (answer, delta) => {
    switch (delta._tag) {
      case "TextDelta":
        return Effect.succeed({ ...answer, text: answer.text + delta.text })
      case "Finish":
        return Effect.succeed({ ...answer, finish: delta })
      case "Retry":
        return Effect.as(emit(Event.Retry(delta)), answer)
      default:
        return Effect.succeed(answer)
    }
  })
  return Telemetry.chat({ session: session.id, model }, answer, ({ finish }) => finish).pipe(
    Effect.catchTag(
      "ModelError",
      (error) => Effect.as(Effect.logWarning("The conversation could not be summarised", error), nothing)
    )
  )
}
