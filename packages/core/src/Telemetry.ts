/**
 * Spans and metrics of turns, requests and calls, through Effect's tracer and metrics: whoever provides an exporter gets them,
 * nobody else pays for one.
 *
 * Names follow OpenTelemetry's semantic conventions for generative AI (open-telemetry/semantic-conventions-genai,
 * docs/gen-ai/gen-ai-spans.md, gen-ai-agent-spans.md and gen-ai-metrics.md; in development there). What is said, asked and
 * answered is in no attribute.
 *
 * @since 0.1.0
 */
import * as Array from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricKey from "effect/MetricKey"
import * as MetricLabel from "effect/MetricLabel"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import type { Event } from "./Event.js"
import type { FinishReason } from "./ModelDelta.js"
import { type Model, ModelError } from "./ModelProvider.js"
import type { Outcome } from "./Outcome.js"
import { rules } from "./RetryAdvice.js"
import { type CallRef, keyOf } from "./ToolCall.js"
import type { TurnResult } from "./TurnResult.js"
import type { Usage } from "./Usage.js"

const durationKey = MetricKey.histogram(
  "gen_ai.client.operation.duration",
  MetricBoundaries.fromIterable([
    0.01,
    0.02,
    0.04,
    0.08,
    0.16,
    0.32,
    0.64,
    1.28,
    2.56,
    5.12,
    10.24,
    20.48,
    40.96,
    81.92
  ]),
  "Seconds that a request to a model takes"
)
const usageKey = MetricKey.histogram(
  "gen_ai.client.token.usage",
  MetricBoundaries.fromIterable(Array.makeBy(14, (power) => 4 ** power)),
  "Tokens of a request to a model, and of its answer"
)
const counterKey = (name: string, description: string) => MetricKey.counter(name, { description, incremental: true })
const callsKey = counterKey("capstan.calls", "Calls that got a result")
const approvalsKey = counterKey("capstan.approvals", "Batches that were decided about")

/**
 * Seconds that requests to models take, by operation, provider, model and, if they failed, `error.type`.
 *
 * @since 0.1.0
 * @category metrics
 */
export const operationDuration = Metric.fromMetricKey(durationKey)

/**
 * Tokens of requests to models, by operation, provider, model and `gen_ai.token.type` (`input`, `output`).
 *
 * @since 0.1.0
 * @category metrics
 */
export const tokenUsage = Metric.fromMetricKey(usageKey)

/**
 * Calls that got a result, by `capstan.outcome`.
 *
 * @since 0.1.0
 * @category metrics
 */
export const calls = Metric.fromMetricKey(callsKey)

/**
 * Batches that were decided about, by `capstan.decision`.
 *
 * @since 0.1.0
 * @category metrics
 */
export const approvals = Metric.fromMetricKey(approvalsKey)

/**
 * Calls of which something had to be repaired.
 *
 * @since 0.1.0
 * @category metrics
 */
export const repairs = Metric.fromMetricKey(counterKey("capstan.repairs", "Calls that were repaired"))

/**
 * Requests that a provider sent again before their first token.
 *
 * @since 0.1.0
 * @category metrics
 */
export const retries = Metric.fromMetricKey(counterKey("capstan.retries", "Requests that were sent again"))

/**
 * Responses that broke off.
 *
 * @since 0.1.0
 * @category metrics
 */
export const voidedResponses = Metric.fromMetricKey(
  counterKey("capstan.voided_responses", "Responses that broke off")
)

/**
 * Metrics with their tags, one for each way to be tagged: tags that are added with each update cost twenty times as much as the
 * update.
 */
const tagged = <M>(make: (labels: ReadonlyArray<MetricLabel.MetricLabel>) => M) => {
  const made = new Map<string, M>()
  return (tags: Readonly<Record<string, string>>): M => {
    const name = Object.values(tags).join("\n")
    const known = made.get(name)
    if (known !== undefined) return known
    const metric = make(Object.entries(tags).map(([name, value]) => MetricLabel.make(name, value)))
    made.set(name, metric)
    return metric
  }
}

const durationOf = tagged((labels) => Metric.fromMetricKey(MetricKey.taggedWithLabels(durationKey, labels)))
const usageOf = tagged((labels) => Metric.fromMetricKey(MetricKey.taggedWithLabels(usageKey, labels)))
const callsOf = tagged((labels) => Metric.fromMetricKey(MetricKey.taggedWithLabels(callsKey, labels)))
const approvalsOf = tagged((labels) => Metric.fromMetricKey(MetricKey.taggedWithLabels(approvalsKey, labels)))

/**
 * Whose work it is: the session, and the model that it is done with.
 *
 * @since 0.1.0
 * @category models
 */
export interface About {
  readonly session: string
  readonly model: Model
}

const attributesOf = (operation: string, { model, session }: About) => ({
  "gen_ai.operation.name": operation,
  "gen_ai.provider.name": model.provider,
  "gen_ai.request.model": model.id,
  "gen_ai.conversation.id": session
})

/**
 * The span of a turn, around the spans of its requests and calls.
 *
 * @since 0.1.0
 * @category combinators
 */
