import { ApprovalPolicy, Tool, ToolPlan, ToolRegistry } from "@capstan/core"
import * as Limits from "@capstan/core/Limits"
import type * as RateLimit from "@capstan/core/RateLimit"
import { assert, describe, expect, it } from "@effect/vitest"
import { Effect, Either, FastCheck, Schema } from "effect"

const look = Tool.make("look", {
  description: "l",
  parameters: Schema.Struct({ at: Schema.String }),
  aliases: ["peek"],
  safety: "read-only",
  handler: () => Effect.succeed("")
})

const write = Tool.make("write_file", {
  description: "w",
  parameters: Schema.Struct({ path: Schema.String, content: Schema.optional(Schema.String) }),
  paths: ({ path }) => [{ path, access: "write" }],
  writes: ({ content }) => new TextEncoder().encode(content ?? "").length,
  handler: () => Effect.succeed("")
})

const run = Tool.make("run_command", {
  description: "c",
  parameters: Schema.Struct({ command: Schema.String }),
  aliases: ["bash"],
  safety: "privileged",
  allowedBy: (args, pattern) => args.command === pattern,
  handler: () => Effect.succeed("")
})

const breaking = Tool.make("breaking", {
  description: "b",
  parameters: Schema.Struct({ where: Schema.String }),
  safety: "privileged",
  paths: ({ where }) => where === "paths" ? broken() : [],
  summary: ({ where }) => where === "summary" ? broken() : "",
  allowedBy: ({ where }) => where === "allowedBy" ? broken() : false,
  deniedBy: ({ where }) => where === "deniedBy" ? broken() : false,
  handler: () => Effect.succeed("")
})

function broken(): never {
  throw new Error("a bug of the tool")
}

const tools = Either.getOrThrow(ToolRegistry.toolSet([look, write, run, breaking]))

const open: ApprovalPolicy.ApprovalPolicy = { ...ApprovalPolicy.safe, mode: "auto", denylist: [], trust: "full" }

interface Written {
  readonly name: string
  readonly raw: string
  readonly id?: string
}

interface Setting {
  readonly policy?: Partial<ApprovalPolicy.ApprovalPolicy>
  readonly limits?: Partial<Limits.Values>
  readonly circumstances?: Partial<ToolPlan.Circumstances>
  readonly used?: RateLimit.Used
  readonly always?: ReadonlyArray<string>
  /** Where a path leads, if not to itself; null: outside. */
  readonly leads?: Readonly<Record<string, string | null>>
}

const parsed = (raw: string) => {
  try {
    const value: unknown = JSON.parse(raw)
    return Schema.is(Schema.Record({ key: Schema.String, value: Schema.Unknown }))(value) ? value : null
  } catch {
    return null
  }
}

const plan = (written: ReadonlyArray<Written>, setting: Setting = {}) => {
  const policy = { ...open, ...setting.policy }
  const limits = { ...Limits.agent, ...setting.limits }
  const resolved = ToolPlan.resolve({
    calls: written.map(({ id, name, raw }, position) => ({
      ref: { turn: 0, iteration: 0, position },
      call: { id: id ?? `c${position}`, name, raw, arguments: parsed(raw), repairs: [] }
    })),
    tools,
    policy,
    limits,
    circumstances: { disabled: false, outOfIterations: false, lastCutOff: false, ...setting.circumstances },
    containsMarker: (text) => text.includes("[redacted:")
  })
  const facts = new Map(resolved.flatMap((call) =>
    call._tag === "Refused" ? [] : [
      [call.ref.position, {
        paths: call.prepared.paths.map(({ path }) => decisionOf(path, setting.leads ?? {})),
        assessment: Effect.runSync(call.prepared.assess),
        preview: undefined
      }] as const
    ]
  ))
  return ToolPlan.decide({
    resolved,
    facts,
    policy,
    always: setting.always ?? [],
    limits,
    used: setting.used ?? { starts: [], written: 0 },
    now: 1_000_000
  })
}

const decisionOf = (path: string, leads: Readonly<Record<string, string | null>>) => {
  const led = leads[path]
  const display = led === undefined || led === null ? path : led
  return led === null
    ? {
      _tag: "Refused" as const,
      path,
      resolved: "/out",
      reason: "outside" as const,
      pattern: undefined,
      message: "outside"
    }
    : {
      _tag: "Allowed" as const,
      path,
      canonical: `/w/${display}`,
      display,
      mount: { name: "w", root: "/w", access: "rw" as const }
    }
}

const call = (name: string, args: unknown, id?: string): Written => ({
  name,
  raw: JSON.stringify(args),
  ...(id === undefined ? {} : { id })
})

