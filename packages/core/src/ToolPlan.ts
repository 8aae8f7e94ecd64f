/**
 * What happens with each call of a batch. Pure: facts are gathered by the loop in between the two steps.
 *
 * `resolve` finds the tool and decodes the arguments; `decide` adds the facts about each call and says which calls run,
 * which are asked about and which are answered with an error without running.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ApprovalPolicy from "./ApprovalPolicy.js"
import type { Assessment } from "./Assessment.js"
import type { Values as LimitValues } from "./Limits.js"
import * as OutputLimit from "./OutputLimit.js"
import * as RateLimit from "./RateLimit.js"
import type { PreparedCall, Tool } from "./Tool.js"
import type { CallRef, Repair, ToolCall } from "./ToolCall.js"
import * as ToolFailure from "./ToolFailure.js"
import * as ToolName from "./ToolName.js"
import type { ToolSet } from "./ToolRegistry.js"
import type { PathDecision } from "./Workspace.js"

/**
 * Why a whole batch does not run: tools are off, the turn has used up its iterations, or the answer was cut off (then only
 * its last call is affected).
 *
 * @since 0.1.0
 * @category models
 */
export interface Circumstances {
  readonly disabled: boolean
  readonly outOfIterations: boolean
  readonly lastCutOff: boolean
}

/**
 * A call whose tool is known and whose arguments fit, or the error that it gets instead.
 *
 * @since 0.1.0
 * @category models
 */
export type Resolved =
  | {
    readonly _tag: "Ready"
    readonly ref: CallRef
    readonly tool: Tool
    readonly arguments: Readonly<Record<string, unknown>>
    readonly prepared: PreparedCall
    readonly repairs: ReadonlyArray<Repair>
  }
  | Refused

/**
 * A call that gets its error without being run. `fault` is what a tool or a policy threw, where that is why.
 *
 * @since 0.1.0
 * @category models
 */
export interface Refused {
  readonly _tag: "Refused"
  readonly ref: CallRef
  readonly tool: string
  readonly failure: ToolFailure.ToolFailure
  readonly fault?: unknown
}

/**
 * A call that is ready to be asked about or run.
 *
 * @since 0.1.0
 * @category models
 */
export type Ready = Extract<Resolved, { readonly _tag: "Ready" }>

/**
 * What was found out about a ready call: where its paths lead, how risky it is, a diff where it edits.
 *
 * @since 0.1.0
 * @category models
 */
export interface Facts {
  readonly paths: ReadonlyArray<PathDecision>
  readonly assessment: Assessment
  readonly preview: string | undefined
}

/**
 * What happens with one call.
 *
 * @since 0.1.0
 * @category models
 */
export type PlannedCall =
  | { readonly _tag: "Run"; readonly ref: CallRef; readonly ready: Ready; readonly facts: Facts }
  | {
    readonly _tag: "Ask"
    readonly ref: CallRef
    readonly ready: Ready
    readonly facts: Facts
    readonly mustAsk: boolean
  }
  | Refused

/**
 * Finds the tool of each call and decodes its arguments, in the order of the checks: tools off, limits, duplicates, names,
 * arguments, lists and trust. The first check that fails becomes the call's error; one that throws is a denial.
 *
 * @since 0.1.0
 * @category constructors
 */
export const resolve = (options: {
  readonly calls: ReadonlyArray<{ readonly ref: CallRef; readonly call: ToolCall }>
  readonly tools: ToolSet
  readonly policy: ApprovalPolicy.ApprovalPolicy
  readonly limits: LimitValues
  readonly circumstances: Circumstances
  /** Whether a text holds what redaction puts in place of a secret. */
  readonly containsMarker: (text: string) => boolean
  /** The failure of a call that has failed too often in the same way; none where it is left out. */
  readonly givenUp?: (ref: CallRef, tool: string) => ToolFailure.ToolFailure | undefined
}): ReadonlyArray<Resolved> => {
  const seen = new Map<string, number>()
  return options.calls.map(({ call, ref }, i): Resolved => {
    const identity = JSON.stringify([call.id, call.name, call.arguments ?? call.raw])
    const duplicateOf = call.id === "" ? undefined : seen.get(identity)
    if (duplicateOf === undefined) seen.set(identity, i)
    const found = Either.flatMap(
      check(outOfBounds(call, i, options) ?? duplicate(duplicateOf)),
      () => findTool(call.name, options)
    )
    if (Either.isLeft(found)) return { _tag: "Refused", ref, tool: call.name, failure: found.left }
    const { correction, tool } = found.right
    return denyingFaults(ref, tool, () =>
      Either.match(prepare(call, tool, options), {
        onLeft: (failure): Resolved => ({ _tag: "Refused", ref, tool: tool.definition.name, failure }),
        onRight: (ready) => {
          const failure = options.givenUp?.(ref, tool.definition.name)
          return failure === undefined
            ? { _tag: "Ready", ref, tool, repairs: [...call.repairs, ...correction], ...ready }
            : { _tag: "Refused", ref, tool: tool.definition.name, failure }
        }
      }))
  })
}

