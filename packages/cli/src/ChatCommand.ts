/**
 * `capstan chat`: a conversation, a line or a pasted text at a time.
 *
 * @since 0.1.0
 */
import type { RunError, UnfinishedError } from "@capstan/core/RunError"
import * as ToolLoop from "@capstan/core/ToolLoop"
import type { TurnResult } from "@capstan/core/TurnResult"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as ChatLine from "./ChatLine.js"
import * as ChatViews from "./ChatViews.js"
import * as CommandError from "./CommandError.js"
import * as ExitCode from "./ExitCode.js"
import type { SessionFlags } from "./Flags.js"
import { Host } from "./Host.js"
import * as Pending from "./Pending.js"
import * as RunCommand from "./RunCommand.js"
import { Screen } from "./Screen.js"
import * as Session from "./Session.js"
import { Signals } from "./Signals.js"
import { type LineInput, Tty } from "./Tty.js"
import * as Turns from "./Turns.js"
import * as Ulid from "./Ulid.js"
import * as Waiting from "./Waiting.js"

/** What a conversation goes on with: after `::model` and the like everything is put together anew. */
interface Chat {
  readonly flags: SessionFlags
  readonly session: string | undefined
  /** Said at the beginning. */
  readonly greeting: string | undefined
}

/** How a part of it ended: with other flags, or for good. */
type Ending =
  | { readonly _tag: "Changed"; readonly chat: Chat }
  | { readonly _tag: "Left"; readonly code: ExitCode.ExitCode }

/** Lines from the terminal, or from a file or pipe, where the end ends the chat. */
type Lines = (tty: Tty["Type"]) => Effect.Effect<LineInput>

/**
 * Talks until the person leaves. Lines that are piped in are messages too; then the exit code is that of the last turn.
 *
 * @since 0.1.0
 * @category constructors
 */
export const chat = (flags: SessionFlags): Effect.Effect<void, CommandError.CommandError, Host | Signals> =>
  Effect.gen(function*() {
    const host = yield* Host
    yield* RunCommand.checkFlags(flags)
    const lines = host.terminal && !flags.quiet ? typed() : yield* Effect.map(host.input, piped)
    let now: Chat = { flags, session: undefined, greeting: undefined }
    let before: Chat | undefined
    while (true) {
      const ending: Ending = yield* part(now, lines).pipe(Effect.catchAll((error) => {
        // A change that cannot be made is said, and the conversation goes on as it was.
        if (before === undefined) return Effect.fail(error)
        return Effect.as(host.warn(`${error.message}\n`), { _tag: "Changed" as const, chat: before })
      }))
      if (ending._tag === "Left") return ending.code === 0 ? undefined : yield* CommandError.ended(ending.code, "chat")
      before = ending.chat === before ? undefined : { ...now, session: ending.chat.session, greeting: undefined }
      now = ending.chat
    }
  })

const typed = (): Lines => {
  const history: Array<string> = []
  const words = ChatLine.commands.map(({ name }) => name)
  return (tty) =>
    Effect.tap(tty.line({ prompt: "› ", history, words }), (input) =>
      Effect.sync(() => {
        if (input._tag === "Line" && input.text.trim() !== "") history.unshift(input.text.replaceAll("\n", " "))
      }))
}

const piped = (text: string): Lines => {
  const lines = text.split("\n")
  let next = 0
  return () =>
    Effect.sync(() => {
      const line = lines[next++]
      return line === undefined ? { _tag: "Ended" } : { _tag: "Line", text: line }
    })
}

/** The conversation as far as one set of flags goes. */
const part = (chat: Chat, lines: Lines): Effect.Effect<Ending, CommandError.CommandError, Host | Signals> =>
  Effect.gen(function*() {
    const made = yield* Session.make({ flags: chat.flags, silent: false })
    return yield* Effect.provide(converse({ ...chat, session: chat.session ?? made.id }, made, lines), made.layer)
  })

