import { type Approval, Audit, Journal, Tool, ToolLoop } from "@capstan/core"
import { ScriptedApproval, ScriptedModel, TestLoop } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import { Array, Effect, FastCheck, Schema } from "effect"
import { createHash, createHmac } from "node:crypto"

const keyed = (key: string) => (text: string) => createHmac("sha256", key).update(text).digest("hex")
const digest = keyed("one")

const Write = Tool.make("write", {
  description: "Writes.",
  parameters: Schema.Struct({ path: Schema.String, content: Schema.optional(Schema.String) }),
  handler: ({ path }) => path === "bad" ? Effect.fail("no room") : Effect.succeed("ok")
})
const Look = Tool.make("look", {
  description: "Looks.",
  parameters: Schema.Struct({}),
  safety: "read-only",
  handler: () => Effect.succeed("seen")
})

const rowsOf = (session: string) => Effect.flatMap(Journal.Journal, (journal) => journal.read({ session }))

const audited = Effect.gen(function*() {
  yield* ToolLoop.run({ session: "s", message: "go", user: "u" })
  return Audit.calls({ session: "s", rows: yield* rowsOf("s"), digest })
})

const each = (answers: ReadonlyArray<Approval.Answer>) =>
  ScriptedApproval.decide(() =>
    Effect.succeed({ _tag: "Each", answers: answers.map((answer, position) => ({ position, answer })) })
  )

