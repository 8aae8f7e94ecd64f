/**
 * What every store of approvals has to do, as tests: the memory one and the SQL ones give the same answers.
 *
 * @since 0.1.0
 */
import type { Answer, Scope } from "@capstan/core/Approval"
import { ApprovalStore, type Permission, type StoredAnswer } from "@capstan/core/ApprovalStore"
import { keyOf } from "@capstan/core/ToolCall"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"

const text = FastCheck.oneof(
  FastCheck.string(),
  FastCheck.constantFrom("", " ", "a\nb\r\n", "'; drop table x; --", "👩‍👩‍👧", "\\u0000", "run_command(git diff *)")
)

const anyAnswer: FastCheck.Arbitrary<Answer> = FastCheck.oneof(
  FastCheck.constant<Answer>({ _tag: "Approve" }),
  FastCheck.tuple(text, FastCheck.constantFrom<Array<Scope>>("turn", "session", "project")).map(
    ([entry, scope]): Answer => ({ _tag: "Always", entry, scope })
  ),
  FastCheck.dictionary(text.filter((key) => key !== "__proto__"), FastCheck.jsonValue()).map((args): Answer => ({
    _tag: "Edit",
    arguments: Object.fromEntries(Object.entries(args).map(([key, value]) => [key, plain(value)]))
  })),
  FastCheck.option(text).map((reason): Answer => ({ _tag: "Deny", reason }))
)

/** What a value is once it was JSON: the form that arguments have. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const answerTo = (session: string, place: readonly [number, number, number], more: Partial<StoredAnswer> = {}) => {
  const [turn, iteration, position] = place
  const answer: StoredAnswer = {
    session,
    ref: { turn, iteration, position },
    argumentsHash: "hash",
    answer: { _tag: "Approve" },
    by: "somebody",
    at: 1_700_000_000_000,
    ...more
  }
  return answer
}

const permissionOf = (project: string, session: string | null, entry: string, at = 0): Omit<Permission, "id"> => ({
  project,
  session,
  entry,
  by: "somebody",
  at
})

const sorted = (answers: ReadonlyArray<StoredAnswer>) =>
  [...answers].sort((a, b) => keyOf(a.ref) < keyOf(b.ref) ? -1 : 1)

/**
 * Registers the tests under `name`. The layer is built anew for each of them and starts empty.
 *
 * @since 0.1.0
 * @category combinators
 */
