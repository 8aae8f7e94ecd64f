/**
 * What a model reads of a call's outcome: cleaned, without secrets, within its budget; what does not fit is kept for
 * `read_file`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Content from "./Content.js"
import type { Values as LimitValues } from "./Limits.js"
import type { Outcome } from "./Outcome.js"
import * as OutputLimit from "./OutputLimit.js"
import * as OutputStore from "./OutputStore.js"
import { type Redactor, streamStart } from "./Redaction.js"
import * as Sanitiser from "./Sanitiser.js"
import type { Tool } from "./Tool.js"
import type { CallRef } from "./ToolCall.js"
import * as ToolFailure from "./ToolFailure.js"

/** So much a model gets to see even when its context is full: a result that says nothing would not be true. */
const leastBytes = 256

/** Text that is longer than this many times what is kept is cut before it is cleaned, which takes time with its length. */
const cleanedShare = 4

/** So much text is cleaned at once; in between, others get their turn. UTF-16 code units. */
const pieceLength = 65_536

/**
 * What a call's result is made with. `capacity` is its budget in bytes.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly session: string
  readonly ref: CallRef
  readonly tool: Pick<Tool, "outputCut" | "verbatim">
  readonly capacity: number
  readonly limits: LimitValues
  readonly redactor: Redactor
  readonly outputs: OutputStore.OutputStore["Type"]
}

/**
 * The outcome as the journal keeps it and the model reads it. A tool that limits itself is cleaned only. Content that
 * cannot be read, or a value that is no JSON, is a fault of the tool.
 *
 * @since 0.1.0
 * @category combinators
 */
export const fit = (outcome: Outcome, options: Options): Effect.Effect<Outcome> =>
  Effect.suspend(() => outcome._tag === "Succeeded" ? succeeded(outcome, options) : failed(outcome, options)).pipe(
    Effect.catchAllDefect((defect) =>
      Effect.as(
        Effect.logError("The output of a tool could not be read", defect),
        { _tag: "Failed" as const, failure: ToolFailure.panicked("its output could not be read") }
      )
    )
  )

type Succeeded = Extract<Outcome, { readonly _tag: "Succeeded" }>

const succeeded = (outcome: Succeeded, options: Options): Effect.Effect<Outcome> =>
  Effect.gen(function*() {
    const { limits, redactor, tool } = options
    const rest = "structured" in outcome ? structured(redactor.redactJson(outcome.structured), limits) : {}
    const clean = yield* Effect.forEach(outcome.content, (part) => cleanedPart(part, options))
    const texts = clean.flatMap((part) => "lost" in part ? [part] : [])
    const fits = texts.reduce((sum, { text }) => sum + OutputLimit.byteLength(text), 0) <= options.capacity
    if (tool.outputCut === "self-limited" || fits) {
      return {
        _tag: "Succeeded",
        content: clean.map((part) => "lost" in part ? Content.text(part.text) : part),
        ...rest
      }
    }
    const all = {
      text: texts.map(({ text }) => text).join("\n"),
      lost: texts.reduce((sum, { lost }) => sum + lost, 0)
    }
    const short = yield* cut(all, tool.outputCut, options)
    return {
      _tag: "Succeeded",
      content: [Content.text(short), ...clean.flatMap((part) => "lost" in part ? [] : [part])],
      ...rest
    }
  })

/** A text that may be shown, and how many bytes of it are gone, because it was longer than anybody would read. */
interface Cleaned {
  readonly text: string
  readonly lost: number
}

const cleanedPart = (
  part: Content.ContentPart,
  options: Options
): Effect.Effect<Cleaned | Exclude<Content.ContentPart, Content.TextPart>> =>
  part.type === "text" ? cleaned(part.text, options) : Effect.succeed(part)

/** A value goes into the journal only if it is JSON and no longer than what a model may get to see. */
const structured = (value: unknown, limits: LimitValues): { readonly structured?: unknown } => {
  const json = toJson(value)
  return Option.isSome(json) && json.value !== undefined && json.value.length <= limits.maxOutputBytes
    ? { structured: value }
    : {}
}

const toJson = Option.liftThrowable((value: unknown): string | undefined => JSON.stringify(value))

const failed = (outcome: Exclude<Outcome, Succeeded>, options: Options): Effect.Effect<Outcome> =>
  Effect.gen(function*() {
    const { failure } = outcome
    const said = ToolFailure.isJsonObject(failure.message)
      ? { text: options.redactor.redact(failure.message), lost: 0 }
      : yield* cleaned(failure.message, { ...options, tool: { ...options.tool, verbatim: false } })
    const fits = OutputLimit.byteLength(said.text) <= options.capacity
    return {
      ...outcome,
      failure: { ...failure, message: fits ? said.text : yield* cut(said, "head-and-tail", options) }
    }
  })

const cleaned = (text: string, { limits, redactor, tool }: Options): Effect.Effect<Cleaned> => {
  if (text.length <= pieceLength) {
    return Effect.succeed({ text: redactor.redact(tool.verbatim ? text : Sanitiser.sanitise(text).text), lost: 0 })
  }
  const maxBytes = limits.maxStoredOutputBytes * cleanedShare
  const kept = OutputLimit.truncate(text, { maxBytes, keep: "head-and-tail" })
  const lost = kept.originalBytes - (kept.truncated ? maxBytes : kept.originalBytes)
  return Effect.map(piecewise(kept.text, redactor, tool.verbatim), (text) => ({ text, lost }))
}

const piecewise = (text: string, redactor: Redactor, verbatim: boolean): Effect.Effect<string> =>
  Effect.gen(function*() {
    const done: Array<string> = []
    let sanitising = Sanitiser.initial
    let redacting = streamStart
    const redact = (piece: string) => {
      const [state, out] = redactor.redactStreaming(redacting, piece)
      redacting = state
      done.push(out)
    }
    for (let at = 0; at < text.length; at += pieceLength) {
      const piece = text.slice(at, at + pieceLength)
      if (verbatim) redact(piece)
      else {
        const [state, out] = Sanitiser.step(sanitising, piece)
        sanitising = state
        redact(out)
      }
      yield* Effect.sleep(0)
    }
    redact(Sanitiser.end(sanitising))
    done.push(redactor.endStreaming(redacting))
    return done.join("")
  })

const cut = ({ lost, text }: Cleaned, keep: "head" | "head-and-tail", options: Options): Effect.Effect<string> => {
  const { limits, outputs, ref, session } = options
  const handle = OutputStore.handleOf(ref)
  const kept = OutputLimit.truncate(text, {
    maxBytes: limits.maxStoredOutputBytes,
    keep: "head-and-tail",
    lostBytes: lost
  })
  const short = (hint: string) =>
    OutputLimit.truncate(text, { maxBytes: Math.max(leastBytes, options.capacity), keep, hint, lostBytes: lost }).text
  const more = `to see more call read_file with ${JSON.stringify({ path: handle, start_line: 1, end_line: 200 })}`
  return outputs.put({ session, handle, text: kept.text }).pipe(
    Effect.match({
      onSuccess: () =>
        short(kept.truncated ? `the first and last ${limits.maxStoredOutputBytes} bytes are kept; ${more}` : more),
      onFailure: () => short("the rest was not kept, ask for a part of it")
    }),
    Effect.catchAllDefect(() => Effect.succeed(short("the rest was not kept, ask for a part of it")))
  )
}
