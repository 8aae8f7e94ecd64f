/**
 * A user turn: response after response, until the model answers in words or something ends it.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Account from "./Account.js"
import * as Batch from "./Batch.js"
import * as Budget from "./Budget.js"
import * as CallResults from "./CallResults.js"
import * as Compaction from "./Compaction.js"
import * as ContextGuard from "./ContextGuard.js"
import { Event } from "./Event.js"
import type { JournalError, LeaseError } from "./Journal.js"
import type { TurnEnd } from "./JournalRecord.js"
import type { Model, ModelError, ModelProvider, ToolDefinition } from "./ModelProvider.js"
import * as ModelTurn from "./ModelTurn.js"
import * as OutputLimit from "./OutputLimit.js"
import * as SessionState from "./SessionState.js"
import * as Telemetry from "./Telemetry.js"
import { cancelled } from "./ToolExecutor.js"
import * as ToolFailure from "./ToolFailure.js"
import type { TurnResult } from "./TurnResult.js"
import * as Usage from "./Usage.js"

/**
 * Whether tools are offered and run: `enabled`; `parse_only` offers them and leaves running to the caller; `disabled` offers
 * none and answers calls with an error.
 *
 * @since 0.1.0
 * @category models
 */
export type Mode = "enabled" | "parse_only" | "disabled"

/**
 * What a turn is run with.
 *
 * @since 0.1.0
 * @category models
 */
export interface Environment extends Omit<Batch.Environment, "capacity"> {
  readonly provider: ModelProvider["Type"]
  readonly model: Model
  readonly mode: Mode
  /** The tools that the model is offered. */
  readonly definitions: ReadonlyArray<ToolDefinition>
  readonly instructions: string
}

type Failure = ModelError | JournalError | LeaseError

/**
 * Goes on with the open turn of the session until it ends.
 *
 * @since 0.1.0
 * @category combinators
 */
export const drive = (environment: Environment): Effect.Effect<TurnResult, Failure> =>
  Telemetry.turn({ session: environment.session.id, model: environment.model }, iterate(environment))

const iterate = (environment: Environment): Effect.Effect<TurnResult, Failure> =>
  Effect.gen(function*() {
    const { account, emit, limits, mode, session } = environment
    while (true) {
      // Decided by the state alone, so that a turn which a crash cut off ends as it would have.
      const ended = endOf(session.state().open, limits)
      if (ended !== undefined) return yield* end(environment, ended)
      yield* account.charge
      const reached = yield* Account.reached(account, "request")
      if (reached !== undefined) {
        yield* Account.note(environment, reached)
        continue
      }
      const iteration = session.state().open?.iteration ?? 0
      const outOfIterations = iteration >= limits.maxToolIterationsPerUserTurn
      yield* emit(Event.IterationStarted({ iteration }))
      yield* session.barrier
      const response = yield* respond(environment, iteration, outOfIterations)
      if (response === undefined || response.calls.length === 0) continue
      if (mode === "parse_only" && !outOfIterations) {
        yield* CallResults.settle(environment, cutOff(session.state()))
        if (SessionState.unsettled(session.state()).length > 0) return yield* end(environment, "awaiting")
        continue
      }
      const answered = yield* Batch.run(batchEnvironment(environment), {
        turn: turnOf(environment),
        iteration,
        calls: response.calls,
        circumstances: {
          disabled: mode === "disabled",
          outOfIterations,
          lastCutOff: response.finish === "length" && response.endsWithCall
        }
      })
      yield* emit(Event.IterationFinished({ iteration }))
      if (!answered) return yield* end(environment, "awaiting")
    }
  })

/** Nobody is to run a call that was cut off, so nobody is handed one. */
const cutOff = ({ batch }: SessionState.SessionState): ReadonlyArray<CallResults.Settled> =>
  batch?.lastCutOff === true
    ? batch.calls.slice(-1).map(({ call, ref }) => ({
      ref,
      tool: call.name,
      outcome: { _tag: "Refused", failure: ToolFailure.cutOff }
    }))
    : []

const endOf = (open: SessionState.OpenTurn | null, limits: Environment["limits"]): TurnEnd | undefined => {
  if (open === null) return undefined
  if (open.answered === "refusal") return "refused"
  if (open.iteration > limits.maxToolIterationsPerUserTurn) return "iterations"
  if (open.answered !== null) return "answered"
  if (open.usedUp !== null) return "budget"
  return open.streak.count >= limits.repeatsBeforeEnd ? "loop" : undefined
}

const turnOf = ({ session }: Environment): number => session.state().turns - 1

