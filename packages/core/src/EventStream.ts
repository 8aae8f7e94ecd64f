/**
 * Events of a run as a stream that drives it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as Take from "effect/Take"
import type { Event } from "./Event.js"
import type { RunError } from "./RunError.js"

/** Events that a slow consumer may be behind. */
const capacity = 64

/**
 * Where events go. `tryPut` is false where nobody has room for the event; `put` waits for it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Sink {
  readonly tryPut: (event: Event) => boolean
  readonly put: (event: Event) => Effect.Effect<void>
}

/**
 * A sink that nobody listens to.
 *
 * @since 0.1.0
 * @category constructors
 */
export const silent: Sink = { tryPut: () => true, put: () => Effect.void }

/**
 * Runs `drive` while its events are taken: a slow consumer slows it, closing the stream interrupts it and waits for its end.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <A>(drive: (sink: Sink) => Effect.Effect<A, RunError>): Stream.Stream<Event, RunError> =>
  Stream.unwrapScoped(Effect.gen(function*() {
    const queue = yield* Queue.bounded<Take.Take<Event, RunError>>(capacity)
    const put = (take: Take.Take<Event, RunError>) => Effect.ignoreLogged(Effect.exit(Queue.offer(queue, take)))
    const sink: Sink = {
      tryPut: (event) => queue.unsafeOffer(Take.of(event)),
      put: (event) => put(Take.of(event))
    }
    yield* Effect.forkScoped(
      drive(sink).pipe(
        Effect.exit,
        Effect.flatMap(Exit.match({
          onSuccess: () => put(Take.end),
          onFailure: (cause) => put(Take.failCause(cause))
        }))
      )
    )
    yield* Effect.addFinalizer(() => Queue.shutdown(queue))
    return Stream.flattenTake(Stream.fromQueue(queue))
  }))
