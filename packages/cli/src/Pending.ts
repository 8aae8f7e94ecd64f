/**
 * What a session waits for, as far as the journal and the store of approvals say it.
 *
 * @since 0.1.0
 */
import type { Question } from "@capstan/core/Approval"
import { ApprovalStore, type Permission, type StoredAnswer } from "@capstan/core/ApprovalStore"
import type { Journal, SessionInfo } from "@capstan/core/Journal"
import * as Replay from "@capstan/core/Replay"
import * as SessionState from "@capstan/core/SessionState"
import * as Supply from "@capstan/core/Supply"
import { keyOf } from "@capstan/core/ToolCall"
import * as Effect from "effect/Effect"
import * as CommandError from "./CommandError.js"
import * as Reading from "./Reading.js"

/**
 * The questions that were asked (`at`, in milliseconds since the epoch), or the calls whose results somebody else supplies.
 * `isDecided`: they were answered, and a crash kept the answer from being carried out.
 *
 * @since 0.1.0
 * @category models
 */
export interface Pending {
  readonly at: number
  readonly questions: ReadonlyArray<Question>
  readonly isDecided: boolean
  readonly calls: ReadonlyArray<SessionState.BatchCall>
}

/**
 * Whether it is worth looking into a session.
 *
 * @since 0.1.0
 * @category guards
 */
export const mayAsk = (info: SessionInfo): boolean => ["asks", "waits"].includes(Reading.standing(info))

/**
 * What a session waits for; undefined: nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const of = (session: string): Effect.Effect<Pending | undefined, CommandError.CommandError, Journal> =>
  Effect.map(Reading.rows(session), (rows) => {
    const state = Replay.state(rows)
    const calls = SessionState.unsettled(state)
    if (state.batch === null || !Supply.isAwaited(state)) return undefined
    const at = rows.findLast(({ record }) => record._tag === "Asked" || record._tag === "Responded")?.at ?? 0
    return { at, questions: state.batch.questions, isDecided: state.batch.decision !== null, calls }
  })

/**
 * The answers that wait for these questions, with these arguments.
 *
 * @since 0.1.0
 * @category accessors
 */
export const answers = (
  session: string,
  questions: ReadonlyArray<Question>
): Effect.Effect<ReadonlyArray<StoredAnswer>, CommandError.CommandError, ApprovalStore> =>
  Effect.flatMap(ApprovalStore, (store) => store.answers({ session })).pipe(
    Effect.mapBoth({
      onSuccess: (given) =>
        given.filter(({ argumentsHash, ref }) =>
          questions.some((question) => keyOf(question.ref) === keyOf(ref) && question.argumentsHash === argumentsHash)
        ),
      onFailure: CommandError.ofRunError
    })
  )

/**
 * What was allowed for good in a project, or anywhere (undefined).
 *
 * @since 0.1.0
 * @category accessors
 */
export const permissions = (
  project: string | undefined
): Effect.Effect<ReadonlyArray<Permission>, CommandError.CommandError, ApprovalStore> =>
  Effect.flatMap(
    ApprovalStore,
    (store) => Effect.mapError(store.permissions({ project }), CommandError.ofRunError)
  )
