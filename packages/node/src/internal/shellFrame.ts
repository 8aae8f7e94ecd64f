import * as CommandEnvironment from "../CommandEnvironment.js"

/** A variable as data: text, or the elements of an array by their keys. */
type Variable =
  | { readonly _tag: "Text"; readonly exported: boolean; readonly value: string }
  | {
    readonly _tag: "Array"
    readonly exported: boolean
    readonly named: boolean
    readonly elements: ReadonlyArray<readonly [key: string, value: string]>
  }

/** What a shell was left with, beyond what every shell starts with. */
export interface Kept {
  readonly variables: ReadonlyMap<string, Variable>
  /** Names that every shell starts with and this one did without. */
  readonly removed: ReadonlyArray<string>
}

/** What a shell said of itself at its end. */
export interface Report {
  readonly directory: string
  readonly kept: Kept
  /** Variables that were set and are not kept, because they change what later commands run. */
  readonly meaningful: ReadonlyArray<string>
  /** Variables that are not kept for their size. */
  readonly tooLarge: ReadonlyArray<string>
  /** What ran in the background. */
  readonly jobs: ReadonlyArray<string>
}

export const nothing: Kept = { variables: new Map(), removed: [] }

const maxVariables = 500
const maxElements = 1_000
/** Characters of one variable, and of all. */
const maxCharacters = 32_768
const maxAllCharacters = 131_072

/** So many bytes of what a shell says are read; more than it can have to say. */
export const reportBytes = 2_097_152

/**
 * Runs `$1` between taking variables over from standard input and telling, at the exit, what there is then. What it says
 * goes to descriptor 4 (kept out of the command's way as 198), each record behind a key that only this shell has read, and
 * ends with NUL, which no variable can hold. Values are never read as code, neither here nor there.
 */
export const script = `IFS= read -r -d '' __capstan_key; exec 198>&4 4>&-
__capstan_tell() {
  local __capstan_name __capstan_index __capstan_value __capstan_arrays
  __capstan_arrays=$'\\n'"$(builtin compgen -A arrayvar)"$'\\n'
  builtin printf '%s%se' "$__capstan_key" "$1"; builtin compgen -e; builtin printf '\\0'
  while IFS= builtin read -r __capstan_name; do
    case $__capstan_name in
      __capstan_* | BASH_A[LR]* | BASH_[CLSV]* | FUNCNAME | GROUPS | DIRSTACK | PIPESTATUS | _) continue ;;
    esac
    case $__capstan_arrays in
      *$'\\n'"$__capstan_name"$'\\n'*)
        eval "__capstan_value=\\\${#$__capstan_name[@]}"
        if [ "$__capstan_value" -gt ${maxElements} ]; then
          builtin printf '%s%sl%s\\0' "$__capstan_key" "$1" "$__capstan_name"
          continue
        fi
        builtin printf '%s%st' "$__capstan_key" "$1"; builtin declare -p "$__capstan_name"; builtin printf '\\0'
        eval "for __capstan_index in \\"\\\${!$__capstan_name[@]}\\"; do
          builtin printf '%s%sk%s\\0%s%sv%s\\0' \\"\\$__capstan_key\\" \\"\\$1\\" \\"\\$__capstan_index\\" \\
            \\"\\$__capstan_key\\" \\"\\$1\\" \\"\\\${$__capstan_name[\\$__capstan_index]}\\"
        done" ;;
      *)
        __capstan_value=\${!__capstan_name}
        if [ \${#__capstan_value} -gt ${maxCharacters} ]; then
          builtin printf '%s%sl%s\\0' "$__capstan_key" "$1" "$__capstan_name"
        else
          builtin printf '%s%ss%s=%s\\0' "$__capstan_key" "$1" "$__capstan_name" "$__capstan_value"
        fi ;;
    esac
  done < <(builtin compgen -v)
}
__capstan_end() {
  set +eux; shopt -u nocasematch; trap - DEBUG ERR RETURN
  builtin printf '%saj' "$__capstan_key"; builtin jobs -r; builtin printf '\\0'
  builtin printf '%sad' "$__capstan_key"; builtin pwd -P; builtin printf '\\0'
  __capstan_tell a
  builtin printf '%saz\\0' "$__capstan_key"
}
__capstan_tell b >&198
while IFS= read -r -d '' __capstan_kind && IFS= read -r -d '' __capstan_name &&
  IFS= read -r -d '' __capstan_index && IFS= read -r -d '' __capstan_value; do
  case $__capstan_kind in
    text) export -n "$__capstan_name"; printf -v "$__capstan_name" %s "$__capstan_value" ;;
    exported) export "$__capstan_name=$__capstan_value" ;;
    list) unset -v "$__capstan_name"; declare -a "$__capstan_name=()" ;;
    table) unset -v "$__capstan_name"; declare -A "$__capstan_name=()" ;;
    element) eval "$__capstan_name[\\$__capstan_index]=\\$__capstan_value" ;;
    share) export "$__capstan_name" ;;
    removed) unset -v "$__capstan_name" ;;
  esac
done
unset -v __capstan_kind __capstan_name __capstan_index __capstan_value
trap '{ __capstan_end >&198; } 2>/dev/null' EXIT
exec </dev/null
__capstan_line=$1; set --; eval "$__capstan_line"`

