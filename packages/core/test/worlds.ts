/** Generated programs of a model that says anything, with tools that do anything, and a log of what happened in which order. */
import * as Approval from "@capstan/core/Approval"
import * as Journal from "@capstan/core/Journal"
import type { JournalRecord } from "@capstan/core/JournalRecord"
import { ModelError, ModelProvider, type ModelRequest } from "@capstan/core/ModelProvider"
import type { Safety } from "@capstan/core/Safety"
import * as Tool from "@capstan/core/Tool"
import * as ToolLoop from "@capstan/core/ToolLoop"
import * as ToolRegistry from "@capstan/core/ToolRegistry"
import { CrashPoint, FakeSandbox, ScriptedModel } from "@capstan/testing"
import { Effect, FastCheck, Layer, Logger, LogLevel, Schema } from "effect"

/** One thing that happened. `key` is `turn.iteration.position`, `batch` `turn.iteration`. */
export type Entry =
  | { readonly _tag: "Wrote"; readonly record: JournalRecord }
  | { readonly _tag: "Requested" }
  | { readonly _tag: "Asked"; readonly batch: string }
  | { readonly _tag: "Answered" }
  | { readonly _tag: "Started"; readonly key: string; readonly safety: Safety }

const anyText = FastCheck.oneof(
  FastCheck.constantFrom("", " ", "thinking about it", "\u202e\u0000\ud800"),
  FastCheck.string({ unit: "binary", maxLength: 12 })
)

const call = FastCheck.record({
  id: FastCheck.oneof(
    FastCheck.constantFrom("", "a", "b", "call_0", "ünläwful", "x".repeat(60)),
    FastCheck.string({ maxLength: 4 })
  ),
  name: FastCheck.oneof(
    { weight: 8, arbitrary: FastCheck.constantFrom("read", "write", "fails", "throws", "hangs", "nothing", "READ") },
    { weight: 1, arbitrary: FastCheck.string({ unit: "binary", maxLength: 8 }) }
  ),
  raw: FastCheck.oneof(
    {
      weight: 8,
      arbitrary: FastCheck.constantFrom("{}", "{\"n\":1}", "{\"n\":2}", "{\"n\":\"x\"}", "{\"m\":1}", "{", "", "[]")
    },
    { weight: 1, arbitrary: FastCheck.json({ maxDepth: 2 }) },
    { weight: 1, arbitrary: FastCheck.string({ unit: "binary", maxLength: 8 }) }
  )
})

interface Reply {
  readonly text: string
  readonly reasons: boolean
  readonly calls: ReadonlyArray<ScriptedModel.RawCall>
  readonly finish: "tool-calls" | "length"
  readonly breaks: boolean
}

const reply: FastCheck.Arbitrary<Reply> = FastCheck.record({
  text: anyText,
  reasons: FastCheck.boolean(),
  calls: FastCheck.array(call, { minLength: 1, maxLength: 10 }),
  finish: FastCheck.constantFrom("tool-calls" as const, "tool-calls" as const, "length" as const),
  breaks: FastCheck.integer({ min: 0, max: 5 }).map((n) => n === 0)
})

const answer: FastCheck.Arbitrary<Approval.Answer> = FastCheck.oneof(
  FastCheck.constant({ _tag: "Approve" as const }),
  FastCheck.constant({ _tag: "Deny" as const, reason: "no" }),
  FastCheck.record({
    _tag: FastCheck.constant("Always" as const),
    entry: FastCheck.constantFrom("write", "w*", "throws(*)"),
    scope: FastCheck.constantFrom("turn" as const, "session" as const, "project" as const)
  }),
  FastCheck.record({
    _tag: FastCheck.constant("Edit" as const),
    arguments: FastCheck.constantFrom<Readonly<Record<string, unknown>>>({}, { n: 5 }, { n: "x" })
  })
)

type Decide = "all" | "none" | "fails" | "throws" | ReadonlyArray<Approval.Answer>

const decide: FastCheck.Arbitrary<Decide> = FastCheck.oneof(
  FastCheck.constantFrom("all" as const, "none" as const, "fails" as const, "throws" as const),
  FastCheck.array(answer, { maxLength: 10 })
)

/** A conversation: turns by one of two providers, answers of a model (none breaks off twice), decisions of a person. */
export interface Program {
  readonly turns: ReadonlyArray<{ readonly model: string }>
  readonly replies: ReadonlyArray<Reply>
  readonly decisions: ReadonlyArray<Decide>
}

const programs: FastCheck.Arbitrary<Program> = FastCheck.record({
  turns: FastCheck.array(FastCheck.record({ model: FastCheck.constantFrom("one/a", "two/b") }), {
    minLength: 1,
    maxLength: 3
  }),
  replies: FastCheck.array(reply, { maxLength: 6 }).map((replies) =>
    replies.map((reply, i) => ({ ...reply, breaks: reply.breaks && i % 2 === 0 }))
  ),
  decisions: FastCheck.array(decide, { minLength: 1, maxLength: 6 })
})

