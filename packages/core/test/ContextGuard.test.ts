import { ContextGuard, type JournalRecord, type Message } from "@capstan/core"
import { HistoryValidator } from "@capstan/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, FastCheck } from "effect"
import * as Conversation from "../src/Conversation.js"

const text = (bytes: number) => ({ type: "text" as const, text: "x".repeat(bytes) })
const user = (bytes: number): Message.Message => ({ role: "user", content: [text(bytes)] })
const says = (bytes: number): Message.Message => ({ role: "assistant", content: [text(bytes)] })
const step = (id: string, ...bytes: ReadonlyArray<number>): ReadonlyArray<Message.Message> => [
  {
    role: "assistant",
    content: bytes.map((_, i) => ({ type: "tool-call", id: `${id}${i}`, name: "look", arguments: "{}" }))
  },
  {
    role: "tool",
    results: bytes.map((bytes, i) => ({
      type: "tool-result",
      id: `${id}${i}`,
      name: "look",
      content: [text(bytes)],
      isError: false
    }))
  }
]

const room = { window: 10_000, maxOutput: null }
const loadOf = (
  messages: ReadonlyArray<Message.Message>,
  counted: ContextGuard.Use["counted"] = null
): ContextGuard.Load => ({ messages, use: { bytes: ContextGuard.bytesOf(messages), counted }, overheadBytes: 0 })
const decide = (messages: ReadonlyArray<Message.Message>, options: { readonly shortened?: boolean } = {}) =>
  ContextGuard.decide(loadOf(messages), room, { shortened: options.shortened ?? false })

describe("ContextGuard.decide", () => {
  it("keeps an eighth of the window and two per cent free, or 4,096 tokens, or what the model answers at most", () => {
    expect(ContextGuard.limitOf(room)).toBe(8_550)
    expect(ContextGuard.limitOf({ window: 100_000, maxOutput: null })).toBe(93_904)
    expect(ContextGuard.limitOf({ window: 100_000, maxOutput: 1_000 })).toBe(97_000)
    expect(decide([user(34_200)])).toEqual({ _tag: "Fits" })
    expect(decide([user(34_201)])).toEqual({ _tag: "Full" })
  })

  it("takes the oldest results first, of one batch the biggest, until there is room for a while", () => {
    const messages = [user(10), ...step("a", 3_000, 6_000, 500), ...step("b", 13_000), ...step("c", 13_000)]
    expect(decide(messages)).toEqual({ _tag: "Shorten", ids: ["a1", "a0", "b0"] })
  })

  it("leaves the results that the model has not seen, small ones, and images", () => {
    const image: Message.Message = {
      role: "tool",
      results: [{
        type: "tool-result",
        id: "i0",
        name: "look",
        content: [{ type: "image", mediaType: "image/png", data: "" }],
        isError: false
      }]
    }
    const [call] = step("i", 1)
    const measure = decide([
      user(10),
      ...(call === undefined ? [] : [call, image]),
      ...step("a", 1_000),
      ...step("b", 34_000)
    ])
    expect(measure).toEqual({ _tag: "Compact", kept: 2 })
  })

  it("summarises all but the latest step, and more of the latest where they are small", () => {
    expect(decide([user(30_000), ...step("a", 5_000)])).toEqual({ _tag: "Full" })
    expect(decide([user(15_000), says(15_000), user(15_000)])).toEqual({ _tag: "Compact", kept: 1 })
    expect(decide([user(15_000), says(15_000), user(500), says(4_000), user(500)])).toEqual({
      _tag: "Compact",
      kept: 3
    })
    const tried = [user(15_000), says(15_000), user(10), ...step("a", 5_000), ...step("b", 100)]
    expect(decide(tried, { shortened: true })).toEqual({ _tag: "Compact", kept: 5 })
  })

  it("has only so much summarised at once as the request for it holds", () => {
    expect(decide([user(20_000), says(20_000), user(20_000)])).toEqual({ _tag: "Compact", kept: 2 })
    expect(decide([user(40_000), says(20_000), user(20_000)])).toEqual({ _tag: "Full" })
  })

  it("gives up when a summary would save next to nothing, the user's latest message not counted", () => {
    expect(decide([user(500), says(400), user(36_000)])).toEqual({ _tag: "Full" })
    expect(decide([user(33_000), ...step("a", 900), ...step("b", 900)], { shortened: true })).toEqual({ _tag: "Full" })
  })
})

