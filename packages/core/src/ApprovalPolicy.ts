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
import type { Access } from "./Workspace.js"

/**
 * The rules. `enabled` false: no tool runs at all. A list entry is a tool name, a glob over names (`git_*`) or a tool with a pattern for its arguments
 * (`run_command(npm test)`, `write_file(docs/**)`; `[*]` and `[?]` stand for the characters themselves in paths). `denylist` always wins; mode `deny` runs only what `allowlist` names;
 * mode `prompt` asks about side effects (while `promptSideEffects`) unless `allowlist` covers them; mode `auto` runs file
 * edits unasked. Commands ask in every mode unless a list covers them, and a call that must always ask does so even then. `trust` is the level of the run.
 *
 * @since 0.1.0
 * @category models
 */
export interface ApprovalPolicy {
  readonly enabled: boolean
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
  enabled: true,
  mode: "prompt",
  allowlist: [],
  denylist: ["run_command", "shell_session"],
  promptSideEffects: true,
  trust: "workspace"
}

interface Entry {
  readonly tool: string
  readonly pattern: string | undefined
  readonly broken: boolean
}

/** The parts of `tool(pattern)`; without a pattern, all arguments are meant. Broken: the pattern has no end. */
const parse = (entry: string): Entry => {
  const open = entry.indexOf("(")
  if (open === -1) return { tool: entry, pattern: undefined, broken: false }
  return entry.endsWith(")")
    ? { tool: entry.slice(0, open), pattern: entry.slice(open + 1, -1), broken: false }
    : { tool: entry.slice(0, open), pattern: undefined, broken: true }
}

/** A deny entry whose pattern cannot be read denies the tool. */
const denies = (entry: string, names: ReadonlyArray<string>, concerned: (pattern: string) => boolean): boolean => {
  const { pattern, tool } = parse(entry)
  return names.some((name) => Glob.matches(tool, name)) && (pattern === undefined || concerned(pattern))
}

const namesOf = ({ aliases, definition }: Tool): ReadonlyArray<string> => [definition.name, ...aliases]

/** An allow entry whose pattern cannot be read allows nothing. */
const allowEntries = (entries: ReadonlyArray<string>, tool: string): ReadonlyArray<Entry> =>
  entries.map(parse).filter((entry) => !entry.broken && Glob.matches(entry.tool, tool))

/**
 * A path of a call as it was written, and where it leads.
 *
 * @since 0.1.0
 * @category models
 */
export interface Led {
  readonly written: string
  readonly access: Access
  /** Relative to the working directory where it lies below it. */
  readonly display: string
  readonly canonical: string
}

const reaches = (pattern: string, { canonical, display }: Led): boolean =>
  Glob.matches(pattern, display) || Glob.matches(pattern, canonical)

/** A link can lead what is written to somewhere else: a pattern then has to cover that place, too. */
const ledAstray = (paths: ReadonlyArray<Led>): ReadonlyArray<Led> =>
  paths.filter(({ access, canonical, display, written }) => {
    const plain = Glob.plain(written)
    return access !== "read" && access !== "list" && plain !== display && plain !== canonical
  })

/**
 * Whether allow entries, one alone or several together, cover all that a call does. `paths`: where those that it writes lead,
 * as far as that is known.
 *
 * @since 0.1.0
 * @category combinators
 */
export const covers = (
  entries: ReadonlyArray<string>,
  tool: string,
  call: PreparedCall,
  paths: ReadonlyArray<Led> = []
): boolean => {
  const concerned = allowEntries(entries, tool)
  const patterns = concerned.flatMap(({ pattern }) => pattern ?? [])
  return concerned.some(({ pattern }) => pattern === undefined) ||
    (call.allowedBy(...patterns) &&
      ledAstray(paths).every((path) => patterns.some((pattern) => reaches(pattern, path))))
}

/**
 * Whether a model may be told of a tool that it did not name: no list, and not the trust level, keeps it from all calls.
 *
 * @since 0.1.0
 * @category combinators
 */
export const mayBeNamed = (policy: ApprovalPolicy, tool: Tool): boolean =>
  policy.enabled && Trust.covers(policy.trust, tool.trust) &&
  !policy.denylist.some((entry) => denies(entry, namesOf(tool), () => false)) &&
  (policy.mode !== "deny" || allowEntries(policy.allowlist, tool.definition.name).length > 0)

/**
 * The narrowest entry that allows exactly such a call; undefined: none does, or it would stand for more than one call could
 * show.
 *
 * @since 0.1.0
 * @category combinators
 */
export const narrowestEntry = (
  tool: Tool,
  call: PreparedCall,
  args: Readonly<Record<string, unknown>>
): string | undefined => {
  const name = tool.definition.name
  const texts = Object.values(args).flatMap((value) => typeof value === "string" ? [value] : [])
  const exact = [
    ...texts.filter((text) => text !== "" && !/[*?]/.test(text)),
    ...call.paths.flatMap(({ path }) => Glob.exactly(path) ?? [])
  ].filter((pattern) => !/[\n\r]/.test(pattern))
    .map((pattern) => `${name}(${pattern})`)
    .find((entry) => covers([entry], name, call))
  return exact ?? (tool.safety === "privileged" ? undefined : name)
}

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
  const denied = policy.denylist.find((entry) => denies(entry, namesOf(tool), call.deniedBy))
  if (denied !== undefined) return onDenylist(name, denied)
  if (!Trust.covers(policy.trust, tool.trust)) {
    return ToolFailure.permission({
      kind: "trust",
      message: `${name} needs the trust level "${tool.trust}"; this run has "${policy.trust}".`,
      suggestedFix: "Do without it, or tell the user what you would have done."
    })
  }
  return policy.mode === "deny" && !covers(policy.allowlist, name, call) ? notAllowed(name) : undefined
}

/**
 * Refuses a call whose paths lead to where the denylist says, however they were written, or in mode `deny` to where the
 * allowlist does not.
 *
 * @since 0.1.0
 * @category combinators
 */
export const refusalOfPaths = (
  policy: ApprovalPolicy,
  tool: Tool,
  call: PreparedCall,
  paths: ReadonlyArray<Led>
): ToolFailure.ToolFailure | undefined => {
  const name = tool.definition.name
  const denied = policy.denylist.find((entry) =>
    denies(entry, namesOf(tool), (pattern) => paths.some((path) => reaches(pattern, path)))
  )
  if (denied !== undefined) return onDenylist(name, denied)
  return policy.mode === "deny" && !covers(policy.allowlist, name, call, paths) ? notAllowed(name) : undefined
}

const notAllowed = (tool: string): ToolFailure.ToolFailure =>
  ToolFailure.permission({
    kind: "not-allowed",
    message: `${tool} is not on the allowlist, and nothing else may run.`,
    suggestedFix: "Do without it, or tell the user what you would have done."
  })

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
  readonly paths: ReadonlyArray<Led>
  readonly assessment: Assessment
}): Verdict => {
  const { always, assessment, call, paths, policy, tool } = options
  if (assessment.approval === "always") return { _tag: "Ask", mustAsk: true }
  if (assessment.approval === "never") return { _tag: "Run" }
  const name = tool.definition.name
  if (covers([...policy.allowlist, ...always], name, call, paths)) return { _tag: "Run" }
  const asks = assessment.approval === "unless-allowed" || (policy.mode === "prompt" && policy.promptSideEffects)
  return asks ? { _tag: "Ask", mustAsk: false } : { _tag: "Run" }
}
