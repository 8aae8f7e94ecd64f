/**
 * Shows what a turn does: in a terminal as it happens, elsewhere as plain lines, the answer to stdout and the rest to stderr.
 *
 * @since 0.1.0
 */
import type { Event } from "@capstan/core/Event"
import type { Redactor } from "@capstan/core/Redaction"
import { type CallRef, keyOf } from "@capstan/core/ToolCall"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { Host } from "./Host.js"
import * as liveView from "./internal/liveView.js"
import * as paint from "./internal/paint.js"
import * as screenState from "./internal/screenState.js"
import { type Line, render, span } from "./internal/styledLine.js"
import * as textFlow from "./internal/textFlow.js"
import { Tty } from "./Tty.js"

/**
 * How a turn is shown. `live`: in a terminal, with colours and a part that changes; otherwise plain lines without control
 * sequences. `stream` shows the answer as it is written, `quiet` the answer only, `verbose` thinking and repairs too.
 *
 * @since 0.1.0
 * @category models
 */
export interface ScreenOptions {
  readonly live: boolean
  readonly stream: boolean
  readonly quiet: boolean
  readonly verbose: boolean
  readonly redactor: Redactor
}

/**
 * Shows a turn. `show` takes its events in order, `Final` last, also of a turn that was cancelled; `showAt`
 * those that happened before, `at` in milliseconds since the epoch. `note` is a line of the
 * program's own. `exclusive` gives the terminal to somebody else, once everything up to the question about `after` is
 * shown; the time until it comes back counts as waiting. `origin` says which model is at work.
 *
 * @since 0.1.0
 * @category services
 */
export class Screen extends Context.Tag("@capstan/cli/Screen")<Screen, {
  readonly show: (event: Event) => Effect.Effect<void>
  readonly showAt: (options: { readonly event: Event; readonly at: number }) => Effect.Effect<void>
  readonly note: (text: string) => Effect.Effect<void>
  readonly exclusive: <A, E, R>(options: {
    readonly after?: CallRef
    readonly use: Effect.Effect<A, E, R>
  }) => Effect.Effect<A, E, R>
  readonly origin: Effect.Effect<string>
}>() {}

/** How often the spinner moves, and how long changes may wait to be shown together; in milliseconds. */
const tickMillis = 80
const gatherMillis = 25

/** How long a question waits for the lines before it, in milliseconds. */
const patienceMillis = 1_000

/**
 * A screen. It ends with its scope, and leaves the terminal as it was.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: ScreenOptions): Effect.Effect<Screen["Type"], never, Host | Tty | Scope.Scope> =>
  Effect.gen(function*() {
    const output = options.live ? yield* live(options) : yield* plain(options)
    const settings: screenState.Settings = {
      redactor: options.redactor,
      verbose: options.verbose,
      stream: options.stream && !options.quiet
    }
    let state = screenState.initial
    let asked: string | undefined
    const apply = ([next, lines]: screenState.Step) => {
      state = next
      return output.put(() => state, lines)
    }
    const showAt: Screen["Type"]["showAt"] = ({ at, event }) =>
      Effect.suspend(() => {
        if (event._tag === "ApprovalAsked") asked = event.questions.map(({ ref }) => keyOf(ref))[0]
        if (event._tag === "ApprovalAnswered") asked = undefined
        const begins = state.startedAt === undefined
        const put = apply(screenState.step(state, event, settings, at))
        if (event._tag === "Final") return Effect.zipRight(put, output.end)
        return begins ? Effect.zipRight(output.begin, put) : put
      })
    return Screen.of({
      show: (event) => Effect.flatMap(Clock.currentTimeMillis, (at) => showAt({ event, at })),
      showAt,
      note: (text) =>
        Effect.suspend(() => apply(screenState.say(state, [noted(textFlow.oneLine(text, options.redactor))]))),
      exclusive: ({ after, use }) =>
        Effect.gen(function*() {
          const shown = Effect.sync(() => after === undefined || asked !== undefined)
          yield* Effect.repeat(shown, { until: (yes) => yes, schedule: Schedule.spaced("5 millis") }).pipe(
            Effect.timeoutOption(patienceMillis)
          )
          const start = yield* Clock.currentTimeMillis
          const resume = Effect.flatMap(Clock.currentTimeMillis, (now) =>
            Effect.suspend(() => apply([{ ...state, waited: state.waited + now - start }, []])))
          return yield* Effect.ensuring(output.lent(use), resume)
        }),
      origin: Effect.sync(() => state.model)
    })
  })

/** A mark at the beginning stands out. */
const noted = (text: string): Line =>
  /^[!✗] /u.test(text)
    ? [span(text.slice(0, 2), text.startsWith("!") ? "yellow" : "red"), span(text.slice(2))]
    : [span(text)]

