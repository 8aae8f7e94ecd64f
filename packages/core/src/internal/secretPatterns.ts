/**
 * What secrets look like. Each pattern ends in what may repeat without bound, or has a bound for everything that repeats, so
 * that a text is looked at once.
 */

/** A key that is known by how it begins. Where `accept` says no to what was found, the text stays. */
interface Key {
  readonly name: string
  readonly pattern: string
  readonly accept?: (match: string) => boolean
}

/** A secret that is known by what stands before it; `keep` says how much of the match that is. */
interface Rule {
  readonly name: string
  readonly pattern: RegExp
  readonly accept?: (match: string) => boolean
  readonly keep: RegExp
}

/** A key does not start inside a word, but may follow an escape (`\n`, `\u003d`, `%3D`). */
const start = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}))`
const stop = "(?![A-Za-z0-9])"

const key = (name: string, pattern: string, accept?: (match: string) => boolean): Key => ({
  name,
  pattern,
  ...(accept === undefined ? {} : { accept })
})

/** Names such as `sk-container-id-1` are no keys: those have a digit and somewhere twelve letters or digits in a row. */
const looksRandom = (match: string): boolean => /\d/.test(match) && /[A-Za-z0-9]{12}/.test(match)

const isJwt = (match: string): boolean => {
  const [header, ...parts] = match.split(".")
  return header !== undefined && header.length >= 10 && parts.length >= 2 &&
    (parts.length >= 4 || (parts[0] ?? "").startsWith("eyJ"))
}

const isBearer = (match: string): boolean => {
  const token = match.replace(/^bearer\s+/i, "")
  return /\d/.test(token) || token.length >= 24
}

const strongPassword = (match: string): boolean => {
  const password = match.replace(/^.*:/, "")
  return /\d/.test(password) && /[A-Za-z]/.test(password)
}

const word = "[A-Za-z0-9_-]"

const keys: ReadonlyArray<Key> = [
  key("anthropic-key", `sk-ant-${word}{16,}`),
  key("api-key", `sk-${word}{16,}`, looksRandom),
  key("aws-access-key", `(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}${stop}`),
  key("github-token", "(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
  key("gitlab-token", `gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt)-${word}{20,}`),
  key("slack-token", "xox[abeoprs](?:\\.xox[bp])?-[A-Za-z0-9-]{10,}"),
  key("slack-token", `xapp-\\d-${word}{10,}`),
  key("stripe-key", "[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}"),
  key("stripe-webhook-secret", "whsec_[A-Za-z0-9+/=]{24,}"),
  key("google-api-key", `AIza${word}{35}(?!${word})`),
  key("google-oauth-secret", `GOCSPX-${word}{20,}`),
  key("google-oauth-token", `ya29\\.${word}{20,}`),
  key("google-refresh-token", `1//0${word}{30,}`),
  key("azure-storage-key", "AccountKey=[A-Za-z0-9+/]{80,}={0,2}"),
  key("huggingface-token", "(?:hf|api_org)_[A-Za-z0-9]{30,}"),
  key("groq-key", "gsk_[A-Za-z0-9]{30,}"),
  key("xai-key", `xai-${word}{40,}`),
  key("perplexity-key", "pplx-[A-Za-z0-9]{32,}"),
  key("replicate-token", "r8_[A-Za-z0-9]{32,}"),
  key("nvidia-key", `nvapi-${word}{40,}`),
  key("tavily-key", `tvly-${word}{24,}`, looksRandom),
  key("npm-token", "npm_[A-Za-z0-9]{36,}"),
  key("pypi-token", `pypi-AgE${word}{40,}`),
  key("rubygems-key", "rubygems_[0-9a-f]{40,}"),
  key("docker-token", `dckr_(?:pat|oat)_${word}{20,}`),
  key("sendgrid-key", `SG\\.${word}{16,32}\\.${word}{16,}`),
  key("mailgun-key", `(?<![-_])key-[0-9a-f]{32}${stop}`),
  key("mailchimp-key", `[0-9a-f]{32}-us\\d{1,2}${stop}`),
  key("twilio-key", `SK[0-9a-f]{32}${stop}`),
  key("telegram-token", `\\d{8,10}:AA${word}{33}(?!${word})`),
  key("digitalocean-token", "do[opr]_v1_[0-9a-f]{40,}"),
  key("shopify-token", "shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32,}"),
  key("square-token", `sq0[a-z]{3}-${word}{20,}`),
  key("databricks-token", `dapi[0-9a-f]{32}(?:-\\d)?${stop}`),
  key("vault-token", `hv[bsr]\\.${word}{20,}`),
  key("terraform-token", `[A-Za-z0-9]{14}\\.atlasv1\\.${word}{40,}`),
  key("linear-key", "lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
  key("notion-token", `(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}${stop})`),
  key("atlassian-token", `AT(?:ATT|CTT)3xFf${word}{24,}(?:=[0-9A-F]{8})?`),
  key("grafana-token", "gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}"),
  key("sentry-token", "sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
  key("supabase-key", "sb(?:p|_secret)_[A-Za-z0-9_]{20,}"),
  key("planetscale-token", `pscale_(?:tkn|pw|oauth)_${word}{30,}`),
  key("postman-key", `PMAK-[0-9a-f]{24}-[0-9a-f]{34}${stop}`),
  key("new-relic-key", `NRAK-[A-Z0-9]{27}${stop}`),
  key("doppler-token", "dp\\.(?:pt|st|ct|sa|scim|audit)\\.[A-Za-z0-9._-]{40,}"),
  key("pulumi-token", `pul-[0-9a-f]{40}${stop}`),
  key("age-key", "AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
  key("jwt", "eyJ[A-Za-z0-9_-]+(?:\\.[A-Za-z0-9_-]*)*", isJwt)
]

const rules: ReadonlyArray<Rule> = [
  {
    name: "aws-secret-key",
    pattern: new RegExp(
      `(?:aws_?secret_?(?:access_?)?key|SecretAccessKey)(?:\\\\?["'])?\\s{0,4}[=:]\\s{0,4}(?:\\\\?["'])?[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])`,
      "gi"
    ),
    keep: /^[^=:]*[=:][^A-Za-z0-9/+]*/
  },
  {
    name: "slack-webhook",
    pattern: /hooks\.slack\.com\/(?:services|workflows)\/[A-Za-z0-9/_-]{20,}/g,
    keep: /^[^/]*\/[a-z]+\//
  },
  {
    name: "discord-webhook",
    pattern: /discord(?:app)?\.com\/api\/webhooks\/\d{5,20}\/[A-Za-z0-9_-]{40,}/g,
    keep: /^.*\//
  },
  {
    name: "bearer-token",
    pattern: /(?<![A-Za-z0-9])Bearer\s{1,4}[A-Za-z0-9._~+/-]{16,}={0,2}/gi,
    accept: isBearer,
    keep: /^bearer\s+/i
  },
  {
    name: "basic-credentials",
    pattern: /Authorization(?:\\?["'])?\s{0,4}[:=]\s{0,4}(?:\\?["'])?Basic\s{1,4}[A-Za-z0-9+/_-]{8,}={0,2}/gi,
    keep: /^.*Basic\s+/i
  },
  {
    name: "npm-token",
    pattern: /_auth(?:Token)?\s{0,4}=\s{0,4}["']?[A-Za-z0-9+/._-]{16,}={0,2}/g,
    keep: /^_auth(?:Token)?[\s="']*/
  },
  {
    name: "url-password",
    pattern: /:\/\/[^\s:/@[\]"'<>]{0,64}:[^\s/@[\]"'<>]{12,128}(?=@)/g,
    accept: strongPassword,
    keep: /^:\/\/[^:]*:/
  }
]

/**
 * All keys in one expression, a group for each: a text is gone through once for all of them. What sticks to the end of a key
 * goes with it, so that nothing else begins there once the key is gone.
 */
const anyKey = new RegExp(`${start}(?:${keys.map(({ pattern }) => `(${pattern})`).join("|")})[A-Za-z0-9]*`, "g")

const accepted = ({ accept }: Key | Rule, match: string): boolean => accept === undefined || accept(match)

/** Puts `mark(name)` in the place of everything that looks like a secret. */
export const replace = (text: string, mark: (name: string) => string): string =>
  rules.reduce(
    (rest, rule) =>
      rest.replace(rule.pattern, (match: string) =>
        accepted(rule, match) ? (rule.keep.exec(match)?.[0] ?? "") + mark(rule.name) : match),
    text.replace(anyKey, (match: string, ...groups: ReadonlyArray<unknown>) => {
      const found = keys[
        groups.findIndex((group) =>
          group !== undefined
        )
      ]
      return found !== undefined && accepted(found, match) ? mark(found.name) : match
    })
  )
