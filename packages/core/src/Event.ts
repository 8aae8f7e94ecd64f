/**
 * What the loop tells while it runs.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import type { Decision, Question } from "./Approval.js"
import type { Outcome } from "./Outcome.js"
import type { OutputChunk } from "./ProcessRunner.js"
import type { CallRef, Repair, ToolCall } from "./ToolCall.js"
import type { TurnResult } from "./TurnResult.js"
import type { Usage } from "./Usage.js"

/**
 * One thing that happened while a turn runs. `TextDelta` to `CallReceived` come as the model writes; a `Voided` response
 * takes back what was shown of it. `Shortened` and `Compacted` make room in the model's context. `ToolStarted` comes before any `ToolOutput` of its call and `ToolFinished` after the
 * last; a call that never ran has only `ToolFinished`. `Final` is the last event. Texts of models and tools are not
 * sanitised here, except in outcomes.
 *
 * @since 0.1.0
 * @category models
 */
export type Event = Data.TaggedEnum<{
  TurnStarted: { readonly session: string; readonly turn: number; readonly provider: string; readonly model: string }
  IterationStarted: { readonly iteration: number }
  TextDelta: { readonly text: string }
  ThinkingDelta: { readonly text: string }
  CallStarted: { readonly position: number; readonly name: string }
  CallDelta: { readonly position: number; readonly text: string }
  CallReceived: { readonly ref: CallRef; readonly call: ToolCall }
  Retry: { readonly attempt: number; readonly delayMillis: number; readonly reason: string }
  Voided: { readonly reason: string }
  UsageReported: { readonly usage: Usage; readonly cost: number | null }
  Planned: {
    readonly refused: ReadonlyArray<number>
    readonly asked: ReadonlyArray<number>
    readonly stages: ReadonlyArray<ReadonlyArray<number>>
  }
  Repaired: { readonly ref: CallRef; readonly repairs: ReadonlyArray<Repair> }
  ApprovalAsked: { readonly questions: ReadonlyArray<Question> }
  ApprovalAnswered: { readonly by: string; readonly decision: Decision }
  ToolStarted: {
    readonly ref: CallRef
    readonly tool: string
    readonly summary: string
    readonly preview: string | null
  }
  ToolOutput: { readonly ref: CallRef; readonly chunk: OutputChunk }
  ToolFinished: {
    readonly ref: CallRef
    readonly tool: string
    readonly outcome: Outcome
    readonly durationMillis: number
  }
  IterationFinished: { readonly iteration: number }
  BudgetReached: { readonly budget: string; readonly message: string }
  Shortened: { readonly handles: ReadonlyArray<string> }
  Compacted: { readonly summary: string }
  Final: { readonly result: TurnResult }
}>

/**
 * Constructors of events.
 *
 * @since 0.1.0
 * @category constructors
 */
export const Event = Data.taggedEnum<Event>()

/**
 * Handles some kinds of events, and all others with `orElse`.
 *
 * @example
 * import { Console, Effect } from "effect"
 * import { Event } from "@capstan/core"
 *
 * export const printText = Event.match({
 *   TextDelta: ({ text }) => Console.log(text),
 *   orElse: () => Effect.void
 * })
 *
 * @since 0.1.0
 * @category combinators
 */
export const match = <A>(handlers: Handlers<A> & { readonly orElse: (event: Event) => A }) => {
  const handle = <Tag extends Event["_tag"]>(tag: Tag, event: EventByTag[Tag]): A => {
    const handler: Handlers<A>[Tag] = handlers[tag]
    return handler === undefined ? handlers.orElse(event) : handler(event)
  }
  return (event: Event): A => handle(event._tag, event)
}

type EventByTag = { readonly [E in Event as E["_tag"]]: E }

/**
 * Functions for some kinds of events.
 *
 * @since 0.1.0
 * @category models
 */
export type Handlers<A> = { readonly [Tag in Event["_tag"]]?: (event: EventByTag[Tag]) => A }
