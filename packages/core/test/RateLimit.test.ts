import { Limits, RateLimit } from "@capstan/core"
import type { Safety } from "@capstan/core/Safety"
import { assert, describe, expect, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"

const limits: Limits.Values = {
  ...Limits.strict,
  callsPerMinute: 5,
  writesPerMinute: 3,
  commandsPerMinute: 2,
  bytesWrittenPerSession: 100
}

const start = (at: number, safety: Safety = "read-only"): RateLimit.Start => ({ at, safety })

const take = (starts: ReadonlyArray<RateLimit.Start>, safety: Safety, now: number, writes = 0, written = 0) =>
  RateLimit.take({ starts, written }, { safety, writes }, { limits, now })

const failureOf = (taken: Either.Either<RateLimit.Used, unknown>) => {
  assert(Either.isLeft(taken))
  return taken.left
}

describe("RateLimit", () => {
  it("counts every start as a call, side effects as writes and privileged ones as commands", () => {
    expect(failureOf(take([1, 2, 3, 4, 5].map((at) => start(at)), "read-only", 10))).toMatchObject({
      _tag: "RateLimit",
      message: "At most 5 calls a minute may run; this one did not."
    })
    const writes = [1, 2, 3].map((at) => start(at, "side-effect"))
    expect(failureOf(take(writes, "side-effect", 10))).toMatchObject({
      message: expect.stringMatching(/3 writes a minute/)
    })
    expect(Either.isRight(take(writes, "read-only", 10))).toBe(true)
    expect(Either.isRight(take(writes, "privileged", 10))).toBe(true)
    const commands = [1, 2].map((at) => start(at, "privileged"))
    expect(failureOf(take(commands, "privileged", 10))).toMatchObject({
      message: expect.stringMatching(/2 commands a minute/)
    })
    expect(Either.isRight(take(commands, "side-effect", 10))).toBe(true)
  })

  it("says after how many milliseconds the same call may start", () => {
    const starts = [1_000, 20_000, 30_000, 40_000, 50_000].map((at) => start(at))
    const failure = failureOf(take(starts, "read-only", 60_500))
    expect(failure).toMatchObject({
      details: { retryAfterMillis: 500 },
      suggestedFix: expect.stringMatching(/in 1 seconds/)
    })
    expect(Either.isLeft(take(starts, "read-only", 60_999))).toBe(true)
    expect(Either.isRight(take(starts, "read-only", 61_000))).toBe(true)
  })

  it("waits for the slower of two windows", () => {
    const starts = [start(0), start(10_000), start(20_000, "privileged"), start(30_000), start(40_000, "privileged")]
    expect(failureOf(take(starts, "privileged", 45_000))).toMatchObject({ details: { retryAfterMillis: 35_000 } })
  })

  it("a limit of nothing lets nothing run, and a clock that was set back does not lock a session", () => {
    const never = RateLimit.take({ starts: [], written: 0 }, { safety: "read-only", writes: 0 }, {
      limits: { ...limits, callsPerMinute: 0 },
      now: 5
    })
    expect(failureOf(never)).toMatchObject({ _tag: "RateLimit", suggestedFix: "Do without it." })
    expect(Either.isRight(take([1, 2, 3, 4, 5].map((at) => start(at + 1_000_000)), "read-only", 10))).toBe(true)
  })

  it("keeps to the quota of bytes", () => {
    expect(Either.getOrThrow(take([], "side-effect", 0, 40, 60)).written).toBe(100)
    expect(failureOf(take([], "side-effect", 0, 41, 60))).toMatchObject({
      _tag: "Limit",
      message: "This would write 41 bytes; the session may write 40 more.",
      details: { limit: "bytes_written", value: 100 }
    })
    expect(Either.getOrThrow(take([], "side-effect", 0, -50, 60)).written).toBe(60)
    expect(failureOf(take([], "side-effect", 0, Number.NaN, 60))).toMatchObject({ _tag: "Limit" })
    expect(failureOf(take([], "side-effect", 0, 1, 200))).toMatchObject({
      message: expect.stringMatching(/may write 0 more/)
    })
  })

  const attempts = FastCheck.array(
    FastCheck.record({
      after: FastCheck.integer({ min: 0, max: 30_000 }),
      safety: FastCheck.constantFrom<Array<Safety>>("read-only", "side-effect", "privileged"),
      writes: FastCheck.integer({ min: 0, max: 30 })
    }),
    { maxLength: 40 }
  )

  it.prop(
    "no minute has more than the limits, a refused call uses nothing, and the wait is enough",
    [attempts],
    ([all]) => {
      let used: RateLimit.Used = { starts: [], written: 0 }
      let now = 0
      const admitted: Array<RateLimit.Start> = []
      for (const { after, safety, writes } of all) {
        now += after
        const taken = RateLimit.take(used, { safety, writes }, { limits, now })
        if (Either.isLeft(taken)) {
          const { left } = taken
          if (left._tag !== "RateLimit") {
            assert.strictEqual(left._tag, "Limit")
            continue
          }
          const later = { limits, now: now + left.details.retryAfterMillis }
          assert.isTrue(Either.isRight(RateLimit.take(used, { safety, writes: 0 }, later)))
          continue
        }
        used = taken.right
        admitted.push({ at: now, safety })
        const inWindow = admitted.filter(({ at }) => at > now - 60_000)
        assert.isAtMost(inWindow.length, limits.callsPerMinute)
        assert.isAtMost(inWindow.filter((one) => one.safety === "side-effect").length, limits.writesPerMinute)
        assert.isAtMost(inWindow.filter((one) => one.safety === "privileged").length, limits.commandsPerMinute)
        assert.isAtMost(used.written, limits.bytesWrittenPerSession)
      }
    }
  )
})
