import { Approval, ApprovalPolicy, ApprovalStore, Journal, Tool, ToolLoop } from "@capstan/core"
import type { JournalRecord } from "@capstan/core/JournalRecord"
import { ScriptedApproval, ScriptedModel, TestLoop } from "@capstan/testing"
import { assert, describe, expect, it } from "@effect/vitest"
import { Context, Effect, FastCheck, Fiber, Layer, Logger, LogLevel, Schema, TestClock } from "effect"

const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"

const ran: Array<string> = []

const body = (what: string) => Effect.sync(() => (ran.push(what), `did ${what}`))

const put = Tool.make("put", {
  description: "Puts a line into a file.",
  parameters: Schema.Struct({ path: Schema.String, line: Schema.optional(Schema.String) }),
  paths: ({ path }) => [{ path, access: "write" }],
  writes: ({ line }) => line?.length ?? 0,
  summary: ({ line, path }) => `Put ${line ?? "nothing"} into ${path}`,
  detail: ({ line, path }) => `${path}: ${line ?? ""}`,
  preview: ({ line }) => Effect.succeed(`+${line ?? ""}`),
  handler: ({ line, path }, call) => Effect.zipRight(call.reserveWrite(line?.length ?? 0), body(`put ${path}`))
})

const look = Tool.make("look", {
  description: "Reads.",
  parameters: Schema.Struct({}),
  safety: "read-only",
  handler: () => body("look")
})

const shell = Tool.make("shell", {
  description: "Runs a command.",
  parameters: Schema.Struct({ command: Schema.String }),
  safety: "privileged",
  allowedBy: ({ command }, pattern) => command === pattern,
  assess: ({ command }) =>
    Effect.succeed({
      risk: "high",
      approval: command.startsWith("rm") ? "always" : "unless-allowed",
      warnings: command.startsWith("rm") ? [`it deletes with ${secret}`] : []
    }),
  handler: ({ command }) => body(command)
})

const breaking = Tool.make("breaking", {
  description: "Breaks where it is told to.",
  parameters: Schema.Struct({ where: Schema.String }),
  assess: ({ where }) =>
    where === "assess"
      ? Effect.die("assess")
      : Effect.succeed({ risk: "low", approval: "never", warnings: [] }),
  preview: ({ where }) =>
    where === "preview" ? Effect.die("preview") : where === "hangs" ? Effect.never : Effect.succeed(undefined),
  handler: () => body("breaking")
})

const session = "s"

const calls = (...all: ReadonlyArray<readonly [string, Readonly<Record<string, unknown>>]>) =>
  ScriptedModel.calls(all.map(([name, args]) => ({ name, arguments: args })))

const done = ScriptedModel.text("done")

const run = (id = session, more: Partial<ToolLoop.RunOptions> = {}) =>
  Effect.suspend(() => {
    ran.length = 0
    return ToolLoop.run({ session: id, message: "go", ...more })
  })

const records = Effect.map(
  Effect.flatMap(Journal.Journal, (journal) => journal.read({ session })),
  (rows) => rows.map(({ record }) => record)
)

const recordOf = <Tag extends JournalRecord["_tag"]>(tag: Tag) =>
  Effect.map(
    records,
    (all) =>
      all.flatMap((record) => record._tag === tag ? [record] : []).flatMap((record) =>
        isTagged(record, tag) ? [record] : []
      )
  )

const isTagged = <Tag extends JournalRecord["_tag"]>(
  record: JournalRecord,
  tag: Tag
): record is Extract<JournalRecord, { readonly _tag: Tag }> => record._tag === tag

const world = (options: Omit<TestLoop.Options, "tools">) =>
  TestLoop.layer({
    ...options,
    policy: { denylist: [], trust: "full", ...options.policy },
    tools: [put, look, shell, breaking]
  }).pipe(Layer.provide(Logger.minimumLogLevel(LogLevel.None)))

const tags = (result: Effect.Effect.Success<ReturnType<typeof run>>) => result.calls.map(({ outcome }) => outcome._tag)

const question = Effect.map(ScriptedApproval.requests, (requests) => {
  const one = requests[0]?.questions[0]
  assert(one !== undefined)
  return one
})

