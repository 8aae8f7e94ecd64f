/** Events for tests of the screen. */
import type { Question } from "@capstan/core/Approval"
import * as Budget from "@capstan/core/Budget"
import { Event } from "@capstan/core/Event"
import type { Outcome } from "@capstan/core/Outcome"
import type { CallRef } from "@capstan/core/ToolCall"
import * as ToolFailure from "@capstan/core/ToolFailure"
import type { TurnResult } from "@capstan/core/TurnResult"

export const ref = (position: number, iteration = 0): CallRef => ({ turn: 0, iteration, position })

export const started = Event.TurnStarted({ session: "s1", turn: 0, provider: "scripted", model: "scripted-model" })

export const iteration = (n = 0) => Event.IterationStarted({ iteration: n })

export const text = (text: string) => Event.TextDelta({ text })

export const received = (position: number, name: string, args: Readonly<Record<string, unknown>>) =>
  Event.CallReceived({
    ref: ref(position),
    call: { id: `call_${position}`, name, raw: JSON.stringify(args), arguments: args, repairs: [] }
  })

export const succeeded: Outcome = { _tag: "Succeeded", content: [{ type: "text", text: "fine" }] }

export const failed = (message: string): Outcome => ({ _tag: "Failed", failure: ToolFailure.execution(message) })

export const denied = (reason: string | null): Outcome => ({
  _tag: "Denied",
  reason,
  failure: ToolFailure.permission({ kind: "denied", message: "The user denied this call." })
})

export const toolStarted = (position: number, tool: string, summary: string, preview: string | null = null) =>
  Event.ToolStarted({ ref: ref(position), tool, summary, preview })

export const output = (position: number, text: string, stream: "stdout" | "stderr" = "stdout") =>
  Event.ToolOutput({ ref: ref(position), chunk: { stream, text } })

export const finished = (position: number, tool: string, outcome: Outcome, durationMillis = 12) =>
  Event.ToolFinished({ ref: ref(position), tool, outcome, durationMillis })

export const question = (position: number, options: Partial<Question> = {}): Question => ({
  ref: ref(position),
  tool: "run_command",
  summary: "Run npm test",
  detail: "npm test",
  preview: null,
  arguments: { command: "npm test" },
  origin: "",
  risk: "high",
  mustAsk: false,
  warnings: [],
  argumentsHash: "h",
  hint: "",
  entry: null,
  ...options
})

const result = (options: Partial<TurnResult> = {}): TurnResult => ({
  session: "s1",
  turn: 0,
  text: "",
  calls: [],
  pending: [],
  usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
  cost: null,
  spent: Budget.nothing,
  end: "answered",
  reason: null,
  ...options
})

export const final = (options: Partial<TurnResult> = {}) => Event.Final({ result: result(options) })
