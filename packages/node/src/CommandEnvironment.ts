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

/**
 * Names of further variables by which one command could change what a later one means or runs: how the shell reads a line,
 * where programs and their settings are looked for, and which programs other programs start. A shell session does not keep
 * them, nor those of {@link credentials} and {@link injection}. Patterns as in {@link credentials}.
 *
 * @since 0.1.0
 * @category models
 */
export const meaning: ReadonlyArray<string> = [
  // The shell itself: bash(1), "Shell Variables".
  "PATH",
  "IFS",
  "HOME",
  "SHELL",
  "CDPATH",
  "GLOBIGNORE",
  "EXECIGNORE",
  "POSIXLY_CORRECT",
  "TMOUT",
  "TIMEFORMAT",
  "PS0",
  "PS1",
  "PS2",
  "PS3",
  "PS4",
  "BASH*",
  "COMP_*",
  "HIST*",
  "FCEDIT",
  "INPUTRC",
  "LC_*",
  "LANG",
  "LANGUAGE",
  "LOCPATH",
  "NLSPATH",
  "CAPSTAN_*",
  // What the C library and loaders take from them: ld.so(8), "ENVIRONMENT".
  "LD_*",
  "GCONV_PATH",
  "GETCONF_DIR",
  "HOSTALIASES",
  "MALLOC_*",
  "NIS_PATH",
  "RES_OPTIONS",
  "RESOLV_*",
  "TMPDIR",
  "TMP",
  "TEMP",
  "TERMINFO*",
  "TERMCAP",
  "TZDIR",
  // Programs that programs start, and where they find their settings.
  "XDG_*",
  "EDITOR",
  "VISUAL",
  "*_EDITOR",
  "BROWSER",
  "LESS*",
  "*_ASKPASS",
  "*_RSH",
  "*_SHELL",
  "*_COMMAND",
  "*_OPTIONS",
  "*_OPTS",
  "*_CONFIG",
  "*_CONFIG_*",
  "*_WRAPPER",
  "*_HOOK",
  "*_PRELOAD",
  "*_PROXY",
  "GIT_*",
  "SSH_*",
  "GPG_*",
  "GNUPGHOME",
  "CURL_HOME",
  "WGETRC",
  "KUBECONFIG",
  "DOCKER_*",
  // Interpreters and compilers: where code comes from besides the program's own file.
  "PYTHON*",
  "PERL*",
  "RUBY*",
  "GEM_*",
  "BUNDLE_*",
  "NODE_PATH",
  "NODE_EXTRA_CA_CERTS",
  "NODE_REPL_*",
  "NPM_*",
  "YARN_*",
  "COREPACK_*",
  "DENO_*",
  "BUN_*",
  "LUA_*",
  "PHP*",
  "CLASSPATH",
  "JAVA_*",
  "_JAVA_*",
  "JDK_*",
  "GOFLAGS",
  "GOENV",
  "GOPROXY",
  "GOTOOLCHAIN",
  "GOROOT",
  "GOPATH",
  "CGO_*",
  "CARGO*",
  "RUSTC*",
  "RUSTFLAGS",
  "RUSTDOC*",
  "RUSTUP_*",
  "PIP_*",
  "UV_*",
  "VIRTUAL_ENV",
  "CONDA_*",
  "ZDOTDIR",
  "MAKE*",
  "GNUMAKEFLAGS",
  "MFLAGS",
  "CMAKE_*",
  "CC",
  "CXX",
  "CPP",
  "LD",
  "AR",
  "AS",
  "*FLAGS",
  "COMPILER_PATH",
  "GCC_*",
  "LIBRARY_PATH",
  "CPATH",
  "C_INCLUDE_PATH",
  "CPLUS_INCLUDE_PATH",
  "PKG_CONFIG*",
  "AWKPATH",
  "AWKLIBPATH",
  "RIPGREP_*",
  "GREP_*",
  "TAR_*",
  "GZIP",
  "UNZIP*",
  "ZIPOPT"
]

/** Variables that bash keeps for itself or cannot be changed: nobody set them. */
const shellsOwn =
  /^(?:BASH|BASHPID|BASH_(?:ALIASES|ARG[CV]|ARGV0|CMDS|COMMAND|EXECUTION_STRING|LINENO|LOADABLES_PATH|REMATCH|SOURCE|SUBSHELL|VERSINFO|VERSION)|COLUMNS|LINES|COPROC|DIRSTACK|EPOCHREALTIME|EPOCHSECONDS|EUID|UID|PPID|FUNCNAME|GROUPS|BASHOPTS|SHELLOPTS|HISTCMD|HOSTNAME|HOSTTYPE|MACHTYPE|OSTYPE|LINENO|OPTARG|OPTERR|OPTIND|PIPESTATUS|PWD|OLDPWD|RANDOM|SRANDOM|SECONDS|SHLVL|_)$/

const toRegExp = (pattern: string): RegExp =>
  new RegExp(`^${pattern.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&")).join(".*")}$`, "is")

const builtIn = [...credentials, ...injection].map(toRegExp)
const meaningful = meaning.map(toRegExp)

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
 * Tells whether a shell session does not hand a variable on, because it could change what a later command runs or is a
 * credential: by all lists of this module or by one of `deny`.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isMeaningful = (name: string, deny: ReadonlyArray<string> = []): boolean =>
  isDenied(name, deny) || meaningful.some((pattern) => pattern.test(name))

/**
 * Tells whether a variable is the shell's own (`RANDOM`, `PWD`, `SHLVL`): it is not handed on, and that is no loss.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isShellsOwn = (name: string): boolean => shellsOwn.test(name)

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
