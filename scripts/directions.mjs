/** Which way imports may point: the one place that says it; `test/architecture.test.ts` enforces it. */

/** What each package's sources may import of the other packages. */
export const mayImport = {
  core: [],
  dialect: ["core"],
  openai: ["core", "dialect"],
  anthropic: ["core", "dialect"],
  node: ["core"],
  sql: ["core"],
  tools: ["core"],
  testing: ["core"],
  cli: ["core", "dialect", "openai", "anthropic", "node", "sql", "tools", "testing"]
}

/** What tests may import besides `testing`: the built-in tools are tried on the real machine, too. */
const testsMayImport = { tools: ["node"] }

/** The packages that run anywhere: nothing but these, not even Node's own modules. */
export const pureExternals = {
  core: ["effect", "ajv"],
  dialect: ["effect", "jsonrepair"]
}

/** The modules of `core` from the inside out: each layer imports its own and earlier ones only. */
export const coreLayers = [
  {
    name: "nouns",
    modules: [
      "ArgumentEdit",
      "Assessment",
      "Budget",
      "Content",
      "FileError",
      "FileRead",
      "Finding",
      "Glob",
      "JsonSchema",
      "Limits",
      "Message",
      "ModelDelta",
      "Outcome",
      "OutputLimit",
      "ParameterSchema",
      "RateLimit",
      "Redaction",
      "RetryAdvice",
      "Safety",
      "Sanitiser",
      "ToolCall",
      "ToolFailure",
      "ToolName",
      "Trust",
      "Usage"
    ]
  },
  {
    name: "services",
    modules: [
      "Approval",
      "ApprovalPolicy",
      "ApprovalStore",
      "CallContext",
      "Event",
      "Journal",
      "JournalRecord",
      "ModelProvider",
      "OutputStore",
      "ProcessRunner",
      "RunError",
      "Sandbox",
      "Tool",
      "ToolRegistry",
      "TurnResult",
      "Workspace"
    ]
  },
  {
    name: "steps",
    modules: [
      "Account",
      "ActiveTime",
      "Audit",
      "Batch",
      "CallAssembly",
      "CallQuestion",
      "CallResults",
      "CallStatistics",
      "Compaction",
      "ContextGuard",
      "Conversation",
      "DurableStep",
      "EventStream",
      "LiveSession",
      "ModelFailure",
      "ModelRetry",
      "ModelStream",
      "ModelTimeouts",
      "ModelTurn",
      "Planning",
      "RecordedCall",
      "Recovery",
      "Replay",
      "ResultContent",
      "ResultNote",
      "Ruling",
      "SessionState",
      "Stages",
      "Streak",
      "Supply",
      "Telemetry",
      "ToolExecutor",
      "ToolPlan",
      "Turn"
    ]
  },
  { name: "loop", modules: ["ToolLoop"] }
]

/**
 * Breaches of the directions between packages and of the pure packages' dependencies.
 *
 * @param {ReadonlyArray<import("./imports.mjs").Import>} imports
 * @param {"src" | "test"} folder tests may also import `testing`
 * @returns {Array<string>}
 */
export const packageBreaches = (imports, folder) =>
  imports.flatMap(({ package: name, file, specifier }) => {
    const own = `@capstan/${name}`
    const target = /^@capstan\/([^/]+)(\/internal\/)?/.exec(specifier)
    const allowed = [
      ...lookup(mayImport, name),
      ...(folder === "test" ? ["testing", name, ...lookup(testsMayImport, name)] : [])
    ]
    const breach = (/** @type {string} */ why) => [`${file} imports ${specifier}: ${why}`]

    if (target?.[2] !== undefined) return breach("internal modules are closed")
    if (target !== null) {
      if (specifier === own && folder === "src") return breach("a package reaches itself by relative paths")
      return allowed.includes(target[1] ?? "")
        ? []
        : breach(`${name} may import ${allowed.join(", ") || "no other package"}`)
    }
    if (specifier.startsWith("packages/")) {
      return specifier.startsWith(`packages/${name}/`) ? [] : breach("another package is imported by its name")
    }
    const pure = folder === "src" ? lookup(pureExternals, name) : []
    const external = specifier.split("/")[0] ?? ""
    return pure.length === 0 || pure.includes(external) ? [] : breach(`${name} depends on ${pure.join(" and ")} only`)
  })

/**
 * Breaches of the layers inside `core`. Internal modules belong to no layer: what they import
 * counts as imported by the module that uses them.
 *
 * @param {ReadonlyArray<import("./imports.mjs").Import>} imports
 * @param {ReadonlyArray<string>} files the files of core, relative to the root
 * @param {ReadonlyArray<{ name: string, modules: ReadonlyArray<string> }>} layers
 * @returns {Array<string>}
 */
export const layerBreaches = (imports, files, layers) => {
  const base = "packages/core/src/"
  const rank = new Map(layers.flatMap((layer, index) => layer.modules.map((module) => [module, index])))
  const layerName = (/** @type {number} */ index) => layers[index]?.name ?? "?"
  const moduleOf = (/** @type {string} */ file) => file.slice(base.length).replace(/\.ts$/, "")
  const isInternal = (/** @type {string} */ file) => file.startsWith(`${base}internal/`)
  const direct = (/** @type {string} */ file) =>
    imports.filter((entry) => entry.file === file && entry.specifier.startsWith(base)).map((entry) => entry.specifier)

  /** @type {(file: string, seen?: Set<string>) => Array<string>} */
  const reached = (file, seen = new Set()) =>
    direct(file).flatMap((target) => {
      if (!isInternal(target)) return [target]
      if (seen.has(target)) return []
      seen.add(target)
      return reached(target, seen)
    })

  return files.filter((file) => !isInternal(file) && moduleOf(file) !== "index").flatMap((file) => {
    const own = rank.get(moduleOf(file))
    if (own === undefined) {
      return [`${file} is in no layer: add ${moduleOf(file)} to coreLayers in scripts/directions.mjs`]
    }
    return [...new Set(reached(file))].flatMap((target) => {
      const theirs = rank.get(moduleOf(target))
      return theirs === undefined || theirs <= own
        ? []
        : [`${file} (${layerName(own)}) imports ${target} (${layerName(theirs)}): layers point inwards only`]
    })
  })
}

/**
 * @param {Readonly<Record<string, ReadonlyArray<string>>>} table
 * @param {string} key
 * @returns {ReadonlyArray<string>}
 */
const lookup = (table, key) => table[key] ?? []
