import { ModelDelta, ModelProvider, Tool, ToolLoop } from "@capstan/core"
import { ScriptedApproval, ScriptedModel, TestLoop } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import {
  type Context,
  Effect,
  Exit,
  Layer,
  Logger,
  LogLevel,
  Metric,
  MetricState,
  Option,
  Schema,
  TestClock,
  Tracer
} from "effect"

class TestSpan implements Tracer.Span {
  readonly _tag = "Span"
  readonly spanId = "s"
  readonly traceId = "t"
  readonly sampled = true
  readonly links: ReadonlyArray<Tracer.SpanLink> = []
  readonly attributes: Map<string, unknown>
  readonly name: string
  readonly parent: Option.Option<Tracer.AnySpan>
  readonly context: Context.Context<never>
  readonly kind: Tracer.SpanKind
  status: Tracer.SpanStatus

  constructor(begun: Pick<Tracer.Span, "name" | "parent" | "context" | "kind">, startTime: bigint) {
    this.name = begun.name
    this.parent = begun.parent
    this.context = begun.context
    this.kind = begun.kind
    this.status = { _tag: "Started", startTime }
    this.attributes = new Map()
  }

  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>) {
    this.status = { _tag: "Ended", startTime: this.status.startTime, endTime, exit }
  }

  attribute(key: string, value: unknown) {
    this.attributes.set(key, value)
  }

  event() {}

  addLinks() {}
}

const said = (span: TestSpan) => ({
  name: span.name,
  kind: span.kind,
  parent: Option.getOrUndefined(
    Option.flatMap(span.parent, (parent) => parent._tag === "Span" ? Option.some(parent.name) : Option.none())
  ),
  failed: span.status._tag === "Ended" ? Exit.isFailure(span.status.exit) : undefined,
  attributes: Object.fromEntries(span.attributes)
})

/** The spans of the loop that an effect makes, in the order in which they began. */
const spansOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const spans: Array<TestSpan> = []
    const tracer = Tracer.make({
      context: (run) => run(),
      span: (name, parent, context, _links, startTime, kind) => {
        const span = new TestSpan({ name, parent, context, kind }, startTime)
        spans.push(span)
        return span
      }
    })
    return Effect.map(Effect.withTracer(Effect.exit(effect), tracer), () =>
      spans.map(said).filter(({ name }) => /^(?:invoke_agent|chat|execute_tool)/.test(name)))
  })

const Look = Tool.make("look", {
  description: "Looks.",
  parameters: Schema.Struct({ at: Schema.String }),
  safety: "read-only",
  handler: ({ at }) => at === "nowhere" ? Effect.fail("secret words") : Effect.succeed("secret words")
})
const Write = Tool.make("write", {
  description: "Writes.",
  parameters: Schema.Struct({}),
  handler: () => Effect.succeed("ok")
})

const usage = { input: 100, output: 20, cacheRead: 40, cacheWrite: 5, reasoning: 7 }
const failure = new ModelProvider.ModelError({ reason: "overloaded", provider: "scripted", message: "Busy." })

/** What the registry, which all tests share, has of a metric under some tags. */
const metrics = (name: string, tags: Readonly<Record<string, string>>) =>
  Effect.map(Metric.snapshot, (pairs) =>
    pairs.filter(({ metricKey }) =>
      metricKey.name === name &&
      Object.entries(tags).every(([key, value]) => metricKey.tags.some((tag) => tag.key === key && tag.value === value))
    ))
const counted = (name: string, tags: Readonly<Record<string, string>> = {}) =>
  Effect.map(metrics(name, tags), (pairs) =>
    pairs.reduce(
      (sum, { metricState }) => sum + (MetricState.isCounterState(metricState) ? Number(metricState.count) : 0),
      0
    ))

const quiet = Layer.provide(Logger.minimumLogLevel(LogLevel.None))