export const turn = <E, R>(about: About, effect: Effect.Effect<TurnResult, E, R>): Effect.Effect<TurnResult, E, R> =>
  spanned(
    "invoke_agent",
    { kind: "internal", attributes: attributesOf("invoke_agent", about) },
    effect,
    (span, exit) => {
      if (Exit.isSuccess(exit)) {
        usageAttributes(span, exit.value.usage)
        span.attribute("capstan.turn.end", exit.value.end)
      }
      return Effect.void
    }
  )

/**
 * The span of one request to a model and of its answer, with its metrics. `answered` says what is known at the end (null: the
 * answer broke off).
 *
 * @since 0.1.0
 * @category combinators
 */
export const chat = <A, E, R>(
  about: About,
  effect: Effect.Effect<A, E, R>,
  answered: (answer: A) => { readonly reason: FinishReason; readonly usage: Usage | null } | null
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Clock.currentTimeMillis, (began) => {
    const attributes = { ...attributesOf("chat", about), "gen_ai.request.stream": true }
    return spanned(`chat ${about.model.id}`, { kind: "client", attributes }, effect, (span, exit) => {
      const error = Exit.isFailure(exit) ? errorType(exit) : undefined
      const finish = Exit.isSuccess(exit) ? answered(exit.value) : null
      const usage = finish?.usage ?? null
      if (error !== undefined) span.attribute("error.type", error)
      if (finish !== null) span.attribute("gen_ai.response.finish_reasons", [finishReasons[finish.reason]])
      if (usage !== null) usageAttributes(span, usage)
      return Effect.flatMap(
        Clock.currentTimeMillis,
        (now) => measured(about.model, { seconds: (now - began) / 1_000, error, usage })
      )
    })
  })

const measured = (model: Model, { error, seconds, usage }: {
  readonly seconds: number
  readonly error: string | undefined
  readonly usage: Usage | null
}): Effect.Effect<void> => {
  const tags = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": model.provider,
    "gen_ai.request.model": model.id
  }
  const took = Metric.update(durationOf(error === undefined ? tags : { ...tags, "error.type": error }), seconds)
  return usage === null ? took : Effect.zipRight(
    took,
    Effect.zipRight(
      Metric.update(usageOf({ ...tags, "gen_ai.token.type": "input" }), usage.input),
      Metric.update(usageOf({ ...tags, "gen_ai.token.type": "output" }), usage.output)
    )
  )
}

const errorType = (exit: Exit.Failure<unknown, unknown>): string => {
  const error = Option.getOrUndefined(Cause.failureOption(exit.cause))
  if (error instanceof ModelError) return error.reason
  return Cause.isInterrupted(exit.cause) ? "cancelled" : "_OTHER"
}

/** What other services of the same kind are known to answer, so that one query finds all. */
const finishReasons: { readonly [Reason in FinishReason]: string } = {
  stop: "stop",
  "tool-calls": "tool_calls",
  length: "length",
  refusal: "content_filter",
  other: "other"
}

const usageAttributes = (span: Tracer.Span, usage: Usage): void => {
  span.attribute("gen_ai.usage.input_tokens", usage.input)
  span.attribute("gen_ai.usage.output_tokens", usage.output)
  span.attribute("gen_ai.usage.cache_read.input_tokens", usage.cacheRead)
  span.attribute("gen_ai.usage.cache_creation.input_tokens", usage.cacheWrite)
  span.attribute("gen_ai.usage.reasoning.output_tokens", usage.reasoning)
}

/**
 * The span of a call whose handler runs. Its id is the call's key, which also stands in the audit.
 *
 * @since 0.1.0
 * @category combinators
 */
export const tool = <A extends { readonly outcome: Outcome }, E, R>(
  about: { readonly session: string; readonly ref: CallRef; readonly tool: string },
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const attributes = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.conversation.id": about.session,
    "gen_ai.tool.name": about.tool,
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.id": keyOf(about.ref)
  }
  return spanned(`execute_tool ${about.tool}`, { kind: "internal", attributes }, effect, (span, exit) => {
    if (Exit.isSuccess(exit) && exit.value.outcome._tag !== "Succeeded") {
      span.attribute("error.type", rules[exit.value.outcome.failure._tag].code)
    }
    return Effect.void
  })
}

const spanned = <A, E, R>(
  name: string,
  options: Tracer.SpanOptions,
  effect: Effect.Effect<A, E, R>,
  atEnd: (span: Tracer.Span, exit: Exit.Exit<A, E>) => Effect.Effect<void>
): Effect.Effect<A, E, R> =>
  Effect.useSpan(
    name,
    { ...options, captureStackTrace: false },
    (span) => Effect.onExit(Effect.provideService(effect, Tracer.ParentSpan, span), (exit) => atEnd(span, exit))
  )

/**
 * Counts what an event tells.
 *
 * @since 0.1.0
 * @category combinators
 */
export const count = (event: Event): Effect.Effect<void> => {
  switch (event._tag) {
    case "ToolFinished":
      return Metric.update(callsOf({ "capstan.outcome": event.outcome._tag }), 1)
    case "ApprovalAnswered":
      return Metric.update(approvalsOf({ "capstan.decision": event.decision._tag }), 1)
    case "Repaired":
      return Metric.update(repairs, 1)
    case "Retry":
      return Metric.update(retries, 1)
    case "Voided":
      return Metric.update(voidedResponses, 1)
    default:
      return Effect.void
  }
}