describe("a question", () => {
  it.effect("holds the call, who asks, the whole detail, a preview, the risk and what would allow exactly this", () =>
    Effect.gen(function*() {
      yield* run()
      expect(yield* question).toMatchObject({
        ref: { turn: 0, iteration: 0, position: 0 },
        tool: "put",
        summary: "Put x into docs/a",
        detail: "docs/a: x",
        preview: "+x",
        arguments: { path: "docs/a", line: "x" },
        origin: "scripted-model",
        risk: "medium",
        mustAsk: false,
        hint: "Allow it with the entry \"put(docs/a)\" on the allowlist, or approve it in a terminal."
      })
    }).pipe(Effect.provide(world({
      model: [calls(["put", { path: "docs/a", line: "x" }]), done],
      approvals: [ScriptedApproval.approve]
    }))))

  it.effect("names no entry where none stands for exactly the call, and none for what must be asked", () =>
    Effect.gen(function*() {
      yield* run()
      const [one, two, three] = (yield* ScriptedApproval.requests)[0]?.questions ?? []
      expect(one?.hint).toContain("\"shell(npm test)\"")
      expect(two?.hint).toContain("No entry of the allowlist stands for exactly this call")
      expect(three).toMatchObject({ hint: "It must be approved by a person each time.", mustAsk: true, risk: "high" })
      expect(JSON.stringify(three)).not.toContain(secret)
    }).pipe(Effect.provide(world({
      model: [
        calls(["shell", { command: "npm test" }], ["shell", { command: "ls *" }], ["shell", { command: "rm a" }]),
        done
      ],
      approvals: [ScriptedApproval.denyAll()]
    }))))

  it.effect("cuts a summary at 200 characters with a mark", () =>
    Effect.gen(function*() {
      yield* run()
      const { detail, summary } = yield* question
      expect([...summary]).toHaveLength(200)
      expect(summary.endsWith("…")).toBe(true)
      expect(detail).toContain("👩".repeat(300))
    }).pipe(Effect.provide(world({
      model: [calls(["put", { path: "a", line: "👩".repeat(300) }]), done],
      approvals: [ScriptedApproval.denyAll()]
    }))))

  const split = (at: number) => `${secret.slice(0, at)}\u200b${secret.slice(at)}`

  it.effect.prop(
    "shows no secret, also where invisible characters divide it, and names those",
    [FastCheck.integer({ min: 0, max: secret.length })],
    ([at]) =>
      Effect.gen(function*() {
        yield* run()
        const one = yield* question
        const shown = JSON.stringify({ ...one, argumentsHash: "" })
        for (let i = 0; i + 20 <= secret.length; i++) expect(shown).not.toContain(secret.slice(i, i + 20))
        expect(shown).toContain("redacted")
        expect(one.warnings.join()).toContain("U+200B")
      }).pipe(Effect.provide(world({
        model: [calls(["put", { path: "a", line: `key ${split(at)} end` }]), done],
        approvals: [ScriptedApproval.denyAll()]
      }))),
    { fastCheck: { numRuns: 15 } }
  )

  it.effect("writes out what cannot be seen", () =>
    Effect.gen(function*() {
      yield* run()
      expect((yield* question).detail).toBe("a: x<U+202E>y")
    }).pipe(Effect.provide(world({
      model: [calls(["put", { path: "a", line: "x\u202ey" }]), done],
      approvals: [ScriptedApproval.denyAll()]
    }))))
})

describe("one decision over a batch", () => {
  const both = [calls(["look", {}], ["put", { path: "a" }], ["put", { path: "b" }]), done]

  it.effect("deny all denies the calls that needed no question, too", () =>
    Effect.gen(function*() {
      const result = yield* run()
      expect(tags(result)).toEqual(["Denied", "Denied", "Denied"])
      expect(ran).toEqual([])
    }).pipe(Effect.provide(world({ model: both, approvals: [ScriptedApproval.denyAll("not now")] }))))

  it.effect("a missing answer is a denial, and the others run", () =>
    Effect.gen(function*() {
      expect(tags(yield* run())).toEqual(["Succeeded", "Denied", "Succeeded"])
      expect(ran).toEqual(["look", "put b"])
    }).pipe(
      Effect.provide(world({ model: both, approvals: [ScriptedApproval.each({ 2: ScriptedApproval.approve })] }))
    ))

  it.effect("a denial holds for a call that was not asked about, and beats another answer to the same call", () =>
    Effect.gen(function*() {
      expect(tags(yield* run())).toEqual(["Denied", "Denied", "Succeeded"])
    }).pipe(Effect.provide(world({
      model: both,
      approvals: [
        ScriptedApproval.decide(() =>
          Effect.succeed({
            _tag: "Each",
            answers: [
              { position: 0, answer: { _tag: "Deny", reason: null } },
              { position: 1, answer: { _tag: "Approve" } },
              { position: 1, answer: { _tag: "Deny", reason: "no" } },
              { position: 2, answer: { _tag: "Approve" } },
              { position: 9, answer: { _tag: "Approve" } }
            ]
          })
        )
      ]
    }))))

  it.effect("secrets in an answer do not enter the journal", () =>
    Effect.gen(function*() {
      yield* run()
      // The memory journal's hashes are the texts themselves.
      const all = JSON.stringify(yield* records, (key, value: unknown) => key === "argumentsHash" ? "" : value)
      expect(all).not.toContain(secret)
      expect(all).toContain("redacted")
    }).pipe(Effect.provide(world({
      model: both,
      approvals: [ScriptedApproval.deny(`because ${secret}`), ScriptedApproval.edit({ path: "b", line: secret })]
    }))))
})

