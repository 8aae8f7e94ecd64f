/**
 * A tool: what a model is told of it, what it may touch, and the handler that runs it.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Assessment, Risk } from "./Assessment.js"
import type { CallContext } from "./CallContext.js"
import * as Content from "./Content.js"
import type { Finding } from "./Finding.js"
import * as Glob from "./Glob.js"
import * as JsonSchema from "./JsonSchema.js"
import type { ToolDefinition } from "./ModelProvider.js"
import * as ParameterSchema from "./ParameterSchema.js"
import type { Safety } from "./Safety.js"
import * as ToolFailure from "./ToolFailure.js"
import type { Trust } from "./Trust.js"
import type { Access } from "./Workspace.js"

/**
 * A path that a call touches, as its arguments name it.
 *
 * @since 0.1.0
 * @category models
 */
export interface PathUse {
  readonly path: string
  readonly access: Access
}

/**
 * How long output is cut: its beginning is kept (`head`), both ends (`head-and-tail`), or not at all because the tool keeps
 * to {@link CallContext} `capacity` itself (`self-limited`).
 *
 * @since 0.1.0
 * @category models
 */
export type OutputCut = "head" | "head-and-tail" | "self-limited"

/**
 * What a handler gave back: parts for the model and, where the tool declares a success schema, the encoded value.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolOutput {
  readonly content: ReadonlyArray<Content.ContentPart>
  readonly structured: unknown
}

/**
 * A call whose arguments have been decoded: everything that planning and the executor ask about it. `summary` is one line
 * (at most 200 characters are shown), `detail` the exact thing that will happen, for the approval prompt (a command line, a
 * path).
 *
 * @since 0.1.0
 * @category models
 */
export interface PreparedCall<out R = never> {
  readonly paths: ReadonlyArray<PathUse>
  readonly summary: string
  readonly detail: string
  /** Bytes that the arguments say will be written to files; 0: none, or they do not say. */
  readonly writes: number
  /** Undefined: the default of the limits. */
  readonly timeout: Duration.Duration | undefined
  readonly assess: Effect.Effect<Assessment, never, R>
  /** A unified diff or similar, for edits. */
  readonly preview: Effect.Effect<string | undefined, never, R>
  /** Whether allow entries `tool(pattern)` together cover these arguments: all of what they do. */
  readonly allowedBy: (...patterns: ReadonlyArray<string>) => boolean
  /** Whether a deny entry `tool(pattern)` concerns these arguments: any part of what they do. */
  readonly deniedBy: (pattern: string) => boolean
  readonly run: (call: CallContext) => Effect.Effect<ToolOutput, ToolFailure.ToolFailure, R>
  /** After a crash: what the effect gave if it happened; undefined when the tool cannot tell. */
  readonly reconcile: (call: CallContext) => Effect.Effect<ToolOutput | undefined, never, R>
}

/**
 * A tool whose handler needs the services `R`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Tool<out R = never> {
  readonly definition: ToolDefinition
  readonly aliases: ReadonlyArray<string>
  readonly safety: Safety
  readonly trust: Trust
  readonly idempotent: boolean
  /** Polling tools are left out of loop detection. */
  readonly polls: boolean
  readonly outputCut: OutputCut
  /** The text must reach the model as it is (it will be matched against again): only secrets are taken out. */
  readonly verbatim: boolean
  readonly prepare: (
    args: Readonly<Record<string, unknown>>
  ) => Either.Either<PreparedCall<R>, ReadonlyArray<Finding>>
}

/**
 * What all ways to make a tool share: `A` are the decoded arguments, `B` is what the handler gives back. All but
 * description and handler have a safe default: a tool is `side-effect`, available from trust `workspace`, asked about by
 * policy; a `read-only` tool is available from `read_only` and not asked about.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<A, B, E, R> {
  readonly description: string
  readonly aliases?: ReadonlyArray<string>
  readonly safety?: Safety
  readonly trust?: Trust
  readonly idempotent?: boolean
  readonly polls?: boolean
  readonly outputCut?: OutputCut
  readonly verbatim?: boolean
  readonly timeout?: Duration.DurationInput | ((args: A) => Duration.DurationInput | undefined)
  readonly paths?: (args: A) => ReadonlyArray<PathUse>
  /** Bytes that will be written to files, where the arguments say so: a call that cannot fit is refused unasked. */
  readonly writes?: (args: A) => number
  readonly summary?: (args: A) => string
  readonly detail?: (args: A) => string
  readonly assess?: (args: A) => Effect.Effect<Assessment, never, R>
  readonly preview?: (args: A) => Effect.Effect<string | undefined, never, R>
  readonly allowedBy?: (args: A, pattern: string) => boolean
  /** Whether several patterns cover a call of which each part has its own; asked when none does alone. */
  readonly allowedTogether?: (args: A, patterns: ReadonlyArray<string>) => boolean
  readonly deniedBy?: (args: A, pattern: string) => boolean
  readonly reconcile?: (args: A, call: CallContext) => Effect.Effect<B | undefined, never, R>
  readonly handler: (args: A, call: CallContext) => Effect.Effect<B, E, R>
}