/** What happens with each call, in a word: the tag, or that of the failure. */
const words = (planned: ReadonlyArray<ToolPlan.PlannedCall>) =>
  planned.map((one) =>
    one._tag !== "Refused"
      ? one._tag
      : one.failure._tag === "Permission"
      ? one.failure.details.kind
      : one.failure._tag
  )

const failureOf = (planned: ReadonlyArray<ToolPlan.PlannedCall>, position = 0) => {
  const one = planned[position]
  assert(one?._tag === "Refused")
  return one.failure
}

const outOfStarts: RateLimit.Used = {
  starts: Array.from({ length: 240 }, () => ({ at: 999_000, safety: "privileged" as const })),
  written: 0
}

describe("planning", () => {
  it("the first check that fails names the failure, in the order of the specification", () => {
    /** A call that fails every check; each step takes away what fails first. */
    const setting: Setting = {
      policy: { enabled: false, denylist: ["write_file"], trust: "read_only" },
      limits: { maxToolCallsPerBatch: 1, maxToolArgsBytes: 40 },
      circumstances: { disabled: true, outOfIterations: true },
      used: outOfStarts,
      leads: { x: null }
    }
    const bad = { name: "write_fil", raw: "{\"path\": \"x\", \"wrong\": 1, \"more\": \"0123456789\"", id: "same" }
    const long = call("write_file", { path: "x", wrong: 1, content: "0123456789" }, "same")
    const fits = call("write_file", { path: "x" }, "same")
    const batch = (one: Written, next: Setting, first = call("look", {}, "other")) =>
      words(plan([first, one], { ...setting, ...next }))[1]

    const on: Setting = {
      policy: { denylist: ["write_file"], trust: "read_only" },
      circumstances: { outOfIterations: true }
    }
    expect(batch(bad, {})).toBe("Disabled")
    expect(batch(bad, { ...on, policy: { ...on.policy, enabled: false } })).toBe("Disabled")
    expect(failureOf(plan([bad, bad], { ...setting, ...on }), 1)).toMatchObject({
      details: { limit: "max_tool_calls_per_batch" }
    })
    const two: Setting = { ...on, limits: { maxToolArgsBytes: 40 } }
    expect(failureOf(plan([bad, bad], { ...setting, ...two }), 1)).toMatchObject({
      details: { limit: "max_tool_args_bytes" }
    })
    const wide: Setting = { ...on, limits: {} }
    expect(failureOf(plan([bad, bad], { ...setting, ...wide }), 1)).toMatchObject({
      message: "Max tool iterations reached"
    })
    const going: Setting = { ...wide, circumstances: {} }
    expect(batch(bad, going, bad)).toBe("DuplicateCall")
    expect(batch(bad, going)).toBe("UnknownTool")
    expect(batch({ ...bad, name: "write_file" }, going)).toBe("Validation")
    expect(batch(long, going)).toBe("Validation")
    expect(batch(fits, going)).toBe("denylist")
    expect(batch(fits, { ...going, policy: { trust: "read_only", mode: "deny" } })).toBe("trust")
    expect(batch(fits, { ...going, policy: { mode: "deny" } })).toBe("not-allowed")
    expect(batch(fits, { ...going, policy: {} })).toBe("outside-sandbox")
    expect(batch(fits, { ...going, policy: {}, leads: {} })).toBe("RateLimit")
    expect(batch(fits, { ...going, policy: { mode: "prompt" }, leads: {}, used: { starts: [], written: 0 } })).toBe(
      "Ask"
    )
  })

  it("says what the specification says when tools are off", () => {
    expect(failureOf(plan([call("look", { at: "x" })], { policy: { enabled: false } })).message)
      .toBe("Tool execution disabled by policy")
  })

  it("measures arguments in bytes of UTF-8, not in characters", () => {
    const text = "ü".repeat(50)
    const bytes = new TextEncoder().encode(JSON.stringify({ at: text })).length
    expect(words(plan([call("look", { at: text })], { limits: { maxToolArgsBytes: bytes } }))).toEqual(["Run"])
    expect(words(plan([call("look", { at: text })], { limits: { maxToolArgsBytes: bytes - 1 } }))).toEqual(["Limit"])
  })

  it("tells duplicates by id, name and arguments; the same id with other content is a call of its own", () => {
    const x = { at: "x" }
    const planned = plan([
      call("look", x, "a"),
      { name: "look", raw: "{ \"at\" : \"x\" }", id: "a" },
      call("look", { at: "y" }, "a"),
      call("peek", x, "a"),
      call("look", x, "b"),
      call("look", x, ""),
      call("look", x, "")
    ])
    expect(words(planned)).toEqual(["Run", "DuplicateCall", "Run", "Run", "Run", "Run", "Run"])
    expect(failureOf(planned, 1)).toMatchObject({ details: { first: 0 } })
  })

  it("corrects a name that is an alias or differs by case and separators only, and records it", () => {
    const planned = plan([call("peek", { at: "x" }), call("functions.LOOK", { at: "y" }), call("look", { at: "z" })])
    expect(words(planned)).toEqual(["Run", "Run", "Run"])
    expect(planned.map((one) => one._tag === "Refused" ? [] : one.ready.repairs.map(({ kind }) => kind)))
      .toEqual([["name-corrected"], ["name-corrected"], []])
  })

  it("names the closest tools, and never one that is denied", () => {
    const closest = (name: string, policy: Partial<ApprovalPolicy.ApprovalPolicy>) => {
      const failure = failureOf(plan([call(name, {})], { policy }))
      assert(failure._tag === "UnknownTool")
      expect(failure.suggestedFix).toContain(failure.details.closest.join(", "))
      return failure.details.closest
    }
    expect(JSON.stringify(failureOf(plan([call("x".repeat(100_000), {})]))).length).toBeLessThan(1_000)
    expect(closest("run_comand", {})).toEqual(["run_command"])
    expect(closest("run_comand", { denylist: ["run_command"] })).toEqual([])
    expect(closest("run_comand", { denylist: ["bash"] })).toEqual([])
    expect(closest("run_comand", { denylist: ["run_*"] })).toEqual([])
    expect(closest("run_comand", { denylist: ["run_command(npm *)"] })).toEqual(["run_command"])
    expect(closest("run_comand", { denylist: ["run_command(npm"] })).toEqual([])
    expect(closest("run_comand", { trust: "workspace" })).toEqual([])
    expect(closest("run_comand", { mode: "deny" })).toEqual([])
    expect(closest("run_comand", { mode: "deny", allowlist: ["run_command(npm test)"] })).toEqual(["run_command"])
  })

  it("refuses what a deny entry by an alias names, and by an entry that cannot be read", () => {
    expect(words(plan([call("run_command", { command: "ls" })], { policy: { denylist: ["bash"] } }))).toEqual([
      "denylist"
    ])
    expect(words(plan([call("write_file", { path: "a" })], { policy: { denylist: ["write_file(docs/**"] } })))
      .toEqual(["denylist"])
    expect(words(plan([call("write_file", { path: "a" })], { policy: { mode: "deny", allowlist: ["write_file(a"] } })))
      .toEqual(["not-allowed"])
  })

  it("an allow entry for paths covers where they lead, not only what is written", () => {
    const written = [call("write_file", { path: "docs/a" })]
    const policy = { mode: "prompt" as const, allowlist: ["write_file(docs/**)"] }
    expect(words(plan(written, { policy }))).toEqual(["Run"])
    expect(words(plan(written, { policy, leads: { "docs/a": "src/a" } }))).toEqual(["Ask"])
    expect(words(plan(written, { policy: { ...policy, mode: "deny" }, leads: { "docs/a": "src/a" } })))
      .toEqual(["not-allowed"])
    expect(words(plan(written, { policy: { denylist: ["write_file(src/**)"] }, leads: { "docs/a": "src/a" } })))
      .toEqual(["denylist"])
    expect(words(plan([call("write_file", { path: "/w/docs/a" })], {
      policy: { mode: "prompt", allowlist: ["write_file(/w/docs/**)"] },
      leads: { "/w/docs/a": "docs/a" }
    }))).toEqual(["Run"])
  })

  it("a list decides before the sandbox is looked at", () => {
    expect(words(plan([call("write_file", { path: "out/x" })], {
      policy: { denylist: ["write_file(out/*)"] },
      leads: { "out/x": null }
    }))).toEqual(["denylist"])
  })

  it("the calls of a batch use up the rate limits in call order, refused ones nothing", () => {
    const planned = plan([
      call("write_file", { path: "a" }),
      call("write_file", { wrong: 1 }),
      call("look", { at: "x" }),
      call("write_file", { path: "b" }),
      call("write_file", { path: "c" }),
      call("look", { at: "y" })
    ], { policy: { mode: "prompt" }, limits: { writesPerMinute: 2, callsPerMinute: 4 } })
    expect(words(planned)).toEqual(["Ask", "Validation", "Run", "Ask", "RateLimit", "Run"])
    expect(failureOf(planned, 4)).toMatchObject({ details: { retryAfterMillis: 60_000 } })
  })

  it("bytes that cannot fit into the quota are refused before anybody is asked, counted as bytes", () => {
    const planned = plan(
      ["ü".repeat(20), "ü".repeat(30), "ü".repeat(5), "0123456789"].map((content, i) =>
        call("write_file", { path: `f${i}`, content })
      ),
      { policy: { mode: "prompt" }, limits: { bytesWrittenPerSession: 100 }, used: { starts: [], written: 40 } }
    )
    expect(words(planned)).toEqual(["Ask", "Limit", "Ask", "Ask"])
    expect(failureOf(planned, 1)).toMatchObject({ details: { limit: "bytes_written" } })
  })

  it.each(["paths", "summary", "allowedBy", "deniedBy"])("what throws in %s denies that call alone", (where) => {
    const planned = plan([call("breaking", { where }), call("look", { at: "x" })], {
      policy: { mode: "prompt", allowlist: ["breaking(x)"], denylist: ["breaking(y)"] }
    })
    expect(words(planned)).toEqual(["denied", "Run"])
    expect(planned[0]).toMatchObject({ fault: new Error("a bug of the tool") })
  })

  const anyCall: FastCheck.Arbitrary<Written> = FastCheck.record({
    id: FastCheck.constantFrom("", "a", "b"),
    name: FastCheck.constantFrom("look", "LOOK", "peek", "write_file", "run_command", "breaking", "nothing", ""),
    raw: FastCheck.oneof(
      FastCheck.constantFrom(
        "{",
        "[]",
        "{}",
        "{\"at\":\"x\"}",
        "{\"path\":\"docs/a\"}",
        "{\"path\":\"out\"}",
        "{\"path\":\"[redacted:jwt]\"}",
        "{\"command\":\"npm test\"}",
        ...["paths", "summary", "allowedBy", "deniedBy", "fine"].map((where) => JSON.stringify({ where }))
      ),
      FastCheck.string({ maxLength: 6 })
    )
  })

  const entry = FastCheck.constantFrom(
    "*",
    "write_*",
    "run_command(npm test)",
    "write_file(docs/**)",
    "breaking(x)",
    "look",
    "write_file(",
    ""
  )

  const anySetting: FastCheck.Arbitrary<Setting> = FastCheck.record({
    policy: FastCheck.record({
      enabled: FastCheck.integer({ min: 0, max: 9 }).map((n) => n > 0),
      mode: FastCheck.constantFrom<Array<ApprovalPolicy.ApprovalPolicy["mode"]>>("auto", "prompt", "deny"),
      allowlist: FastCheck.array(entry, { maxLength: 2 }),
      denylist: FastCheck.array(entry, { maxLength: 1 }),
      promptSideEffects: FastCheck.boolean(),
      trust: FastCheck.constantFrom<Array<ApprovalPolicy.ApprovalPolicy["trust"]>>("discovery", "workspace", "full")
    }),
    limits: FastCheck.record({
      maxToolCallsPerBatch: FastCheck.constantFrom(8, 32),
      callsPerMinute: FastCheck.constantFrom(2, 240)
    }),
    always: FastCheck.array(entry, { maxLength: 1 }),
    leads: FastCheck.constant({ out: null })
  })

  it.prop("every call has one verdict, in order, whatever is written and whatever the rules", [
    FastCheck.array(anyCall, { maxLength: 12 }),
    anySetting
  ], ([written, setting]) => {
    const planned = plan(written, setting)
    assert.deepStrictEqual(planned.map(({ ref }) => ref.position), written.map((_, i) => i))
    planned.forEach((one, position) => {
      if (one._tag === "Refused") return assert.isNotEmpty(one.failure.message)
      const { tool } = one.ready
      assert.isTrue(setting.policy?.enabled)
      assert.isBelow(position, setting.limits?.maxToolCallsPerBatch ?? 0)
      assert.notInclude(setting.policy?.denylist ?? [], tool.definition.name)
      assert.notInclude(setting.policy?.denylist ?? [], "*")
      if (tool.safety === "privileged" && one._tag === "Run") {
        assert.isNotEmpty([...setting.policy?.allowlist ?? [], ...setting.always ?? []])
      }
    })
    const admitted = planned.filter(({ _tag }) => _tag !== "Refused").length
    assert.isAtMost(admitted, setting.limits?.callsPerMinute ?? 0)
    for (const one of planned) {
      if (one._tag !== "Refused" || one.failure._tag !== "UnknownTool") continue
      const denied = setting.policy?.denylist ?? []
      assert.deepStrictEqual(
        one.failure.details.closest.filter((name) => denied.includes(name) || denied.includes("*")),
        []
      )
    }
  }, { fastCheck: { numRuns: 300 } })
})
