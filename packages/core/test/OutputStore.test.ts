import { OutputStore } from "@capstan/core"
import * as OutputStoreConformance from "@capstan/testing/OutputStoreConformance"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"

OutputStoreConformance.suite("the one in memory", OutputStore.layerMemory)

it.effect("the store in memory lets the oldest outputs go", () =>
  Effect.gen(function*() {
    const store = OutputStore.memory({ maxLength: 25 })
    const put = (handle: string, length: number) => store.put({ session: "s", handle, text: "x".repeat(length) })
    const kept = Effect.map(
      Effect.forEach(["a", "b", "c", "d"], (handle) => store.get({ session: "s", handle })),
      (texts) => texts.map((text) => text?.length)
    )
    yield* put("a", 10)
    yield* put("b", 10)
    yield* put("a", 10)
    yield* put("c", 10)
    assert.deepStrictEqual(yield* kept, [10, undefined, 10, undefined])
    yield* put("d", 100)
    assert.deepStrictEqual(yield* kept, [undefined, undefined, undefined, 100])
  }))
