/**
 * The environment that commands get: the inherited one without credentials and without variables that make programs run
 * or load something else. Pure.
 *
 * @since 0.1.0
 */

/**
 * Names of variables that carry credentials. `*` stands for any characters; letter case does not matter.
 *
 * @since 0.1.0
 * @category models
 */
export const credentials: ReadonlyArray<string> = [
  "*_KEY",
  "*_TOKEN",
  "*_SECRET",
  "*_PASSWORD",
  "*_CREDENTIAL*",
  "AWS_*",
  "ANTHROPIC_*",
  "OPENAI_*",
  "GEMINI_*",
  "GOOGLE_*",
  "AZURE_*",
  "GH_*",
  "GITHUB_*",
  "NPM_*"
]

/**
 * Names of variables that make a shell, a loader, an interpreter or git run code of somebody else's choice, pagers
 * included. Patterns as in {@link credentials}.
 *
 * @since 0.1.0
 * @category models
 */
export const injection: ReadonlyArray<string> = [
  "LD_PRELOAD",
  "LD_LIBRARY_PATH",
  "LD_AUDIT",
  "DYLD_*",
  "BASH_ENV",
  "BASH_FUNC_*",
  "BASHOPTS",
  "SHELLOPTS",
  "ENV",
  "PROMPT_COMMAND",
  "NODE_OPTIONS",
  "PYTHONPATH",
  "PYTHONSTARTUP",
  "RUBYOPT",
  "PERL5OPT",
  "GIT_SSH_COMMAND",
  "GIT_EXEC_PATH",
  "GIT_CONFIG*",
  "PAGER",
  "*_PAGER",
  "MANPAGER",
  "LESSOPEN",
  "LESSCLOSE"
]

const toRegExp = (pattern: string): RegExp =>
  new RegExp(`^${pattern.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&")).join(".*")}$`, "is")

const builtIn = [...credentials, ...injection].map(toRegExp)

/**
 * Tells whether a variable is kept from commands: by the lists of this module or by one of `deny` (patterns with `*`,
 * letter case does not matter).
 *
 * @since 0.1.0
 * @category predicates
 */
export const isDenied = (name: string, deny: ReadonlyArray<string> = []): boolean =>
  builtIn.some((pattern) => pattern.test(name)) || deny.some((pattern) => toRegExp(pattern).test(name))

/**
 * The environment for a command: what is inherited minus what is denied, then `set` on top, unfiltered because the caller
 * wrote it down. `deny` adds patterns to the built-in lists.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: {
  readonly inherited: Readonly<Record<string, string | undefined>>
  readonly deny?: ReadonlyArray<string> | undefined
  readonly set?: Readonly<Record<string, string>> | undefined
}): Record<string, string> => {
  const kept = Object.entries(options.inherited).flatMap(([name, value]) =>
    value === undefined || isDenied(name, options.deny) ? [] : [[name, value] as const]
  )
  return { ...Object.fromEntries(kept), ...options.set }
}
