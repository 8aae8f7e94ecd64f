/** What the crash suite runs and cuts off: together, every kind of record that a journal can hold. */
import type { Decision } from "@capstan/core/Approval"
import type { CallContext } from "@capstan/core/CallContext"
import type { JournalRecord } from "@capstan/core/JournalRecord"
import type { Values } from "@capstan/core/Limits"
import type { ModelRequest } from "@capstan/core/ModelProvider"
import * as Tool from "@capstan/core/Tool"
import { keyOf } from "@capstan/core/ToolCall"
import type * as ToolLoop from "@capstan/core/ToolLoop"
import * as ScriptedModel from "@capstan/testing/ScriptedModel"
import * as RunCommand from "@capstan/tools/RunCommand"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as path from "node:path"

/** Where a scenario leaves its traces. `loop` is there once the loop runs. */
export interface Place {
  readonly folder: string
  readonly session: string
  readonly loop: () => ToolLoop.ToolLoop["Type"]
}

/**
 * `around` are the kinds of record that it is there for: it is cut off around each of them (default: around all). The script depends on the request and on the disk only, so that a successor goes
 * on where the crash was.
 */
export interface Scenario {
  readonly around?: ReadonlyArray<JournalRecord["_tag"]>
  readonly script: (place: Place) => (request: ModelRequest) => ScriptedModel.Step
  readonly decision?: Decision
  readonly options?: ToolLoop.LoopOptions
  readonly model?: ScriptedModel.Options
  readonly limits?: Partial<Values>
  readonly machine?: "node"
}

/** Where handlers leave a line each time they run: `session turn.iteration.position`. */
const sideFile = (folder: string) => path.join(folder, "side.txt")

/** What handlers have left. */
export const sideLines = (folder: string): ReadonlyArray<string> =>
  fs.existsSync(sideFile(folder)) ? fs.readFileSync(sideFile(folder), "utf8").split("\n").slice(0, -1) : []

const note = ({ folder }: Place, { ref, session }: CallContext) =>
  Effect.sync(() => fs.appendFileSync(sideFile(folder), `${session} ${keyOf(ref)}\n`))

const parameters = Schema.Struct({ name: Schema.String })

const long = "long ".repeat(1_200)

/** Tools that leave a line for each run. `look` lets its first call end last, so that results come in another order. */
export const tools = (place: Place) => [
  Tool.make("look", {
    description: "Looks.",
    parameters,
    safety: "read-only",
    handler: ({ name }, call) =>
      note(place, call).pipe(
        Effect.zipRight(name === "a" ? Effect.sleep("20 millis") : Effect.void),
        Effect.as(`saw ${name}`)
      )
  }),
  Tool.make("study", {
    description: "Looks for long.",
    parameters,
    safety: "read-only",
    handler: ({ name }, call) => Effect.as(note(place, call), `${name} ${long}`)
  }),
  Tool.make("change", {
    description: "Changes.",
    parameters,
    handler: ({ name }, call) => Effect.as(note(place, call), `changed ${name}`)
  }),
  Tool.make("delegate", {
    description: "Lets another session do it.",
    parameters,
    handler: (_, call) =>
      note(place, call).pipe(
        Effect.zipRight(place.loop().run({ session: childOf(place.session), parent: place.session, message: child })),
        Effect.map(({ text }) => text)
      )
  }),
  RunCommand.tool
]

const child = "You are the child."

/** The session that works for another. */
export const childOf = (session: string) => `${session}-child`

const resultsIn = ({ messages }: ModelRequest) =>
  messages.reduce((sum, message) => sum + (message.role === "tool" ? message.results.length : 0), 0)

const done = ScriptedModel.text("Done.")

const callsOf = (names: ReadonlyArray<readonly [tool: string, name: string]>, text = "Calls.") =>
  ScriptedModel.calls(names.map(([name, value]) => ({ name, arguments: { name: value } })), { text })

