import { type Event, Journal, Replay, Tool, ToolLoop } from "@capstan/core"
import { ScriptedApproval, ScriptedModel, TestLoop } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"

const Write = Tool.make("write", {
  description: "Writes.",
  parameters: Schema.Struct({ path: Schema.String }),
  handler: ({ path }) => Effect.succeed(`wrote ${path}`)
})
const Look = Tool.make("look", {
  description: "Looks.",
  parameters: Schema.Struct({}),
  safety: "read-only",
  handler: (_, { emit }) => Effect.as(emit({ stream: "stdout", text: "looking" }), "seen")
})

const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, reasoning: 0 }
const prices = { input: 1, output: 2, cacheRead: null, cacheWrite: null, source: "test" }

/** What a viewer sees of live events: deltas joined, without what is never stored. */
const seen = (events: Iterable<Event.Event>): ReadonlyArray<Event.Event> => {
  const out: Array<Event.Event> = []
  for (const event of events) {
    const last = out.at(-1)
    if (event._tag === "ToolOutput") continue
    if (
      (event._tag === "TextDelta" && last?._tag === "TextDelta") ||
      (event._tag === "CallDelta" && last?._tag === "CallDelta")
    ) {
      out[out.length - 1] = { ...last, text: last.text + event.text }
    } else out.push(event)
  }
  return out
}

const rowsOf = (session: string) => Effect.flatMap(Journal.Journal, (journal) => journal.read({ session }))

describe("Replay", () => {
  it.effect("plays what a viewer saw, and what a model would be sent", () =>
    Effect.gen(function*() {
      const live = yield* Stream.runCollect(ToolLoop.stream({ session: "s", message: "go" }))
      const rows = yield* rowsOf("s")
      const [turn, ...others] = Replay.turns({ session: "s", rows })
      expect(others).toEqual([])
      expect(turn).toMatchObject({ turn: 0, at: 0, message: [{ text: "go" }] })
      expect(turn?.events).toEqual(seen(live))
      expect(Replay.events({ session: "s", rows })).toEqual(turn?.events)
      const requests = yield* ScriptedModel.requests
      expect(Replay.messages(rows)).toEqual([
        ...(requests.at(-1)?.messages ?? []),
        { role: "assistant", content: [{ type: "text", text: "done" }] }
      ])
    }).pipe(Effect.provide(TestLoop.layer({
      model: [
        ScriptedModel.calls([
          { name: "LOOK", arguments: {} },
          { name: "write", arguments: { path: "a" } },
          { name: "nothing", arguments: {} }
        ], { text: "I shall look and write." }),
        ScriptedModel.broken(ScriptedModel.deltasOf({ calls: [{ name: "look", raw: "{}" }] }).slice(0, -1)),
        ScriptedModel.call("write", { path: "b" }),
        ScriptedModel.text("done")
      ],
      modelOptions: { usage, model: { prices } },
      approvals: [ScriptedApproval.approve, ScriptedApproval.deny("no")],
      tools: [Write, Look]
    }))))

  it.effect("shows the calls of a response that a crash cut off, and no end", () =>
    Effect.gen(function*() {
      yield* ToolLoop.run({ session: "s", message: "go" })
      const rows = yield* rowsOf("s")
      const cut = rows.slice(0, rows.findIndex(({ record }) => record._tag === "CallReceived") + 1)
      expect(Replay.events({ session: "s", rows: cut }).map(({ _tag }) => _tag)).toEqual([
        "TurnStarted",
        "IterationStarted",
        "CallStarted",
        "CallDelta",
        "CallReceived"
      ])
      expect(Replay.messages(cut)).toEqual([{ role: "user", content: [{ type: "text", text: "go" }] }])
      expect(Replay.turns({ session: "s", rows: [] })).toEqual([])
    }).pipe(Effect.provide(TestLoop.layer({
      model: [ScriptedModel.call("look", {}), ScriptedModel.text("done")],
      tools: [Look]
    }))))
})
