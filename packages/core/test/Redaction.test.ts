import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as FastCheck from "effect/FastCheck"
import * as Redaction from "../src/Redaction.js"

const { containsMarker, redact, redactJson } = Redaction.patternsOnly

/** Made up at run time, so that no scanner of sources takes one for real. */
const made = (alphabet: string, length: number) =>
  Array.from({ length }, (_, index) => alphabet[(index * 7 + length) % alphabet.length]).join("")
const alnum = (length: number) => made("aB3dE5gH7jK9mN1pQ2rS4tU6vW8x", length)
const upper = (length: number) => made("A2C4E6G7JKMNPQRSTUVWXYZ", length)
const hex = (length: number) => made("0a1b2c3d4e5f6789", length)

const keys: ReadonlyArray<readonly [name: string, secret: string]> = [
  ["anthropic-key", `sk-ant-${"api03"}-${alnum(90)}-_AA`],
  ["api-key", `sk-${alnum(48)}`],
  ["api-key", `sk-proj-${alnum(40)}_${alnum(30)}-${alnum(20)}`],
  ["api-key", `sk-or-v1-${hex(64)}`],
  ["aws-access-key", `AKIA${upper(16)}`],
  ["aws-access-key", `ASIA${upper(16)}`],
  ["github-token", `ghp_${alnum(36)}`],
  ["github-token", `ghs_${alnum(36)}`],
  ["github-token", `github_pat_${alnum(22)}_${alnum(59)}`],
  ["gitlab-token", `glpat-${alnum(20)}`],
  ["slack-token", `xoxb-${made("123456789", 12)}-${made("123456789", 12)}-${alnum(24)}`],
  ["slack-token", `xapp-1-A${upper(10)}-${hex(40)}`],
  ["stripe-key", `sk_live_${alnum(24)}`],
  ["stripe-key", `rk_test_${alnum(24)}`],
  ["stripe-webhook-secret", `whsec_${alnum(32)}`],
  ["google-api-key", `AIza${alnum(35)}`],
  ["google-oauth-secret", `GOCSPX-${alnum(28)}`],
  ["google-oauth-token", `ya29.${alnum(60)}`],
  ["google-refresh-token", `1//0${alnum(60)}`],
  ["azure-storage-key", `AccountKey=${alnum(86)}==`],
  ["huggingface-token", `hf_${alnum(34)}`],
  ["groq-key", `gsk_${alnum(52)}`],
  ["xai-key", `xai-${alnum(80)}`],
  ["perplexity-key", `pplx-${alnum(48)}`],
  ["replicate-token", `r8_${alnum(37)}`],
  ["nvidia-key", `nvapi-${alnum(64)}`],
  ["tavily-key", `tvly-${alnum(32)}`],
  ["npm-token", `npm_${alnum(36)}`],
  ["pypi-token", `pypi-AgE${alnum(80)}`],
  ["rubygems-key", `rubygems_${hex(48)}`],
  ["docker-token", `dckr_pat_${alnum(27)}`],
  ["sendgrid-key", `SG.${alnum(22)}.${alnum(43)}`],
  ["mailgun-key", `key-${hex(32)}`],
  ["mailchimp-key", `${hex(32)}-us12`],
  ["twilio-key", `SK${hex(32)}`],
  ["telegram-token", `123456789:AA${alnum(33)}`],
  ["digitalocean-token", `dop_v1_${hex(64)}`],
  ["shopify-token", `shpat_${hex(32)}`],
  ["square-token", `sq0atp-${alnum(22)}`],
  ["databricks-token", `dapi${hex(32)}`],
  ["vault-token", `hvs.${alnum(90)}`],
  ["terraform-token", `${alnum(14)}.atlasv1.${alnum(60)}`],
  ["linear-key", `lin_api_${alnum(40)}`],
  ["notion-token", `ntn_${alnum(46)}`],
  ["notion-token", `secret_${alnum(43)}`],
  ["atlassian-token", `ATATT3xFf${alnum(60)}=0A1B2C3D`],
  ["grafana-token", `glsa_${alnum(32)}_0a1b2c3d`],
  ["sentry-token", `sntrys_${alnum(60)}`],
  ["supabase-key", `sbp_${hex(40)}`],
  ["planetscale-token", `pscale_tkn_${alnum(43)}`],
  ["postman-key", `PMAK-${hex(24)}-${hex(34)}`],
  ["new-relic-key", `NRAK-${upper(27)}`],
  ["doppler-token", `dp.pt.${alnum(43)}`],
  ["pulumi-token", `pul-${hex(40)}`],
  ["age-key", `AGE-SECRET-KEY-1${upper(58)}`],
  ["jwt", `eyJ${alnum(20)}.eyJ${alnum(40)}.${alnum(43)}`],
  ["jwt", `eyJ${alnum(20)}.${alnum(40)}.${alnum(16)}.${alnum(40)}.${alnum(22)}`]
]