/** What the script reads: the key, then four texts for each thing to take over. */
export const input = (key: string, { removed, variables }: Kept): string => {
  const records = [
    ...removed.map((name) => ["removed", name, "", ""]),
    ...[...variables].flatMap(([name, variable]) =>
      variable._tag === "Text"
        ? [[variable.exported ? "exported" : "text", name, "", variable.value]]
        : [
          [variable.named ? "table" : "list", name, "", ""],
          ...variable.elements.map(([index, value]) => ["element", name, index, value]),
          ...(variable.exported ? [["share", name, "", ""]] : [])
        ]
    )
  ]
  return [key, ...records.flat()].map((text) => `${text}\0`).join("")
}

/** What there was at one moment. */
interface Snapshot {
  readonly exported: Set<string>
  readonly variables: Map<string, Variable>
  readonly tooLarge: Set<string>
}

const isName = (text: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(text)

/** The variables among the records of one moment, in the order they came. */
const snapshot = (records: ReadonlyArray<string>): Snapshot => {
  const exported = new Set<string>()
  const variables = new Map<string, Variable>()
  const tooLarge = new Set<string>()
  let array: { readonly name: string; readonly elements: Array<readonly [string, string]> } | undefined
  let key: string | undefined
  for (const record of records) {
    const kind = record[0]
    const text = record.slice(1)
    if (kind === "e") { for (const name of text.split("\n")) exported.add(name) }
    if (kind === "l") tooLarge.add(text)
    if (kind === "s") {
      const name = text.slice(0, text.indexOf("="))
      variables.set(name, { _tag: "Text", exported: exported.has(name), value: text.slice(name.length + 1) })
    }
    if (kind === "t") {
      const [, flags = "", name = ""] = /^declare -(\S+) ([A-Za-z_][A-Za-z0-9_]*)/.exec(text) ?? []
      const elements: Array<readonly [string, string]> = []
      array = { name, elements }
      variables.set(name, { _tag: "Array", exported: exported.has(name), named: flags.includes("A"), elements })
    }
    if (kind === "k") key = text
    if (kind === "v" && key !== undefined && array !== undefined) array.elements.push([key, text])
  }
  return { exported, variables, tooLarge }
}

const sizeOf = (variable: Variable): number =>
  variable._tag === "Text"
    ? variable.value.length
    : variable.elements.reduce((sum, [key, value]) => sum + key.length + value.length, 0)

/** Whether a text is what the shell had: UTF-8, and keys of lists that are numbers. */
const isFaithful = (variable: Variable): boolean =>
  variable._tag === "Text"
    ? !variable.value.includes("\uFFFD")
    : variable.elements.every(([key, value]) =>
      !`${key}${value}`.includes("\uFFFD") && (variable.named ? key !== "" : /^\d{1,9}$/.test(key))
    )

const differs = (left: Variable | undefined, right: Variable | undefined): boolean =>
  JSON.stringify(left) !== JSON.stringify(right)

/**
 * Reads what a shell said; undefined: it did not come to its end, or was not let. `deny` are further names of variables that
 * are not kept.
 */
export const parse = (told: string, key: string, deny: ReadonlyArray<string>): Report | undefined => {
  const records = told.split("\0").filter((record) => record.startsWith(key)).map((record) => record.slice(key.length))
  const after = records.filter((record) => record.startsWith("a")).map((record) => record.slice(1))
  if (!after.includes("z")) return undefined
  const one = (kind: string) => after.find((record) => record.startsWith(kind))?.slice(1).replace(/\n$/, "") ?? ""
  const then = snapshot(records.filter((record) => record.startsWith("b")).map((record) => record.slice(1)))
  const now = snapshot(after)

  const changed = [...new Set([...then.variables.keys(), ...now.variables.keys(), ...now.tooLarge])].filter((name) =>
    isName(name) && !CommandEnvironment.isShellsOwn(name) && !(then.tooLarge.has(name) && now.tooLarge.has(name)) &&
    (now.tooLarge.has(name) || differs(then.variables.get(name), now.variables.get(name)))
  ).sort()
  const meaningful = changed.filter((name) => CommandEnvironment.isMeaningful(name, deny))
  const variables = new Map<string, Variable>()
  const tooLarge: Array<string> = []
  const removed: Array<string> = []
  let all = 0
  for (const name of changed) {
    if (meaningful.includes(name)) continue
    const variable = now.variables.get(name)
    const size = variable === undefined ? 0 : name.length + sizeOf(variable)
    if (variable === undefined && !now.tooLarge.has(name)) removed.push(name)
    else if (
      variable === undefined || !isFaithful(variable) || size > maxCharacters || all + size > maxAllCharacters ||
      variables.size >= maxVariables
    ) tooLarge.push(name)
    else {
      variables.set(name, variable)
      all += size
    }
  }
  return {
    directory: one("d"),
    kept: { variables, removed },
    meaningful,
    tooLarge,
    jobs: one("j").split("\n").filter((line) => line !== "")
  }
}