describe("what fails on the way to an answer is a denial", () => {
  const one = [calls(["put", { path: "a" }]), done]

  const throwing: Approval.Approval["Type"] = {
    policy: { ...ApprovalPolicy.safe, denylist: [] },
    by: "test",
    ask: () => {
      throw new Error("not even an effect")
    }
  }
  const unreadable: Approval.Approval["Type"] = {
    by: "test",
    ask: () => Effect.succeed({ _tag: "ApproveAll" }),
    get policy(): ApprovalPolicy.ApprovalPolicy {
      throw new Error("no policy")
    }
  }

  it.effect.each(
    [
      ["fails", ScriptedApproval.fail("nobody")],
      ["dies", ScriptedApproval.decide(() => Effect.die("a bug"))],
      ["interrupts itself", ScriptedApproval.decide(() => Effect.interrupt)]
    ] as const
  )("of an answer that %s", ([, step]) =>
    Effect.gen(function*() {
      const result = yield* run()
      expect(tags(result)).toEqual(["Denied"])
      expect(result.end).toBe("answered")
    }).pipe(Effect.provide(world({ model: one, approvals: [step] }))))

  it.effect("of a service that throws, and of a policy that cannot be read", () =>
    Effect.gen(function*() {
      const asked = yield* run().pipe(
        Effect.provide(world({ model: one, approval: Layer.succeed(Approval.Approval, throwing) }))
      )
      expect(tags(asked)).toEqual(["Denied"])
      const unread = yield* run().pipe(
        Effect.provide(world({ model: one, approval: Layer.succeed(Approval.Approval, unreadable) }))
      )
      expect(unread.calls[0]?.outcome).toMatchObject({ _tag: "Refused", failure: { _tag: "Disabled" } })
      expect(ran).toEqual([])
    }))

  it.effect("of a tool's own look at the call", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(run())
      yield* TestClock.adjust("1 minute")
      const result = yield* Fiber.join(fiber)
      expect(result.calls.map(({ outcome }) => outcome)).toMatchObject([
        ...["assess", "preview", "hangs"].map(() => ({ _tag: "Refused", failure: { details: { kind: "denied" } } })),
        { _tag: "Succeeded" }
      ])
      expect(yield* ScriptedApproval.requests).toEqual([])
      expect(ran).toEqual(["breaking"])
    }).pipe(Effect.provide(world({
      model: [
        calls(...["assess", "preview", "hangs", "nowhere"].map((where) => ["breaking", { where }] as const)),
        done
      ]
    }))))
})

describe("withTimeout", () => {
  it.effect("denies what nobody answered in time, says so, and runs what needed no answer", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(run())
      yield* TestClock.adjust("59 seconds")
      expect(fiber.unsafePoll()).toBeNull()
      yield* TestClock.adjust("1 second")
      const result = yield* Fiber.join(fiber)
      expect(tags(result)).toEqual(["Succeeded", "Denied"])
      expect(result.calls[1]?.outcome).toMatchObject({ reason: "Nobody answered within 1m." })
    }).pipe(Effect.provide(world({
      model: [calls(["look", {}], ["put", { path: "a" }]), done],
      approval: Approval.withTimeout("1 minute")(
        Approval.layerCallback({ policy: { denylist: [] }, ask: () => Effect.never })
      )
    }))))

  it.effect("leaves an answer in time, and everything else of the layer, as it is", () =>
    Effect.gen(function*() {
      const asked = yield* Effect.flatMap(Approval.Approval, (approval) => approval.ask({ session, questions: [] }))
      expect(asked).toEqual({ _tag: "ApproveAll" })
      expect(yield* ScriptedApproval.requests).toHaveLength(1)
    }).pipe(Effect.provide(Approval.withTimeout("1 second")(ScriptedApproval.layer([ScriptedApproval.approveAll])))))
})