const body = Array.from({ length: 12 }, (_, index) => alnum(64 - (index % 2))).join("\n")
const pem = (kind: string, content = body) => `-----BEGIN ${kind}-----\n${content}\n-----END ${kind}-----`

describe("Redaction.redact", () => {
  it.each(keys)("%s: %s", (name, secret) => {
    const marked = `[redacted:${name}]`
    expect(redact(secret)).toBe(marked)
    expect(redact(`TOKEN=${secret}\n`)).toBe(`TOKEN=${marked}\n`)
    expect(redact(JSON.stringify({ note: `first\n${secret}\nlast` })))
      .toBe(JSON.stringify({ note: `first\n${marked}\nlast` }))
    expect(redact(`https://example.com/?a=b%3D${secret}&c`)).toBe(`https://example.com/?a=b%3D${marked}&c`)
  })

  it.each([
    ["RSA PRIVATE KEY"],
    ["PRIVATE KEY"],
    ["OPENSSH PRIVATE KEY"],
    ["ENCRYPTED PRIVATE KEY"],
    ["PGP PRIVATE KEY BLOCK"]
  ])("a block of a %s", (kind) => {
    expect(redact(`a\n${pem(kind)}\nb`)).toBe("a\n[redacted:private-key]\nb")
    expect(redact(JSON.stringify({ key: pem(kind) }))).toBe(JSON.stringify({ key: "[redacted:private-key]" }))
  })

  it("finds key blocks with headers, line numbers and quotes, and those that are cut off", () => {
    const headers = `Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,${hex(32)}\n\n${body}`
    expect(redact(pem("RSA PRIVATE KEY", headers))).toBe("[redacted:private-key]")
    const numbered = body.split("\n").map((line, index) => `${index + 2}\t${line}`).join("\n")
    expect(redact(pem("PRIVATE KEY", numbered))).toBe("[redacted:private-key]")
    expect(redact(`-----BEGIN RSA PRIVATE KEY-----\n${headers}\n\nAnd then: words, (more) words.`))
      .toBe("[redacted:private-key]\n\nAnd then: words, (more) words.")
  })

  it.each([
    ["bearer", `Authorization: Bearer ${alnum(20)}`, "Authorization: Bearer [redacted:bearer-token]"],
    ["basic", `authorization: Basic ${alnum(20)}==`, "authorization: Basic [redacted:basic-credentials]"],
    [
      "basic in JSON",
      `{"Authorization":"Basic ${alnum(20)}=="}`,
      `{"Authorization":"Basic [redacted:basic-credentials]"}`
    ],
    ["AWS secret", `aws_secret_access_key = ${alnum(40)}`, "aws_secret_access_key = [redacted:aws-secret-key]"],
    ["AWS secret in JSON", `"SecretAccessKey": "${alnum(40)}"`, `"SecretAccessKey": "[redacted:aws-secret-key]"`],
    ["npmrc", `//registry.example/:_authToken=${alnum(30)}`, "//registry.example/:_authToken=[redacted:npm-token]"],
    ["database URL", `postgres://app:${alnum(20)}@db/app`, "postgres://app:[redacted:url-password]@db/app"],
    [
      "Slack webhook",
      `https://hooks.slack.com/services/T${upper(8)}/B${upper(8)}/${alnum(24)}`,
      "https://hooks.slack.com/services/[redacted:slack-webhook]"
    ],
    [
      "Discord webhook",
      `https://discord.com/api/webhooks/123456789012/${alnum(68)}`,
      "https://discord.com/api/webhooks/123456789012/[redacted:discord-webhook]"
    ]
  ])("%s", (_, text, expected) => {
    expect(redact(text)).toBe(expected)
    expect(redact(expected)).toBe(expected)
  })

  it.each([
    ["a commit", "commit 677502d1c0ffee0123456789abcdef0123456789"],
    ["a checksum", `sha256:${hex(64)} integrity sha512-${alnum(86)}==`],
    ["a UUID", "123e4567-e89b-12d3-a456-426614174000"],
    ["a path", "/usr/lib/python3/dist-packages/sklearn/ghp_tools/sk-learn.py C:\\npm_modules\\x"],
    ["class names", `<div class="sk-container-id-1 sk-top-container sk-folding-cube-animation-wrapper">`],
    ["words with a dash", "risk-assessment-2024-final-version task-1234567890123456 disk-abcdefghijkl1234"],
    ["a cache key", `cache-key-${hex(32)}`],
    ["an image", `data:image/png;base64,iVBORw0KGgo${alnum(5_000)}+/${alnum(200)}==`],
    [
      "words about bearers",
      "Bearer authentication-scheme; bearer tokens are opaque; `Bearer ${token}`; Bearer <your-token>"
    ],
    ["code that reads a key", "const key = process.env.OPENAI_API_KEY ?? options.apiKey // sk-… or ghp_…"],
    [
      "a pattern for key blocks",
      "/-----BEGIN (RSA )?PRIVATE KEY-----[\\s\\S]*?-----END (RSA )?PRIVATE KEY-----/ and text"
    ],
    ["a public key", pem("PUBLIC KEY")],
    ["a certificate", pem("CERTIFICATE")],
    [
      "an example URL",
      "postgres://postgres:postgres@localhost:5432/app http://user:$PASSWORD@host git@example.com:a/b.git"
    ],
    ["base64 of JSON", "eyJhIjoxfQ== eyJhIjoxfQ.txt eyJsb25nZXIiOiJ2YWx1ZSJ9"]
  ])("leaves %s alone", (_, text) => {
    expect(redact(text)).toBe(text)
    expect(containsMarker(text)).toBe(false)
  })

  it("takes out given values, also escaped ones and each long line", () => {
    const secret = `p"ss/word\\with+odd ${"ünïcode"}`
    const redactor = Redaction.make({
      secrets: [secret, `first-line-${"x".repeat(10)}\nshort\nsecond-line-${"y".repeat(10)}`]
    })
    expect(redactor.redact(`a ${secret} b`)).toBe("a [redacted:secret] b")
    expect(redactor.redact(JSON.stringify(secret))).toBe(`"[redacted:secret]"`)
    expect(redactor.redact(encodeURIComponent(secret))).toBe("[redacted:secret]")
    expect(redactor.redact(`1\tfirst-line-${"x".repeat(10)}\n2\tshort\n`)).toBe("1\t[redacted:secret]\n2\tshort\n")
  })

  it("prefers the longer of two values and leaves out short ones", () => {
    const long = "correct-horse-battery-staple"
    const redactor = Redaction.make({ secrets: [long.slice(0, 20), long, "hunter2", "", "fifteen-letters"] })
    expect(redactor.redact(`${long} hunter2 fifteen-letters`)).toBe("[redacted:secret] hunter2 fifteen-letters")
  })

  it("says whether a text holds a marker", () => {
    expect(containsMarker(`x ${redact(`ghp_${alnum(36)}`)}`)).toBe(true)
    expect(containsMarker("[redacted] redacted: [redacted:]")).toBe(false)
  })

  const secrets = ["a-value-of-the-environment", "another value, 1234567"]
  const withValues = Redaction.make({ secrets })
  const pieces = FastCheck.array(
    FastCheck.oneof(
      FastCheck.constantFrom(
        ...keys.map(([, secret]) => secret),
        ...secrets,
        pem("PRIVATE KEY"),
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "Bearer ",
        "sk-",
        "ghp_",
        "AKIA",
        "eyJ",
        ".",
        "-",
        "_",
        " ",
        "\n",
        "\\n",
        "%3D",
        "://u:",
        "@",
        "[redacted:secret]",
        "aws_secret_access_key=",
        alnum(40),
        hex(32)
      ),
      FastCheck.string({ maxLength: 20 })
    ),
    { maxLength: 12 }
  ).map((parts) => parts.join(""))

  it.prop("twice is the same as once", { text: pieces }, ({ text }) => {
    const once = withValues.redact(text)
    expect(withValues.redact(once)).toBe(once)
  }, { fastCheck: { numRuns: 500 } })

  it.prop("no value is left", { text: pieces }, ({ text }) => {
    const result = withValues.redact(text)
    for (const secret of secrets) {
      expect(result.includes(secret)).toBe(false)
    }
  })

  it.prop("a key among words does not get through, whatever the pieces of a stream", {
    key: FastCheck.constantFrom(...keys.map(([, secret]) => secret), ...secrets, pem("PRIVATE KEY")),
    before: FastCheck.constantFrom("", "a: ", "\"", "line\n", "("),
    after: FastCheck.constantFrom("", " b", "\"", "\nline", ")"),
    cuts: FastCheck.array(FastCheck.nat(1_000), { maxLength: 8 })
  }, ({ after, before, cuts, key }) => {
    const text = before + key + after
    const places = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length]
    let state = Redaction.streamStart
    let shown = ""
    for (const [index, place] of places.slice(1).entries()) {
      const [next, out] = withValues.redactStreaming(state, text.slice(places[index], place))
      state = next
      shown += out
    }
    shown += withValues.endStreaming(state)
    expect(shown).toBe(withValues.redact(text))
    expect(shown.includes(key)).toBe(false)
  })

  it("does not hold back a stream for ever", () => {
    const [state, shown] = withValues.redactStreaming(Redaction.streamStart, `${"word ".repeat(10_000)}${secrets[0]}`)
    expect(shown.length).toBeGreaterThan(49_000)
    expect(shown + withValues.endStreaming(state)).toBe(`${"word ".repeat(10_000)}[redacted:secret]`)
    const [, unbroken] = withValues.redactStreaming(Redaction.streamStart, "x".repeat(100_000))
    expect(unbroken.length).toBe(100_000)
    const [, open] = withValues.redactStreaming(
      Redaction.streamStart,
      `-----BEGIN PRIVATE KEY-----\n${"(\n".repeat(50_000)}`
    )
    expect(open.length).toBeGreaterThan(90_000)
  })

  it.each([
    ["beginnings of keys", "sk-"],
    ["beginnings of tokens", "eyJ-"],
    ["beginnings of blocks", "-----BEGIN PRIVATE KEY-----\n"],
    ["blocks without an end", `-----BEGIN PRIVATE KEY-----\n${"abcdefgh\n".repeat(20)}`],
    ["bearers", "Bearer "],
    ["URLs", "://a:"],
    ["digits", "1234567890"],
    ["base64", "iVBORw0KGgo/AAAA+"],
    ["dotted tokens", "eyJ.eyJ."],
    ["names of settings", "aws_secret_access_key "]
  ])("a megabyte of %s takes little time", (_, unit) => {
    const text = unit.repeat(Math.ceil(1_048_576 / unit.length))
    const before = process.cpuUsage()
    withValues.redact(text)
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_500)
  })
})

