/**
 * What every store of outputs has to do, as tests.
 *
 * @since 0.1.0
 */
import { handleOf, isHandle, OutputStore } from "@capstan/core/OutputStore"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"

const ref = FastCheck.record({ turn: FastCheck.nat(), iteration: FastCheck.nat(), position: FastCheck.nat() })

/** Well-formed texts: a lone surrogate is none, and sanitising has taken it out before. */
const text = FastCheck.string({ unit: "grapheme", maxLength: 200 })

/**
 * The suite; `layer` gives a store of its own to each test.
 *
 * @since 0.1.0
 * @category tests
 */
export const suite = <E>(name: string, layer: Layer.Layer<OutputStore, E>): void => {
  const handle = handleOf({ turn: 1, iteration: 2, position: 3 })

  describe(`${name} as a store of outputs`, () => {
    it.effect("gives back what was put, and nothing else", () =>
      Effect.gen(function*() {
        const store = yield* OutputStore
        yield* store.put({ session: "a", handle, text: "first\nsecond\n" })
        assert.strictEqual(yield* store.get({ session: "a", handle }), "first\nsecond\n")
        assert.isUndefined(yield* store.get({ session: "b", handle }))
        assert.isUndefined(yield* store.get({ session: "a", handle: "output:0.0.0" }))
        assert.isUndefined(yield* store.get({ session: "a", handle: "../../etc/passwd" }))
      }).pipe(Effect.provide(layer)))

    it.effect("replaces a text under the same handle", () =>
      Effect.gen(function*() {
        const store = yield* OutputStore
        yield* store.put({ session: "a", handle, text: "a longer text" })
        yield* store.put({ session: "a", handle, text: "short" })
        assert.strictEqual(yield* store.get({ session: "a", handle }), "short")
        yield* store.put({ session: "a", handle, text: "" })
        assert.strictEqual(yield* store.get({ session: "a", handle }), "")
      }).pipe(Effect.provide(layer)))

    it.effect("takes puts at the same time; one of them stays, whole", () =>
      Effect.gen(function*() {
        const store = yield* OutputStore
        const texts = ["a", "b", "c", "d"].map((letter) => letter.repeat(100_000))
        yield* Effect.forEach(texts, (text) => store.put({ session: "a", handle, text }), { concurrency: "unbounded" })
        assert.include(texts, yield* store.get({ session: "a", handle }))
      }).pipe(Effect.provide(layer)))

    it.effect.prop(
      "keeps any text of any session",
      { session: FastCheck.string(), ref, text },
      ({ ref, session, text }) =>
        Effect.gen(function*() {
          const store = yield* OutputStore
          const handle = handleOf(ref)
          assert.isTrue(isHandle(handle))
          yield* store.put({ session, handle, text })
          assert.strictEqual(yield* store.get({ session, handle }), text)
        }).pipe(Effect.provide(layer)),
      { fastCheck: { numRuns: 30 } }
    )
  })
}
