/**
 * Reading the many ways in which models are named.
 *
 * @since 0.1.0
 */

/**
 * What an id says about a model. `version` holds numbers, most significant first (empty: none is named), `size` is in
 * parameters (a mixture counts experts × size), `date` as it is written (`2024-08-06`, `2411`). `custom` says that
 * the model is fine-tuned or not known; its family is then the best guess.
 *
 * @since 0.1.0
 * @category models
 */
export interface ModelId {
  readonly id: string
  readonly family: string
  readonly version: ReadonlyArray<number>
  readonly variant: string
  readonly size: number | undefined
  readonly provider: string | undefined
  readonly organisation: string | undefined
  readonly date: string | undefined
  readonly custom: boolean
}

/**
 * Reads a model id. It never fails: an id that nothing is known of gives its first word as the family.
 *
 * @since 0.1.0
 * @category constructors
 */
export const parse = (id: string): ModelId => {
  const tuned = /^ft:([^:]+):([^:]*)/.exec(id.slice(0, 512))
  if (tuned !== null) {
    return {
      ...parse(tuned[1] ?? ""),
      id,
      provider: "openai",
      organisation: tuned[2] === "" ? undefined : tuned[2],
      custom: true
    }
  }
  const place = locate(id.slice(0, 512))
  const dated = takeDate(place.name)
  const words = dated.rest.split("-").filter((word, position) =>
    word !== "" && !(position === 0 && vendorWords.has(word))
  )
  const found = findFamily(words)
  const size = sizeOf(words)
  const versioned = takeVersion(found.rest)
  const variant = versioned.rest.filter((word) => sizeOfWord(word) === undefined && !ignored.test(word)).join("-")
  const custom = !found.known || found.position > 0 || place.custom || tunedWord.test(variant)
  return {
    id,
    family: found.family,
    version: versioned.version,
    variant,
    size,
    provider: place.provider,
    organisation: place.organisation,
    date: dated.date,
    custom
  }
}

/**
 * Compares versions number by number; a missing number counts as 0.
 *
 * @since 0.1.0
 * @category combinators
 */
export const compareVersions = (left: ReadonlyArray<number>, right: ReadonlyArray<number>): -1 | 0 | 1 => {
  for (let place = 0; place < Math.max(left.length, right.length); place++) {
    const difference = (left[place] ?? 0) - (right[place] ?? 0)
    if (difference !== 0) return difference < 0 ? -1 : 1
  }
  return 0
}

interface Place {
  readonly name: string
  readonly provider: string | undefined
  readonly organisation: string | undefined
  readonly custom: boolean
}

/** Ids of services and the makers of models; what stands in front of a name and is neither is somebody's own. */
const providers = new Set([
  "ollama",
  "openai",
  "anthropic",
  "google",
  "azure",
  "bedrock",
  "vertex",
  "groq",
  "openrouter",
  "together",
  "togetherai",
  "fireworks",
  "fireworks-ai",
  "lmstudio",
  "mistral",
  "deepseek",
  "xai",
  "cerebras",
  "huggingface",
  "hf.co",
  "vllm",
  "local",
  "alibaba",
  "moonshotai",
  "zai",
  "cohere",
  "nvidia",
  "perplexity",
  "github"
])
const makers = new Set([
  "meta-llama",
  "meta",
  "qwen",
  "mistralai",
  "deepseek-ai",
  "microsoft",
  "thudm",
  "zai-org",
  "z-ai",
  "nousresearch",
  "ibm-granite",
  "cohereforai",
  "coherelabs",
  "moonshotai",
  "minimaxai",
  "minimax",
  "tiiuae",
  "01-ai",
  "allenai",
  "unsloth",
  "bartowski",
  "thebloke",
  "lmstudio-community",
  "mlx-community",
  "ggml-org",
  "amazon",
  "ai21",
  "x-ai",
  "apple",
  "huggingfacetb",
  "openchat",
  "internlm",
  "baichuan-inc",
  "stabilityai",
  "ibm"
])

