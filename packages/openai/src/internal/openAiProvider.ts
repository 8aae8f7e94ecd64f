/** What the providers of both wires share: options in their resolved form, and a service made of them. */
import * as CallAssembly from "@capstan/core/CallAssembly"
import type { ModelDelta } from "@capstan/core/ModelDelta"
import * as ModelFailure from "@capstan/core/ModelFailure"
import type { Model, ModelError, ModelProvider, ModelRequest } from "@capstan/core/ModelProvider"
import * as ModelRetry from "@capstan/core/ModelRetry"
import * as ModelStream from "@capstan/core/ModelStream"
import * as ModelTimeouts from "@capstan/core/ModelTimeouts"
import * as Dialect from "@capstan/dialect/Dialect"
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
  readonly strict: boolean
  readonly dialect: Dialect.Options
  readonly reasoning?: Reasoning | undefined
  readonly retry?: Partial<ModelRetry.RetryPolicy> | undefined
  readonly timeouts?: Partial<ModelTimeouts.ModelTimeouts> | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface Reasoning {
  readonly effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh"
  readonly summary?: "auto" | "concise" | "detailed"
}

/** A wire: the request that it sends and how it reads the answer. */
interface Wire<State> {
  readonly open: (client: Sdk, prepared: Prepared, signal: AbortSignal) => Promise<AsyncIterable<unknown>>
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
    const modelOf = (id: string | undefined): Model => ({
      provider: settings.provider,
      id: id ?? settings.model,
      contextWindow: null,
      maxOutput: null,
      prices: null
    })

    /** A tool that cannot be strict is told of once. */
    const told = yield* Ref.make(HashSet.empty<string>())
    const tell = (tools: openAiTools.WireTools): Effect.Effect<void> =>
      Effect.gen(function*() {
        const before = yield* Ref.getAndUpdate(told, (known) => HashSet.union(known, tools.loosened.map(({ tool }) => tool)))
        yield* Effect.forEach(
          tools.loosened.filter(({ tool }) => !HashSet.has(before, tool)),
          ({ reason, tool }) => Effect.logInfo(`The arguments of "${tool}" are not enforced by the service: ${reason}.`)
        )
      })

    const stream = (request: ModelRequest): Stream.Stream<ModelDelta, ModelError> => {
      const model = request.model ?? settings.model
      const target: ModelFailure.Target = { provider: settings.provider, url: settings.baseUrl, model, timeouts }
      const names = ToolNames.make(request.tools.map((tool) => tool.name))
      const tools = settings.strict ? openAiTools.strict(request.tools) : openAiTools.loose
      const maxTokens = request.maxOutputTokens ?? settings.maxOutputTokens
      return ModelStream.fromSdk<unknown>({
        provider: settings.provider,
        timeouts,
        open: (signal) => wire.open(client, { request, settings, model, maxTokens, names, tools }, signal),
        failure: openAiClient.failure(target, request.tools.length > 0),
        waitsFor: wire.waitsFor
      }).pipe(
        ModelStream.decode(wire.decoder(target)),
        Stream.map(CallAssembly.mapCalls({ name: names.fromWire, read: tools.read })),
        ModelRetry.retry({ policy }),
        (answer) => Stream.unwrap(Effect.as(tell(tools), answer))
      )
    }

    return Dialect.decorate({ model: (id) => Effect.succeed(modelOf(id)), stream }, settings.dialect)
  })

export const makeResponses = (settings: Settings): Effect.Effect<Service, never, Scope> =>
  make(settings, {
    open: (client, { settings, ...prepared }, signal) =>
      client.responses.create(
        responsesRequest.encode({
          ...prepared,
          provider: settings.provider,
          reasons: reasons(prepared.model),
          reasoning: settings.reasoning
        }),
        { signal }
      ),
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
    open: (client, { settings, ...prepared }, signal) =>
      client.chat.completions.create(
        chatRequest.encode({
          ...prepared,
          provider: settings.provider,
          maxTokensField: wire.maxTokensField,
          files: wire.files,
          reasoningEffort: settings.reasoning?.effort
        }),
        { signal }
      ),
    decoder: (target) => chatResponse.decoder(target, wire.lenient),
    waitsFor: chatResponse.waitsFor
  })

const reasons = (model: string): boolean => /^(o\d|gpt-5|codex)/.test(model)