describe("ContextGuard.estimate", () => {
  it("begins at four bytes a token and goes on from what was counted", () => {
    const load = loadOf([])
    expect(ContextGuard.estimate({ ...load, overheadBytes: 400 }, 4_000)).toBe(1_100)
    const counted = { ...load, use: { bytes: 0, counted: { bytes: 1_000, tokens: 500 } } }
    expect(ContextGuard.estimate(counted, 1_000)).toBe(500)
    expect(ContextGuard.estimate(counted, 1_400)).toBe(700)
    expect(ContextGuard.estimate(counted, 500)).toBe(250)
    const sparse = { ...load, use: { bytes: 0, counted: { bytes: 8_000, tokens: 1_000 } } }
    expect(ContextGuard.estimate(sparse, 8_400)).toBe(1_100)
    expect(ContextGuard.estimate(sparse, 4_000)).toBe(500)
  })

  it("knows the tokens in use only from a count", () => {
    expect(ContextGuard.tokensInUse(ContextGuard.empty)).toBe(null)
    expect(ContextGuard.tokensInUse({ bytes: 1_400, counted: { bytes: 1_000, tokens: 500 } })).toBe(600)
  })
})

describe("ContextGuard.follow", () => {
  const responded = (usage: { readonly input: number; readonly output: number } | null) =>
    ({
      _tag: "Responded",
      turn: 0,
      iteration: 0,
      parts: [],
      finish: "stop",
      usage: usage === null ? null : { ...usage, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
      prices: null,
      millis: 0
    }) satisfies JournalRecord.JournalRecord
  const shortened = { _tag: "Shortened", results: [] } satisfies JournalRecord.JournalRecord

  it("adds what came, counts when the provider did, and measures again when old messages changed", () => {
    const first = ContextGuard.follow(ContextGuard.empty, responded(null), [], [user(100)])
    expect(first).toEqual({ bytes: 100, counted: null })
    const second = ContextGuard.follow(first, responded({ input: 20, output: 5 }), [user(100)], [user(100), says(20)])
    expect(second).toEqual({ bytes: 120, counted: { bytes: 120, tokens: 25 } })
    expect(ContextGuard.follow(second, shortened, [user(100), says(20)], [user(50)])).toEqual({
      bytes: 50,
      counted: { bytes: 120, tokens: 25 }
    })
    const file = { type: "file" as const, mediaType: "application/pdf", name: "a", data: "x".repeat(800) }
    const more = [user(100), { role: "user" as const, content: [file, { ...file, mediaType: "text/plain" }] }]
    expect(ContextGuard.bytesOf(more)).toBe(100 + 75 + 600)
    expect(ContextGuard.bytesOf([{
      role: "assistant",
      content: [{ type: "reasoning", provider: "p", text: "", data: "four" }]
    }])).toBe(4)
  })
})

const size = FastCheck.integer({ min: 1, max: 20_000 })
const unit = FastCheck.record({
  kind: FastCheck.constantFrom("user", "says", "step"),
  sizes: FastCheck.array(size, { minLength: 1, maxLength: 3 })
})

/** Valid histories that end where a request may. */
const history = FastCheck.array(unit, { maxLength: 12 }).map((units) => {
  const messages: Array<Message.Message> = [user(10)]
  units.forEach(({ kind, sizes }, index) => {
    const [size = 1] = sizes
    if (kind !== "user" && messages.at(-1)?.role === "assistant") messages.push(user(10))
    if (kind === "step") messages.push(...step(`s${index}_`, ...sizes))
    else messages.push(kind === "user" ? user(size) : says(size))
  })
  return messages.at(-1)?.role === "assistant" ? [...messages, user(10)] : messages
})

describe("whatever the history", () => {
  it.effect.prop(
    "what is left after a measure is valid, smaller, and has what must stay",
    { history },
    ({ history }) =>
      Effect.sync(() => {
        const measure = decide(history)
        const left = measure._tag === "Shorten"
          ? Conversation.shorten(history, {
            _tag: "Shortened",
            results: measure.ids.map((id) => ({ id, handle: "output:0.0.0", bytes: 1 }))
          })
          : measure._tag === "Compact"
          ? Conversation.compact(history, { kept: measure.kept, summary: "all of it" })
          : history
        for (const dialect of HistoryValidator.dialects) {
          expect(HistoryValidator.toText(HistoryValidator.validate(left, dialect))).toBe("")
        }
        expect(left.at(-1)).toEqual(history.at(-1))
        expect(left).toContainEqual(history.findLast(({ role }) => role === "user"))
        if (measure._tag === "Shorten" || measure._tag === "Compact") {
          expect(ContextGuard.bytesOf(left)).toBeLessThan(ContextGuard.bytesOf(history))
        } else {
          expect(measure._tag === "Fits").toBe(ContextGuard.bytesOf(history) <= 34_200)
        }
      })
  )
})