const prepare = (
  call: ToolCall,
  tool: Tool,
  options: Parameters<typeof resolve>[0]
): Either.Either<Pick<Ready, "arguments" | "prepared">, ToolFailure.ToolFailure> =>
  Either.gen(function*() {
    const name = tool.definition.name
    const args = call.arguments
    if (args === null) {
      return yield* Either.left(
        ToolFailure.validation(name, [{
          path: "",
          expected: "one JSON object",
          received: call.malformed ?? "something else",
          fix: "Send the call again with its arguments as one JSON object."
        }], shape(tool))
      )
    }
    const prepared = yield* Either.mapLeft(
      tool.prepare(args),
      (findings) => ToolFailure.validation(name, findings, shape(tool))
    )
    yield* check(tool.safety !== "read-only" && options.containsMarker(call.raw) ? withMarker(tool) : undefined)
    yield* check(ApprovalPolicy.refusal(options.policy, tool, prepared))
    return { arguments: args, prepared }
  })

/** What a tool or a policy throws while it is asked about a call is a denial of that call. */
const denyingFaults = <Call>(ref: CallRef, tool: Tool, look: () => Call): Call | Refused => {
  try {
    return look()
  } catch (fault) {
    return { _tag: "Refused", ref, tool: tool.definition.name, failure: unjudged, fault }
  }
}

const unjudged = ToolFailure.permission({
  kind: "denied",
  message: "Whether this call may run could not be found out, so it did not.",
  suggestedFix: "Do not send it again. Do the step in another way, or tell the user."
})

const check = (failure: ToolFailure.ToolFailure | undefined): Either.Either<void, ToolFailure.ToolFailure> =>
  failure === undefined ? Either.void : Either.left(failure)

const outOfBounds = (
  call: ToolCall,
  index: number,
  { calls, circumstances, limits, policy }: Parameters<typeof resolve>[0]
): ToolFailure.ToolFailure | undefined => {
  if (circumstances.disabled || !policy.enabled) {
    return { _tag: "Disabled", message: "Tool execution disabled by policy", suggestedFix: null, details: {} }
  }
  if (index >= limits.maxToolCallsPerBatch) {
    return ToolFailure.limit(
      "max_tool_calls_per_batch",
      limits.maxToolCallsPerBatch,
      `Only the first ${limits.maxToolCallsPerBatch} calls of one response run; this was number ${index + 1}.`,
      "Send it again in the next response."
    )
  }
  if (OutputLimit.byteLength(call.raw) > limits.maxToolArgsBytes) {
    return ToolFailure.limit(
      "max_tool_args_bytes",
      limits.maxToolArgsBytes,
      `The arguments are larger than ${limits.maxToolArgsBytes} bytes.`,
      "Split the work into smaller calls."
    )
  }
  if (circumstances.outOfIterations) {
    return ToolFailure.limit(
      "max_tool_iterations_per_user_turn",
      limits.maxToolIterationsPerUserTurn,
      "Max tool iterations reached"
    )
  }
  return circumstances.lastCutOff && index === calls.length - 1 ? ToolFailure.cutOff : undefined
}

const duplicate = (first: number | undefined): ToolFailure.ToolFailure | undefined =>
  first === undefined ? undefined : {
    _tag: "DuplicateCall",
    message: `This is the same call as number ${first + 1} of this response, which was answered once.`,
    suggestedFix: "Use the other result.",
    details: { first }
  }

/** A name that is no tool's, as far as it is told again. */
const toldName = 128

const findTool = (
  name: string,
  { policy, tools }: Parameters<typeof resolve>[0]
): Either.Either<{ readonly tool: Tool; readonly correction: ReadonlyArray<Repair> }, ToolFailure.ToolFailure> => {
  const resolved = Option.getOrUndefined(ToolName.resolve(tools.names, name))
  const tool = resolved === undefined ? undefined : tools.byName.get(resolved.name)
  if (resolved === undefined || tool === undefined) {
    const closest = ToolName.closest(tools.names, name, {
      among: (other) => mayBeNamed(policy, tools.byName.get(other))
    })
    const told = name.length > toldName ? `${name.slice(0, toldName)}…` : name
    return Either.left({
      _tag: "UnknownTool",
      message: `There is no tool called "${told}".`,
      suggestedFix: closest.length === 0 ? "Answer without a tool." : `Did you mean ${closest.join(", ")}?`,
      details: { name: told, closest }
    })
  }
  return Either.right({
    tool,
    correction: resolved.correction === undefined
      ? []
      : [{ kind: "name-corrected", detail: `"${name}" was taken for "${resolved.name}" (${resolved.correction})` }]
  })
}

