/**
 * The demo's child process: it drives the session with everything that a real run has, and in its first part kills itself
 * in the middle of a call.
 *
 * @since 0.1.0
 */
import * as Approval from "@capstan/core/Approval"
import type { Event } from "@capstan/core/Event"
import * as Limits from "@capstan/core/Limits"
import * as Redaction from "@capstan/core/Redaction"
import { Sandbox } from "@capstan/core/Sandbox"
import * as Sanitiser from "@capstan/core/Sanitiser"
import * as ToolLoop from "@capstan/core/ToolLoop"
import * as ToolRegistry from "@capstan/core/ToolRegistry"
import type { TurnResult } from "@capstan/core/TurnResult"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as path from "node:path"
import process from "node:process"
import type { Prompt } from "../Approvals.js"
import * as CommandError from "../CommandError.js"
import * as Composition from "../Composition.js"
import { Host } from "../Host.js"
import * as approvalView from "../internal/approvalView.js"
import type { Places } from "../Places.js"
import * as Screen from "../Screen.js"
import type { Signals } from "../Signals.js"
import * as TerminalApproval from "../TerminalApproval.js"
import * as Tty from "../Tty.js"
import * as Page from "./Page.js"
import * as Part from "./Part.js"
import * as Project from "./Project.js"
import * as Script from "./Script.js"

/**
 * Where the demo's journal is.
 *
 * @since 0.1.0
 * @category constructors
 */
export const placesOf = (root: string): Places => {
  const { data, project } = Project.folders(root)
  return { cwd: project, root: project, data, database: path.join(data, "capstan", "capstan.db") }
}

/** How long the call that will be cut off can be seen running, in milliseconds. */
const sight = 600

const kill = Effect.sleep(sight).pipe(
  Effect.zipRight(Effect.sync(() => process.kill(process.pid, "SIGKILL"))),
  Effect.zipRight(Effect.never)
)

/** Somebody who says yes to everything, and shows what to. */
const agreeable: Effect.Effect<Prompt, never, Host | Screen.Screen> = Effect.gen(function*() {
  const host = yield* Host
  const screen = yield* Screen.Screen
  return ({ questions }) =>
    screen.exclusive({
      ...(questions[0] === undefined ? {} : { after: questions[0].ref }),
      use: Effect.gen(function*() {
        const origin = yield* screen.origin
        const shown = approvalView.request(questions, { columns: Page.columns, origin, all: false })
        yield* host.write(`${Sanitiser.sanitise(shown).text}There is no terminal: the demo answers yes.\n\n`)
        return { _tag: "ApproveAll" } as const
      })
    })
})

const approval = (host: Host["Type"], redactor: Redaction.Redactor) =>
  Layer.unwrapEffect(
    Effect.map(host.terminal ? TerminalApproval.make({ redactor }) : agreeable, (ask) =>
      Approval.layerCallback({
        policy: { enabled: true, mode: "prompt", allowlist: [], denylist: [], promptSideEffects: true, trust: "shell" },
        by: host.terminal ? "user" : "demo",
        ask
      }))
  )

const layer = (host: Host["Type"], places: Places) => {
  const redactor = Composition.redactor(host.environment)
  const screen = Screen.layer({ live: host.terminal, stream: true, quiet: false, verbose: false, redactor })
  return ToolLoop.layer.pipe(
    Layer.provide(Layer.mergeAll(
      Script.layer,
      Layer.succeed(Limits.Limits, Limits.agent),
      Layer.succeed(Redaction.Redaction, redactor),
      approval(host, redactor),
      Layer.mapError(ToolRegistry.layer(Composition.builtIn), CommandError.ofRegistryError)
    )),
    Layer.provideMerge(Layer.merge(Composition.stored(places), Composition.sandbox({ places, addDir: [] }))),
    Layer.provideMerge(Layer.provideMerge(screen, Tty.layer))
  )
}

/** What was shown in a question is not shown again, whoever answered it. */
const asShown = (event: Event): Event => event._tag === "ApprovalAnswered" ? { ...event, by: "user" } : event

/** Runs a turn on the screen; `then` is done after an event was shown. */
const shown = (options: ToolLoop.RunOptions, then: (event: Event) => Effect.Effect<void>) =>
  Effect.gen(function*() {
    const { terminal, write } = yield* Host
    const screen = yield* Screen.Screen
    let answers = 0
    const result = yield* ToolLoop.stream(options).pipe(
      Stream.tap((event) =>
        Effect.gen(function*() {
          if (event._tag === "IterationStarted" && answers++ > 0 && !terminal) yield* write("\n")
          yield* screen.show(asShown(event))
          yield* then(event)
        })
      ),
      Stream.runFold(Option.none<TurnResult>(), (last, event) =>
        event._tag === "Final" ? Option.some(event.result) : last)
    )
    return yield* Effect.orDie(result)
  })

const work = (session: string) =>
  Effect.gen(function*() {
    const page = yield* Page.make
    const { processes } = yield* Sandbox
    yield* page.say([
      ...(processes.enforcement.backend === "sandboxed"
        ? ["Commands run in an OS sandbox (bubblewrap): no network, no files but these."]
        : []),
      ...processes.enforcement.weakened
    ])
    yield* page.say([`> ${Script.task}`])
    let printed = ""
    return yield* shown({ session, message: Script.task }, (event) => {
      if (event._tag !== "ToolOutput") return Effect.void
      printed += event.chunk.text
      return printed.includes(Project.converted) ? kill : Effect.void
    })
  })

const resume = (session: string) =>
  Effect.gen(function*() {
    const page = yield* Page.make
    const found = yield* Effect.either(ToolLoop.run({ session }))
    if (Either.isRight(found)) return found.right
    if (found.left._tag !== "UnfinishedError") return yield* found.left
    yield* page.say([
      "It is not run before somebody has chosen what to do with the cut-off calls:",
      ...Page.calls(found.left),
      "The demo chooses \"partial\": results that are there stay, and the model is told the truth about the other calls."
    ])
    yield* ToolLoop.recover({ session, choice: "partial" })
    return yield* shown({ session }, () => Effect.void)
  })

/**
 * Does one part. Fails with exit code 3 when the user denied a call.
 *
 * @since 0.1.0
 * @category constructors
 */
export const run = (text: string): Effect.Effect<void, CommandError.CommandError, Host | Signals> =>
  Effect.gen(function*() {
    const host = yield* Host
    const { part, root, session } = yield* Effect.mapError(
      Schema.decode(Part.Part)(text),
      (error) => CommandError.usage(CommandError.oneLine(ParseResult.TreeFormatter.formatErrorSync(error)))
    )
    // Whoever started this is gone: then nobody is left to end it.
    process.once("disconnect", () => process.kill(process.pid, "SIGTERM"))
    const result = yield* (part === "work" ? work(session) : resume(session)).pipe(
      Effect.mapError(CommandError.ofRunError),
      Effect.provide(layer(host, placesOf(root))),
      Effect.provideService(Host, Page.narrow(host))
    )
    if (result.calls.some(({ outcome }) => outcome._tag === "Denied")) return yield* CommandError.ended(3, "Denied")
    if (result.end !== "answered") return yield* CommandError.ended(1, result.end)
  })