const locate = (id: string): Place => {
  const trimmed = id.trim()
  const local = /\.gguf$/i.test(trimmed) || /^(\.{0,2}[/\\]|~|[a-z]:[/\\])/i.test(trimmed)
  if (local) {
    return {
      name: plain(trimmed.split(/[/\\]/).at(-1) ?? "").replace(/-gguf$/, ""),
      provider: "local",
      organisation: undefined,
      custom: false
    }
  }
  const bedrock = /^(?:(?:us|eu|apac|global)\.)?(anthropic|meta|mistral|amazon|cohere|ai21|deepseek|openai|qwen)\.(.+)$/
    .exec(trimmed)
  if (bedrock !== null) {
    return {
      name: plain((bedrock[2] ?? "").replace(/-v\d+(:\d+)?$/, "").replace(/:\d+$/, "")),
      provider: "bedrock",
      organisation: bedrock[1],
      custom: false
    }
  }
  const segments = trimmed.split("/").filter((segment) => segment !== "")
  const front = segments.slice(0, -1).filter((segment) =>
    !["accounts", "models", "publishers", "routers"].includes(segment)
  )
  const last = segments.at(-1) ?? ""
  const provider = front.find((segment, position) =>
    providers.has(segment.toLowerCase()) && (position === 0 || front.length > 1)
  )
  const organisation = front.find((segment) => segment !== provider)
  const tag = last.indexOf(":")
  const suffix = tag < 0 ? "" : last.slice(tag + 1).toLowerCase()
  const routed = /^(free|nitro|beta|extended|thinking|floor|exacto|online)$/.test(suffix)
  return {
    name: plain(routed ? last.slice(0, tag) : last),
    provider: provider?.toLowerCase() ?? (routed ? "openrouter" : tag < 0 ? undefined : "ollama"),
    organisation,
    custom: organisation !== undefined && !makers.has(organisation.toLowerCase()) &&
      !providers.has(organisation.toLowerCase())
  }
}

/** Words that makers and services put before a family's name. */
const vendorWords = new Set(["meta", "open", "labs", "zai", "groq", "cerebras", "amazon", "nvidia", "ibm"])

const plain = (name: string): string =>
  name.toLowerCase().replace(/[-_.:]i?q\d(_[a-z\d]+)*(?=$|\.gguf$)/, "").replaceAll(/[_:\s]/g, "-").replaceAll(
    /(\d)p(\d)/g,
    "$1.$2"
  ).replaceAll(/\.(?!\d)/g, "-")

const datePatterns: ReadonlyArray<RegExp> = [
  /[-@](20\d{2}-\d{2}-\d{2})(?=$|-)/,
  /[-@](20\d{6})(?=$|-)/,
  /-(\d{2}-20\d{2})(?=$|-)/,
  /-((?:0[1-9]|1[0-2])-20\d{2})(?=$|-)/,
  /-(\d{2}-\d{2})$/,
  /-((?:2[3-9]|0[1-9]|1[0-2])\d{2})(?=$|-)/
]

const takeDate = (name: string): { readonly rest: string; readonly date: string | undefined } => {
  for (const pattern of datePatterns) {
    const found = pattern.exec(name)
    if (found !== null) return { rest: name.replace(pattern, ""), date: found[1] }
  }
  return { rest: name, date: undefined }
}

/** Longer names first, so that `gpt-oss` is not taken for `gpt`. */
const families = [
  "gpt-oss",
  "command-r",
  "command-a",
  "chatgpt",
  "gpt",
  "claude",
  "codellama",
  "llama",
  "mixtral",
  "ministral",
  "codestral",
  "devstral",
  "magistral",
  "pixtral",
  "mistral",
  "deepseek",
  "gemini",
  "gemma",
  "qwen",
  "qwq",
  "phi",
  "grok",
  "glm",
  "kimi",
  "minimax",
  "nova",
  "nemotron",
  "granite",
  "hermes",
  "yi",
  "falcon",
  "olmo",
  "smollm",
  "jamba",
  "internlm",
  "starcoder",
  "solar",
  "cogito",
  "ernie",
  "command",
  "o"
]