const mayBeNamed = (policy: ApprovalPolicy.ApprovalPolicy, tool: Tool | undefined): boolean =>
  tool !== undefined && ApprovalPolicy.mayBeNamed(policy, tool)

const withMarker = (tool: Tool): ToolFailure.ToolFailure =>
  ToolFailure.validation(tool.definition.name, [{
    path: "",
    expected: "text without the marks that stand for secrets",
    received: "a [redacted] mark",
    fix: "Leave the lines with secrets as they are, and change only others."
  }], null)

const shape = (tool: Tool): string => `${tool.definition.name} expects: ${JSON.stringify(tool.definition.parameters)}`

/**
 * Adds the facts: lists over where paths lead, paths that may not be used, what is left of quota and rate limits (each call
 * that may start uses of it, in call order) refuse a call; then the policy says whether it runs or is asked about. `always`
 * are the entries that a person approved, `used` is what the session has used at the time `now`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const decide = (options: {
  readonly resolved: ReadonlyArray<Resolved>
  readonly facts: ReadonlyMap<number, Facts>
  readonly policy: ApprovalPolicy.ApprovalPolicy
  readonly always: ReadonlyArray<string>
  readonly limits: LimitValues
  readonly used: RateLimit.Used
  readonly now: number
}): ReadonlyArray<PlannedCall> => {
  let used = options.used
  return options.resolved.map((call): PlannedCall => {
    if (call._tag === "Refused") return call
    const planned = denyingFaults(call.ref, call.tool, () => decideOne(call, options))
    if (planned._tag === "Refused") return planned
    return Either.match(RateLimit.take(used, { safety: call.tool.safety, writes: call.prepared.writes }, options), {
      onLeft: (failure): PlannedCall => ({ _tag: "Refused", ref: call.ref, tool: call.tool.definition.name, failure }),
      onRight: (next) => {
        used = next
        return planned
      }
    })
  })
}

const decideOne = (call: Ready, { always, facts: gathered, policy }: Parameters<typeof decide>[0]): PlannedCall => {
  const { prepared, ref, tool } = call
  const facts = gathered.get(ref.position)
  const paths = facts === undefined ? [] : ledBy(prepared, facts)
  const failure = facts === undefined
    ? unjudged
    : ApprovalPolicy.refusalOfPaths(policy, tool, prepared, paths) ?? pathFailure(facts.paths)
  if (facts === undefined || failure !== undefined) {
    return { _tag: "Refused", ref, tool: tool.definition.name, failure: failure ?? unjudged }
  }
  const verdict = ApprovalPolicy.classify({
    policy,
    always,
    tool,
    call: prepared,
    paths,
    assessment: facts.assessment
  })
  return verdict._tag === "Run"
    ? { _tag: "Run", ref, ready: call, facts }
    : { _tag: "Ask", ref, ready: call, facts, mustAsk: verdict.mustAsk }
}

const ledBy = (prepared: PreparedCall, facts: Facts): ReadonlyArray<ApprovalPolicy.Led> =>
  facts.paths.flatMap((path, i) =>
    path._tag === "Refused" ? [] : [{
      written: path.path,
      access: prepared.paths[i]?.access ?? "write",
      display: path.display,
      canonical: path.canonical
    }]
  )

/**
 * The failure for the first path that may not be used.
 *
 * @since 0.1.0
 * @category combinators
 */
export const pathFailure = (paths: ReadonlyArray<PathDecision>): ToolFailure.ToolFailure | undefined => {
  const refused = paths.find((path) => path._tag === "Refused")
  if (refused === undefined || refused._tag !== "Refused") return undefined
  return ToolFailure.permission({
    kind: refused.reason === "denied"
      ? "denied-pattern"
      : refused.reason === "read-only"
      ? "read-only"
      : "outside-sandbox",
    message: refused.message,
    attempted: refused.path,
    resolved: refused.resolved,
    pattern: refused.pattern
  })
}

/**
 * The calls that run, in stages: read-only calls that stand next to each other together, every other call alone, in call
 * order.
 *
 * @since 0.1.0
 * @category combinators
 */
export const stages = <Call extends { readonly ready: { readonly tool: Pick<Tool, "safety"> } }>(
  calls: ReadonlyArray<Call>
): ReadonlyArray<ReadonlyArray<Call>> =>
  calls.reduce<ReadonlyArray<ReadonlyArray<Call>>>((done, call) => {
    const last = done.at(-1)
    return last !== undefined && [...last, call].every(({ ready }) => ready.tool.safety === "read-only")
      ? [...done.slice(0, -1), [...last, call]]
      : [...done, [call]]
  }, [])
