/**
 * What a model can do, as far as it can be known without asking it.
 *
 * @since 0.1.0
 */
import type { Prices } from "@capstan/core/Usage"
import type { Style } from "./Emulation.js"
import * as catalogue from "./internal/catalogue.js"
import * as ModelId from "./ModelId.js"

/**
 * Abilities of a model. Limits are in tokens (null: unknown), `strictSchema` says that the service can enforce a
 * tool's schema, `toolResultInUserMessage` that results travel in a user message, `toolChoiceRequired` that a call
 * can be demanded, `emulation` how calls are best asked for in a prompt.
 *
 * @since 0.1.0
 * @category models
 */
export interface Abilities {
  readonly nativeTools: boolean
  readonly parallelTools: boolean
  readonly toolStreaming: boolean
  readonly jsonMode: boolean
  readonly reasoning: boolean
  readonly strictSchema: boolean
  readonly toolResultInUserMessage: boolean
  readonly toolChoiceRequired: boolean
  readonly contextWindow: number | null
  readonly maxOutput: number | null
  readonly emulation: Style
  readonly prices: Prices | null
}

/**
 * Where an ability is known from: the user's configuration, the shipped catalogue, rules for the model's family, or
 * defaults for models that nothing is known of.
 *
 * @since 0.1.0
 * @category models
 */
export type Source = "override" | "catalogue" | "family" | "default"

/**
 * Abilities with the source of each.
 *
 * @since 0.1.0
 * @category models
 */
export interface ModelCapability extends Abilities {
  readonly id: ModelId.ModelId
  readonly sources: Readonly<Record<keyof Abilities, Source>>
}

/**
 * `provider` is the service's id in the catalogue (default: read from the model id, else the model's maker),
 * `compatible` says that the model stands behind a server that speaks OpenAI's protocol, `override` is what the user
 * says.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly provider?: string
  readonly compatible?: boolean
  readonly override?: Partial<Abilities>
}

/**
 * The abilities of a model: the user's word first, then the catalogue, then rules for its family and version, then
 * defaults. The catalogue is read on first use.
 *
 * @since 0.1.0
 * @category constructors
 */
export const of = (id: string, options: Options = {}): ModelCapability => {
  const parsed = ModelId.parse(id)
  const rule = familyRules[parsed.family]
  const entry = catalogue.find(parsed, options.provider)
  const layers: ReadonlyArray<readonly [Source, Partial<Abilities>]> = [
    ["default", defaults(options.compatible ?? false)],
    ["family", rule === undefined ? {} : rule(parsed)],
    ["catalogue", entry === undefined ? {} : fromCatalogue(entry)],
    ["override", options.override ?? {}]
  ]
  const abilities = layers.reduce<Abilities>((all, [, layer]) => ({ ...all, ...layer }), defaults(false))
  const source = (key: keyof Abilities): Source =>
    layers.findLast(([, layer]) => layer[key] !== undefined)?.[0] ?? "default"
  return {
    ...abilities,
    id: parsed,
    sources: {
      nativeTools: source("nativeTools"),
      parallelTools: source("parallelTools"),
      toolStreaming: source("toolStreaming"),
      jsonMode: source("jsonMode"),
      reasoning: source("reasoning"),
      strictSchema: source("strictSchema"),
      toolResultInUserMessage: source("toolResultInUserMessage"),
      toolChoiceRequired: source("toolChoiceRequired"),
      contextWindow: source("contextWindow"),
      maxOutput: source("maxOutput"),
      emulation: source("emulation"),
      prices: source("prices")
    }
  }
}

/**
 * The date and the origin of the shipped catalogue.
 *
 * @since 0.1.0
 * @category constants
 */
export const catalogueSource: string = catalogue.source

const defaults = (compatible: boolean): Abilities => ({
  nativeTools: compatible,
  parallelTools: false,
  toolStreaming: compatible,
  jsonMode: false,
  reasoning: false,
  strictSchema: false,
  toolResultInUserMessage: false,
  toolChoiceRequired: false,
  contextWindow: null,
  maxOutput: null,
  emulation: "json",
  prices: null
})

const fromCatalogue = (entry: catalogue.Entry): Partial<Abilities> => ({
  nativeTools: entry.tools,
  reasoning: entry.reasoning,
  ...(entry.structured ? { jsonMode: true } : {}),
  ...(entry.contextWindow === null ? {} : { contextWindow: entry.contextWindow }),
  ...(entry.maxOutput === null ? {} : { maxOutput: entry.maxOutput }),
  ...(entry.prices === null ? {} : { prices: { ...entry.prices, source: catalogue.source } })
})

type Rule = (id: ModelId.ModelId) => Partial<Abilities>