/** Where lines go. Between `begin` and `end` a turn runs; `lent`: somebody else writes. */
interface Output {
  readonly begin: Effect.Effect<void>
  readonly end: Effect.Effect<void>
  readonly put: (state: () => screenState.ScreenState, lines: ReadonlyArray<screenState.Out>) => Effect.Effect<void>
  readonly lent: <A, E, R>(use: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

const plain = ({ quiet }: ScreenOptions): Effect.Effect<Output, never, Host> =>
  Effect.map(Host, (host) => ({
    begin: Effect.void,
    end: Effect.void,
    put: (_state, lines) =>
      Effect.forEach(lines, ({ line, to }) => {
        const text = `${render(line, false)}\n`
        if (to === "answer") return host.write(text)
        return quiet || to === "gap" ? Effect.void : host.warn(text)
      }, { discard: true }),
    lent: (use) => use
  }))

const live = ({ redactor, stream }: ScreenOptions): Effect.Effect<Output, never, Host | Tty | Scope.Scope> =>
  Effect.gen(function*() {
    const host = yield* Host
    const tty = yield* Tty
    const one = yield* Effect.makeSemaphore(1)
    let current = () => screenState.initial
    let waiting: ReadonlyArray<Line> = []
    let painted = paint.blank
    let paintedAt = 0
    let resumed = yield* tty.resumed
    let isLent = false

    const draw = (isShown: boolean) =>
      Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const size = yield* tty.size
        const times = yield* tty.resumed
        if (times !== resumed) painted = paint.blank
        resumed = times
        const rows = isShown ? liveView.rows(current(), { now, redactor, size, stream }) : []
        const [after, text] = paint.paint(painted, { stay: waiting, live: rows, columns: size.columns })
        painted = after
        paintedAt = now
        waiting = []
        yield* host.write(text)
      }).pipe(one.withPermits(1), Effect.uninterruptible)

    const tick = Effect.suspend(() => isLent ? Effect.void : draw(true))
    yield* Effect.forkScoped(Effect.repeat(tick, Schedule.spaced(tickMillis)))
    yield* Effect.addFinalizer(() => draw(false))
    const scope = yield* Effect.scope
    let guard: Fiber.Fiber<never> | undefined

    return {
      begin: Effect.suspend(() =>
        guard === undefined
          ? Effect.map(Effect.forkIn(tty.guarded(Effect.never), scope), (fiber) => {
            guard = fiber
          })
          : Effect.void
      ),
      end: Effect.suspend(() => {
        const ending = guard === undefined ? Effect.void : Fiber.interrupt(guard)
        guard = undefined
        return Effect.zipRight(draw(true), ending)
      }),
      put: (state, lines) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          current = state
          waiting = [...waiting, ...lines.map(({ line }) => line)]
          const isIdle = state().activity === undefined && state().calls.length === 0
          return isLent || (now - paintedAt < gatherMillis && !isIdle) ? Effect.void : draw(true)
        }),
      lent: (use) =>
        Effect.acquireUseRelease(
          Effect.zipRight(
            draw(false),
            Effect.sync(() => {
              isLent = true
            })
          ),
          () => use,
          () =>
            Effect.sync(() => {
              isLent = false
            })
        )
    }
  })

/**
 * The screen of a run.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: ScreenOptions): Layer.Layer<Screen, never, Host | Tty> =>
  Layer.scoped(Screen, make(options))