/**
 * Makes a tool with typed parameters. With `success` the handler's value is encoded by that schema and given to the model
 * as JSON (or as `render` says); without it the handler returns text.
 *
 * A handler's error becomes a failure that the model reads: a `ToolFailure` as it is, a message that is a JSON object byte
 * for byte, anything else as `<tool> failed: <message>`. A handler that throws is reported as a fault of the tool.
 *
 * @example
 * import { Effect, Schema } from "effect"
 * import { Tool } from "@capstan/core"
 *
 * export const Weather = Tool.make("get_weather", {
 *   description: "Tells the temperature in a city right now.",
 *   parameters: Schema.Struct({ city: Schema.String }),
 *   success: Schema.Struct({ celsius: Schema.Number }),
 *   safety: "read-only",
 *   handler: ({ city }) => Effect.succeed({ celsius: city.length })
 * })
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: {
  <A, I, B, BI, E, R>(
    name: string,
    options: Options<A, B, E, R> & {
      readonly parameters: Schema.Schema<A, I>
      readonly success: Schema.Schema<B, BI>
      readonly render?: (success: B) => ReadonlyArray<Content.ContentPart>
    }
  ): Tool<R>
  <A, I, E, R>(
    name: string,
    options: Options<A, string, E, R> & { readonly parameters: Schema.Schema<A, I> }
  ): Tool<R>
} = <A, I, B, BI, E, R>(
  name: string,
  options: Options<A, B, E, R> & {
    readonly parameters: Schema.Schema<A, I>
    readonly success?: Schema.Schema<B, BI>
    readonly render?: (success: B) => ReadonlyArray<Content.ContentPart>
  }
): Tool<R> => {
  const decode = Schema.decodeUnknownEither(options.parameters, { errors: "all", onExcessProperty: "error" })
  const encode = options.success === undefined ? undefined : Schema.encodeSync(options.success)
  return assemble(name, options, {
    parameters: ParameterSchema.fromSchema(options.parameters),
    decode: (args) => Either.mapLeft(decode(args), (error) => findings(error, args)),
    output: (value) => {
      const structured = encode === undefined ? undefined : encode(value)
      return {
        content: options.render === undefined ? [plain(structured ?? value)] : options.render(value),
        structured
      }
    }
  })
}

/**
 * Makes a tool whose parameters are described by a JSON Schema of somebody else's (an MCP server, a configuration file).
 * Arguments reach the handler as they were validated; a schema that cannot be compiled is returned as the reason.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromJsonSchema = <E, R>(
  name: string,
  options: Options<Readonly<Record<string, unknown>>, ToolOutput, E, R> & { readonly parameters: JsonSchema.JsonSchema }
): Either.Either<Tool<R>, string> =>
  Either.map(JsonSchema.validator(options.parameters), (validate) =>
    assemble(name, options, {
      parameters: options.parameters,
      decode: (args) => Either.map(validate(args), () => args),
      output: (value) => value
    }))

/**
 * The output of a tool that has only text to say.
 *
 * @since 0.1.0
 * @category constructors
 */
export const textOutput = (text: string): ToolOutput => ({ content: [Content.text(text)], structured: undefined })

/**
 * The risk of a tool about which nothing else is known.
 *
 * @since 0.1.0
 * @category combinators
 */
export const riskOf = (safety: Safety): Risk => riskBySafety[safety]

const riskBySafety: Record<Safety, Risk> = { "read-only": "low", "side-effect": "medium", privileged: "high" }

const trustBySafety: Record<Safety, Trust> = {
  "read-only": "read_only",
  "side-effect": "workspace",
  privileged: "shell"
}