/** Programs, as a schema for `it.prop`. */
export const generated = Schema.declare((input): input is Program => typeof input === "object" && input !== null, {
  arbitrary: () => () => programs
})

const stepOf = (reply: Reply, provider: string, n: number): ScriptedModel.Step => {
  const said: ScriptedModel.Reply = {
    text: reply.text,
    calls: reply.calls,
    finish: reply.finish,
    ...(reply.reasons
      ? { reasoning: { type: "reasoning", provider, text: "because", data: `signed by ${provider}` } }
      : {})
  }
  return reply.breaks
    ? ScriptedModel.broken(
      ScriptedModel.deltasOf(said, { n }).slice(0, -1),
      new ModelError({ reason: "broken", provider, message: "The connection was lost." })
    )
    : ScriptedModel.raw(said)
}

/** A loop that a program is run in, with everything that happens in its log. */
export const make = (program: Program) => {
  const log: Array<Entry> = []
  const requests: Array<ModelRequest & { readonly provider: string }> = []
  const replies = [...program.replies]
  const decisions = [...program.decisions]
  let running = 0

  const handler = (name: string, safety: Safety, body: Effect.Effect<string, string>) =>
    Tool.make(name, {
      description: name,
      parameters: Schema.Struct({ n: Schema.optional(Schema.Number) }),
      safety,
      timeout: "10 millis",
      handler: (_, { ref }) =>
        Effect.sync(() => {
          running += 1
          log.push({ _tag: "Started", key: `${ref.turn}.${ref.iteration}.${ref.position}`, safety })
        }).pipe(
          Effect.zipRight(body),
          Effect.ensuring(Effect.sync(() => {
            running -= 1
          }))
        )
    })

  const tools = [
    handler("read", "read-only", Effect.as(Effect.yieldNow(), "read")),
    handler("write", "side-effect", Effect.succeed("")),
    handler("fails", "read-only", Effect.fail("no")),
    handler("throws", "side-effect", Effect.die("boom")),
    handler("hangs", "read-only", Effect.never)
  ]

  const providerOf = (id = "one/a") => id.split("/")[0] ?? "one"
  const scripted = new Map(["one", "two"].map((provider) => [
    provider,
    ScriptedModel.make((_, n) => {
      const next = replies.shift()
      return next === undefined ? ScriptedModel.text("done") : stepOf(next, provider, n)
    }, { provider }).provider
  ]))
  const known = (id: string | undefined) => scripted.get(providerOf(id)) ?? ScriptedModel.make([]).provider
  const router = Layer.succeed(ModelProvider, {
    model: (id) => known(id ?? "one/a").model(id ?? "one/a"),
    stream: (request) => {
      log.push({ _tag: "Requested" })
      requests.push({ ...request, provider: providerOf(request.model) })
      return known(request.model).stream(request)
    }
  })

  const person = Approval.layerCallback({
    policy: { denylist: [] },
    ask: ({ questions }) =>
      Effect.suspend((): Effect.Effect<Approval.Decision, Approval.ApprovalError> => {
        const [ref] = questions.map(({ ref }) => ref)
        log.push({ _tag: "Asked", batch: `${ref?.turn}.${ref?.iteration}` })
        const decision = decisions.shift() ?? "all"
        switch (decision) {
          case "all":
            return Effect.succeed({ _tag: "ApproveAll" })
          case "none":
            return Effect.succeed({ _tag: "DenyAll", reason: null })
          case "fails":
            return new Approval.ApprovalError({ message: "nobody" })
          case "throws":
            return Effect.die("a bug of whoever asks")
          default:
            return Effect.succeed({
              _tag: "Each",
              answers: decision.map((answer, i) => ({ position: questions[i]?.ref.position ?? i, answer }))
            })
        }
      }).pipe(Effect.ensuring(Effect.sync(() => log.push({ _tag: "Answered" }))))
  })

  const logged = Layer.effect(
    Journal.Journal,
    Effect.map(Journal.Journal, (journal) => {
      const noting = (write: Journal.OpenSession["append"]): Journal.OpenSession["append"] => (records) =>
        Effect.tap(write(records), () =>
          Effect.sync(() => {
            for (const record of records) log.push({ _tag: "Wrote", record })
          }))
      return {
        ...journal,
        open: (options) =>
          Effect.map(journal.open(options), (open) => ({
            ...open,
            append: noting(open.append),
            commit: noting(open.commit)
          }))
      }
    })
  )

  return {
    program,
    log,
    requests,
    running: () => running,
    layer: (points: ReadonlyArray<CrashPoint.CrashPoint>) =>
      ToolLoop.layer.pipe(
        Layer.provideMerge(Layer.mergeAll(
          router,
          person,
          Layer.orDie(ToolRegistry.layer(tools)),
          CrashPoint.layer(points).pipe(Layer.provideMerge(logged.pipe(Layer.provideMerge(Journal.layerMemory)))),
          FakeSandbox.layer()
        )),
        Layer.provide(Logger.minimumLogLevel(LogLevel.None))
      )
  }
}

export type World = ReturnType<typeof make>
