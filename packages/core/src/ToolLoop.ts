/**
 * The tool loop: a message goes to a model, the calls of its answer are planned, approved, run and journaled, the results go
 * back, until the model answers in words.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Account from "./Account.js"
import * as ActiveTime from "./ActiveTime.js"
import { Approval } from "./Approval.js"
import * as ApprovalStore from "./ApprovalStore.js"
import * as Budget from "./Budget.js"
import * as Content from "./Content.js"
import { Event } from "./Event.js"
import * as EventStream from "./EventStream.js"
import { Journal, type JournalError, type LeaseError } from "./Journal.js"
import { Limits } from "./Limits.js"
import * as LiveSession from "./LiveSession.js"
import { ModelProvider, type ToolDefinition } from "./ModelProvider.js"
import * as OutputStore from "./OutputStore.js"
import * as Recovery from "./Recovery.js"
import { Redaction } from "./Redaction.js"
import { ConfigurationError, type RunError } from "./RunError.js"
import { Sandbox } from "./Sandbox.js"
import * as SessionState from "./SessionState.js"
import * as Supply from "./Supply.js"
import * as Telemetry from "./Telemetry.js"
import { ToolRegistry } from "./ToolRegistry.js"
import * as Turn from "./Turn.js"
import type { TurnResult } from "./TurnResult.js"

/**
 * What a loop is made with. Defaults: mode `enabled`, no instructions, no budgets.
 *
 * @since 0.1.0
 * @category models
 */
export interface LoopOptions {
  readonly mode?: Turn.Mode
  readonly instructions?: string
  readonly budgets?: Partial<Budget.Budgets>
  /** In mode `parse_only`: what is offered to the model instead of the registry's tools. */
  readonly definitions?: ReadonlyArray<ToolDefinition>
}

/**
 * A turn. Without `message` the session's last turn goes on where it stopped. `model` is the provider's model id, `user`
 * whose notes tools may use, `workspace` the project that the session is listed under; what is left out is the session's or
 * the default. `budget` takes the place of the loop's budget of a turn. `parent` is a session with a turn that runs in this
 * loop now, on whose behalf this one runs: its model, user and workspace are inherited, and what is spent here is spent from
 * its budgets, too.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunOptions {
  readonly session: string
  readonly message?: string | ReadonlyArray<Content.ContentPart>
  readonly model?: string
  readonly user?: string
  readonly workspace?: string
  readonly instructions?: string
  readonly budget?: Budget.Budget
  readonly parent?: string
}

/**
 * What a turn that ended `awaiting` waits for: a decision over its questions, or a result for each of its calls.
 *
 * @since 0.1.0
 * @category models
 */
export interface SupplyOptions extends Omit<RunOptions, "message">, Supply.Given {}

/**
 * A session whose last batch a crash cut off, and what is done with it.
 *
 * @since 0.1.0
 * @category models
 */
export interface RecoverOptions extends Recovery.RecoveryOptions {
  readonly session: string
  readonly workspace?: string
}

/**
 * The tool loop. Interrupting a run cancels its turn: running calls are interrupted, every call gets a result, and the
 * journal has it all before the interruption is through.
 *
 * @since 0.1.0
 * @category services
 */
export class ToolLoop extends Context.Tag("@capstan/core/ToolLoop")<ToolLoop, {
  readonly run: (options: RunOptions) => Effect.Effect<TurnResult, RunError>
  readonly stream: (options: RunOptions) => Stream.Stream<Event, RunError>
  readonly supply: (options: SupplyOptions) => Effect.Effect<TurnResult, RunError>
  readonly supplyStream: (options: SupplyOptions) => Stream.Stream<Event, RunError>
  readonly recover: (
    options: RecoverOptions
  ) => Effect.Effect<Recovery.RecoveryReport, JournalError | LeaseError | ConfigurationError>
}>() {}

/**
 * Runs a turn to its end.
 *
 * @since 0.1.0
 * @category accessors
 */
export const run = (options: RunOptions): Effect.Effect<TurnResult, RunError, ToolLoop> =>
  Effect.flatMap(ToolLoop, (loop) => loop.run(options))

/**
 * Runs a turn and tells what happens; the last event is `Final`. A slow consumer slows the run, closing the stream cancels
 * it.
 *
 * @since 0.1.0
 * @category accessors
 */
export const stream = (options: RunOptions): Stream.Stream<Event, RunError, ToolLoop> =>
  Stream.unwrap(Effect.map(ToolLoop, (loop) => loop.stream(options)))

/**
 * Goes on with a turn that ended `awaiting`.
 *
 * @since 0.1.0
 * @category accessors
 */
export const supply = (options: SupplyOptions): Effect.Effect<TurnResult, RunError, ToolLoop> =>
  Effect.flatMap(ToolLoop, (loop) => loop.supply(options))