interface FoundFamily {
  readonly family: string
  readonly known: boolean
  readonly position: number
  readonly rest: ReadonlyArray<string>
}

const findFamily = (words: ReadonlyArray<string>): FoundFamily => {
  for (let position = 0; position < words.length; position++) {
    for (const family of families) {
      const rest = behindFamily(words.slice(position), family)
      if (rest !== undefined) {
        return {
          family: family === "chatgpt" ? "gpt" : family,
          known: true,
          position,
          rest: [...words.slice(0, position), ...rest]
        }
      }
    }
  }
  const [first = ""] = words
  const letters = /^[a-z]+/.exec(first)?.[0] ?? first
  return {
    family: letters === "" ? "unknown" : letters,
    known: false,
    position: 0,
    rest: [first.slice(letters.length), ...words.slice(1)].filter((word) => word !== "")
  }
}

const behindFamily = (words: ReadonlyArray<string>, family: string): ReadonlyArray<string> | undefined => {
  const text = words.join("-")
  if (!text.startsWith(family)) return undefined
  const rest = text.slice(family.length)
  if (family === "o" ? !/^\d(-|$)/.test(rest) : /^[a-z]/.test(rest) && !/^[vmkr]\d/.test(rest)) return undefined
  return rest.split("-").filter((word) => word !== "")
}

/** The version is the first word that is one, and the word behind it when that is a small number too (`3-5`). */
const takeVersion = (
  words: ReadonlyArray<string>
): { readonly version: ReadonlyArray<number>; readonly rest: ReadonlyArray<string> } => {
  for (const [position, word] of words.entries()) {
    const found = /^(?:[vk]|m(?=\d))?(\d{1,2})(?:\.(\d{1,2}))?(?:\.(\d{1,2}))?([a-z]*)$/.exec(word)
    if (found === null || sizeOfWord(word) !== undefined || /^(k|e)$/.test(found[4] ?? "")) continue
    const next = words[position + 1] ?? ""
    const second = found[2] === undefined && found[4] === "" && /^\d{1,2}$/.test(next) ? next : undefined
    const version = [found[1], found[2] ?? second, found[3]].flatMap((part) => part === undefined ? [] : [Number(part)])
    const letters = found[4] === "" ? [] : [found[4] ?? ""]
    return {
      version,
      rest: [...words.slice(0, position), ...letters, ...words.slice(position + (second === undefined ? 1 : 2))]
    }
  }
  return { version: [], rest: words }
}

const units = new Map([["b", 1e9], ["m", 1e6], ["t", 1e12]])

const sizeOfWord = (word: string): number | undefined => {
  const found = /^(?:(\d{1,3})x)?[ae]?(\d{1,4}(?:\.\d{1,3})?)([bmt])$/.exec(word)
  const unit = units.get(found?.[3] ?? "")
  return found === null || unit === undefined ? undefined : Number(found[1] ?? 1) * Number(found[2]) * unit
}

/** The largest size that is named: `235b-a22b` has 22 billion active ones of 235. */
const sizeOf = (words: ReadonlyArray<string>): number | undefined => {
  const sizes = words.flatMap((word) => sizeOfWord(word.replace(/^r(?=\d+b$)/, "")) ?? [])
  return sizes.length === 0 ? undefined : Math.max(...sizes)
}

const ignored = /^(latest|i?q\d\w*|k|s|l|f16|fp\d+|bf16|f32|int\d|awq|gptq|gguf|mlx|mxfp4|nvfp4|\d+bit|\d+e)$/
const tunedWord = /(^|-)(ft|finetuned?|lora|tuned|custom|merged?|abliterated|uncensored)(-|$)/