describe("spans", () => {
  it.effect("are one of the turn, around one for each request and one for each call that runs", () =>
    Effect.gen(function*() {
      const spans = yield* spansOf(ToolLoop.run({ session: "s", message: "secret words" }))
      const shared = {
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "scripted-model",
        "gen_ai.conversation.id": "s"
      }
      const chat = { ...shared, "gen_ai.operation.name": "chat", "gen_ai.request.stream": true }
      const tokens = {
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 40,
        "gen_ai.usage.cache_creation.input_tokens": 5,
        "gen_ai.usage.reasoning.output_tokens": 7
      }
      const tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": "s",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.type": "function"
      }
      expect(spans).toEqual([
        {
          name: "invoke_agent",
          kind: "internal",
          parent: undefined,
          failed: false,
          attributes: expect.objectContaining({
            ...shared,
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.usage.input_tokens": 200,
            "capstan.turn.end": "answered"
          })
        },
        {
          name: "chat scripted-model",
          kind: "client",
          parent: "invoke_agent",
          failed: false,
          attributes: { ...chat, ...tokens, "gen_ai.response.finish_reasons": ["tool_calls"] }
        },
        {
          name: "execute_tool look",
          kind: "internal",
          parent: "invoke_agent",
          failed: false,
          attributes: { ...tool, "gen_ai.tool.call.id": "0.0.0" }
        },
        {
          name: "execute_tool look",
          kind: "internal",
          parent: "invoke_agent",
          failed: false,
          attributes: { ...tool, "gen_ai.tool.call.id": "0.0.1", "error.type": "execution" }
        },
        {
          name: "chat scripted-model",
          kind: "client",
          parent: "invoke_agent",
          failed: false,
          attributes: { ...chat, ...tokens, "gen_ai.response.finish_reasons": ["stop"] }
        }
      ])
      expect(JSON.stringify(spans)).not.toMatch(/secret|nowhere|here/)
    }).pipe(Effect.provide(TestLoop.layer({
      model: [
        ScriptedModel.calls([
          { name: "look", arguments: { at: "here" } },
          { name: "look", arguments: { at: "nowhere" } }
        ]),
        ScriptedModel.text("secret words")
      ],
      modelOptions: { usage },
      tools: [Look]
    }))))

  it.effect("say what a request failed of", () =>
    Effect.gen(function*() {
      const [turn, chat] = yield* spansOf(ToolLoop.run({ session: "s", message: "go" }))
      expect(turn).toMatchObject({ name: "invoke_agent", failed: true })
      expect(chat).toMatchObject({ failed: true, attributes: { "error.type": "overloaded" } })
    }).pipe(Effect.provide(TestLoop.layer({ model: [ScriptedModel.fail(failure)] }))))

  it.effect("are of summaries, too", () =>
    Effect.gen(function*() {
      const long = (letter: string) => ({ session: "s", message: letter.repeat(3_000) })
      yield* ToolLoop.run(long("a"))
      yield* ToolLoop.run(long("b"))
      const spans = yield* spansOf(ToolLoop.run(long("c")))
      expect(spans.map(({ name }) => name)).toEqual(["invoke_agent", "chat scripted-model", "chat scripted-model"])
    }).pipe(Effect.provide(TestLoop.layer({
      model: ["one", "two", "summary", "three"].map(ScriptedModel.text),
      modelOptions: { model: { contextWindow: 2_000 } }
    }))))

  it.live("say that a request was cancelled", () =>
    Effect.gen(function*() {
      const spans = yield* spansOf(Effect.timeout(ToolLoop.run({ session: "s", message: "go" }), "50 millis"))
      expect(spans[1]?.attributes).toMatchObject({ "error.type": "cancelled" })
    }).pipe(Effect.provide(TestLoop.layer({ model: [ScriptedModel.hang] }))))
})

describe("metrics", () => {
  it.effect("measure requests in the buckets of the conventions", () =>
    Effect.gen(function*() {
      yield* ToolLoop.run({ session: "s", message: "go" })
      yield* Effect.exit(ToolLoop.run({ session: "s", message: "go" }))
      const tags = { "gen_ai.operation.name": "chat", "gen_ai.request.model": "measured" }
      const durations = yield* metrics("gen_ai.client.operation.duration", tags)
      const [took, failed] = durations.toSorted((a, b) => a.metricKey.tags.length - b.metricKey.tags.length)
      expect(took?.metricState).toMatchObject({ count: 1, sum: 1.5 })
      expect(failed?.metricKey.tags.map(({ key, value }) => [key, value])).toContainEqual(["error.type", "overloaded"])
      const buckets = took !== undefined && MetricState.isHistogramState(took.metricState)
        ? took.metricState.buckets
        : []
      expect(buckets.map(([boundary]) => boundary).slice(0, -1)).toEqual(
        Array.from({ length: 14 }, (_, power) => Number((0.01 * 2 ** power).toFixed(2)))
      )
      for (const [type, sum] of [["input", 100], ["output", 20]] as const) {
        const [tokens] = yield* metrics("gen_ai.client.token.usage", { ...tags, "gen_ai.token.type": type })
        expect(tokens?.metricState).toMatchObject({ count: 1, sum })
      }
    }).pipe(
      Effect.provide(TestLoop.layer({
        model: [
          ScriptedModel.respond(() =>
            Effect.as(TestClock.adjust("1500 millis"), ScriptedModel.raw({ text: "done", usage }))
          ),
          ScriptedModel.fail(failure)
        ],
        modelOptions: { model: { id: "measured" } }
      }))
    ))

  it.effect("count calls by outcome, approvals, repairs, retries and responses that broke off", () =>
    Effect.gen(function*() {
      const counts = Effect.all({
        refused: counted("capstan.calls", { "capstan.outcome": "Refused" }),
        succeeded: counted("capstan.calls", { "capstan.outcome": "Succeeded" }),
        approved: counted("capstan.approvals", { "capstan.decision": "ApproveAll" }),
        repairs: counted("capstan.repairs"),
        retries: counted("capstan.retries"),
        voided: counted("capstan.voided_responses")
      })
      const before = yield* counts
      yield* ToolLoop.run({ session: "s", message: "go" })
      const after = yield* counts
      expect(after).toEqual({
        refused: before.refused + 1,
        succeeded: before.succeeded + 1,
        approved: before.approved + 1,
        repairs: before.repairs + 1,
        retries: before.retries + 1,
        voided: before.voided + 1
      })
    }).pipe(Effect.provide(quiet(TestLoop.layer({
      model: [
        ScriptedModel.broken([
          ModelDelta.ModelDelta.Retry({ attempt: 1, delayMillis: 0, reason: "busy" }),
          ModelDelta.ModelDelta.TextDelta({ text: "I" })
        ]),
        ScriptedModel.calls([{ name: "WRITE", arguments: {} }, { name: "nothing", arguments: {} }]),
        ScriptedModel.text("done")
      ],
      approvals: [ScriptedApproval.approveAll],
      tools: [Write]
    })))))
})