const none: Partial<Abilities> = {
  nativeTools: false,
  parallelTools: false,
  toolStreaming: false,
  toolChoiceRequired: false
}
const single: Partial<Abilities> = {
  nativeTools: true,
  parallelTools: false,
  toolStreaming: true,
  jsonMode: true,
  toolChoiceRequired: true
}
const several: Partial<Abilities> = { ...single, parallelTools: true }

const from = (id: ModelId.ModelId, ...version: ReadonlyArray<number>): boolean =>
  ModelId.compareVersions(id.version, version) >= 0
const says = (id: ModelId.ModelId, words: RegExp): boolean => words.test(id.variant)
const billions = (id: ModelId.ModelId): number | undefined => id.size === undefined ? undefined : id.size / 1e9

const mistral: Rule = (id) =>
  says(id, /^(small|medium|large|nemo|instruct)/) && (!says(id, /^instruct/) || from(id, 0, 3)) ? several : none

const familyRules: Readonly<Record<string, Rule>> = {
  gpt: (id) => ({
    ...(from(id, 3, 5) ? several : none),
    strictSchema: from(id, 4, 1) || (says(id, /^o/) && id.date !== "2024-05-13"),
    reasoning: from(id, 5) && !says(id, /chat/),
    contextWindow: from(id, 5)
      ? 400_000
      : from(id, 4, 1)
      ? 1_047_576
      : says(id, /^o|turbo/) && from(id, 4)
      ? 128_000
      : from(id, 4)
      ? 8_192
      : 16_385
  }),
  o: (id) =>
    from(id, 3) || !says(id, /mini|preview/)
      ? {
        ...several,
        parallelTools: false,
        toolChoiceRequired: false,
        strictSchema: true,
        reasoning: true,
        contextWindow: 200_000,
        maxOutput: 100_000
      }
      : { ...none, reasoning: true, contextWindow: 128_000 },
  "gpt-oss": () => ({ ...single, reasoning: true, contextWindow: 131_072 }),
  claude: (id) => ({
    ...(from(id, 3) ? several : none),
    jsonMode: false,
    strictSchema: from(id, 4, 5),
    toolResultInUserMessage: true,
    reasoning: from(id, 3, 7),
    contextWindow: from(id, 2, 1) ? 200_000 : 100_000,
    maxOutput: from(id, 4) ? 32_000 : from(id, 3, 5) ? 8_192 : 4_096,
    emulation: "xml"
  }),
  gemini: (id) => ({
    ...(from(id, 1) || id.version.length === 0 ? several : none),
    reasoning: from(id, 2, 5),
    contextWindow: 1_048_576
  }),
  llama: (id) => {
    if (from(id, 3, 1)) return { ...single, contextWindow: 131_072 }
    if (from(id, 3) && (billions(id) ?? 0) >= 70) return { ...single, contextWindow: 8_192 }
    return { ...none, contextWindow: from(id, 3) ? 8_192 : 4_096 }
  },
  codellama: () => none,
  qwen: (id) => ({
    ...(from(id, 2) || id.version.length === 0 ? several : none),
    reasoning: from(id, 3) && !says(id, /instruct|coder/),
    emulation: "xml"
  }),
  qwq: () => ({ ...several, reasoning: true, emulation: "xml" }),
  mistral,
  mixtral: (id) => (billions(id) ?? 0) > 100 ? several : none,
  ministral: () => several,
  codestral: () => several,
  devstral: () => several,
  magistral: () => ({ ...several, reasoning: true }),
  pixtral: () => several,
  deepseek: (id) => {
    if (says(id, /distill/)) return { ...none, reasoning: true }
    if (says(id, /^r\d|reasoner/)) {
      return { ...(id.date === "0528" || says(id, /reasoner/) ? several : none), reasoning: true }
    }
    return from(id, 3) || says(id, /^chat/) ? several : none
  },
  gemma: (id) => ({ ...(from(id, 4) ? several : none), emulation: "markdown" }),
  phi: (id) => from(id, 4) && says(id, /mini/) ? single : none,
  "command-r": () => several,
  "command-a": () => several,
  grok: (id) => ({ ...several, reasoning: from(id, 3) && !says(id, /non-reasoning/) }),
  glm: (id) => ({ ...(from(id, 4) ? several : none), reasoning: from(id, 4, 5), emulation: "xml" }),
  kimi: (id) => ({ ...several, reasoning: says(id, /thinking/), emulation: "xml" }),
  minimax: () => ({ ...several, reasoning: true, emulation: "xml" }),
  nova: () => several,
  nemotron: () => several,
  granite: (id) => from(id, 3) ? several : none,
  hermes: () => ({ ...several, emulation: "xml" }),
  olmo: () => none,
  smollm: (id) => from(id, 3) ? single : none,
  jamba: () => several,
  cogito: () => several
}
