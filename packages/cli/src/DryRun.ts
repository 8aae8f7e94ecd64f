/**
 * `--dry-run`: every call that would run or be asked about is shown and then denied, so that nothing runs.
 *
 * @since 0.1.0
 */
import type { Decision, Question } from "@capstan/core/Approval"
import * as ApprovalPolicy from "@capstan/core/ApprovalPolicy"
import type { PreparedCall, Tool } from "@capstan/core/Tool"
import * as ToolPlan from "@capstan/core/ToolPlan"
import { ToolRegistry } from "@capstan/core/ToolRegistry"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type { Prompt } from "./Approvals.js"
import { Host } from "./Host.js"
import * as view from "./internal/approvalView.js"
import { Screen } from "./Screen.js"

const reason = "This is a dry run: nothing runs. Say in words what you would do next."

/**
 * The same tools, which are asked about each time. What would have happened stands in the warnings of the question.
 *
 * @since 0.1.0
 * @category combinators
 */
export const over =
  (policy: ApprovalPolicy.ApprovalPolicy) =>
  <E, R>(layer: Layer.Layer<ToolRegistry, E, R>): Layer.Layer<ToolRegistry, E, R> =>
    Layer.map(layer, (context) => {
      const { tools } = Context.get(context, ToolRegistry)
      return Context.make(ToolRegistry, {
        tools: Effect.map(tools, (set) => ({
          ...set,
          byName: new Map([...set.byName].map(([name, tool]) => [name, asking(tool, policy)]))
        }))
      })
    })

const asking = (tool: Tool, policy: ApprovalPolicy.ApprovalPolicy): Tool => ({
  ...tool,
  prepare: (args) => Either.map(tool.prepare(args), (call) => asked(tool, call, policy))
})

const asked = (tool: Tool, call: PreparedCall, policy: ApprovalPolicy.ApprovalPolicy): PreparedCall => ({
  ...call,
  assess: Effect.map(call.assess, (assessment) => {
    const verdict = ApprovalPolicy.classify({ policy, always: [], tool, call, paths: [], assessment })
    const what = verdict._tag === "Run"
      ? "It would run without a question."
      : verdict.mustAsk
      ? "It would be asked about, whatever was allowed before."
      : "It would be asked about."
    return { ...assessment, approval: "always", warnings: [...assessment.warnings, what] }
  })
})

/** Which of the calls would run together, and which after them, if all of them may. */
const order = (questions: ReadonlyArray<Question>, tools: ReadonlyArray<Described>): string => {
  const calls = questions.map(({ ref, tool: name }) => ({
    position: ref.position,
    ready: { tool: tools.find(({ definition }) => definition.name === name) ?? unheardOf }
  }))
  const stages = ToolPlan.stages(calls).map((stage) =>
    stage.length === 1
      ? `${stage[0]?.position}`
      : `${stage.slice(0, -1).map(({ position }) => position).join(", ")} and ${stage.at(-1)?.position} together`
  )
  return questions.length === 1 ? "" : `By position, they would run in this order: ${stages.join(", then ")}.\n`
}

type Described = Pick<Tool, "definition" | "safety">

const unheardOf = { safety: "privileged" } as const

/**
 * Shows what would run and in which order, and denies it. `tools` are those that may be called.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (tools: ReadonlyArray<Described>): Effect.Effect<Prompt, never, Host | Screen> =>
  Effect.gen(function*() {
    const host = yield* Host
    const screen = yield* Screen
    const decision: Decision = { _tag: "DenyAll", reason }
    return ({ questions }) => {
      const text = view.listing({
        heading: "── Dry run: the plan ──",
        asked: `${questions.length} ${questions.length === 1 ? "call" : "calls"}`,
        questions: questions.map((question) => ({ question: { ...question, mustAsk: false }, note: undefined })),
        columns: host.terminal ? host.columns : Infinity,
        color: host.color
      })
      const [first] = questions
      return Effect.as(
        screen.exclusive({
          ...(first === undefined ? {} : { after: first.ref }),
          use: host.warn(text + order(questions, tools))
        }),
        decision
      )
    }
  })
