/** What the providers of both wires share: options in their resolved form, and a service made of them. */
import * as CallAssembly from "@capstan/core/CallAssembly"
import type { ModelDelta } from "@capstan/core/ModelDelta"
import type * as ModelFailure from "@capstan/core/ModelFailure"
import type { Model, ModelError, ModelProvider, ModelRequest } from "@capstan/core/ModelProvider"
import * as ModelRetry from "@capstan/core/ModelRetry"
import * as ModelStream from "@capstan/core/ModelStream"
import * as ModelTimeouts from "@capstan/core/ModelTimeouts"
import * as Dialect from "@capstan/dialect/Dialect"
import * as ModelCapability from "@capstan/dialect/ModelCapability"
import * as ToolNames from "@capstan/dialect/ToolNames"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HashSet from "effect/HashSet"
import type * as Redacted from "effect/Redacted"
import * as Ref from "effect/Ref"
import type { Scope } from "effect/Scope"
import * as Stream from "effect/Stream"
import type Sdk from "openai"
import * as chatRequest from "./chatRequest.js"
import * as chatResponse from "./chatResponse.js"
import * as openAiClient from "./openAiClient.js"
import * as openAiTools from "./openAiTools.js"
import * as responsesRequest from "./responsesRequest.js"
import * as responsesResponse from "./responsesResponse.js"

export type Service = Context.Tag.Service<ModelProvider>

export interface Settings {
  readonly provider: string
  readonly apiKey: Redacted.Redacted | undefined
  readonly baseUrl: string
  readonly model: string
  readonly organization?: string | undefined
  readonly project?: string | undefined
  readonly maxOutputTokens?: number | undefined
  /** The maker of the models itself, not a server that is like it. */
  readonly vendor: boolean
  readonly capabilities?: Partial<ModelCapability.Abilities> | undefined
  readonly strict: boolean
  readonly dialect: Dialect.Options
  readonly reasoning?: Reasoning | undefined
  readonly retry?: Partial<ModelRetry.RetryPolicy> | undefined
  readonly timeouts?: Partial<ModelTimeouts.ModelTimeouts> | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

interface Reasoning {
  readonly effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh"
  readonly summary?: "auto" | "concise" | "detailed"
}

/** A wire: the request that it sends and how it reads the answer. */
interface Wire<State> {
  readonly prepare: (client: Sdk, prepared: Prepared) => (signal: AbortSignal) => Promise<AsyncIterable<unknown>>
  readonly decoder: (target: ModelFailure.Target) => ModelStream.Decoder<unknown, State>
  readonly waitsFor: (event: unknown) => ModelTimeouts.Wait | "nothing"
}

interface Prepared {
  readonly request: ModelRequest
  readonly settings: Settings
  readonly model: string
  readonly maxTokens: number | undefined
  readonly names: ToolNames.WireNames
  readonly tools: openAiTools.WireTools
  readonly reasons: boolean
}

const make = <State>(settings: Settings, wire: Wire<State>): Effect.Effect<Service, never, Scope> =>
  Effect.gen(function*() {
    const timeouts = { ...ModelTimeouts.defaults, ...settings.timeouts }
    const policy = { ...ModelRetry.defaults, ...settings.retry }
    const client = yield* openAiClient.make({
      apiKey: settings.apiKey,
      baseUrl: settings.baseUrl,
      organization: settings.organization,
      project: settings.project,
      headers: settings.headers ?? {},
      timeouts
    })
    const capabilityOf = (model: string) =>
      ModelCapability.of(model, {
        provider: settings.provider,
        compatible: !settings.vendor,
        override: settings.capabilities ?? {}
      })

    const model = (id: string = settings.model): Model => {
      const { contextWindow, maxOutput, prices } = capabilityOf(id)
      return { provider: settings.provider, id, contextWindow, maxOutput, prices }
    }

    /** A tool that cannot be strict is told of once. */
    const told = yield* Ref.make(HashSet.empty<string>())
    const tell = (tools: openAiTools.WireTools): Effect.Effect<void> =>
      Effect.gen(function*() {
        const before = yield* Ref.getAndUpdate(told, (known) =>
          HashSet.union(known, tools.loosened.map(({ tool }) => tool)))
        yield* Effect.forEach(
          tools.loosened.filter(({ tool }) =>
            !HashSet.has(before, tool)
          ),
          ({ reason, tool }) => Effect.logInfo(`The arguments of "${tool}" are not enforced by the service: ${reason}.`)
        )
      })

    const stream = (request: ModelRequest): Stream.Stream<ModelDelta, ModelError> =>
      Stream.suspend(() => {
        const model = request.model ?? settings.model
        const target: ModelFailure.Target = { provider: settings.provider, url: settings.baseUrl, model, timeouts }
        const capability = capabilityOf(model)
        const names = ToolNames.make(request.tools.map((tool) => tool.name))
        const tools = settings.strict && mayBeStrict(capability)
          ? openAiTools.strict(request.tools)
          : openAiTools.loose
        const open = wire.prepare(client, {
          request: settings.vendor ? withoutDemand(request, capability) : request,
          settings,
          model,
          maxTokens: request.maxOutputTokens ?? settings.maxOutputTokens,
          names,
          tools,
          reasons: capability.reasoning
        })
        return ModelStream.fromSdk<unknown>({
          provider: settings.provider,
          timeouts,
          open,
          failure: openAiClient.failure(target, request.tools.length > 0),
          waitsFor: wire.waitsFor
        }).pipe(
          ModelStream.decode(wire.decoder(target)),
          Stream.map(CallAssembly.mapCalls({ name: names.fromWire, read: tools.read })),
          ModelRetry.retry({ policy }),
          (answer) => Stream.unwrap(Effect.as(tell(tools), answer))
        )
      })

    return Dialect.decorate({ model: (id) => Effect.succeed(model(id)), stream }, settings.dialect)
  })

/** What nothing is known of is asked to enforce schemas; what is known not to is not. */
const mayBeStrict = (capability: ModelCapability.ModelCapability): boolean =>
  capability.strictSchema || capability.sources.strictSchema === "default"

/** Models that take no demand for a call are left to decide. */
const withoutDemand = (request: ModelRequest, capability: ModelCapability.ModelCapability): ModelRequest =>
  request.toolChoice === "required" && !capability.toolChoiceRequired &&
    capability.sources.toolChoiceRequired !== "default"
    ? { ...request, toolChoice: "auto" }
    : request

export const makeResponses = (settings: Settings): Effect.Effect<Service, never, Scope> =>
  make(settings, {
    prepare: (client, { settings, ...prepared }) => {
      const params = responsesRequest.encode({
        ...prepared,
        provider: settings.provider,
        reasoning: settings.reasoning
      })
      return (signal) => client.responses.create(params, { signal })
    },
    decoder: responsesResponse.decoder,
    waitsFor: responsesResponse.waitsFor
  })

export const makeChat = (
  settings: Settings,
  wire: {
    readonly maxTokensField: "max_completion_tokens" | "max_tokens"
    readonly files: boolean
    readonly lenient: boolean
  }
): Effect.Effect<Service, never, Scope> =>
  make(settings, {
    prepare: (client, { settings, ...prepared }) => {
      const params = chatRequest.encode({
        ...prepared,
        provider: settings.provider,
        maxTokensField: wire.maxTokensField,
        files: wire.files,
        reasoningEffort: prepared.reasons ? settings.reasoning?.effort : undefined
      })
      return (signal) => client.chat.completions.create(params, { signal })
    },
    decoder: (target) => chatResponse.decoder(target, wire.lenient),
    waitsFor: chatResponse.waitsFor
  })
