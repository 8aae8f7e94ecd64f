/**
 * What Ctrl-C and its relatives do. The first signal cancels what runs and waits until it is cleaned up; the second ends
 * children without grace and leaves.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import process from "node:process"

/**
 * The signals of this process. `cancellable` runs something that the first signal interrupts (none: it was interrupted and
 * has cleaned up); outside of one the whole program ends. `leaving` says that the program shall end, which Ctrl-C inside of
 * a `cancellable` alone does not ask for. `hurry` is true from the second signal on. `ended` completes when the whole
 * program shall be interrupted.
 *
 * @since 0.1.0
 * @category services
 */
export class Signals extends Context.Tag("@capstan/cli/Signals")<Signals, {
  readonly cancellable: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<Option.Option<A>, E, R>
  readonly leaving: Effect.Effect<boolean>
  readonly hurry: Effect.Effect<boolean>
  readonly ended: Effect.Effect<void>
}>() {}

const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const

/** How long children that are being ended are waited for after a second signal, in milliseconds. */
const patience = 1_500

const make: Effect.Effect<Signals["Type"]> = Effect.sync(() => {
  const end = Deferred.unsafeMake<void>(FiberId.none)
  let running: Deferred.Deferred<void> | undefined
  let count = 0
  let leaving = false

  const received = (name: (typeof names)[number]) => {
    count += 1
    leaving ||= name !== "SIGINT" || running === undefined || count > 1
    if (count === 1) return Deferred.unsafeDone(running ?? end, Effect.void)
    setTimeout(() => process.exit(130), patience).unref()
    Deferred.unsafeDone(end, Effect.void)
  }

  // They stay until the process ends: a signal without a handler would end it before its children.
  names.forEach((name) => process.on(name, received))
  // A reader that went away (`capstan show | head`) is told by an error on the stream.
  process.stdout.on("error", () => received("SIGHUP"))
  process.stderr.on("error", () => undefined)

  return {
    cancellable: (effect) =>
      Effect.suspend(() => {
        const cancel = Deferred.unsafeMake<void>(FiberId.none)
        running = cancel
        return Effect.raceFirst(Effect.asSome(effect), Effect.as(Deferred.await(cancel), Option.none())).pipe(
          Effect.ensuring(Effect.sync(() => {
            running = undefined
            if (!leaving) count = 0
          }))
        )
      }),
    leaving: Effect.sync(() => leaving),
    hurry: Effect.sync(() => count > 1),
    ended: Deferred.await(end)
  }
})

/**
 * Takes the signals of this process over for as long as it lives.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Signals> = Layer.effect(Signals, make)
