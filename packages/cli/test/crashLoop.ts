/** The loop that the crash tests kill and open again: real journal, real side effects, a scripted model. */
import * as Approval from "@capstan/core/Approval"
import { Journal, type JournalRow } from "@capstan/core/Journal"
import * as Limits from "@capstan/core/Limits"
import type { RecoveryChoice } from "@capstan/core/Recovery"
import type { Sandbox } from "@capstan/core/Sandbox"
import * as SessionState from "@capstan/core/SessionState"
import * as ToolLoop from "@capstan/core/ToolLoop"
import * as ToolRegistry from "@capstan/core/ToolRegistry"
import * as NodeSandbox from "@capstan/node/NodeSandbox"
import * as SqlJournal from "@capstan/sql/SqlJournal"
import * as CrashPoint from "@capstan/testing/CrashPoint"
import * as FakeSandbox from "@capstan/testing/FakeSandbox"
import * as ScriptedModel from "@capstan/testing/ScriptedModel"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as path from "node:path"
import { type Name, type Scenario, scenarios, tools } from "./crashScenarios.js"
import type { Point, Store } from "./crashTask.js"

const journalOf = (store: Store, folder: string) => {
  switch (store._tag) {
    case "sqlite":
      return SqlJournal.layerSqlite({ filename: path.join(folder, "journal.db") })
    case "postgres":
      return SqlJournal.layer.pipe(Layer.provide(PgClient.layer({ url: Redacted.make(store.url) })))
  }
}

/** `before` happens before each answer of the model. */
export const layer = (options: {
  readonly scenario: Name
  readonly store: Store
  readonly folder: string
  readonly session: string
  readonly points?: ReadonlyArray<CrashPoint.CrashPoint>
  readonly before?: Effect.Effect<void>
}) => {
  const { before = Effect.void, folder, points = [], session, store } = options
  const scenario: Scenario = scenarios[options.scenario]
  let loop: ToolLoop.ToolLoop["Type"] | undefined
  const place = {
    folder,
    session,
    loop: () => {
      if (loop === undefined) throw new Error("the loop is not there yet")
      return loop
    }
  }
  const script = scenario.script(place)
  const machine: Layer.Layer<Sandbox> = scenario.machine === "node"
    ? Layer.orDie(NodeSandbox.layer({ mounts: { workspace: folder }, osSandbox: "off" }))
    : FakeSandbox.layer()
  return ToolLoop.layerOptions(scenario.options ?? {}).pipe(
    Layer.tap((context) =>
      Effect.sync(() => {
        loop = Context.get(context, ToolLoop.ToolLoop)
      })
    ),
    Layer.provide(Layer.succeed(Limits.Limits, { ...Limits.strict, ...scenario.limits })),
    Layer.provideMerge(ScriptedModel.layer((request) => Effect.as(before, script(request)), scenario.model)),
    Layer.provide(Layer.orDie(ToolRegistry.layer(tools(place)))),
    Layer.provide(Approval.layerCallback({
      policy: { denylist: [], trust: "shell" },
      ask: () => Effect.succeed(scenario.decision ?? { _tag: "ApproveAll" })
    })),
    Layer.provideMerge(CrashPoint.layer(points).pipe(Layer.provideMerge(journalOf(store, folder)))),
    Layer.provide(machine)
  )
}

/** What happens around the n-th record of a kind. */
export const crashAt = (
  { kind, n, when }: Point,
  happens: CrashPoint.CrashPoint["happens"]
): CrashPoint.CrashPoint => {
  let seen = 0
  return {
    when,
    happens,
    place: (record) => {
      if (record._tag === kind) seen += 1
      return record._tag === kind && seen === n
    }
  }
}

/** The records of a session, none where there is no session. */
export const readRows = (session: string) =>
  Effect.flatMap(
    Journal,
    (journal) =>
      Effect.catchTag(
        journal.read({ session }),
        "JournalError",
        (error) => error.reason === "not-found" ? Effect.succeed<ReadonlyArray<JournalRow>>([]) : Effect.fail(error)
      )
  )

/** The turn that is cut off. */
export const turn = (session: string) => ToolLoop.run({ session, message: "Go." })

/** What a user does with a session after a crash: closes its batch, goes on to the end, answers what is asked. */
export const succeed = (session: string, choice: RecoveryChoice) =>
  Effect.gen(function*() {
    yield* Effect.catchTag(ToolLoop.recover({ session, choice }), "ConfigurationError", () => Effect.void)
    const { end, open } = (yield* readRows(session)).reduce(
      (state, { record }) => SessionState.step(state, record),
      SessionState.empty
    )
    const answered = ToolLoop.supply({ session, answers: { _tag: "ApproveAll" } })
    if (end === "awaiting") return yield* answered
    const result = yield* ToolLoop.run({ session, ...(open === null ? { message: "And now?" } : {}) })
    return result.end === "awaiting" ? yield* answered : result
  })