export const suite = <E>({ layer, name }: {
  readonly name: string
  readonly layer: Layer.Layer<ApprovalStore, E>
}): void => {
  describe(`${name} is a store of approvals`, () => {
    it.effect.prop(
      "gives back answers as they were given",
      [FastCheck.array(FastCheck.tuple(anyAnswer, text, text), { maxLength: 5 })],
      ([given]) =>
        Effect.gen(function*() {
          const store = yield* ApprovalStore
          const answers = given.map(([answer, by, argumentsHash], position) =>
            answerTo("a", [0, 1, position], { answer, by, argumentsHash })
          )
          yield* Effect.forEach(answers, (answer) => store.answer(answer), { discard: true })
          assert.deepStrictEqual(sorted(yield* store.answers({ session: "a" })), sorted(answers))
        }).pipe(Effect.provide(layer)),
      { fastCheck: { numRuns: 25 } }
    )

    it.effect("keeps sessions and calls apart", () =>
      Effect.gen(function*() {
        const store = yield* ApprovalStore
        const own = [answerTo("a", [1, 11, 1]), answerTo("a", [11, 1, 1]), answerTo("a", [1, 1, 11])]
        yield* Effect.forEach([...own, answerTo("a 1", [1, 1, 1]), answerTo("", [0, 0, 0])], store.answer)
        assert.deepStrictEqual(sorted(yield* store.answers({ session: "a" })), sorted(own))
        assert.deepStrictEqual(yield* store.answers({ session: "a 1" }), [answerTo("a 1", [1, 1, 1])])
        assert.deepStrictEqual(yield* store.answers({ session: "nobody's" }), [])
      }).pipe(Effect.provide(layer)))

    it.effect("a later answer to the same call takes the place of an earlier one", () =>
      Effect.gen(function*() {
        const store = yield* ApprovalStore
        const later = answerTo("a", [0, 0, 0], {
          argumentsHash: "other",
          answer: { _tag: "Deny", reason: "no" },
          by: "another",
          at: 1_700_000_000_001
        })
        yield* store.answer(answerTo("a", [0, 0, 0]))
        yield* store.answer(later)
        assert.deepStrictEqual(yield* store.answers({ session: "a" }), [later])
      }).pipe(Effect.provide(layer)))

    it.effect("takes away what it is told to, once or twice, and nothing else", () =>
      Effect.gen(function*() {
        const store = yield* ApprovalStore
        const answers = [0, 1, 2].map((position) => answerTo("a", [0, 0, position]))
        yield* Effect.forEach([...answers, answerTo("b", [0, 0, 0])], store.answer)
        const refs = answers.slice(0, 2).map(({ ref }) => ref)
        yield* store.take({ session: "a", refs })
        yield* store.take({ session: "a", refs: [...refs, { turn: 9, iteration: 9, position: 9 }] })
        yield* store.take({ session: "a", refs: [] })
        yield* store.take({ session: "nobody's", refs })
        assert.deepStrictEqual(yield* store.answers({ session: "a" }), answers.slice(2))
        assert.deepStrictEqual(yield* store.answers({ session: "b" }), [answerTo("b", [0, 0, 0])])
      }).pipe(Effect.provide(layer)))

    it.effect("lists permissions of one project or of all, the oldest first", () =>
      Effect.gen(function*() {
        const store = yield* ApprovalStore
        const granted = yield* Effect.forEach([
          permissionOf("/one", null, "write_file(docs/**)", 1),
          permissionOf("/two", "a", "git_*", 2),
          permissionOf("/one", "a", "run_command(npm test)", 3),
          permissionOf("/one", "b", "'; drop table x; --", 4)
        ], store.grant)
        assert.strictEqual(new Set(granted.map(({ id }) => id)).size, 4)
        assert.deepStrictEqual(granted.map(({ id: _, ...permission }) => permission)[0], {
          project: "/one",
          session: null,
          entry: "write_file(docs/**)",
          by: "somebody",
          at: 1
        })
        assert.deepStrictEqual(yield* store.permissions({ project: undefined }), granted)
        assert.deepStrictEqual(
          yield* store.permissions({ project: "/one" }),
          granted.filter(({ project }) => project === "/one")
        )
        assert.deepStrictEqual(yield* store.permissions({ project: "/on" }), [])
      }).pipe(Effect.provide(layer)))

    it.effect("the same entry for the same project and session is there once, as it was first given", () =>
      Effect.gen(function*() {
        const store = yield* ApprovalStore
        const first = yield* Effect.forEach(
          [null, "", "a"],
          (session, at) => store.grant(permissionOf("/one", session, "git_*", at))
        )
        const again = yield* Effect.forEach(
          [null, "", "a"],
          (session) => store.grant({ ...permissionOf("/one", session, "git_*", 9), by: "another" })
        )
        assert.deepStrictEqual(again, first)
        assert.deepStrictEqual(yield* store.permissions({ project: "/one" }), first)
      }).pipe(Effect.provide(layer)))

    it.effect("the same entry that is given at once by several is there once", () =>
      Effect.gen(function*() {
        const store = yield* ApprovalStore
        const granted = yield* Effect.forEach(
          Array.from({ length: 8 }, () => permissionOf("/one", null, "git_*")),
          (permission) => store.grant(permission),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(new Set(granted.map(({ id }) => id)).size, 1)
        assert.strictEqual((yield* store.permissions({ project: "/one" })).length, 1)
      }).pipe(Effect.provide(layer)))

    it.effect("takes a permission back once, leaves the others, and lets it be given again", () =>
      Effect.gen(function*() {
        const store = yield* ApprovalStore
        const kept = yield* store.grant(permissionOf("/one", "a", "git_*"))
        const { id } = yield* store.grant(permissionOf("/one", null, "git_*"))
        assert.isTrue(yield* store.revoke({ id }))
        assert.isFalse(yield* store.revoke({ id }))
        assert.isFalse(yield* store.revoke({ id: "no such id" }))
        assert.deepStrictEqual(yield* store.permissions({ project: "/one" }), [kept])
        const again = yield* store.grant(permissionOf("/one", null, "git_*", 5))
        assert.strictEqual(again.at, 5)
        assert.strictEqual((yield* store.permissions({ project: "/one" })).length, 2)
      }).pipe(Effect.provide(layer)))
  })
}
