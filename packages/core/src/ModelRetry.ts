/**
 * Sending a model's request again: when, after how long, and when no more.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as ScheduleDecision from "effect/ScheduleDecision"
import * as ScheduleIntervals from "effect/ScheduleIntervals"
import * as Stream from "effect/Stream"
import { ModelDelta } from "./ModelDelta.js"
import * as ModelFailure from "./ModelFailure.js"
import { ModelError, type ModelErrorReason } from "./ModelProvider.js"

/**
 * How often a request is sent (`attempts`, the first one included) and how long is waited in between, in milliseconds: from
 * `baseMillis`, doubled each time, up to `maxDelayMillis`, with jitter. A service that asks for more than
 * `maxRetryAfterMillis` is not waited for.
 *
 * @since 0.1.0
 * @category models
 */
export interface RetryPolicy {
  readonly attempts: number
  readonly baseMillis: number
  readonly maxDelayMillis: number
  readonly maxRetryAfterMillis: number
}

/**
 * Five attempts, 0.5 s doubled up to 30 s, and up to 60 s where the service says so.
 *
 * @since 0.1.0
 * @category constructors
 */
export const defaults: RetryPolicy = {
  attempts: 5,
  baseMillis: 500,
  maxDelayMillis: 30_000,
  maxRetryAfterMillis: 60_000
}

/**
 * The policy as a schedule over the errors of the attempts. Its output is the error.
 *
 * @since 0.1.0
 * @category combinators
 */
export const schedule = (options: {
  readonly policy: RetryPolicy
  readonly transient?: (error: ModelError) => boolean
}): Schedule.Schedule<ModelError, ModelError> =>
  Schedule.exponential(Duration.millis(options.policy.baseMillis)).pipe(
    Schedule.union(Schedule.spaced(Duration.millis(options.policy.maxDelayMillis))),
    Schedule.jittered,
    Schedule.intersect(Schedule.recurs(options.policy.attempts - 1)),
    Schedule.zipRight(Schedule.identity<ModelError>()),
    Schedule.whileInput((error: ModelError) =>
      (options.transient ?? ModelFailure.isTransient)(error) &&
      (error.retryAfterMillis ?? 0) <= options.policy.maxRetryAfterMillis
    ),
    Schedule.modifyDelay((error, delay) => Duration.max(delay, Duration.millis(error.retryAfterMillis ?? 0)))
  )

/**
 * Runs attempts of a request until one emits its first delta, the error is not `transient`
 * (default: {@link ModelFailure.isTransient}), or the policy is used up. Each
 * new try is announced by a `Retry` delta. Once a delta was emitted nothing is sent again: what then ends the stream is
 * `broken`, or the timeout or bad response that it is. The final error says how many `attempts` there were.
 *
 * @since 0.1.0
 * @category combinators
 */
export const retry = (options: {
  readonly policy: RetryPolicy
  readonly transient?: (error: ModelError) => boolean
}) =>
<R>(attempt: Stream.Stream<ModelDelta, ModelError, R>): Stream.Stream<ModelDelta, ModelError, R> => {
  const policy = schedule(options)
  const run = (
    next: Next<Schedule.Schedule<ModelError, ModelError>>,
    attempts: number
  ): Stream.Stream<ModelDelta, ModelError, R> =>
    Stream.suspend(() => {
      let emitted = false
      return attempt.pipe(
        Stream.map((delta) => {
          emitted = true
          return delta
        }),
        Stream.catchAll((error) =>
          emitted
            ? Stream.fail(withAttempts(broken(error), attempts))
            : Stream.unwrap(Effect.map(
              next(error),
              Option.match({
                onNone: () => Stream.fail(withAttempts(error, attempts)),
                onSome: ({ delayMillis, following }) =>
                  Stream.succeed(ModelDelta.Retry({ attempt: attempts, delayMillis, reason: error.message })).pipe(
                    Stream.concat(Stream.drain(Stream.fromEffect(Effect.sleep(Duration.millis(delayMillis))))),
                    Stream.concat(run(following, attempts + 1))
                  )
              })
            ))
        )
      )
    })
  return run(stepper(policy, policy.initial), 1)
}

interface Next<_> {
  (error: ModelError): Effect.Effect<Option.Option<{ readonly delayMillis: number; readonly following: Next<_> }>>
}

const stepper = <S extends Schedule.Schedule<ModelError, ModelError>>(policy: S, state: unknown): Next<S> => (error) =>
  Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const [following, , decision] = yield* policy.step(now, error, state)
    return ScheduleDecision.isDone(decision) ? Option.none() : Option.some({
      delayMillis: Math.max(0, Math.round(ScheduleIntervals.start(decision.intervals) - now)),
      following: stepper(policy, following)
    })
  })

/** What ends a stream after its first delta, other than a timeout or an answer that cannot be read. */
const breaks: ReadonlySet<ModelErrorReason> = new Set(["rate-limit", "overloaded", "server", "unreachable"])

const broken = (error: ModelError): ModelError =>
  breaks.has(error.reason)
    ? new ModelError({
      ...fieldsOf(error),
      reason: "broken",
      message: `The answer broke off in the middle: ${error.message}`
    })
    : error

const withAttempts = (error: ModelError, attempts: number): ModelError =>
  new ModelError({
    ...fieldsOf(error),
    attempts,
    message: attempts === 1 ? error.message : `${error.message} Gave up after ${attempts} attempts.`
  })

const fieldsOf = (error: ModelError) => ({
  reason: error.reason,
  provider: error.provider,
  message: error.message,
  ...(error.status === undefined ? {} : { status: error.status }),
  ...(error.retryAfterMillis === undefined ? {} : { retryAfterMillis: error.retryAfterMillis }),
  ...(error.cause === undefined ? {} : { cause: error.cause })
})
