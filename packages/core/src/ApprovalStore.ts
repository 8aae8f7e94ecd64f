/**
 * Approvals that live outside of a session's journal: answers that another process gives, and permissions that hold for a
 * session or a project until they are taken back.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Answer } from "./Approval.js"
import type { JournalError } from "./Journal.js"
import { type CallRef, keyOf } from "./ToolCall.js"

/**
 * The answer to one question, given by another process. It holds for exactly the arguments with this hash and counts once:
 * the batch that it belongs to is decided once. `by` says who gave it, `at` in milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface StoredAnswer {
  readonly session: string
  readonly ref: CallRef
  readonly argumentsHash: string
  readonly answer: Answer
  readonly by: string
  readonly at: number
}

/**
 * A list entry that a person approved for good: in one session, or in every session of a project (`session` null).
 *
 * @since 0.1.0
 * @category models
 */
export interface Permission {
  readonly id: string
  readonly project: string
  readonly session: string | null
  readonly entry: string
  readonly by: string
  readonly at: number
}

/**
 * Answers and permissions. Everything is durable before a method is done.
 *
 * @since 0.1.0
 * @category services
 */
export class ApprovalStore extends Context.Tag("@capstan/core/ApprovalStore")<ApprovalStore, {
  /** Gives an answer; a later one for the same call replaces it as long as it was not taken. */
  readonly answer: (answer: StoredAnswer) => Effect.Effect<void, JournalError>
  /** The answers of a session that were not taken yet. */
  readonly answers: (options: { readonly session: string }) => Effect.Effect<ReadonlyArray<StoredAnswer>, JournalError>
  /** Takes the answers to some calls away, since they stand in the journal now. */
  readonly take: (options: {
    readonly session: string
    readonly refs: ReadonlyArray<CallRef>
  }) => Effect.Effect<void, JournalError>
  /** Makes a permission; the same entry for the same project and session exists once. */
  readonly grant: (permission: Omit<Permission, "id">) => Effect.Effect<Permission, JournalError>
  /** The permissions of a project, or all of them (undefined), the oldest first. */
  readonly permissions: (options: {
    readonly project: string | undefined
  }) => Effect.Effect<ReadonlyArray<Permission>, JournalError>
  /** Takes a permission back; false: there was none with this id. */
  readonly revoke: (options: { readonly id: string }) => Effect.Effect<boolean, JournalError>
}>() {}

/**
 * A store in memory, gone with the process.
 *
 * @since 0.1.0
 * @category constructors
 */
export const memory = (): ApprovalStore["Type"] => {
  const answers = new Map<string, StoredAnswer>()
  const permissions = new Map<string, Permission>()
  const keyOfAnswer = (session: string, ref: CallRef) => `${session} ${keyOf(ref)}`
  return {
    answer: (answer) => Effect.sync(() => void answers.set(keyOfAnswer(answer.session, answer.ref), answer)),
    answers: ({ session }) => Effect.sync(() => [...answers.values()].filter((answer) => answer.session === session)),
    take: ({ refs, session }) =>
      Effect.sync(() => {
        for (const ref of refs) answers.delete(keyOfAnswer(session, ref))
      }),
    grant: (permission) =>
      Effect.sync(() => {
        const id = JSON.stringify([permission.project, permission.session, permission.entry])
        const granted = permissions.get(id) ?? { id, ...permission }
        permissions.set(id, granted)
        return granted
      }),
    permissions: ({ project }) =>
      Effect.sync(() =>
        [...permissions.values()].filter((permission) => project === undefined || permission.project === project)
      ),
    revoke: ({ id }) => Effect.sync(() => permissions.delete(id))
  }
}

/**
 * Keeps answers and permissions in memory.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory: Layer.Layer<ApprovalStore> = Layer.sync(ApprovalStore, memory)