describe("nobody is there", () => {
  it.effect("policy alone denies what would be asked and says what would allow it", () =>
    Effect.gen(function*() {
      const result = yield* run()
      expect(tags(result)).toEqual(["Denied", "Succeeded"])
      expect(result.calls[0]?.outcome).toMatchObject({ reason: expect.stringContaining("\"put(a)\"") })
      expect((yield* recordOf("Decided"))[0]?.by).toBe("policy")
    }).pipe(Effect.provide(world({
      model: [calls(["put", { path: "a" }], ["put", { path: "b" }]), done],
      approval: Approval.layerPolicy({ denylist: [], allowlist: ["put(b)"] })
    }))))
})

describe("always", () => {
  const twice = [calls(["put", { path: "a" }]), calls(["put", { path: "b" }]), done]
  const asked = Effect.map(ScriptedApproval.requests, (requests) => requests.length)
  const always = (scope: Approval.Scope) => ScriptedApproval.always("put", scope)

  it.effect("in a turn holds until it ends, and is kept nowhere else", () =>
    Effect.gen(function*() {
      yield* run()
      expect(yield* asked).toBe(1)
      yield* run()
      expect(yield* asked).toBe(2)
      expect(yield* Effect.flatMap(ApprovalStore.ApprovalStore, (store) => store.permissions({ project: undefined })))
        .toEqual([])
    }).pipe(Effect.provide(world({ model: [...twice, ...twice], approvals: [always("turn"), always("turn")] }))))

  it.effect("in a session holds in its later turns, not in another, and not once it is taken back", () =>
    Effect.gen(function*() {
      const store = yield* ApprovalStore.ApprovalStore
      yield* TestClock.adjust("5 seconds")
      yield* run()
      yield* run()
      expect(yield* asked).toBe(1)
      const [permission] = yield* store.permissions({ project: undefined })
      expect(permission).toMatchObject({ project: "/workspace", session, entry: "put", by: "script", at: 5_000 })
      expect(tags(yield* run("other"))).toEqual(["Denied", "Denied"])
      yield* store.revoke({ id: permission?.id ?? "" })
      expect(tags(yield* run())).toEqual(["Denied", "Denied"])
    }).pipe(Effect.provide(world({
      model: [...twice, ...twice, ...twice, ...twice],
      approvals: [always("session"), ...Array.from({ length: 4 }, () => ScriptedApproval.denyAll())]
    }))))

  it.effect("in a project holds in its other sessions, not in another project, and is listed", () =>
    Effect.gen(function*() {
      yield* run()
      expect(tags(yield* run("other"))).toEqual(["Succeeded", "Succeeded"])
      expect(yield* asked).toBe(1)
      expect(tags(yield* run("third", { workspace: "/elsewhere" }))).toEqual(["Denied", "Denied"])
      const permissions = yield* Effect.flatMap(
        ApprovalStore.ApprovalStore,
        (store) => store.permissions({ project: "/workspace" })
      )
      expect(permissions).toMatchObject([{ session: null, entry: "put" }])
    }).pipe(Effect.provide(world({
      model: [...twice, ...twice, ...twice],
      approvals: [always("project"), ScriptedApproval.denyAll(), ScriptedApproval.denyAll()]
    }))))

  it.effect("does not answer for a call that must be asked about each time", () =>
    Effect.gen(function*() {
      yield* run()
      expect(yield* asked).toBe(2)
    }).pipe(Effect.provide(world({
      model: [calls(["shell", { command: "rm a" }]), calls(["shell", { command: "rm a" }]), done],
      approvals: [ScriptedApproval.always("shell"), ScriptedApproval.deny()]
    }))))

  it.effect("a store that fails stops the run before anything runs", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(run())
      expect(error).toMatchObject({ _tag: "JournalError" })
      expect(ran).toEqual([])
    }).pipe(Effect.provide(world({
      model: twice,
      approvals: [always("project")],
      approvalStore: Layer.sync(ApprovalStore.ApprovalStore, () => ({
        ...ApprovalStore.memory(),
        grant: () => new Journal.JournalError({ reason: "full", message: "The disk is full." })
      }))
    }))))
})