interface Conversation extends Chat {
  readonly session: string
}

/** What a turn that waits goes on with. */
type Here = Omit<Parameters<typeof Waiting.goOn>[0], "results">

const converse = (chat: Conversation, made: Session.Session, lines: Lines) =>
  Effect.gen(function*() {
    const screen = yield* Screen
    const signals = yield* Signals
    const tty = yield* Tty
    const { model, provider } = made.provider
    yield* screen.note(chat.greeting ?? `${provider}/${model} · ::help says what there is`)
    const where = { session: chat.session, workspace: made.places.root }
    const here: Here = { ...where, ask: made.ask, yes: chat.flags.yes, renderer: screen, hint: howToSupply }
    const given = new Map<number, Waiting.Given>()
    let code: ExitCode.ExitCode = 0
    let wasInterrupted = false
    const left: Ending = { _tag: "Left", code: 0 }
    const changed = (change: Partial<Chat>): Ending => ({
      _tag: "Changed",
      chat: {
        session: chat.session,
        greeting: undefined,
        ...change,
        flags: { ...chat.flags, ...change.flags, resume: Option.none() }
      }
    })
    while (true) {
      const input = yield* lines(tty)
      if (input._tag === "Ended") return made.watched ? left : { ...left, code }
      if (input._tag === "Interrupted") {
        if (input.text === "" && wasInterrupted) return left
        wasInterrupted = input.text === ""
        if (wasInterrupted) yield* screen.note("Ctrl-C again leaves, and so does ::exit.")
        continue
      }
      wasInterrupted = false
      const line = ChatLine.parse(input.text)
      switch (line._tag) {
        case "Nothing":
          break
        case "Message":
          code = yield* turn(here, Turns.run({ ...where, message: line.text }, screen))
          if (made.watched) yield* screen.note("")
          if (yield* signals.leaving) return { ...left, code: 130 as const }
          break
        case "Tool": {
          const ready = yield* supplied(here, given, line.given)
          if (!ready) break
          const goOn = Waiting.goOn({ ...here, results: [...given.values()] })
          given.clear()
          code = yield* turn(here, goOn)
          if (made.watched) yield* screen.note("")
          if (yield* signals.leaving) return { ...left, code: 130 as const }
          break
        }
        case "Wrong":
          yield* screen.note(line.message)
          break
        case "Exit":
          return left
        case "Clear": {
          const session = yield* Ulid.make
          return changed({ session, greeting: `A new session: ${session}` })
        }
        case "Help":
          yield* ChatViews.help
          break
        case "Tools":
          yield* ChatViews.tools
          break
        case "Context":
          yield* ChatViews.context({ ...where, flags: chat.flags })
          break
        case "Model":
          if (line.id === undefined) {
            yield* screen.note(`${provider}/${model}`)
            break
          }
          return changed({ flags: withModel(chat.flags, line.id), greeting: `From now on: ${line.id}` })
        case "Approve":
          if (line.mode === undefined) {
            yield* ChatViews.approvals({ ...where, flags: chat.flags })
            break
          }
          return changed({
            flags: { ...chat.flags, approve: Option.some(line.mode) },
            greeting: `From now on: approve ${line.mode}`
          })
        case "Trust":
          if (line.level === undefined) {
            yield* screen.note(`trust ${Option.getOrElse(chat.flags.trust, () => "shell")}`)
            break
          }
          return changed({
            flags: { ...chat.flags, trust: Option.some(line.level) },
            greeting: `From now on: trust ${line.level}`
          })
      }
    }
  })

/** `--provider` and `--base-url` were for the model before, unless the new one names no provider. */
const withModel = (flags: SessionFlags, id: string): SessionFlags =>
  id.includes("/") && ["anthropic", "openai", "compatible", "scripted"].includes(id.split("/", 1)[0] ?? "")
    ? { ...flags, model: Option.some(id), provider: Option.none() }
    : { ...flags, model: Option.some(id) }

