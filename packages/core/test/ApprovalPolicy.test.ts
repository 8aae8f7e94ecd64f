import { ApprovalPolicy, Tool, ToolPlan, ToolRegistry } from "@capstan/core"
import type { Assessment } from "@capstan/core/Assessment"
import * as Limits from "@capstan/core/Limits"
import { assert, describe, expect, it } from "@effect/vitest"
import { Effect, Either, Schema } from "effect"

const file = Tool.make("write_file", {
  description: "w",
  parameters: Schema.Struct({ path: Schema.String }),
  paths: ({ path }) => [{ path, access: "write" }],
  handler: () => Effect.succeed("")
})

const command = Tool.make("run_command", {
  description: "c",
  parameters: Schema.Struct({ command: Schema.String }),
  safety: "privileged",
  allowedBy: (args, pattern) => args.command === pattern,
  allowedTogether: (args, patterns) => args.command.split(" && ").every((part) => patterns.includes(part)),
  handler: () => Effect.succeed("")
})

const prepared = (tool: Tool.Tool, args: Readonly<Record<string, unknown>>) => {
  const call = tool.prepare(args)
  assert(Either.isRight(call))
  return call.right
}

const policy = (changes: Partial<ApprovalPolicy.ApprovalPolicy>): ApprovalPolicy.ApprovalPolicy => ({
  ...ApprovalPolicy.safe,
  denylist: [],
  trust: "full",
  ...changes
})

const verdict = (
  changes: Partial<ApprovalPolicy.ApprovalPolicy>,
  approval: Assessment["approval"],
  always: ReadonlyArray<string> = []
) =>
  ApprovalPolicy.classify({
    policy: policy(changes),
    always,
    tool: command,
    call: prepared(command, { command: "npm test" }),
    paths: [],
    assessment: { risk: "high", approval, warnings: [] }
  })

describe("ApprovalPolicy", () => {
  it("refuses commands by default", () => {
    expect(ApprovalPolicy.refusal(ApprovalPolicy.safe, command, prepared(command, { command: "ls" }))).toMatchObject({
      details: { kind: "denylist", pattern: "run_command" }
    })
  })

  it.each([
    ["write_file", true],
    ["write_*", true],
    ["write_file(docs/**)", true],
    ["write_file(src/**)", false],
    ["read_*", false],
    ["*", true]
  ])("the entry %s covers write_file(docs/a.md): %s", (entry, covers) => {
    expect(ApprovalPolicy.covers([entry], "write_file", prepared(file, { path: "docs/a.md" }))).toBe(covers)
  })

  it("an allow entry must cover all of a call, a deny entry only a part", () => {
    const both = Tool.make("copy", {
      description: "c",
      parameters: Schema.Struct({ from: Schema.String, to: Schema.String }),
      paths: ({ from, to }) => [{ path: from, access: "read" }, { path: to, access: "write" }],
      handler: () => Effect.succeed("")
    })
    const call = prepared(both, { from: "a/x", to: "b/x" })
    expect(ApprovalPolicy.covers(["copy(a/*)"], "copy", call)).toBe(false)
    expect(ApprovalPolicy.refusal(policy({ denylist: ["copy(a/*)"] }), both, call)).toMatchObject({
      details: { pattern: "copy(a/*)" }
    })
  })

  it("entries cover a call together of which each part has its own", () => {
    const call = prepared(command, { command: "npm ci && npm test" })
    const covers = (...entries: ReadonlyArray<string>) => ApprovalPolicy.covers(entries, "run_command", call)
    expect(covers("run_command(npm ci)", "run_*(npm test)")).toBe(true)
    expect(covers("run_command(npm ci)", "other(npm test)")).toBe(false)
    expect(covers("run_command(npm ci)")).toBe(false)
    expect(covers()).toBe(false)
  })

  it("deny wins over allow, trust over both, and mode deny runs only what is allowed", () => {
    const call = prepared(file, { path: "a" })
    const kind = (changes: Partial<ApprovalPolicy.ApprovalPolicy>) =>
      ApprovalPolicy.refusal(policy(changes), file, call)?.details
    expect(kind({ allowlist: ["*"], denylist: ["write_file"] })).toMatchObject({ kind: "denylist" })
    expect(kind({ allowlist: ["*"], trust: "read_only" })).toMatchObject({ kind: "trust" })
    expect(kind({ mode: "deny" })).toMatchObject({ kind: "not-allowed" })
    expect(kind({ mode: "deny", allowlist: ["write_file(a)"] })).toBeUndefined()
  })

  it("asks as the call, the mode and the lists say", () => {
    expect(verdict({ mode: "auto", allowlist: ["*"] }, "always")).toEqual({ _tag: "Ask", mustAsk: true })
    expect(verdict({ mode: "auto" }, "unless-allowed")).toEqual({ _tag: "Ask", mustAsk: false })
    expect(verdict({ mode: "auto", allowlist: ["run_command(npm test)"] }, "unless-allowed")).toEqual({ _tag: "Run" })
    expect(verdict({}, "unless-allowed", ["run_command(npm test)"])).toEqual({ _tag: "Run" })
    expect(verdict({}, "by-policy")).toEqual({ _tag: "Ask", mustAsk: false })
    expect(verdict({ promptSideEffects: false }, "by-policy")).toEqual({ _tag: "Run" })
    expect(verdict({ mode: "auto" }, "by-policy")).toEqual({ _tag: "Run" })
    expect(verdict({}, "never")).toEqual({ _tag: "Run" })
  })
})

