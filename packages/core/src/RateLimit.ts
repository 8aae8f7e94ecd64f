/**
 * How many handlers a session may start in a minute, and how many bytes it may write: a sliding window over what it did
 * start. Pure.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import type { Values as LimitValues } from "./Limits.js"
import type { Safety } from "./Safety.js"
import * as ToolFailure from "./ToolFailure.js"

/**
 * A handler that was started: when (milliseconds since the epoch) and what kind of tool it was.
 *
 * @since 0.1.0
 * @category models
 */
export interface Start {
  readonly at: number
  readonly safety: Safety
}

/**
 * What a session has used of its limits: the handlers that it started lately, and the bytes that it wrote to files.
 *
 * @since 0.1.0
 * @category models
 */
export interface Used {
  readonly starts: ReadonlyArray<Start>
  readonly written: number
}

/**
 * What one call would use: `writes` in bytes, as far as its arguments say.
 *
 * @since 0.1.0
 * @category models
 */
export interface Use {
  readonly safety: Safety
  readonly writes: number
}

const windowMillis = 60_000

/** Those of the last minute count. A clock that was set back by more forgives. */
const isRecent = (now: number) => ({ at }: Start): boolean => Math.abs(now - at) < windowMillis

/**
 * The starts without the first ones that do not count any more at a time.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withoutOld = (starts: ReadonlyArray<Start>, now: number): ReadonlyArray<Start> => {
  const first = starts.findIndex(isRecent(now))
  return first === 0 ? starts : first === -1 ? [] : starts.slice(first)
}

/**
 * What is used after one more call, or why it may not start now. A call that is refused uses nothing.
 *
 * @since 0.1.0
 * @category combinators
 */
export const take = (
  used: Used,
  use: Use,
  options: { readonly limits: LimitValues; readonly now: number }
): Either.Either<Used, ToolFailure.ToolFailure> => {
  const { limits, now } = options
  const { starts } = used
  const failure = overQuota(used.written, use.writes, limits) ?? windows(limits, use.safety)
    .map((window) => overRate(window, starts, now))
    .reduce((one, other) => later(one, other), undefined)
  return failure === undefined
    ? Either.right({
      starts: [...starts, { at: now, safety: use.safety }],
      written: used.written + Math.max(0, use.writes)
    })
    : Either.left(failure)
}

/**
 * The failure of a call that would write more than is left of the session's quota; undefined: it fits.
 *
 * @since 0.1.0
 * @category combinators
 */
export const overQuota = (
  written: number,
  bytes: number,
  { bytesWrittenPerSession }: LimitValues
): ToolFailure.ToolFailure | undefined => {
  const left = Math.max(0, bytesWrittenPerSession - written)
  return bytes <= left ? undefined : ToolFailure.limit(
    "bytes_written",
    bytesWrittenPerSession,
    `This would write ${bytes} bytes; the session may write ${left} more.`,
    "Write less, or tell the user what is left to do."
  )
}

interface Window {
  readonly what: string
  readonly limit: number
  readonly counts: (start: Start) => boolean
}

const windows = (limits: LimitValues, safety: Safety): ReadonlyArray<Window> => {
  const calls: Window = { what: "calls", limit: limits.callsPerMinute, counts: () => true }
  const counts = (start: Start) => start.safety === safety
  switch (safety) {
    case "read-only":
      return [calls]
    case "side-effect":
      return [calls, { what: "writes", limit: limits.writesPerMinute, counts }]
    case "privileged":
      return [calls, { what: "commands", limit: limits.commandsPerMinute, counts }]
  }
}

type RateFailure = Extract<ToolFailure.ToolFailure, { readonly _tag: "RateLimit" }>

const overRate = ({ counts, limit, what }: Window, starts: ReadonlyArray<Start>, now: number) => {
  if (starts.length < limit) return undefined
  const times = starts.filter(isRecent(now)).filter(counts).map(({ at }) => at).sort((a, b) => a - b)
  if (times.length < limit) return undefined
  const free = (times[times.length - limit] ?? now) + windowMillis
  const retryAfterMillis = Math.min(windowMillis, Math.max(1, free - now))
  const failure: RateFailure = {
    _tag: "RateLimit",
    message: `At most ${limit} ${what} a minute may run; this one did not.`,
    suggestedFix: limit === 0
      ? "Do without it."
      : `Send it again in ${Math.ceil(retryAfterMillis / 1_000)} seconds, or go on without it.`,
    details: { retryAfterMillis }
  }
  return failure
}

/** Of two reasons to wait, the longer wait. */
const later = (one: RateFailure | undefined, other: RateFailure | undefined): RateFailure | undefined =>
  one === undefined || (other !== undefined && other.details.retryAfterMillis > one.details.retryAfterMillis)
    ? other
    : one