const approvalBySafety: Record<Safety, Assessment["approval"]> = {
  "read-only": "never",
  "side-effect": "by-policy",
  privileged: "unless-allowed"
}

interface Codec<A, B> {
  readonly parameters: JsonSchema.JsonSchema
  readonly decode: (args: Readonly<Record<string, unknown>>) => Either.Either<A, ReadonlyArray<Finding>>
  readonly output: (value: B) => ToolOutput
}

const assemble = <A, B, E, R>(name: string, options: Options<A, B, E, R>, codec: Codec<A, B>): Tool<R> => {
  const safety = options.safety ?? "side-effect"
  return {
    definition: { name, description: options.description, parameters: codec.parameters },
    aliases: options.aliases ?? [],
    safety,
    trust: options.trust ?? trustBySafety[safety],
    idempotent: options.idempotent ?? safety === "read-only",
    polls: options.polls ?? false,
    outputCut: options.outputCut ?? "head",
    verbatim: options.verbatim ?? false,
    prepare: (raw) => Either.map(codec.decode(raw), (args) => prepared(name, safety, options, codec, raw, args))
  }
}

const prepared = <A, B, E, R>(
  name: string,
  safety: Safety,
  options: Options<A, B, E, R>,
  codec: Codec<A, B>,
  raw: Readonly<Record<string, unknown>>,
  args: A
): PreparedCall<R> => {
  const paths = options.paths?.(args) ?? []
  const timeout = typeof options.timeout === "function" ? options.timeout(args) : options.timeout
  return {
    paths,
    writes: options.writes?.(args) ?? 0,
    summary: options.summary?.(args) ?? `${name} ${JSON.stringify(raw)}`,
    detail: options.detail?.(args) ?? JSON.stringify(raw, null, 2),
    timeout: timeout === undefined ? undefined : Duration.decode(timeout),
    assess: options.assess?.(args) ?? Effect.succeed({
      risk: riskOf(safety),
      approval: approvalBySafety[safety],
      warnings: []
    }),
    preview: options.preview?.(args) ?? Effect.succeed(undefined),
    allowedBy: (...patterns) =>
      patterns.some((pattern) =>
        options.allowedBy?.(args, pattern) ??
          (paths.length > 0 && paths.every((use) => Glob.matchesPath(pattern, use.path)))
      ) || (options.allowedTogether?.(args, patterns) ?? false),
    deniedBy: (pattern) =>
      options.deniedBy?.(args, pattern) ?? options.allowedBy?.(args, pattern) ??
        paths.some((use) => Glob.matchesPath(pattern, use.path)),
    run: (call) =>
      options.handler(args, call).pipe(
        Effect.mapBoth({ onFailure: (error) => toFailure(name, error), onSuccess: codec.output })
      ),
    reconcile: (call) =>
      options.reconcile === undefined
        ? Effect.succeed(undefined)
        : Effect.map(options.reconcile(args, call), (value) => value === undefined ? undefined : codec.output(value))
  }
}

const toFailure = (tool: string, error: unknown): ToolFailure.ToolFailure => {
  if (ToolFailure.is(error)) return error
  const message = Predicate.hasProperty(error, "message") ? String(error.message) : String(error)
  return ToolFailure.execution(ToolFailure.isJsonObject(message) ? message : `${tool} failed: ${message}`)
}

const plain = (value: unknown): Content.ContentPart =>
  Content.text(typeof value === "string" ? value : JSON.stringify(value) ?? "")

const findings = (
  error: ParseResult.ParseError,
  args: Readonly<Record<string, unknown>>
): ReadonlyArray<Finding> =>
  ParseResult.ArrayFormatter.formatErrorSync(error).map(({ _tag, message, path }) => {
    const name = path.map(String).join(".")
    return {
      path: name,
      expected: _tag === "Missing"
        ? "a value"
        : _tag === "Unexpected"
        ? "no such parameter"
        : message.split(", actual ")[0] ?? message,
      received: JsonSchema.describe(path.reduce<unknown>(
        (value, key) => Predicate.hasProperty(value, key) ? value[key] : undefined,
        args
      )),
      fix: _tag === "Missing"
        ? `Add "${name}".`
        : _tag === "Unexpected"
        ? `Take "${name}" out.`
        : `Send "${name}" as its description says.`
    }
  })