describe("ToolPlan", () => {
  const look = Tool.make("look", {
    description: "l",
    parameters: Schema.Struct({ at: Schema.String }),
    safety: "read-only",
    handler: () => Effect.succeed("")
  })
  const tools = Either.getOrThrow(ToolRegistry.toolSet([file, command, look]))
  const call = (position: number, name: string, args: Readonly<Record<string, unknown>>, id = `c${position}`) => ({
    ref: { turn: 0, iteration: 0, position },
    call: { id, name, raw: JSON.stringify(args), arguments: args, repairs: [] }
  })
  const resolve = (calls: ReadonlyArray<ReturnType<typeof call>>, limits: Partial<Limits.Values> = {}) =>
    ToolPlan.resolve({
      calls,
      tools,
      policy: policy({ denylist: ["run_command"] }),
      limits: { ...Limits.agent, ...limits },
      circumstances: { disabled: false, outOfIterations: false, lastCutOff: false },
      containsMarker: (text) => text.includes("[redacted:")
    })
  const failures = (resolved: ReadonlyArray<ToolPlan.Resolved>) =>
    resolved.map((call) => call._tag === "Refused" ? call.failure._tag : "Ready")

  it("never names a denied tool as the closest one", () => {
    expect(JSON.stringify(resolve([call(0, "run_comand", {})]))).not.toContain("run_command\"")
    expect(JSON.stringify(resolve([call(0, "write_fil", {})]))).toContain("write_file")
  })

  it("counts the batch, the bytes, duplicates and redaction marks", () => {
    const at = { at: "x" }
    expect(
      failures(resolve([call(0, "look", at), call(1, "look", at), call(2, "look", at)], { maxToolCallsPerBatch: 2 }))
    )
      .toEqual(["Ready", "Ready", "Limit"])
    expect(failures(resolve([call(0, "look", { at: "ü".repeat(50) })], { maxToolArgsBytes: 100 }))).toEqual(["Limit"])
    expect(
      failures(
        resolve([call(0, "look", at, "same"), call(1, "look", at, "same"), call(2, "look", { at: "y" }, "same")])
      )
    )
      .toEqual(["Ready", "DuplicateCall", "Ready"])
    expect(failures(resolve([call(0, "look", at, ""), call(1, "look", at, "")]))).toEqual(["Ready", "Ready"])
    expect(
      failures(resolve([call(0, "write_file", { path: "[redacted:jwt]" }), call(1, "look", { at: "[redacted:jwt]" })]))
    )
      .toEqual(["Validation", "Ready"])
  })

  it("a denied path is denied however it is written", () => {
    const planned = ToolPlan.decide({
      resolved: resolve([call(0, "write_file", { path: "/w/docs/x" })]),
      policy: policy({ denylist: ["write_file(docs/**)"], mode: "auto" }),
      always: [],
      limits: Limits.agent,
      used: { starts: [], written: 0 },
      now: 0,
      facts: new Map([[0, {
        paths: [{
          _tag: "Allowed",
          path: "/w/docs/x",
          canonical: "/w/docs/x",
          display: "docs/x",
          mount: { name: "w", root: "/w", access: "rw" }
        }],
        assessment: { risk: "medium", approval: "by-policy", warnings: [] },
        preview: undefined
      }]])
    })
    expect(planned).toMatchObject([{ _tag: "Refused", failure: { details: { kind: "denylist" } } }])
  })

  it("groups reads that stand next to each other, and nothing else", () => {
    const ready = resolve(
      ["look", "look", "write_file", "look", "look"].map((name, i) =>
        call(i, name, name === "look" ? { at: String(i) } : { path: "a" })
      )
    ).flatMap((ready) => ready._tag === "Ready" ? [{ ready }] : [])
    expect(ToolPlan.stages(ready).map((stage) => stage.map(({ ready }) => ready.ref.position))).toEqual([[0, 1], [2], [
      3,
      4
    ]])
  })

  it("a refused path refuses the call with both paths", () => {
    const resolved = resolve([call(0, "write_file", { path: "../x" })])
    const planned = ToolPlan.decide({
      resolved,
      policy: policy({}),
      always: [],
      limits: Limits.agent,
      used: { starts: [], written: 0 },
      now: 0,
      facts: new Map([[0, {
        paths: [{
          _tag: "Refused",
          path: "../x",
          resolved: "/x",
          reason: "outside",
          pattern: undefined,
          message: "outside"
        }],
        assessment: { risk: "medium", approval: "by-policy", warnings: [] },
        preview: undefined
      }]])
    })
    expect(planned).toMatchObject([{
      _tag: "Refused",
      failure: { _tag: "Permission", details: { kind: "outside-sandbox", attempted: "../x", resolved: "/x" } }
    }])
  })
})
