/**
 * What `run`, `resume` and `chat` work with: places, a provider, a screen, and the loop over all of it.
 *
 * @since 0.1.0
 */
import { Journal } from "@capstan/core/Journal"
import type { Redactor } from "@capstan/core/Redaction"
import { Sandbox } from "@capstan/core/Sandbox"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Approvals from "./Approvals.js"
import * as CommandError from "./CommandError.js"
import * as Composition from "./Composition.js"
import * as DryRun from "./DryRun.js"
import type { SessionFlags } from "./Flags.js"
import { Host } from "./Host.js"
import * as Places from "./Places.js"
import * as Providers from "./Providers.js"
import * as Screen from "./Screen.js"
import type { Signals } from "./Signals.js"
import * as TerminalApproval from "./TerminalApproval.js"
import * as Tty from "./Tty.js"
import * as Ulid from "./Ulid.js"
import * as Weakened from "./Weakened.js"

/**
 * A session that is ready to be driven: the one of `--resume`, or a new one. `watched`: a person sees it; `ask`: who is asked.
 * Building `layer` says on stderr which protections are off.
 *
 * @since 0.1.0
 * @category models
 */
export interface Session {
  readonly id: string
  readonly places: Places.Places
  readonly provider: Providers.ChosenProvider
  readonly watched: boolean
  readonly ask: "terminal" | "queue" | "nobody"
  readonly layer: Layer.Layer<Composition.Run | Screen.Screen | Tty.Tty, CommandError.CommandError, Host | Signals>
}

/**
 * Finds the places, chooses the provider and puts the rest together. With `silent` nothing is shown and nobody is asked: the
 * output is for a program.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: {
  readonly flags: SessionFlags
  readonly silent: boolean
}): Effect.Effect<Session, CommandError.CommandError, Host> =>
  Effect.gen(function*() {
    const { flags } = options
    const host = yield* Host
    const watched = host.terminal && !flags.quiet && !options.silent
    const ask = Option.getOrElse(flags.ask, () => watched ? "terminal" as const : "nobody" as const)
    if (ask === "terminal" && !watched) {
      return yield* CommandError.usage(
        "--ask terminal needs a terminal, without --quiet, --json and --stream-json. Use --ask queue and answer with \"capstan approvals\"."
      )
    }
    const places = yield* Places.find({ cwd: Option.getOrUndefined(flags.cwd) })
    const { id, model } = yield* Option.match(flags.resume, {
      onNone: () => Effect.map(Ulid.make, (id) => ({ id, model: undefined })),
      onSome: (id) => known(id, places)
    })
    const provider = yield* Providers.choose({ flags: Providers.orRecorded(flags, model), data: places.data })
    const redactor = Composition.redactor(host.environment)
    const screen = Layer.provideMerge(
      Screen.layer({
        live: watched,
        stream: flags.stream || (!flags.noStream && host.terminal),
        quiet: flags.quiet,
        verbose: flags.verbose,
        redactor
      }),
      Tty.layer
    )
    const run = Layer.unwrapEffect(Effect.map(
      askedBy(ask, flags, redactor),
      (asked) => Composition.layer({ places, flags, provider: provider.layer, asked })
    ))
    const warned = Layer.effectDiscard(Effect.gen(function*() {
      const { note } = yield* Screen.Screen
      const say = watched ? note : (line: string) => host.warn(`${CommandError.oneLine(line)}\n`)
      yield* Effect.forEach(Weakened.make(flags, yield* Sandbox), (line) => say(`! ${line}`))
    }))
    const layer = warned.pipe(Layer.provideMerge(run), Layer.provideMerge(screen))
    return { id, places, provider, watched, ask, layer }
  })

const askedBy = (
  ask: Session["ask"],
  flags: SessionFlags,
  redactor: Redactor
): Effect.Effect<Approvals.Asked, never, Host | Screen.Screen | Tty.Tty> => {
  if (flags.dryRun) return Effect.map(DryRun.make(Composition.builtIn), (prompt) => ({ _tag: "DryRun", prompt }))
  switch (ask) {
    case "terminal":
      return Effect.all({ prompt: TerminalApproval.make({ redactor }), screen: Screen.Screen }).pipe(
        Effect.map(({ prompt, screen }) => ({ _tag: "Terminal", prompt, note: screen.note }))
      )
    case "queue":
      return Effect.succeed({ _tag: "Queue", wait: Duration.seconds(waitOf(flags)) })
    case "nobody":
      return Effect.succeed({ _tag: "Nobody" })
  }
}

/** With a time after which it is denied, an answer is waited for until then. */
const waitOf = ({ approvalTimeout, wait }: SessionFlags): number =>
  Option.getOrElse(wait, () => Option.match(approvalTimeout, { onNone: () => 0, onSome: (seconds) => seconds + 1 }))

/** A session that is there, with the model that its last turn had. */
const known = (id: string, places: Places.Places) =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const session = yield* Places.session({ id, root: places.root })
    const rows = yield* Effect.mapError(journal.read({ session: session.id }), CommandError.ofRunError)
    const started = rows.findLast(({ record }) => record._tag === "TurnStarted")?.record
    return { id: session.id, model: started?._tag === "TurnStarted" ? started : undefined }
  }).pipe(Effect.provide(Composition.stored(places)))