/**
 * Goes on with a turn that ended `awaiting`, and tells what happens as {@link stream} does.
 *
 * @since 0.1.0
 * @category accessors
 */
export const supplyStream = (options: SupplyOptions): Stream.Stream<Event, RunError, ToolLoop> =>
  Stream.unwrap(Effect.map(ToolLoop, (loop) => loop.supplyStream(options)))

/**
 * Closes a batch that a crash cut off. Runs no tool, unless `rerun` asks for it, and calls no model; `run` without a message
 * then goes on.
 *
 * @since 0.1.0
 * @category accessors
 */
export const recover = (
  options: RecoverOptions
): Effect.Effect<Recovery.RecoveryReport, JournalError | LeaseError | ConfigurationError, ToolLoop> =>
  Effect.flatMap(ToolLoop, (loop) => loop.recover(options))

const depthOf = ({ parent }: Account.Account): number => parent === undefined ? 0 : 1 + depthOf(parent)

/** Sessions whose state is kept between turns, so that going on does not read the whole journal again. */
const keptStates = 64

const make = (defaults: LoopOptions) =>
  Effect.gen(function*() {
    const provider = yield* ModelProvider
    const registry = yield* ToolRegistry
    const approval = yield* Approval
    const journal = yield* Journal
    const sandbox = yield* Sandbox
    const limits = yield* Limits
    const redactor = yield* Redaction
    const outputs = Option.getOrElse(yield* Effect.serviceOption(OutputStore.OutputStore), OutputStore.memory)
    const approvals = Option.getOrElse(yield* Effect.serviceOption(ApprovalStore.ApprovalStore), ApprovalStore.memory)
    const shared = { sandbox, limits, redactor, outputs, fingerprint: journal.fingerprint }
    const states = new Map<string, SessionState.SessionState>()
    const running = new Map<string, { readonly environment: Turn.Environment; readonly workspace: string }>()

    const keep = (session: LiveSession.LiveSession) =>
      Effect.sync(() => {
        states.delete(session.id)
        states.set(session.id, session.stored())
        for (const id of [...states.keys()].slice(0, -keptStates)) states.delete(id)
      })

    const opened = (options: { readonly session: string; readonly workspace?: string }) =>
      journal.open({ session: options.session, project: options.workspace ?? sandbox.files.workingDirectory }).pipe(
        Effect.flatMap((open) => LiveSession.make(open, states.get(open.id) ?? SessionState.empty)),
        Effect.tap((session) => Effect.addFinalizer(() => keep(session)))
      )

    const environmentOf = (
      session: LiveSession.LiveSession,
      options: Omit<RunOptions, "message">,
      sink: EventStream.Sink,
      parent: Turn.Environment | undefined,
      project: string
    ) =>
      Effect.gen(function*() {
        const { open } = session.state()
        const tools = yield* registry.tools
        const mode = defaults.mode ?? "enabled"
        const model = yield* provider.model(options.model ?? open?.model ?? parent?.model.id)
        const active = yield* ActiveTime.make(parent?.active)
        const account = Account.make({
          session,
          active,
          budgets: { ...Budget.unlimited, ...defaults.budgets, ...(options.budget && { turn: options.budget }) },
          parent: parent?.account
        })
        if (model.prices === null && Account.limitsCost(account)) {
          return yield* new ConfigurationError({
            message:
              `The prices of ${model.id} are not known, so a budget in money cannot be kept. Name its prices, use another model, or limit tokens.`
          })
        }
        const environment: Turn.Environment = {
          ...shared,
          session,
          user: options.user ?? open?.user ?? parent?.user,
          emit: (event) =>
            Effect.suspend(() =>
              sink.tryPut(event)
                ? Telemetry.count(event)
                : Effect.zipRight(Telemetry.count(event), active.excluding(sink.put(event)))
            ),
          account,
          active,
          delegate: (delegation) => drive({ ...delegation, parent: session.id }, EventStream.silent),
          approval,
          approvals,
          project,
          tools,
          definitions: mode === "parse_only" ? defaults.definitions ?? tools.definitions : tools.definitions,
          provider,
          model,
          mode,
          instructions: options.instructions ?? defaults.instructions ?? ""
        }
        return environment
      })

    const parentOf = ({ parent }: RunOptions) => {
      const found = parent === undefined ? undefined : running.get(parent)
      return parent !== undefined && found === undefined
        ? new ConfigurationError({
          message: `Session ${parent} has no turn that runs in this loop now, so nothing can run on its behalf.`
        })
        : found !== undefined && depthOf(found.environment.account) >= limits.maxDepth
        ? new ConfigurationError({
          message: `Session ${parent} runs ${limits.maxDepth} sessions deep already, and none may run below it. ` +
            "Do the work here, without handing it on."
        })
        : Effect.succeed(found)
    }

    const entered = (options: RunOptions) =>
      Effect.gen(function*() {
        const parent = yield* parentOf(options)
        const workspace = options.workspace ?? parent?.workspace ?? sandbox.files.workingDirectory
        return { parent: parent?.environment, workspace, session: yield* opened({ ...options, workspace }) }
      })

    const started = (
      { parent, session, workspace }: Effect.Effect.Success<ReturnType<typeof entered>>,
      options: RunOptions,
      sink: EventStream.Sink
    ): Effect.Effect<Turn.Environment, RunError, Scope.Scope> =>
      Effect.tap(environmentOf(session, options, sink, parent, workspace), (environment) =>
        Effect.acquireRelease(
          Effect.sync(() => running.set(session.id, { environment, workspace })),
          () => Effect.sync(() => running.delete(session.id))
        ))

    const begin = (
      environment: Turn.Environment,
      { message, parent }: RunOptions
    ): Effect.Effect<void, ConfigurationError | JournalError | LeaseError> => {
      const { model, session, user } = environment
      const state = session.state()
      if (message === undefined && state.open === null) {
        return new ConfigurationError({ message: `Session ${session.id} has nothing to go on with. Give a message.` })
      }
      const started = message === undefined ? Effect.void : session.commit([{
        _tag: "TurnStarted",
        turn: state.turns,
        content: Content.mapText(typeof message === "string" ? [Content.text(message)] : message, redactor.redact),
        provider: model.provider,
        model: model.id,
        user: user ?? null,
        parent: parent ?? null,
        instructionsHash: journal.fingerprint(environment.instructions)
      }])
      return Effect.flatMap(started, () =>
        environment.emit(Event.TurnStarted({
          session: session.id,
          turn: session.state().turns - 1,
          provider: model.provider,
          model: model.id
        })))
    }

    const cancelling = (environment: Turn.Environment) =>
      Effect.onInterrupt(() =>
        Turn.cancel(environment).pipe(
          Effect.catchAll((error) => Effect.logError("The cancelled turn could not be journaled", error))
        )
      )<TurnResult, RunError, never>

    const drive = (options: RunOptions, sink: EventStream.Sink): Effect.Effect<TurnResult, RunError> =>
      Effect.scoped(Effect.gen(function*() {
        const here = yield* entered(options)
        const report = yield* Recovery.inspect(here.session, sandbox)
        if (report !== undefined) return yield* Recovery.unfinished(here.session, report)
        const environment = yield* started(here, options, sink)
        return yield* cancelling(environment)(Effect.zipRight(begin(environment, options), Turn.drive(environment)))
      }))

    const goOn = (options: SupplyOptions, sink: EventStream.Sink): Effect.Effect<TurnResult, RunError> =>
      Effect.scoped(Effect.gen(function*() {
        const here = yield* entered(options)
        const isAwaited = Supply.isAwaited(here.session.state())
        const report = isAwaited ? undefined : yield* Recovery.inspect(here.session, sandbox)
        if (report !== undefined) return yield* Recovery.unfinished(here.session, report)
        const environment = yield* started(here, options, sink)
        return yield* cancelling(environment)(
          Effect.zipRight(Supply.accept(Turn.batchEnvironment(environment), options), Turn.drive(environment))
        )
      }))

    return ToolLoop.of({
      run: (options) => drive(options, EventStream.silent),
      stream: (options) => EventStream.make((sink) => drive(options, sink)),
      supply: (options) => goOn(options, EventStream.silent),
      supplyStream: (options) => EventStream.make((sink) => goOn(options, sink)),
      recover: (options) =>
        Effect.scoped(Effect.gen(function*() {
          const session = yield* opened(options)
          const active = yield* ActiveTime.make()
          return yield* Recovery.recover({
            ...shared,
            session,
            user: session.state().open?.user ?? undefined,
            active,
            account: Account.make({ session, active, budgets: Budget.unlimited, parent: undefined }),
            delegate: () => new ConfigurationError({ message: "No model is called while a session is recovered." }),
            emit: () => Effect.void,
            tools: yield* registry.tools,
            policy: approval.policy
          }, options)
        }))
    })
  })

/**
 * A loop with options of its own.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerOptions = (
  options: LoopOptions
): Layer.Layer<ToolLoop, never, ModelProvider | ToolRegistry | Approval | Journal | Sandbox> =>
  Layer.effect(ToolLoop, make(options))

/**
 * The loop with its defaults: tools enabled, no instructions of its own.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<ToolLoop, never, ModelProvider | ToolRegistry | Approval | Journal | Sandbox> =
  layerOptions({})
