/**
 * `capstan chat`: a conversation, a line or a pasted text at a time.
 *
 * @since 0.1.0
 */
import { Journal } from "@capstan/core/Journal"
import type { UnfinishedError } from "@capstan/core/RunError"
import { Sandbox } from "@capstan/core/Sandbox"
import * as SessionState from "@capstan/core/SessionState"
import * as ToolLoop from "@capstan/core/ToolLoop"
import { ToolRegistry } from "@capstan/core/ToolRegistry"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as ChatLine from "./ChatLine.js"
import * as CommandError from "./CommandError.js"
import * as Composition from "./Composition.js"
import * as ExitCode from "./ExitCode.js"
import type { SessionFlags } from "./Flags.js"
import { Host } from "./Host.js"
import * as Instructions from "./Instructions.js"
import { count } from "./internal/callLines.js"
import { Screen } from "./Screen.js"
import * as Session from "./Session.js"
import { Signals } from "./Signals.js"
import { type LineInput, Tty } from "./Tty.js"
import * as Turns from "./Turns.js"
import * as Ulid from "./Ulid.js"

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

interface Here extends Chat {
  readonly session: string
}

const converse = (chat: Here, made: Session.Session, lines: Lines) =>
  Effect.gen(function*() {
    const screen = yield* Screen
    const signals = yield* Signals
    const tty = yield* Tty
    const { model, provider } = made.provider
    yield* screen.note(chat.greeting ?? `${provider}/${model} · ::help says what there is`)
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
      if (input._tag === "Ended") return made.attended ? left : { ...left, code }
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
          code = yield* turn({ session: chat.session, workspace: made.places.root, message: line.text }, made.attended)
          if (made.attended) yield* screen.note("")
          if (yield* signals.leaving) return { ...left, code: 130 as const }
          break
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
          yield* help
          break
        case "Tools":
          yield* tools
          break
        case "Context":
          yield* context(chat, made)
          break
        case "Model":
          if (line.id === undefined) {
            yield* screen.note(`${provider}/${model}`)
            break
          }
          return changed({ flags: withModel(chat.flags, line.id), greeting: `From now on: ${line.id}` })
        case "Approve":
          if (line.mode === undefined) {
            yield* screen.note(`approve ${Option.getOrElse(chat.flags.approve, () => "prompt")}`)
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

const turn = (options: ToolLoop.RunOptions, attended: boolean) =>
  Effect.gen(function*() {
    const screen = yield* Screen
    const driven = Turns.run(options, screen)
    return yield* driven.pipe(
      Effect.catchTag("UnfinishedError", (error) => Effect.zipRight(recover(error, options.workspace), driven)),
      Effect.map((result) => ExitCode.ofTurn(result, { attended })),
      Effect.catchAll((error) => {
        const { code, message } = CommandError.ofRunError(error)
        return Effect.as(screen.note(`✗ ${message}`), code)
      })
    )
  })

const recover = (error: UnfinishedError, workspace: string | undefined) =>
  Effect.gen(function*() {
    const host = yield* Host
    const screen = yield* Screen
    const tty = yield* Tty
    if (error.reason === "awaiting" || !host.terminal) return yield* error
    yield* screen.note(CommandError.crashFacts(error))
    yield* screen.note(
      "Keep the results that are there (partial), or count every call of that answer as failed (discard)?"
    )
    const asked = tty.line({ prompt: "partial or discard? " })
    let choice = yield* Effect.map(asked, read)
    while (choice === "again") choice = yield* Effect.map(asked, read)
    if (choice === undefined) return yield* error
    const { ended } = yield* ToolLoop.recover({
      session: error.session,
      choice,
      ...(workspace === undefined ? {} : { workspace })
    })
    yield* Effect.forEach(new Set([...error.ended, ...ended]), (line) =>
      screen.note(`Ended what the crash had left running: ${line}`))
  })

const read = (input: LineInput): "partial" | "discard" | "again" | undefined => {
  if (input._tag !== "Line") return undefined
  const said = input.text.trim().toLowerCase()
  if (said === "") return "again"
  return (["partial", "discard"] as const).find((choice) => choice.startsWith(said)) ?? "again"
}

const help = Effect.flatMap(
  Screen,
  (screen) =>
    Effect.forEach(
      ChatLine.commands,
      ({ does, name, takes }) => screen.note(`${`${name} ${takes}`.padEnd(28)} ${does}`),
      { discard: true }
    )
)

const tools = Effect.gen(function*() {
  const screen = yield* Screen
  const registry = yield* ToolRegistry
  const { definitions } = yield* registry.tools
  const longest = Math.max(0, ...definitions.map(({ name }) => name.length))
  yield* Effect.forEach(
    definitions,
    ({ description, name }) =>
      screen.note(`${name.padEnd(longest)}  ${/^.*?(?=[.:](?:\s|$))/.exec(description)?.[0] ?? description}`)
  )
})

/** The estimate that the loop begins with: four bytes a token. */
const tokensOf = (value: unknown): number =>
  Math.ceil(new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value)).length / 4)

const context = (chat: Here, made: Session.Session) =>
  Effect.gen(function*() {
    const screen = yield* Screen
    const journal = yield* Journal
    const registry = yield* ToolRegistry
    const { files } = yield* Sandbox
    const rows = yield* Effect.orElseSucceed(journal.read({ session: chat.session }), () => [])
    const { messages, tokens } = rows.reduce(
      (state, { record }) => SessionState.step(state, record),
      SessionState.empty
    )
    const { definitions } = yield* registry.tools
    const isOn = Composition.mode(chat.flags) !== "disabled"
    const of = (role: (typeof messages)[number]["role"]) =>
      messages.filter((message) => message.role === role).reduce((sum, message) => sum + tokensOf(message), 0)
    const parts = [
      ["instructions", tokensOf(yield* Instructions.make({ files, root: made.places.root, tools: isOn }))],
      ["tools", isOn ? tokensOf(definitions) : 0],
      ["your messages", of("user")],
      ["answers and calls", of("assistant")],
      ["results of calls", of("tool")]
    ] as const
    yield* Effect.forEach(
      parts,
      ([name, value]) => screen.note(`${name.padEnd(18)} ${count(value).padStart(9)}  (estimated)`)
    )
    yield* screen.note(
      `${"in use".padEnd(18)} ${
        tokens === null
          ? `${count(parts.reduce((sum, [, value]) => sum + value, 0)).padStart(9)}  (estimated)`
          : `${count(tokens).padStart(9)}  (counted by the provider at the last answer)`
      }`
    )
  })