/** Undefined: the turn ends instead, since the context is full or the time was over in the middle of the answer. */
const respond = (environment: Environment, iteration: number, outOfIterations: boolean) =>
  Effect.flatMap(Account.timeLeft(environment.account), (millis) => {
    const response = request(environment, iteration, outOfIterations)
    if (millis === Infinity) return response
    const reason = "the running time was used up"
    const tooLate = Effect.zipRight(voidRest(environment, reason), environment.emit(Event.Voided({ reason })))
    return Effect.flatMap(
      environment.active.within(Effect.asSome(response), { millis, onTimeout: Option.none }),
      Option.match({ onNone: () => Effect.as(tooLate, undefined), onSome: Effect.succeed })
    )
  })

const voidRest = ({ session }: Pick<Environment, "session">, reason: string) =>
  Effect.suspend(() => {
    const { batch } = session.state()
    if (batch === null || batch.responded) return Effect.void
    const { iteration, turn } = batch
    return session.append([{ _tag: "Voided", turn, iteration, reason }])
  })

const request = (environment: Environment, iteration: number, outOfIterations: boolean) => {
  const turn = turnOf(environment)
  return Compaction.withRoom(environment, {
    turn,
    request: () => ({
      model: environment.model.id,
      instructions: environment.instructions,
      messages: environment.session.state().messages,
      tools: environment.mode === "disabled" ? [] : environment.definitions,
      toolChoice: outOfIterations ? "none" : "auto",
      maxOutputTokens: undefined
    }),
    respond: (request) => ModelTurn.respond({ ...environment, turn, iteration, request })
  })
}

const reasonOf = (end: TurnEnd, open: SessionState.OpenTurn | null): string | null =>
  end === "budget" ? open?.usedUp ?? reasons.budget : reasons[end]

const reasons: { readonly [End in TurnEnd]: string | null } = {
  answered: null,
  iterations: "The limit of tool iterations in one turn was reached.",
  budget: "The budget was used up.",
  loop: "The same call with the same result came again and again.",
  refused: "The model or its service refused.",
  cancelled: "Cancelled by user",
  awaiting: "Answers or results are needed before the turn can go on."
}

const end = (environment: Environment, end: TurnEnd): Effect.Effect<TurnResult, Failure> =>
  Effect.gen(function*() {
    const { account, active, emit, session } = environment
    const turn = turnOf(environment)
    const reason = reasonOf(end, session.state().open)
    const millis = yield* active.lap
    const result = resultOf(session.state(), { session: session.id, end, reason, millis })
    yield* session.commit([{ _tag: "TurnEnded", turn, end, reason, millis }])
    yield* account.charge
    yield* emit(Event.Final({ result }))
    return result
  })

/**
 * What the latest turn of a session came to when it ended so; `state` is that before its `TurnEnded`, `millis` the running
 * time that this record carries.
 *
 * @since 0.1.0
 * @category constructors
 */
export const resultOf = (
  state: SessionState.SessionState,
  { millis, ...ended }: Pick<TurnResult, "session" | "end" | "reason"> & { readonly millis: number }
): TurnResult => ({
  ...ended,
  turn: state.turns - 1,
  text: state.open?.text ?? "",
  calls: Chunk.toReadonlyArray(state.open?.calls ?? Chunk.empty()),
  pending: SessionState.unsettled(state).map(({ call, ref }) => ({ ref, call })),
  usage: state.open?.spent.usage ?? Usage.zero,
  cost: state.open?.spent.cost ?? null,
  spent: Budget.add(state.open?.spent ?? Budget.nothing, { ...Budget.nothing, millis })
})

/**
 * What the calls of the next batch are run with.
 *
 * @since 0.1.0
 * @category combinators
 */
export const batchEnvironment = (environment: Environment): Batch.Environment => ({
  ...environment,
  capacity: OutputLimit.capacity({
    contextWindow: environment.model.contextWindow,
    tokensInUse: ContextGuard.tokensInUse(environment.session.state().context),
    maxOutput: environment.model.maxOutput
  })
})

/**
 * Ends an interrupted turn: a response that was coming in is void, every call without a result gets one. A turn that had
 * ended `awaiting` goes on waiting.
 *
 * @since 0.1.0
 * @category combinators
 */
export const cancel = (
  environment: Pick<Environment, "account" | "active" | "emit" | "session">
): Effect.Effect<void, JournalError | LeaseError> =>
  Effect.gen(function*() {
    const { account, active, session } = environment
    const { end, open, turns } = session.state()
    if (open === null || end === "awaiting") return
    yield* voidRest(environment, "cancelled by the user")
    yield* CallResults.settleRest(environment, cancelled(""))
    const millis = yield* active.lap
    const ended = { end: "cancelled", reason: reasons.cancelled, millis } as const
    const result = resultOf(session.state(), { session: session.id, ...ended })
    yield* session.commit([{ _tag: "TurnEnded", turn: turns - 1, ...ended }])
    yield* account.charge
    yield* environment.emit(Event.Final({ result }))
  })
