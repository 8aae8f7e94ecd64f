/**
 * Ids of sessions: ULIDs, which sort by the time they were made.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

const timeDigits = (millis: number): string =>
  Array.from({ length: 10 }, (_, i) => alphabet[Math.floor(millis / 32 ** (9 - i)) % 32]).join("")

/**
 * A new id: 10 digits of milliseconds since the epoch, 16 of chance, in Crockford's base 32.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<string> = Effect.gen(function*() {
  const now = yield* Clock.currentTimeMillis
  const chance = yield* Effect.replicateEffect(Random.nextIntBetween(0, 32), 16)
  return timeDigits(now) + chance.map((digit) => alphabet[digit]).join("")
})
