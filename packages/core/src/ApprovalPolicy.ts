/**
 * The rules that decide whether a call runs, is asked about or is refused. Pure.
 *
 * @since 0.1.0
 */
import type { Assessment } from "./Assessment.js"
import * as Glob from "./Glob.js"
import type { PreparedCall, Tool } from "./Tool.js"
import * as ToolFailure from "./ToolFailure.js"
import * as Trust from "./Trust.js"

/**
 * The rules. A list entry is a tool name, a glob over names (`git_*`) or a tool with a pattern for its arguments
 * (`run_command(npm test)`, `write_file(docs/**)`). `denylist` always wins; mode `deny` runs only what `allowlist` names;
 * mode `prompt` asks about side effects (while `promptSideEffects`) unless `allowlist` covers them; mode `auto` runs file
 * edits unasked. Commands ask in every mode unless a list covers them, and a call that must always ask does so even then. `trust` is the level of the run.
 *
 * @since 0.1.0
 * @category models
 */
export interface ApprovalPolicy {
  readonly mode: "auto" | "prompt" | "deny"
  readonly allowlist: ReadonlyArray<string>
  readonly denylist: ReadonlyArray<string>
  readonly promptSideEffects: boolean
  readonly trust: Trust.Trust
}

/**
 * What happens with a call that has passed every check: it runs, somebody is asked, or it is refused.
 *
 * @since 0.1.0
 * @category models
 */
export type Verdict =
  | { readonly _tag: "Run" }
  | { readonly _tag: "Ask"; readonly mustAsk: boolean }

/**
 * The library's defaults: side effects ask, commands are refused, trust ends at the workspace.
 *
 * @since 0.1.0
 * @category constructors
 */
export const safe: ApprovalPolicy = {
  mode: "prompt",
  allowlist: [],
  denylist: ["run_command", "shell_session"],
  promptSideEffects: true,
  trust: "workspace"
}

/** The parts of `tool(pattern)`; without a pattern, all arguments are meant. */
const parse = (entry: string): { readonly tool: string; readonly pattern: string | undefined } => {
  const open = entry.indexOf("(")
  return open === -1 || !entry.endsWith(")")
    ? { tool: entry, pattern: undefined }
    : { tool: entry.slice(0, open), pattern: entry.slice(open + 1, -1) }
}

const entryMatches = (entry: string, tool: string, matchesArguments: (pattern: string) => boolean): boolean => {
  const { pattern, tool: names } = parse(entry)
  return Glob.matches(names, tool) && (pattern === undefined || matchesArguments(pattern))
}

/**
 * Whether allow entries, one alone or several together, cover all that a call does.
 *
 * @since 0.1.0
 * @category combinators
 */
export const covers = (entries: ReadonlyArray<string>, tool: string, call: PreparedCall): boolean => {
  const concerned = entries.map(parse).filter((entry) => Glob.matches(entry.tool, tool))
  return concerned.some(({ pattern }) => pattern === undefined) ||
    call.allowedBy(...concerned.flatMap(({ pattern }) => pattern ?? []))
}

/**
 * Whether a deny entry concerns anything that a call does.
 *
 * @since 0.1.0
 * @category combinators
 */
export const concerns = (entry: string, tool: string, call: PreparedCall): boolean =>
  entryMatches(entry, tool, call.deniedBy)

/**
 * Refuses what the denylist names, what is above the trust level, and in mode `deny` what the allowlist does not name;
 * undefined: nothing of these.
 *
 * @since 0.1.0
 * @category combinators
 */
export const refusal = (
  policy: ApprovalPolicy,
  tool: Tool,
  call: PreparedCall
): ToolFailure.ToolFailure | undefined => {
  const name = tool.definition.name
  const denied = policy.denylist.find((entry) => concerns(entry, name, call))
  if (denied !== undefined) return onDenylist(name, denied)
  if (!Trust.covers(policy.trust, tool.trust)) {
    return ToolFailure.permission({
      kind: "trust",
      message: `${name} needs the trust level "${tool.trust}"; this run has "${policy.trust}".`,
      suggestedFix: "Do without it, or tell the user what you would have done."
    })
  }
  if (policy.mode === "deny" && !covers(policy.allowlist, name, call)) {
    return ToolFailure.permission({
      kind: "not-allowed",
      message: `${name} is not on the allowlist, and nothing else may run.`,
      suggestedFix: "Do without it, or tell the user what you would have done."
    })
  }
  return undefined
}

/**
 * Refuses a call whose paths lead to where the denylist says, however they were written; `paths` are relative to the
 * working directory where they lie below it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const refusalOfPaths = (
  policy: ApprovalPolicy,
  tool: string,
  paths: ReadonlyArray<string>
): ToolFailure.ToolFailure | undefined => {
  const denied = policy.denylist.find((entry) =>
    entry.endsWith(")") && entryMatches(entry, tool, (pattern) => paths.some((path) => Glob.matches(pattern, path)))
  )
  return denied === undefined ? undefined : onDenylist(tool, denied)
}

const onDenylist = (tool: string, entry: string): ToolFailure.ToolFailure =>
  ToolFailure.permission({
    kind: "denylist",
    message: `${tool} is denied by the entry "${entry}" of the denylist.`,
    suggestedFix: "Do without it, or tell the user what you would have done.",
    pattern: entry
  })

/**
 * Whether a call that was not refused runs or is asked about. `always` are the entries that a person approved for good.
 *
 * @since 0.1.0
 * @category combinators
 */
export const classify = (options: {
  readonly policy: ApprovalPolicy
  readonly always: ReadonlyArray<string>
  readonly tool: Tool
  readonly call: PreparedCall
  readonly assessment: Assessment
}): Verdict => {
  const { always, assessment, call, policy, tool } = options
  if (assessment.approval === "always") return { _tag: "Ask", mustAsk: true }
  if (assessment.approval === "never") return { _tag: "Run" }
  const name = tool.definition.name
  if (covers([...policy.allowlist, ...always], name, call)) return { _tag: "Run" }
  const asks = assessment.approval === "unless-allowed" || (policy.mode === "prompt" && policy.promptSideEffects)
  return asks ? { _tag: "Ask", mustAsk: false } : { _tag: "Run" }
}
