/**
 * What a model is advised to do about a failure, by kind and by how often it has come: one table, and the count behind it.
 *
 * @since 0.1.0
 */
import type { Outcome } from "./Outcome.js"
import type { ToolCall } from "./ToolCall.js"
import * as ToolFailure from "./ToolFailure.js"

/**
 * What a model is advised to do next: the same call again, the call put differently, ask the user, or give up.
 *
 * @since 0.1.0
 * @category models
 */
export type Strategy = "same" | "rephrase" | "escalate" | "abort"

/**
 * What belongs to a kind of failure: its code, whether the model can do something about it, and how.
 *
 * @since 0.1.0
 * @category models
 */
export interface Rule {
  readonly code: string
  readonly recoverable: boolean
  readonly strategy: Strategy
}

/**
 * The rules by kind of failure.
 *
 * @since 0.1.0
 * @category models
 */
export const rules: { readonly [Tag in ToolFailure.ToolFailure["_tag"]]: Rule } = {
  Validation: { code: "validation", recoverable: true, strategy: "rephrase" },
  UnknownTool: { code: "unknown_tool", recoverable: true, strategy: "rephrase" },
  DuplicateCall: { code: "duplicate_call", recoverable: true, strategy: "rephrase" },
  CutOff: { code: "cut_off", recoverable: true, strategy: "rephrase" },
  Limit: { code: "limit", recoverable: true, strategy: "rephrase" },
  StaleFile: { code: "stale_file", recoverable: true, strategy: "rephrase" },
  PatchFailed: { code: "patch_failed", recoverable: true, strategy: "rephrase" },
  NotFound: { code: "not_found", recoverable: true, strategy: "rephrase" },
  Timeout: { code: "timeout", recoverable: true, strategy: "rephrase" },
  Execution: { code: "execution", recoverable: true, strategy: "rephrase" },
  RateLimit: { code: "rate_limit", recoverable: true, strategy: "same" },
  Network: { code: "network", recoverable: true, strategy: "same" },
  ModelRefusal: { code: "model_refusal", recoverable: false, strategy: "escalate" },
  Unknown: { code: "unknown_outcome", recoverable: false, strategy: "escalate" },
  Permission: { code: "permission", recoverable: false, strategy: "abort" },
  Disabled: { code: "disabled", recoverable: false, strategy: "abort" },
  Cancelled: { code: "cancelled", recoverable: false, strategy: "abort" },
  Repeated: { code: "repeated", recoverable: false, strategy: "abort" }
}

/**
 * What is said at the first, the second and the third failure of the same kind; null: the failure's own words are enough.
 * The fourth of the same call does not run.
 *
 * @since 0.1.0
 * @category models
 */
export const escalation: { readonly [S in Strategy]: readonly [string | null, string, string] } = {
  rephrase: [
    null,
    "The same failure a second time. Do not send the same arguments again: read the message above, look at what is true now, and change exactly what it names.",
    "The same failure a third time. Give it up: do not send this call again. Do it in another way, or tell the user what did not work."
  ],
  same: [
    "Wait a little, then send the same call again.",
    "The same failure a second time. Wait longer, then send the same call once more.",
    "The same failure a third time. Do not send it again. Tell the user about it, and ask how to go on."
  ],
  escalate: [
    "Tell the user about it, and ask how to go on. Do not send it again on your own.",
    "Do not send it again. Tell the user about it, and ask how to go on.",
    "Do not send it again. Tell the user about it, and ask how to go on."
  ],
  abort: [
    "Do not send this call again.",
    "You were told before: do not send this call again. It will not be allowed.",
    "Stop sending this call. Go on without it, or tell the user what you could not do."
  ]
}

/** After so many failures in a row the same call does not run any more. */
const attemptsThatRun = 3

/** Of a chain so many calls are remembered. */
const rememberedCalls = 8

/**
 * Failures of one tool in a row that are the same: the same kind and, unless time alone may mend it, the same message.
 *
 * @since 0.1.0
 * @category models
 */
export interface Chain {
  readonly failure: string
  readonly count: number
  readonly calls: ReadonlyArray<string>
  /** What the model read. */
  readonly text: string
}

/**
 * The chains of a turn, by tool.
 *
 * @since 0.1.0
 * @category models
 */
export type Attempts = ReadonlyMap<string, Chain>

/**
 * No failures.
 *
 * @since 0.1.0
 * @category constructors
 */
export const none: Attempts = new Map()

/**
 * A call that has ended. `changes`: it is not read-only.
 *
 * @since 0.1.0
 * @category models
 */
export interface Attempt {
  readonly tool: string
  readonly call: ToolCall
  readonly outcome: Outcome
  readonly changes: boolean
}

/**
 * The chains after one more call. A success ends the chain of its tool; one that may have changed what was wrong ends all.
 *
 * @since 0.1.0
 * @category combinators
 */
export const after = (attempts: Attempts, { call, changes, outcome, tool }: Attempt): Attempts => {
  if (outcome._tag === "Succeeded") {
    if (attempts.size === 0 || changes) return none
    return attempts.has(tool) ? new Map([...attempts].filter(([name]) => name !== tool)) : attempts
  }
  const { failure } = outcome
  if (!counts(failure)) return attempts
  const before = same(attempts.get(tool), failure)
  return new Map(attempts).set(tool, {
    failure: identityOf(failure),
    count: (before?.count ?? 0) + 1,
    calls: [...before?.calls ?? [], argumentsOf(call)].slice(-rememberedCalls),
    text: ToolFailure.toText(failure)
  })
}

const counts = ({ _tag }: ToolFailure.ToolFailure): boolean => _tag !== "Repeated" && _tag !== "Cancelled"

const same = (chain: Chain | undefined, failure: ToolFailure.ToolFailure): Chain | undefined =>
  chain?.failure === identityOf(failure) ? chain : undefined

const identityOf = (failure: ToolFailure.ToolFailure): string => {
  const { code, strategy } = rules[failure._tag]
  return strategy === "same" ? code : `${code} ${failure.message}`
}

const argumentsOf = (call: ToolCall): string => call.arguments === null ? call.raw : JSON.stringify(call.arguments)

/**
 * What is added to a failure for the model, given the chains before it; null: nothing. A message that is a JSON object stays
 * alone the first time.
 *
 * @since 0.1.0
 * @category combinators
 */
export const noteOf = (attempts: Attempts, tool: string, failure: ToolFailure.ToolFailure): string | null => {
  if (!counts(failure)) return null
  const [first, second, third] = escalation[rules[failure._tag].strategy]
  const before = same(attempts.get(tool), failure)?.count ?? 0
  if (before === 0) return failure.suggestedFix === null && !ToolFailure.isJsonObject(failure.message) ? first : null
  return before === 1 ? second : third
}

/**
 * The failure of a call that failed too often in the same way to run again; undefined: it may run.
 *
 * @since 0.1.0
 * @category combinators
 */
export const givenUp = (
  attempts: Attempts,
  tool: string,
  call: ToolCall
): ToolFailure.ToolFailure | undefined => {
  const chain = attempts.get(tool)
  return chain === undefined || chain.count < attemptsThatRun || !chain.calls.includes(argumentsOf(call))
    ? undefined
    : {
      _tag: "Repeated",
      message: `This call has failed ${chain.count} times in the same way in this turn, so it was not run again.`,
      suggestedFix: "Give it up. Do the step in another way, or tell the user what did not work.",
      details: { attempts: chain.count, original: chain.text }
    }
}