describe("Audit.calls", () => {
  it.effect("says who let which call run, and what came of it", () =>
    Effect.gen(function*() {
      const calls = yield* audited
      expect(calls.map(({ by, call, decision, errorCode, maker, outcome, success, tool }) => [
        call,
        tool,
        decision,
        maker,
        by,
        outcome,
        success,
        errorCode
      ])).toEqual([
        ["0.0.0", "write", "approved", "person", "script", "Succeeded", true, null],
        ["0.0.1", "write", "approved", "person", "script", "Failed", false, "execution"],
        ["0.0.2", "write", "denied", "person", "script", "Denied", false, "permission"],
        ["0.0.3", "write", "edited", "person", "script", "Succeeded", true, null],
        ["0.0.4", "look", "allowed", "auto", null, "Succeeded", true, null],
        ["0.0.5", "nothing", "refused", "policy", null, "Refused", false, "unknown_tool"]
      ])
      expect(calls[0]).toMatchObject({
        session: "s",
        provider: "scripted",
        model: "scripted-model",
        user: "u",
        time: "1970-01-01T00:00:00.000Z",
        durationMillis: 0
      })
      expect(Array.map(calls, (call) => call.argumentsHash === null)).toEqual([false, false, false, false, false, true])
    }).pipe(Effect.provide(TestLoop.layer({
      model: [
        ScriptedModel.calls([
          { name: "write", arguments: { path: "a" } },
          { name: "write", arguments: { path: "bad" } },
          { name: "write", arguments: { path: "c" } },
          { name: "write", arguments: { path: "d" } },
          { name: "look", arguments: {} },
          { name: "nothing", arguments: {} }
        ]),
        ScriptedModel.text("done")
      ],
      approvals: [each([
        { _tag: "Approve" },
        { _tag: "Always", entry: "write(bad)", scope: "turn" },
        { _tag: "Deny", reason: "keep it" },
        { _tag: "Edit", arguments: { path: "e" } }
      ])],
      tools: [Write, Look]
    }))))

  it.effect("says sizes, types and keyed hashes instead of contents", () =>
    Effect.gen(function*() {
      const calls = yield* audited
      const [call] = calls
      expect(call?.arguments).toMatchObject([
        { name: "path", type: "string", bytes: 13, hash: digest("\"secret/plan\"") },
        { name: "content", type: "string", bytes: 6 }
      ])
      expect(calls[1]?.arguments).toMatchObject([
        { name: expect.stringMatching(/^#[0-9a-f]{16}$/), type: "object" },
        { name: "n", type: "null" },
        { name: "l", type: "array" },
        { name: "b", type: "boolean" },
        { name: "i", type: "number" }
      ])
      expect(calls[2]?.arguments).toMatchObject([{ name: "(unreadable)", bytes: 7 }])
      const text = JSON.stringify(calls)
      for (const content of ["plan", "früh", "a name", "hidden", "{secret"]) expect(text).not.toContain(content)
    }).pipe(Effect.provide(TestLoop.layer({
      model: [
        ScriptedModel.raw({
          calls: [
            { name: "write", raw: JSON.stringify({ path: "secret/plan", content: "früh".slice(0, 3) }) },
            { name: "a name", raw: JSON.stringify({ "a name of hidden": { x: 1 }, n: null, l: [1], b: true, i: 1 }) },
            { name: "write", raw: "{secret" }
          ]
        }),
        ScriptedModel.text("done")
      ],
      approvals: [ScriptedApproval.approveAll],
      tools: [Write]
    }))))

  it.effect("knows calls of responses that broke off, and those that wait", () =>
    Effect.gen(function*() {
      const calls = yield* audited
      expect(calls.map(({ decision, outcome, success }) => [decision, outcome, success])).toEqual([
        ["none", "Voided", false],
        ["none", null, null]
      ])
    }).pipe(Effect.provide(TestLoop.layer({
      model: [
        ScriptedModel.broken(ScriptedModel.deltasOf({ calls: [{ name: "look", raw: "{}" }] }).slice(0, -1)),
        ScriptedModel.call("write", { path: "a" })
      ],
      approvals: [ScriptedApproval.later],
      tools: [Write, Look]
    }))))

  it.effect("holds a question without an answer for denied, names who gave an answer, and hears of calls not asked about", () =>
    Effect.gen(function*() {
      expect((yield* audited).map(({ by, decision, maker }) => [decision, maker, by])).toEqual([
        ["denied", "person", "script"],
        ["approved", "process", "process:ann"],
        ["denied", "person", "script"],
        ["allowed", "auto", null]
      ])
    }).pipe(Effect.provide(TestLoop.layer({
      model: [
        ScriptedModel.calls([
          { name: "write", arguments: { path: "a" } },
          { name: "write", arguments: { path: "b" } },
          { name: "look", arguments: {} },
          { name: "LOOK", arguments: {} }
        ]),
        ScriptedModel.text("done")
      ],
      approvals: [ScriptedApproval.decide(() =>
        Effect.succeed({
          _tag: "Each",
          answers: [
            { position: 1, answer: { _tag: "Approve" }, by: "process:ann" },
            { position: 2, answer: { _tag: "Approve" } },
            { position: 2, answer: { _tag: "Deny", reason: null } }
          ]
        })
      )],
      tools: [Write, Look]
    }))))

  it.effect("says of every call that it was denied when all were, and knows tools by their own names", () =>
    Effect.gen(function*() {
      expect((yield* audited).map(({ decision, outcome, tool }) => [tool, decision, outcome])).toEqual([
        ["write", "denied", "Denied"],
        ["look", "denied", "Denied"],
        ["look", "refused", "Refused"]
      ])
    }).pipe(Effect.provide(TestLoop.layer({
      model: [
        ScriptedModel.raw({
          calls: [
            { name: "write", raw: "{\"path\":\"a\"}" },
            { name: "Look", raw: "{}" },
            { name: "LOOK", raw: "[]" }
          ]
        }),
        ScriptedModel.text("done")
      ],
      approvals: [ScriptedApproval.denyAll("no")],
      tools: [Write, Look]
    }))))

  it("tells kinds of deciders apart by their names", () => {
    expect(["policy", "--yes", "queue", "process:ann", "user"].map(Audit.makerOf)).toEqual([
      "policy",
      "policy",
      "process",
      "process",
      "person"
    ])
  })
})

const call = (n: number): Audit.AuditCall => ({
  session: "s",
  call: `0.${n}.0`,
  time: "2026-01-01T00:00:00.000Z",
  provider: "p",
  model: "m",
  user: null,
  tool: "look",
  arguments: [],
  argumentsHash: null,
  decision: "allowed",
  maker: "auto",
  by: null,
  outcome: "Succeeded",
  success: true,
  durationMillis: n,
  errorCode: null
})

const exported = (n: number) => Audit.toLines({ calls: Array.makeBy(n, call), at: 0, digest })
const kinds = (lines: ReadonlyArray<string>) => Audit.verifyExport({ lines, digest })

describe("an export", () => {
  it("has one line a call, and is valid as it was written", () => {
    const lines = exported(3)
    expect(lines.map((line) => JSON.parse(line).type)).toEqual(["begin", "call", "call", "call", "end"])
    expect(kinds(lines)).toEqual([])
    expect(kinds(exported(0))).toEqual([])
  })

  it("shows what was done to it", () => {
    const lines = exported(4)
    const at = (index: number) => lines[index] ?? ""
    expect(kinds(lines.with(2, at(2).replace("\"durationMillis\":1", "\"durationMillis\":9")))).toEqual([
      { kind: "changed", line: 2 }
    ])
    expect(kinds(lines.with(2, "{not json"))).toEqual([{ kind: "changed", line: 2 }])
    expect(kinds(lines.with(2, at(2).replace("\"hash\"", "\"hush\"")))).toEqual([{ kind: "changed", line: 2 }])
    for (const text of [`{"line":2,"hash":"00"}`, `{"line":2,,"hash":"00"}`]) {
      expect(kinds(lines.with(2, text))[0]).toEqual({ kind: "changed", line: 2 })
    }
    expect(kinds(lines.toSpliced(2, 1))).toEqual([{ kind: "missing", line: 2 }])
    expect(kinds(lines.toSpliced(2, 2, at(3), at(2)))).toEqual([{ kind: "missing", line: 2 }, {
      kind: "moved",
      line: 3
    }])
    expect(kinds(lines.slice(0, -1))).toEqual([{ kind: "cut-off", line: 5 }])
    expect(kinds([])).toEqual([{ kind: "cut-off", line: 0 }])
    expect(kinds([...lines, at(1)])).toEqual([{ kind: "added", line: 6 }])
  })

  it("is not believed with another key, nor read when it is newer", () => {
    const lines = exported(1)
    expect(Audit.verifyExport({ lines, digest: keyed("two") })).toEqual([{ kind: "key", line: 0 }])
    expect(kinds(lines.with(0, lines[0]?.replace("\"version\":1", "\"version\":2") ?? ""))).toEqual([
      { kind: "newer", line: 0 }
    ])
  })

  it("cannot be written again without the key", () => {
    const plain = (text: string) => createHash("sha256").update(text).digest("hex")
    const forged = Audit.toLines({ calls: [call(7)], at: 0, digest: plain })
    const [first = ""] = exported(1)
    expect(kinds([first, ...forged.slice(1)])).not.toEqual([])
  })

  it.effect.prop(
    "shows every change of one character, every line removed, every two lines swapped",
    {
      n: FastCheck.nat(4),
      at: FastCheck.nat(),
      with: FastCheck.nat(),
      character: FastCheck.constantFrom("x", "0", "\"")
    },
    ({ at, character, n, with: other }) =>
      Effect.sync(() => {
        const lines = exported(n)
        const index = at % lines.length
        const line = lines[index] ?? ""
        const place = other % line.length
        const changed = line.slice(0, place) + character + line.slice(place + 1)
        if (changed !== line) expect(kinds(lines.with(index, changed))).not.toEqual([])
        expect(kinds(lines.toSpliced(index, 1))).not.toEqual([])
        const second = other % lines.length
        if (second !== index) {
          expect(kinds(lines.with(index, lines[second] ?? "").with(second, line))).not.toEqual([])
        }
      }),
    { fastCheck: { numRuns: 40 } }
  )
})
