import { JsonSchema, Tool, ToolFailure, ToolRegistry } from "@capstan/core"
import type { CallContext } from "@capstan/core/CallContext"
import * as Limits from "@capstan/core/Limits"
import { assert, describe, expect, it } from "@effect/vitest"
import { Effect, Either, Schema } from "effect"

const context: CallContext = {
  session: "s",
  ref: { turn: 0, iteration: 0, position: 0 },
  idempotencyKey: "k",
  user: undefined,
  workingDirectory: "/",
  limits: Limits.strict,
  capacity: 1000,
  lastRead: () => undefined,
  recordRead: () => Effect.void,
  reserveWrite: () => Effect.void,
  storedOutput: () => Effect.succeed(undefined),
  emit: () => Effect.void,
  processStarted: () => Effect.void,
  delegate: () => Effect.dieMessage("This call runs no sub-session.")
}

const prepare = <R>(tool: Tool.Tool<R>, args: Readonly<Record<string, unknown>>) => {
  const prepared = tool.prepare(args)
  assert(Either.isRight(prepared))
  return prepared.right
}

const echo = <E>(handler: (args: { readonly n: number }) => Effect.Effect<string, E>) =>
  Tool.make("echo", { description: "Says it again.", parameters: Schema.Struct({ n: Schema.Number }), handler })

describe("Tool", () => {
  it("has safe defaults", () => {
    const tool = echo(() => Effect.succeed(""))
    expect(tool).toMatchObject({ safety: "side-effect", trust: "workspace", idempotent: false, outputCut: "head" })
    const privileged = Tool.make("p", {
      description: "p",
      parameters: Schema.Struct({}),
      safety: "privileged",
      handler: () => Effect.succeed("")
    })
    expect(privileged.trust).toBe("shell")
    expect(Effect.runSync(prepare(privileged, {}).assess)).toMatchObject({ risk: "high", approval: "unless-allowed" })
  })

  it("says what is wrong with each argument and how to mend it", () => {
    const tool = Tool.make("t", {
      description: "t",
      parameters: Schema.Struct({ a: Schema.String, b: Schema.Number }),
      handler: () => Effect.succeed("")
    })
    const result = tool.prepare({ b: "x", c: 1 })
    assert(Either.isLeft(result))
    expect(result.left).toEqual(expect.arrayContaining([
      expect.objectContaining({ path: "a", fix: "Add \"a\"." }),
      expect.objectContaining({ path: "b", received: "\"x\"" }),
      expect.objectContaining({ path: "c", fix: "Take \"c\" out." })
    ]))
  })

  it.effect("gives text as it is and values as JSON", () =>
    Effect.gen(function*() {
      expect(yield* prepare(echo(({ n }) => Effect.succeed(`n=${n}`)), { n: 1 }).run(context)).toEqual(
        Tool.textOutput("n=1")
      )
      const typed = Tool.make("typed", {
        description: "t",
        parameters: Schema.Struct({}),
        success: Schema.Struct({ at: Schema.Date }),
        handler: () => Effect.succeed({ at: new Date(0) })
      })
      expect(yield* prepare(typed, {}).run(context)).toEqual({
        content: [{ type: "text", text: "{\"at\":\"1970-01-01T00:00:00.000Z\"}" }],
        structured: { at: "1970-01-01T00:00:00.000Z" }
      })
    }))

  it.effect("passes failures on: its own as they are, JSON byte for byte, others with the tool's name", () =>
    Effect.gen(function*() {
      const failed = (error: unknown) => Effect.flip(prepare(echo(() => Effect.fail(error)), { n: 1 }).run(context))
      const own = ToolFailure.notFound("x", "no x")
      expect(yield* failed(own)).toEqual(own)
      expect((yield* failed({ message: "{\"code\": 7 }" })).message).toBe("{\"code\": 7 }")
      expect((yield* failed(new Error("nope"))).message).toBe("echo failed: nope")
      expect((yield* failed("plain")).message).toBe("echo failed: plain")
    }))

  it.effect("takes a JSON Schema of somebody else's", () =>
    Effect.gen(function*() {
      const schema = {
        type: "object",
        properties: { a: { type: "string" } },
        required: ["a"],
        additionalProperties: false
      }
      const tool = Tool.fromJsonSchema("foreign", {
        description: "f",
        parameters: schema,
        handler: (args) => Effect.succeed(Tool.textOutput(JSON.stringify(args)))
      })
      assert(Either.isRight(tool))
      expect((yield* prepare(tool.right, { a: "1" }).run(context)).content).toEqual([{
        type: "text",
        text: "{\"a\":\"1\"}"
      }])
      const wrong = tool.right.prepare({ b: 1 })
      assert(Either.isLeft(wrong))
      expect(wrong.left.map((finding) => finding.fix)).toEqual([
        "Add the property \"a\".",
        "Take out the property \"b\"."
      ])
      expect(Either.isLeft(JsonSchema.validator({ type: "nonsense" }))).toBe(true)
    }))
})

describe("ToolRegistry", () => {
  it("refuses a name that is taken, aliases included, and names that models cannot write", () => {
    const named = (name: string, aliases: ReadonlyArray<string> = []) =>
      Tool.make(name, { description: "x", aliases, parameters: Schema.Struct({}), handler: () => Effect.succeed("") })
    expect(ToolRegistry.toolSet([named("a"), named("b", ["a"])])).toMatchObject({
      left: { reason: "duplicate", name: "a" }
    })
    expect(ToolRegistry.toolSet([named("a b")])).toMatchObject({ left: { reason: "bad-name" } })
  })

  it("sorts definitions by name", () => {
    const named = (name: string) =>
      Tool.make(name, { description: "x", parameters: Schema.Struct({}), handler: () => Effect.succeed("") })
    const set = ToolRegistry.toolSet([named("c"), named("a"), named("b")])
    assert(Either.isRight(set))
    expect(set.right.definitions.map(({ name }) => name)).toEqual(["a", "b", "c"])
  })
})
