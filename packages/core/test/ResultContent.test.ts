import {
  Content,
  Limits,
  type Outcome,
  OutputLimit,
  OutputStore,
  Redaction,
  ResultContent,
  Tool,
  ToolFailure,
  ToolLoop
} from "@capstan/core"
import { ScriptedModel, TestLoop } from "@capstan/testing"
import { assert, describe, expect, it } from "@effect/vitest"
import { Effect, FastCheck, Layer, Schema } from "effect"

const ref = { turn: 1, iteration: 2, position: 3 }
const handle = "output:1.2.3"
const secret = `ghp_${"a1B2".repeat(9)}`

const failing: OutputStore.OutputStore["Type"] = {
  put: () => new OutputStore.OutputStoreError({ message: "full" }),
  get: () => Effect.succeed(undefined)
}

const fitted = (outcome: Outcome.Outcome, options: Partial<ResultContent.Options> = {}) => {
  const outputs = options.outputs ?? OutputStore.memory()
  return Effect.gen(function*() {
    const fit = yield* ResultContent.fit(outcome, {
      session: "s",
      ref,
      tool: { outputCut: "head-and-tail", verbatim: false },
      capacity: 1_000,
      limits: Limits.strict,
      redactor: Redaction.patternsOnly,
      outputs,
      ...options
    })
    const text = fit._tag === "Succeeded" ? Content.toText(fit.content) : fit.failure.message
    return { fit, text, stored: yield* outputs.get({ session: "s", handle }) }
  })
}

const said = (...texts: ReadonlyArray<string>): Outcome.Outcome => ({
  _tag: "Succeeded",
  content: texts.map(Content.text)
})

const lines = (count: number) => Array.from({ length: count }, (_, n) => `line ${n + 1}\n`).join("")

describe("the content of a result", () => {
  it.effect("stays as it is where it fits, and nothing is stored", () =>
    Effect.gen(function*() {
      const { stored, text } = yield* fitted(said("a\u001b[31mb"))
      assert.strictEqual(text, "ab")
      assert.isUndefined(stored)
    }))

  it.effect("is stored whole where it does not, with the words that read it again", () =>
    Effect.gen(function*() {
      const all = lines(1_000)
      const { stored, text } = yield* fitted(said(all))
      assert.isAtMost(OutputLimit.byteLength(text), 1_000)
      assert.match(text, /^line 1\n[^]*line 1000\n$/)
      assert.include(
        text,
        `[truncated: ${all.length} bytes in all; to see more call read_file with {"path":"${handle}","start_line":1,"end_line":200}]`
      )
      assert.strictEqual(stored, all)
    }))

  it.effect("keeps the beginning only, where a tool says so", () =>
    Effect.gen(function*() {
      const { text } = yield* fitted(said(lines(1_000)), { tool: { outputCut: "head", verbatim: false } })
      assert.match(text, /^line 1\n[^]*\]$/)
    }))

  it.effect("is stored without secrets and controls, also across the pieces of a long text", () =>
    Effect.gen(function*() {
      const filler = "x".repeat(99)
      const all = Array.from({ length: 5_000 }, (_, n) => n % 500 === 0 ? `token ${secret}` : `${filler}\u001b[31m`)
      const { stored, text } = yield* fitted(said(all.join("\n")))
      assert.notInclude(stored, secret)
      assert.notInclude(text, secret)
      assert.notInclude(stored, "\u001b")
      assert.strictEqual(stored?.split("\n").length, 5_000)
      assert.strictEqual(stored?.match(/\[redacted:/g)?.length, 10)
    }))

  it.effect("is stored with its beginning and end where it is too long even for that", () =>
    Effect.gen(function*() {
      const limits = { ...Limits.strict, maxStoredOutputBytes: 5_000 }
      const { stored, text } = yield* fitted(said(lines(10_000)), { limits })
      assert.isAtMost(OutputLimit.byteLength(stored ?? ""), 5_000)
      assert.match(stored ?? "", /^line 1\n[^]*line 10000\n$/)
      assert.include(text, "the first and last 5000 bytes are kept")
      assert.match(text, /truncated: 98\d\d\d bytes in all/)
    }))

  it.effect("says so where the rest was not kept", () =>
    Effect.gen(function*() {
      const { text } = yield* fitted(said(lines(1_000)), { outputs: failing })
      assert.include(text, "the rest was not kept")
      assert.notInclude(text, "read_file")
    }))

  it.effect("of a tool that limits itself is not cut", () =>
    Effect.gen(function*() {
      const { stored, text } = yield* fitted(said(lines(1_000)), {
        tool: { outputCut: "self-limited", verbatim: true }
      })
      assert.strictEqual(text, lines(1_000))
      assert.isUndefined(stored)
    }))

  it.effect("of several parts keeps to one budget, and what is no text", () =>
    Effect.gen(function*() {
      const image: Content.ContentPart = { type: "image", mediaType: "image/png", data: "AAAA" }
      const { fit, stored } = yield* fitted({
        _tag: "Succeeded",
        content: [Content.text("a".repeat(800)), image, Content.text("b".repeat(800))]
      })
      assert(fit._tag === "Succeeded")
      assert.deepStrictEqual(fit.content.map(({ type }) => type), ["text", "image"])
      assert.strictEqual(stored, `${"a".repeat(800)}\n${"b".repeat(800)}`)
    }))

  it.effect("says something even where there is no room left", () =>
    Effect.gen(function*() {
      const { text } = yield* fitted(said(lines(1_000)), { capacity: 0 })
      assert.include(text, handle)
      assert.isAtMost(OutputLimit.byteLength(text), 256)
    }))

  it.effect("of a failure is stored, too; one that is JSON stays as it is", () =>
    Effect.gen(function*() {
      const all = `The command failed with exit code 1.\n${lines(1_000)}`
      const { stored, text } = yield* fitted({ _tag: "Failed", failure: ToolFailure.execution(all) })
      assert.strictEqual(stored, all)
      assert.match(text, /^The command failed[^]*read_file[^]*line 1000\n$/)
      const json = "{\"a\": \"\\u001b[31m\",  \"b\":1}"
      assert.strictEqual((yield* fitted({ _tag: "Failed", failure: ToolFailure.execution(json) })).text, json)
    }))

  it.effect("keeps a value that is JSON and not too long", () =>
    Effect.gen(function*() {
      const value = (structured: unknown) =>
        Effect.map(fitted({ _tag: "Succeeded", content: [], structured }), ({ fit }) => fit)
      expect(yield* value({ a: secret })).toMatchObject({ structured: { a: expect.stringContaining("[redacted:") } })
      for (const bad of [1n, undefined, "x".repeat(200_000)]) expect(yield* value(bad)).not.toHaveProperty("structured")
    }))

  it.effect.prop(
    "is never longer than its budget, and never cut inside of a character",
    {
      text: FastCheck.string({ unit: "grapheme", maxLength: 3_000 }),
      capacity: FastCheck.integer({ min: 256, max: 2_000 })
    },
    ({ capacity, text }) =>
      Effect.gen(function*() {
        const result = yield* fitted(said(text), { capacity, redactor: Redaction.make() })
        assert.isAtMost(OutputLimit.byteLength(result.text), capacity)
        assert.isFalse(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(result.text))
      }),
    { fastCheck: { numRuns: 50 } }
  )
})