describe("edited arguments", () => {
  const edited = (
    tool: readonly [string, Readonly<Record<string, unknown>>],
    args: Readonly<Record<string, unknown>>,
    more: Partial<TestLoop.Options> = {}
  ) => world({ model: [calls(tool), done], approvals: [ScriptedApproval.edit(args)], ...more })

  it.effect("run, the result says what was changed, and history keeps what the model wrote", () =>
    Effect.gen(function*() {
      const result = yield* run()
      expect(ran).toEqual(["put b"])
      expect(result.calls[0]?.arguments).toEqual({ path: "a", line: "x" })
      const [, second] = yield* ScriptedModel.requests
      const history = JSON.stringify(second?.messages)
      expect(history).toContain("\\\"path\\\":\\\"a\\\"")
      expect(history).toContain(
        "The user changed the arguments of this call: \\\"path\\\" was changed from \\\"a\\\" to \\\"b\\\"; \\\"line\\\" was taken out."
      )
      expect((yield* recordOf("Intent"))[0]?.edited).toEqual({ path: "b" })
    }).pipe(Effect.provide(edited(["put", { path: "a", line: "x" }], { path: "b" }))))

  it.effect.each(
    [
      ["the schema", { wrong: 1 }, {}, { _tag: "Validation" }],
      ["the denylist", { path: "keep/a" }, { policy: { denylist: ["put(keep/**)"] } }, {
        details: { kind: "denylist" }
      }],
      ["the sandbox", { path: "../out" }, {}, { details: { kind: "outside-sandbox" } }],
      ["the quota", { path: "b", line: "x".repeat(11) }, { limits: { bytesWrittenPerSession: 10 } }, { _tag: "Limit" }],
      ["the size of arguments", { path: "b".repeat(50) }, { limits: { maxToolArgsBytes: 40 } }, { _tag: "Limit" }],
      ["marks of secrets", { path: "b", line: "[redacted:jwt]" }, {}, { _tag: "Validation" }]
    ] as const
  )("are planned again: %s", ([, args, more, failure]) =>
    Effect.gen(function*() {
      const result = yield* run()
      expect(result.calls[0]?.outcome).toMatchObject({ _tag: "Refused", failure })
      expect(ran).toEqual([])
      const [, second] = yield* ScriptedModel.requests
      expect(JSON.stringify(second?.messages)).toContain("The user changed the arguments")
    }).pipe(Effect.provide(edited(["put", { path: "a" }], args, more))))

  it.effect("that must be asked about by themselves do not run unless that was asked", () =>
    Effect.gen(function*() {
      const harmless = yield* run().pipe(Effect.provide(edited(["shell", { command: "ls" }], { command: "rm a" })))
      expect(harmless.calls[0]?.outcome).toMatchObject({ _tag: "Refused", failure: { details: { kind: "denied" } } })
      expect(ran).toEqual([])
      yield* run().pipe(Effect.provide(edited(["shell", { command: "rm a" }], { command: "rm b" })))
      expect(ran).toEqual(["rm b"])
    }))

  it.effect("that together are more than is left are refused by the executor, which is the last to look", () =>
    Effect.gen(function*() {
      const result = yield* run()
      expect(result.calls.map(({ outcome }) => outcome)).toMatchObject([
        { _tag: "Succeeded" },
        { _tag: "Refused", failure: { _tag: "Limit", details: { limit: "bytes_written" } } }
      ])
      expect((yield* recordOf("Intent")).length).toBe(1)
    }).pipe(Effect.provide(world({
      model: [calls(["put", { path: "a" }], ["put", { path: "b" }]), done],
      limits: { bytesWrittenPerSession: 10 },
      approvals: ["a", "b"].map((path) => ScriptedApproval.edit({ path, line: "123456" }))
    }))))
})

describe("the policy of a service", () => {
  it.effect("that is off lets nothing run", () =>
    Effect.gen(function*() {
      const result = yield* run()
      expect(result.calls[0]?.outcome).toMatchObject({
        _tag: "Refused",
        failure: { message: "Tool execution disabled by policy" }
      })
    }).pipe(Effect.provide(world({ model: [calls(["look", {}]), done], policy: { enabled: false } }))))

  it.effect("of a callback is completed by the safe defaults", () =>
    Effect.gen(function*() {
      const approval = Context.get(yield* Layer.build(Approval.layerPolicy({ mode: "auto" })), Approval.Approval)
      expect(approval.policy).toEqual({ ...ApprovalPolicy.safe, mode: "auto" })
    }).pipe(Effect.scoped))
})
