/**
 * `capstan approvals`: questions that other processes wait for, answered from here, and what runs without a question.
 *
 * @since 0.1.0
 */
import type { Answer, Question } from "@capstan/core/Approval"
import { ApprovalStore, type Permission, type StoredAnswer } from "@capstan/core/ApprovalStore"
import type { Journal, SessionInfo } from "@capstan/core/Journal"
import { keyOf } from "@capstan/core/ToolCall"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as os from "node:os"
import * as CommandError from "./CommandError.js"
import * as Decisions from "./Decisions.js"
import { Host } from "./Host.js"
import * as view from "./internal/approvalView.js"
import * as JsonOutput from "./JsonOutput.js"
import * as Pending from "./Pending.js"
import * as Places from "./Places.js"
import * as Reading from "./Reading.js"

/**
 * Lists the questions that nobody has decided yet, the oldest session first, with everything that would run.
 *
 * @since 0.1.0
 * @category constructors
 */
export const list = (
  flags: Reading.ReadFlags & { readonly all: boolean }
): Effect.Effect<void, CommandError.CommandError, Host> =>
  Reading.from(flags, ({ root }) =>
    Effect.gen(function*() {
      const host = yield* Host
      const now = yield* Clock.currentTimeMillis
      const infos = (yield* Reading.sessions(flags.all ? undefined : root)).filter(Pending.mayAsk).toReversed()
      const asking = (yield* Effect.forEach(infos, asked)).flat()
      if (flags.json) {
        const pending = asking.flatMap((session) => session.questions.map((open) => described(session, open)))
        return yield* host.write(JsonOutput.line({ type: "Approvals", version: JsonOutput.version, pending }))
      }
      if (asking.length === 0) {
        return yield* host.warn(`No questions wait${flags.all ? "" : ` in ${root}`}.\n`)
      }
      const columns = host.terminal ? host.columns : Infinity
      yield* Effect.forEach(asking, (session) => host.write(listed(session, { columns, color: host.color, now })))
      yield* host.warn(
        "Answer with: capstan approvals approve SESSION [POSITION…], or capstan approvals deny SESSION [POSITION…]\n"
      )
    }))

interface Open {
  readonly question: Question
  readonly given: StoredAnswer | undefined
}

interface Asking {
  readonly info: SessionInfo
  readonly at: number
  readonly questions: ReadonlyArray<Open>
}

/** None or one. */
const asked = (
  info: SessionInfo
): Effect.Effect<ReadonlyArray<Asking>, CommandError.CommandError, ApprovalStore | Journal> =>
  Effect.gen(function*() {
    const pending = yield* Pending.of(info.id)
    if (pending === undefined || pending.isDecided || pending.questions.length === 0) return []
    const answers = yield* Pending.answers(info.id, pending.questions)
    return [{
      info,
      at: pending.at,
      questions: pending.questions.map((question) => ({
        question,
        given: answers.find(({ ref }) => keyOf(ref) === keyOf(question.ref))
      }))
    }]
  })

const described = ({ at, info }: Asking, { given, question }: Open) => ({
  session: info.id,
  project: info.project,
  position: question.ref.position,
  askedAt: at,
  ...question,
  answer: given?.answer ?? null
})

const listed = (
  { at, info, questions }: Asking,
  options: { readonly columns: number; readonly color: boolean; readonly now: number }
): string =>
  view.listing({
    heading: `${info.id}  ${Reading.oneLine(info.title)}`,
    asked: `Asked ${Reading.age(options.now - at)} ago in ${Reading.oneLine(info.project)}${
      info.isOpen ? ", by a run that waits" : ""
    }`,
    questions: questions.map(({ given, question }) => ({
      question,
      note: given === undefined ? undefined : `Answered, not taken yet: ${Decisions.answerText(given.answer)}`
    })),
    ...options
  })

/**
 * Which questions are answered.
 *
 * @since 0.1.0
 * @category models
 */
export interface AnswerFlags extends Reading.ReadFlags {
  readonly session: string
  readonly positions: ReadonlyArray<string>
}

/**
 * Approves questions of a session: those at the positions, or all that have no answer yet.
 *
 * @since 0.1.0
 * @category constructors
 */
export const approve = (flags: AnswerFlags): Effect.Effect<void, CommandError.CommandError, Host> =>
  answered(flags, { _tag: "Approve" })

/**
 * Denies questions of a session: those at the positions, or all that have no answer yet. The model reads the reason.
 *
 * @since 0.1.0
 * @category constructors
 */
export const deny = (
  flags: AnswerFlags & { readonly reason: Option.Option<string> }
): Effect.Effect<void, CommandError.CommandError, Host> =>
  answered(flags, { _tag: "Deny", reason: Option.getOrNull(flags.reason) })