describe("Redaction.redactJson", () => {
  const token = `ghp_${alnum(36)}`

  it("redacts strings and names at any depth and leaves the rest", () => {
    const value = { a: [1, null, true, { b: `x ${token}` }], [token]: "name", __proto__: null, n: undefined }
    expect(redactJson(value)).toEqual({
      a: [1, null, true, { b: "x [redacted:github-token]" }],
      "[redacted:github-token]": "name",
      n: undefined
    })
  })

  it("keeps a field named __proto__ a field", () => {
    const value: unknown = JSON.parse(`{"__proto__":{"x":"${token}"}}`)
    expect(JSON.stringify(redactJson(value))).toBe(`{"__proto__":{"x":"[redacted:github-token]"}}`)
  })

  it("takes other objects as JSON would", () => {
    expect(redactJson({ at: { toJSON: () => ({ key: token }) }, url: new URL(`https://example.com/${token}`) }))
      .toEqual({ at: { key: "[redacted:github-token]" }, url: "https://example.com/[redacted:github-token]" })
  })

  it("does not let through what is too deep to look at", () => {
    const deep: unknown = JSON.parse("[".repeat(5_000) + `"${token}"` + "]".repeat(5_000))
    const text = JSON.stringify(redactJson(deep))
    expect(text).toContain("[redacted:too-deep]")
    expect(text).not.toContain(token)
  })

  it("redacts a record", () => {
    expect(Redaction.redactRecord(Redaction.patternsOnly, { a: token, b: { c: 1 } })).toEqual({
      a: "[redacted:github-token]",
      b: { c: 1 }
    })
  })

  it.prop("changes no JSON without secrets", { value: FastCheck.jsonValue() }, ({ value }) => {
    expect(redactJson(value)).toEqual(value)
  })
})

describe("Redaction.Redaction", () => {
  it.effect("knows the formats when nothing is provided", () =>
    Effect.gen(function*() {
      const redactor = yield* Redaction.Redaction
      expect(redactor.redact(`ghp_${alnum(36)}`)).toBe("[redacted:github-token]")
    }))
})