/** One batch, then words. */
const once = (step: ScriptedModel.Step): Scenario["script"] => () => (request) => resultsIn(request) > 0 ? done : step

/** So many calls one after the other, then words. */
const oneByOne =
  (tool: string, count: number, text?: string): Scenario["script"] => ({ folder }) => ({ toolChoice }) => {
    if (toolChoice === "none") return ScriptedModel.text("Summed up.")
    const ran = sideLines(folder).length
    return ran >= count ? done : callsOf([[tool, `step ${ran}`]], text)
  }

const isChild = ({ messages }: ModelRequest) =>
  messages.some((message) => message.role === "user" && JSON.stringify(message.content).includes(child))

/** True once for each folder. */
const first = (folder: string): boolean => {
  const mark = path.join(folder, "broke")
  if (fs.existsSync(mark)) return false
  fs.writeFileSync(mark, "")
  return true
}

const later: Decision = { _tag: "Later" }

export const scenarios = {
  /** Two read-only calls together, then one with an effect. */
  parallel: { script: once(callsOf([["look", "a"], ["look", "b"], ["change", "c"]])) },
  /** Three calls with effects, one by one. */
  sequential: { script: once(callsOf([["change", "a"], ["change", "b"], ["change", "c"]])) },
  /** One call is allowed for good, one gets other arguments, one is denied. */
  answered: {
    around: ["Planned", "Asked", "Decided"],
    script: once(callsOf([["change", "a"], ["change", "b"], ["change", "c"], ["look", "d"]])),
    decision: {
      _tag: "Each",
      answers: [
        { position: 0, answer: { _tag: "Always", entry: "look", scope: "project" } },
        { position: 1, answer: { _tag: "Edit", arguments: { name: "edited" } } },
        { position: 2, answer: { _tag: "Deny", reason: "no" } }
      ]
    }
  },
  /** Nobody answers yet. */
  awaiting: {
    around: ["Asked", "Decided", "TurnEnded"],
    script: once(callsOf([["look", "a"], ["change", "b"]])),
    decision: later
  },
  /** The first answer breaks off behind its first call. */
  broken: {
    around: ["CallReceived", "Voided"],
    script: ({ folder }) => (request) => {
      if (resultsIn(request) > 0) return done
      const step = callsOf([["look", "a"], ["change", "b"]])
      return step._tag === "Reply" && first(folder)
        ? ScriptedModel.broken(ScriptedModel.deltasOf(step.reply).slice(0, -2))
        : step
    }
  },
  command: {
    around: ["Intent", "ProcessStarted"],
    script: once(ScriptedModel.call("run_command", { command: "echo ready >> side.txt; sleep 0.1" })),
    machine: "node"
  },
  /** A command that outlives the crash. */
  endless: {
    script: once(ScriptedModel.call("run_command", { command: "echo ready >> side.txt; sleep 600" })),
    machine: "node"
  },
  budget: {
    around: ["BudgetReached", "TurnEnded"],
    script: oneByOne("change", 3),
    options: { budgets: { turn: { calls: 2 } } }
  },
  /** A sub-session that spends from its parent's budget. */
  child: {
    around: ["TurnStarted", "Intent", "ChildSpent", "Settled"],
    script: () => (request) =>
      resultsIn(request) > 0 ? done : isChild(request) ? callsOf([["change", "b"]]) : callsOf([["delegate", "a"]]),
    options: { budgets: { session: { calls: 100 } } }
  },
  /** Results and words that do not fit into the model's context. */
  crowded: {
    around: ["Shortened", "Compacted"],
    script: oneByOne("study", 6, long.slice(0, 3_000)),
    model: { model: { contextWindow: 4_000, maxOutput: 500 } },
    limits: { maxToolIterationsPerUserTurn: 10 }
  }
} satisfies Record<string, Scenario>

export type Name = keyof typeof scenarios