const answered = (flags: AnswerFlags, answer: Answer) =>
  Reading.from(flags, ({ root }) =>
    Effect.gen(function*() {
      const host = yield* Host
      const store = yield* ApprovalStore
      const info = yield* Places.session({ id: flags.session, root })
      const [asking] = yield* asked(info)
      if (asking === undefined) {
        return yield* CommandError.usage(`Session ${info.id} waits for no approval. See "capstan approvals".`)
      }
      const chosen = yield* choice(asking, flags.positions)
      const at = yield* Clock.currentTimeMillis
      const by = `process:${host.environment["USER"] ?? os.userInfo().username}`
      yield* Effect.forEach(chosen, ({ question: { argumentsHash, ref } }) =>
        Effect.mapError(
          store.answer({ session: info.id, ref, argumentsHash, answer, by, at }),
          CommandError.ofRunError
        ))
      const open = asking.questions.filter((open) => open.given === undefined && !chosen.includes(open))
      const next = info.isOpen ? null : `capstan resume ${info.id}`
      if (flags.json) {
        return yield* host.write(JsonOutput.line({
          type: "Answered",
          version: JsonOutput.version,
          session: info.id,
          answer,
          positions: chosen.map(positionOf),
          open: open.map(positionOf),
          next
        }))
      }
      const word = answer._tag === "Approve" ? "✓ approved" : "⊘ denied"
      yield* host.write(
        chosen.map(({ question: { ref, summary, tool } }) =>
          `${word} ${ref.position}: ${Reading.oneLine(tool)} · ${Reading.oneLine(summary)}\n`
        ).join("")
      )
      yield* host.warn(
        open.length > 0
          ? `Still open: ${open.map(positionOf).join(", ")}. All are needed before anything runs.\n`
          : next === null
          ? "The run that waits goes on with it now.\n"
          : `Go on with: ${next}\n`
      )
    }))

const positionOf = ({ question }: Open): number => question.ref.position

const choice = (
  { info, questions }: Asking,
  positions: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<Open>, CommandError.CommandError> => {
  if (positions.length === 0) {
    const open = questions.filter(({ given }) => given === undefined)
    return Effect.succeed(open.length === 0 ? questions : open)
  }
  const wrong = positions.find((written) => !questions.some((open) => String(positionOf(open)) === written))
  return wrong === undefined
    ? Effect.succeed(questions.filter((open) => positions.includes(String(positionOf(open)))))
    : CommandError.usage(
      `Session ${info.id} asks nothing at position ${wrong}. Its questions: ${questions.map(positionOf).join(", ")}.`
    )
}

/**
 * Lists what runs without a question because somebody said so for good.
 *
 * @since 0.1.0
 * @category constructors
 */
export const permissions = (
  flags: Reading.ReadFlags & { readonly all: boolean }
): Effect.Effect<void, CommandError.CommandError, Host> =>
  Reading.from(flags, ({ root }) =>
    Effect.gen(function*() {
      const host = yield* Host
      const found = yield* Pending.permissions(flags.all ? undefined : root)
      if (flags.json) {
        return yield* host.write(
          JsonOutput.line({ type: "Permissions", version: JsonOutput.version, permissions: found })
        )
      }
      if (found.length === 0) {
        return yield* host.warn(`Nothing was allowed for good${flags.all ? "" : ` in ${root}`}.\n`)
      }
      yield* host.write(found.map((permission) => `${permissionText(permission, flags.all)}\n`).join(""))
      yield* host.warn("Take one back with: capstan approvals revoke ID\n")
    }))

/**
 * A permission in one line.
 *
 * @since 0.1.0
 * @category combinators
 */
export const permissionText = ({ at, entry, id, project, session }: Permission, withProject: boolean): string =>
  `${id}  ${Reading.moment(at)}  ${session === null ? "project" : `session ${session}`}  ${Reading.oneLine(entry)}${
    withProject ? `  (${Reading.oneLine(project)})` : ""
  }`

/**
 * Takes a permission back.
 *
 * @since 0.1.0
 * @category constructors
 */
export const revoke = (
  flags: Reading.ReadFlags & { readonly id: string }
): Effect.Effect<void, CommandError.CommandError, Host> =>
  Reading.from(flags, () =>
    Effect.gen(function*() {
      const host = yield* Host
      const store = yield* ApprovalStore
      const found = (yield* Pending.permissions(undefined)).find(({ id }) => id === flags.id)
      const isGone = yield* Effect.mapError(store.revoke({ id: flags.id }), CommandError.ofRunError)
      if (found === undefined || !isGone) {
        return yield* CommandError.usage(
          `There is no permission ${Reading.oneLine(flags.id)}. See "capstan approvals permissions --all".`
        )
      }
      yield* flags.json
        ? host.write(JsonOutput.line({ type: "Revoked", version: JsonOutput.version, permission: found }))
        : host.write(`✓ taken back: ${Reading.oneLine(found.entry)}. It is asked about again from now on.\n`)
    }))