describe("the outputs of a batch", () => {
  const Big = Tool.make("big", {
    description: "Says much.",
    parameters: Schema.Struct({}),
    safety: "read-only",
    handler: () => Effect.succeed(lines(10_000))
  })

  const Again = Tool.make("again", {
    description: "Reads an output again.",
    parameters: Schema.Struct({ handle: Schema.String }),
    safety: "read-only",
    handler: ({ handle }, call) => Effect.map(call.storedOutput(handle), (text) => `${text?.length}`)
  })

  it.effect("share one budget, and each can be read again", () =>
    Effect.gen(function*() {
      yield* ToolLoop.run({ session: "s", message: "x" })
      const [, second, third] = yield* ScriptedModel.requests
      const results = second?.messages.findLast(({ role }) => role === "tool")
      assert(results?.role === "tool")
      const sizes = results.results.map(({ content }) => OutputLimit.byteLength(Content.toText(content)))
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(20_000)
      for (const size of sizes) expect(size).toBeGreaterThan(4_000)
      expect(JSON.stringify(third?.messages.at(-1))).toContain(`"${lines(10_000).length}"`)
      expect(JSON.stringify(third?.messages.at(-1))).toContain("\"undefined\"")
    }).pipe(
      Effect.provide(
        TestLoop.layer({
          model: [
            ScriptedModel.calls(Array.from({ length: 4 }, () => ({ name: "big", arguments: {} }))),
            ScriptedModel.calls(
              ["output:0.0.3", "output:0.0.4"].map((handle) => ({ name: "again", arguments: { handle } }))
            ),
            ScriptedModel.text("done")
          ],
          tools: [Big, Again],
          limits: { maxBatchOutputBytes: 20_000 }
        }).pipe(Layer.provide(OutputStore.layerMemory))
      )
    ))
})
