/**
 * The flags that commands which run a model have in common.
 *
 * @since 0.1.0
 */
import { Trust } from "@capstan/core/Trust"
import type * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"

const text = (name: string, value: string, description: string) =>
  Options.text(name).pipe(
    Options.withPseudoName(value),
    Options.withDescription(description),
    Options.optional
  )

const list = (name: string, value: string, description: string) =>
  Options.text(name).pipe(
    Options.withPseudoName(value),
    Options.withDescription(description),
    Options.repeated
  )

const toggle = (name: string, description: string) => Options.boolean(name).pipe(Options.withDescription(description))

/**
 * The folder that a command works in.
 *
 * @since 0.1.0
 * @category models
 */
export const cwd = text("cwd", "folder", "Work in this folder instead of the current one.")

/**
 * Shows where a failure comes from.
 *
 * @since 0.1.0
 * @category models
 */
export const verbose = toggle("verbose", "Show more: thinking, repairs, and the whole cause of an error.")

/**
 * How a model is chosen.
 *
 * @since 0.1.0
 * @category models
 */
export const model = {
  model: text(
    "model",
    "provider/id",
    "The model, for instance anthropic/claude-sonnet-4-5, openai/gpt-5.1, compatible/qwen3:32b, scripted/replies.json."
  ),
  provider: Options.choice("provider", ["anthropic", "openai", "compatible", "scripted"]).pipe(
    Options.withDescription("The provider, where --model does not say it."),
    Options.optional
  ),
  baseUrl: text("base-url", "url", "The address of a compatible server, for instance http://127.0.0.1:11434/v1."),
  apiKeyEnv: text(
    "api-key-env",
    "name",
    "The environment variable with the key for --base-url (default CAPSTAN_API_KEY)."
  )
}

const seconds = (name: string, description: string) =>
  Options.integer(name).pipe(
    Options.withPseudoName("seconds"),
    Options.withDescription(description),
    Options.optional
  )

/** Who is asked, and for how long. */
const asking = {
  ask: Options.choice("ask", ["terminal", "queue", "nobody"]).pipe(
    Options.withDescription(
      "Who answers what must be asked: you, here (default in a terminal); another process (capstan approvals); nobody, so that it is denied (default elsewhere)."
    ),
    Options.optional
  ),
  wait: seconds(
    "wait",
    "With --ask queue: how long to wait for answers before the run ends with exit code 3 (default 0)."
  ),
  approvalTimeout: seconds("approval-timeout", "Deny what nobody has answered after so many seconds.")
}

/** What one message may spend. */
const budgets = {
  budgetTokens: Options.integer("budget-tokens").pipe(
    Options.withDescription("The most tokens, in and out, that one message may use."),
    Options.optional
  ),
  budgetCost: Options.float("budget-cost").pipe(
    Options.withPseudoName("dollars"),
    Options.withDescription("The most that one message may cost, in US dollars; the model's prices must be known."),
    Options.optional
  ),
  budgetCalls: Options.integer("budget-calls").pipe(
    Options.withDescription("The most calls that one message may start."),
    Options.optional
  ),
  budgetTime: seconds(
    "budget-time",
    "The longest that one message may be at work, without the time that it waits for you."
  )
}

/**
 * The flags of `run` and `chat`.
 *
 * @since 0.1.0
 * @category models
 */
export const session = {
  ...model,
  tools: text("tools", "a,b", "Offer only these tools (names or globs, separated by commas)."),
  noTools: toggle("no-tools", "Offer no tools."),
  trust: Options.choice("trust", Trust.literals).pipe(
    Options.withDescription("How much the run may do (default shell)."),
    Options.optional
  ),
  approve: Options.choice("approve", ["auto", "prompt", "deny"]).pipe(
    Options.withDescription("auto runs file edits unasked, prompt asks (default), deny runs only what --allow names."),
    Options.optional
  ),
  allow: list("allow", "pattern", "Run these calls unasked: a tool, a glob, or run_command(npm test). Repeatable."),
  deny: list("deny", "pattern", "Never run these calls; patterns as in --allow. Repeatable."),
  yes: toggle(
    "yes",
    "Approve what would be asked, except what must be asked every time (deletions, dangerous commands)."
  ),
  ...asking,
  dryRun: toggle("dry-run", "Show what would run and what would be asked; run nothing."),
  mode: Options.choice("mode", ["disabled", "parse_only", "enabled"]).pipe(
    Options.withDescription("What happens with tool calls: answered with an error, handed to you, run (default)."),
    Options.optional
  ),
  maxIterations: Options.integer("max-iterations").pipe(
    Options.withDescription("How many answers with tool calls one message may lead to (default 50)."),
    Options.optional
  ),
  ...budgets,
  limits: Options.choice("limits", ["strict", "agent"]).pipe(
    Options.withDescription("The set of limits (default agent)."),
    Options.optional
  ),
  cwd,
  addDir: list("add-dir", "path[:ro]", "Let tools see this folder too, with :ro only for reading. Repeatable."),
  resume: text("resume", "id", "Go on in this session (an id, a prefix of one, or last)."),
  stream: toggle("stream", "Show the answer as it is written (default in a terminal)."),
  noStream: toggle("no-stream", "Show the answer when it is complete (default otherwise)."),
  quiet: toggle("quiet", "Print the answer only, and ask nothing."),
  verbose
}

/**
 * What the flags of `run` and `chat` were read to.
 *
 * @since 0.1.0
 * @category models
 */
export type SessionFlags = Command.Command.ParseConfig<typeof session>

/**
 * What the flags that choose a model were read to.
 *
 * @since 0.1.0
 * @category models
 */
export type ModelFlags = Command.Command.ParseConfig<typeof model>
