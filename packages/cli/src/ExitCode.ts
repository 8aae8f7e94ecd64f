/**
 * What the process tells its caller by its exit code, decided in one place.
 *
 * @since 0.1.0
 */
import type { Outcome } from "@capstan/core/Outcome"
import type { RunError } from "@capstan/core/RunError"
import type { TurnResult } from "@capstan/core/TurnResult"

/**
 * The exit codes: 0 done, 1 the task failed, 2 wrong use or configuration, 3 denied or needs approval, 4 the model's
 * service, 130 interrupted.
 *
 * @since 0.1.0
 * @category models
 */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 130

/**
 * The code of a turn by how it ended. An answer after something was denied for want of a person counts as denied, since
 * nobody saw it; so does an answer right after a denial, whoever denied. Where somebody denied and the model found another
 * way, the turn is done.
 *
 * @since 0.1.0
 * @category constructors
 */
export const ofTurn = (result: TurnResult, options: { readonly attended: boolean }): ExitCode => {
  switch (result.end) {
    case "answered":
      return isDenied(result, options) ? 3 : 0
    case "iterations":
    case "budget":
    case "loop":
    case "refused":
      return 1
    case "awaiting":
      return 3
    case "cancelled":
      return 130
  }
}

const isDenied = ({ calls }: TurnResult, { attended }: { readonly attended: boolean }): boolean => {
  const last = calls.at(-1)?.ref.iteration
  return calls.some(({ outcome, ref }) =>
    (!attended && outcome._tag === "Denied") || (ref.iteration === last && isRefusedByPolicy(outcome))
  )
}

const isRefusedByPolicy = (outcome: Outcome): boolean => {
  if (outcome._tag === "Denied") return true
  if (outcome._tag !== "Refused" || outcome.failure._tag !== "Permission") return false
  return ["denylist", "trust", "not-allowed"].includes(outcome.failure.details.kind)
}

/**
 * The code of what stopped a run.
 *
 * @since 0.1.0
 * @category constructors
 */
export const ofRunError = (error: RunError): ExitCode => {
  switch (error._tag) {
    case "ModelError":
      return 4
    case "JournalError":
      return error.reason === "not-found" ? 2 : 1
    case "LeaseError":
      return 1
    case "UnfinishedError":
      return error.reason === "awaiting" ? 3 : 2
    case "ConfigurationError":
      return 2
  }
}
