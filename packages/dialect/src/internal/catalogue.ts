import * as ModelId from "../ModelId.js"
import { models, snapshot } from "./catalogueData.js"

export interface Entry {
  readonly tools: boolean
  readonly reasoning: boolean
  readonly structured: boolean
  readonly contextWindow: number | null
  readonly maxOutput: number | null
  readonly prices: {
    readonly input: number
    readonly output: number
    readonly cacheRead: number | null
    readonly cacheWrite: number | null
  } | null
}

export const source = `models.dev ${snapshot}`

/** Lists are read when a provider is asked about for the first time. */
const read = new Map<string, ReadonlyMap<string, Entry>>()

const number = (text: string | undefined): number | null => text === undefined || text === "" ? null : Number(text)

const entryOf = (fields: ReadonlyArray<string>): Entry => {
  const [, flags = "", context, output, input, written, cacheRead, cacheWrite] = fields
  const inputPrice = number(input)
  const outputPrice = number(written)
  return {
    tools: flags.includes("t"),
    reasoning: flags.includes("r"),
    structured: flags.includes("s"),
    contextWindow: number(context) === 0 ? null : number(context),
    maxOutput: number(output) === 0 ? null : number(output),
    prices: inputPrice === null || outputPrice === null
      ? null
      : { input: inputPrice, output: outputPrice, cacheRead: number(cacheRead), cacheWrite: number(cacheWrite) }
  }
}

const list = (provider: string): ReadonlyMap<string, Entry> | undefined => {
  const known = read.get(provider)
  if (known !== undefined) return known
  const text = Object.hasOwn(models, provider) ? models[provider] : undefined
  if (text === undefined) return undefined
  const entries = new Map(
    text.split(";").map((line) => {
      const fields = line.split("|")
      return [fields[0] ?? "", entryOf(fields)]
    })
  )
  read.set(provider, entries)
  return entries
}

/** Names of one service, and the services that sell a family's models themselves. */
const providerNames = new Map([["bedrock", "amazon-bedrock"], ["vertex", "google-vertex"], ["together", "togetherai"], [
  "fireworks",
  "fireworks-ai"
], ["github", "github-copilot"]])
const vendors = new Map([
  ["gpt", "openai"],
  ["o", "openai"],
  ["claude", "anthropic"],
  ["gemini", "google"],
  ["mistral", "mistral"],
  ["ministral", "mistral"],
  ["codestral", "mistral"],
  ["devstral", "mistral"],
  ["magistral", "mistral"],
  ["pixtral", "mistral"],
  ["grok", "xai"],
  ["command-r", "cohere"],
  ["command-a", "cohere"]
])

const folded = (id: string): string => id.toLowerCase().replaceAll(/[-._@:]/g, "-")

/**
 * What the catalogue says of a model at a provider. Without a provider the model's maker is asked. A model that is
 * listed by another date or spelling is found too; a fine-tuned one is not listed.
 */
export const find = (id: ModelId.ModelId, provider: string | undefined): Entry | undefined => {
  if (id.custom) return undefined
  const wanted = provider ?? id.provider ?? vendors.get(id.family)
  const entries = wanted === undefined ? undefined : list(providerNames.get(wanted) ?? wanted)
  if (entries === undefined) return undefined
  const name = id.id.includes("/") && !entries.has(id.id) ? id.id.slice(id.id.indexOf("/") + 1) : id.id
  const exact = entries.get(id.id) ?? entries.get(name)
  if (exact !== undefined) return exact
  const dated = id.date === undefined ? undefined : folded(name).replace(new RegExp(`-${folded(id.date)}.*$`), "")
  for (const [key, entry] of entries) {
    if (folded(key) === folded(name) || folded(key) === dated) return entry
  }
  for (const [key, entry] of entries) {
    const other = ModelId.parse(key)
    const same = other.family === id.family && other.variant === id.variant && other.size === id.size &&
      ModelId.compareVersions(other.version, id.version) === 0
    if (same) return entry
  }
  return undefined
}