const turn = <R>(
  here: Here,
  driven: Effect.Effect<TurnResult, CommandError.CommandError | RunError, R>
) =>
  Effect.gen(function*() {
    const screen = yield* Screen
    return yield* driven.pipe(
      Effect.catchTag("UnfinishedError", (error: UnfinishedError) =>
        Effect.gen(function*() {
          yield* error.reason === "awaiting"
            ? Effect.asVoid(Waiting.goOn({ ...here, results: [] }))
            : recover(error, here.workspace)
          return yield* driven
        })),
      Effect.tap((result) => result.end === "awaiting" ? told(here) : Effect.void),
      Effect.map((result) => ExitCode.ofTurn(result, { attended: here.ask !== "nobody" })),
      Effect.catchAll((error) => {
        const { code, message } = error._tag === "CommandError" ? error : CommandError.ofRunError(error)
        return Effect.as(screen.note(`✗ ${message}`), code)
      })
    )
  })

const howToSupply: typeof Waiting.howToSupply = (_, positions, missing = positions) =>
  `Give what the model waits for: ${missing.map((position) => `::tool ${position} RESULT`).join(", ")}`

/** What a turn that just ended waits for. */
const told = ({ session }: Here) =>
  Effect.gen(function*() {
    const screen = yield* Screen
    const pending = yield* Pending.of(session)
    if (pending === undefined) return
    yield* screen.note(
      pending.questions.length > 0
        ? `${Waiting.howToAnswer(session, pending.questions.length)} Or go on here with any message.`
        : howToSupply(session, pending.calls.map(({ ref }) => ref.position))
    )
  })

/** Whether every open call has its result now. */
const supplied = (
  { session }: Here,
  given: Map<number, Waiting.Given>,
  next: Waiting.Given | undefined
) =>
  Effect.gen(function*() {
    const screen = yield* Screen
    const pending = yield* Effect.orElseSucceed(Pending.of(session), () => undefined)
    const calls = pending === undefined || pending.questions.length > 0 ? [] : pending.calls
    if (calls.length === 0) {
      yield* screen.note("No call waits for a result. In --mode parse_only the model's calls are handed to you.")
      return false
    }
    const found = next === undefined ? undefined : Waiting.callOf(calls, next.call)
    if (found !== undefined && next !== undefined) {
      given.set(found.ref.position, { call: String(found.ref.position), text: next.text })
    }
    const open = calls.filter(({ ref }) => !given.has(ref.position))
    if (found !== undefined && open.length === 0) return true
    if (next !== undefined && found === undefined) yield* screen.note(`✗ No open call is "${next.call}".`)
    yield* Effect.forEach(open, ({ call, ref }) => screen.note(`○ ${ref.position}  ${call.name} ${call.raw}`))
    return false
  })

const recover = (error: UnfinishedError, workspace: string) =>
  Effect.gen(function*() {
    const host = yield* Host
    const screen = yield* Screen
    const tty = yield* Tty
    if (!host.terminal) return yield* error
    yield* screen.note(CommandError.crashFacts(error))
    yield* screen.note(
      "Keep the results that are there (partial), or count every call of that answer as failed (discard)?"
    )
    const asked = tty.line({ prompt: "partial or discard? " })
    let choice = yield* Effect.map(asked, read)
    while (choice === "again") choice = yield* Effect.map(asked, read)
    if (choice === undefined) return yield* error
    const { ended } = yield* ToolLoop.recover({ session: error.session, choice, workspace })
    yield* Effect.forEach(new Set([...error.ended, ...ended]), (line) =>
      screen.note(`Ended what the crash had left running: ${line}`))
  })

const read = (input: LineInput): "partial" | "discard" | "again" | undefined => {
  if (input._tag !== "Line") return undefined
  const said = input.text.trim().toLowerCase()
  if (said === "") return "again"
  return (["partial", "discard"] as const).find((choice) => choice.startsWith(said)) ?? "again"
}
