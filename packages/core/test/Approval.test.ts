import { Approval, ApprovalPolicy } from "@capstan/core"
import { ScriptedApproval } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, FastCheck, Fiber, Layer, TestClock } from "effect"
import {
  calls,
  done,
  places,
  question,
  ran,
  recordOf,
  records,
  run,
  secret,
  session,
  tags,
  world
} from "./approvalWorld.js"

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
        hint: "Allow it with the entry \"put(docs/a)\" on the allowlist, or approve it in a terminal.",
        entry: "put(docs/a)"
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
      expect([one?.entry, two?.entry, three?.entry]).toEqual(["shell(npm test)", null, null])
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

  it.effect("names an entry for a path with stars and question marks that stands for that path alone", () =>
    Effect.gen(function*() {
      yield* run()
      expect(yield* question).toMatchObject({ entry: "put(docs/a[*][?])" })
    }).pipe(Effect.provide(world({
      model: [calls(["put", { path: "./docs/a*?", line: "x" }]), done],
      approvals: [ScriptedApproval.approve]
    }))))

  it.effect("says on whose behalf a sub-session asks", () =>
    Effect.gen(function*() {
      yield* run()
      expect(yield* question).toMatchObject({ tool: "put", origin: "scripted-model, on behalf of the session s" })
    }).pipe(Effect.provide(world({
      model: [calls(["send", {}]), calls(["put", { path: "a" }]), done, done],
      approvals: [ScriptedApproval.approve]
    }))))

  it.effect("names the tool that was taken for what the model wrote, which the plan records", () =>
    Effect.gen(function*() {
      yield* run()
      expect((yield* question).tool).toBe("put")
      expect((yield* recordOf("Planned"))[0]?.corrected).toEqual([{ position: 0, tool: "put" }, {
        position: 2,
        tool: "breaking"
      }])
    }).pipe(Effect.provide(world({
      model: [calls(["PUT", { path: "a" }], ["put", { path: "b" }], ["fragile", { wrong: 1 }], ["nothing", {}]), done],
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

  it.effect.prop(
    "of whatever a tool or an answer does before the call runs",
    {
      where: FastCheck.array(FastCheck.constantFrom(...places), { minLength: 1, maxLength: 6 }),
      answer: FastCheck.constantFrom(
        ScriptedApproval.fail("nobody"),
        ScriptedApproval.decide(() => Effect.die("a bug")),
        ScriptedApproval.decide(() => {
          throw new Error("not even an effect")
        })
      )
    },
    ({ answer, where }) =>
      Effect.gen(function*() {
        const fiber = yield* Effect.fork(run())
        yield* TestClock.adjust("10 minutes")
        const result = yield* Fiber.join(fiber)
        expect(result.end).toBe("answered")
        expect(result.calls.map(({ outcome }) => outcome._tag === "Refused" && outcome.failure._tag)).toEqual(
          where.map(() => "Permission")
        )
        expect(ran).toEqual([])
        yield* Effect.exit(run())
        expect(ran).toEqual([])
      }).pipe(Effect.provide(world({
        model: [
          calls(...where.map((where) => ["breaking", { where }] as const)),
          done,
          calls(["breaking", { where: "nowhere" }]),
          done
        ],
        policy: { allowlist: ["breaking(x)"], denylist: ["breaking(y)"] },
        approvals: [answer]
      }))),
    { fastCheck: { numRuns: 20 } }
  )
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
