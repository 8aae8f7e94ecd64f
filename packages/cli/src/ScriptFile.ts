/**
 * The `scripted` provider: answers from a JSON file, for trying things and for tests, with no key and no network.
 *
 * The file holds a list, one entry per request to the model: `{ "text": "…" }`, and `calls` with `name` and `arguments`; the
 * entries `{ "hang": true }` and `{ "error": "unreachable" }` say nothing and fail. A session that is resumed goes on in the
 * file where it stood: answers are counted from its history.
 *
 * @since 0.1.0
 */
import { ModelError, ModelErrorReason, type ModelProvider, type ModelRequest } from "@capstan/core/ModelProvider"
import { Usage } from "@capstan/core/Usage"
import * as ScriptedModel from "@capstan/testing/ScriptedModel"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as fs from "node:fs/promises"
import * as CommandError from "./CommandError.js"

const Entry = Schema.Struct({
  text: Schema.optional(Schema.String),
  thinking: Schema.optional(Schema.String),
  calls: Schema.optional(Schema.Array(Schema.Struct({
    id: Schema.optional(Schema.String),
    name: Schema.String,
    arguments: Schema.Unknown
  }))),
  finish: Schema.optional(Schema.Literal("stop", "tool-calls", "length", "refusal", "other")),
  usage: Schema.optional(Usage),
  hang: Schema.optional(Schema.Boolean),
  error: Schema.optional(ModelErrorReason)
})

const Script = Schema.parseJson(Schema.Array(Entry))

const toStep = (entry: typeof Entry.Type): ScriptedModel.Step => {
  if (entry.hang === true) return ScriptedModel.hang
  if (entry.error !== undefined) {
    return ScriptedModel.fail(
      new ModelError({
        reason: entry.error,
        provider: "scripted",
        message: `The scripted model fails here (${entry.error}).`
      })
    )
  }
  return ScriptedModel.raw({
    ...(entry.text === undefined ? {} : { text: entry.text }),
    ...(entry.thinking === undefined ? {} : { thinking: entry.thinking }),
    ...(entry.finish === undefined ? {} : { finish: entry.finish }),
    ...(entry.usage === undefined ? {} : { usage: entry.usage }),
    ...(entry.calls === undefined ? {} : {
      calls: entry.calls.map(({ arguments: args, id, name }) => ({
        ...(id === undefined ? {} : { id }),
        name,
        raw: typeof args === "string" ? args : JSON.stringify(args)
      }))
    })
  })
}

const answersIn = ({ messages }: ModelRequest): number => messages.filter(({ role }) => role === "assistant").length

const read = (file: string): Effect.Effect<ReadonlyArray<typeof Entry.Type>, CommandError.CommandError> =>
  Effect.tryPromise({
    try: () => fs.readFile(file, "utf8"),
    catch: () =>
      CommandError.usage(
        `The script ${file} cannot be read. Give the path of a JSON file: --model scripted/replies.json`
      )
  }).pipe(Effect.flatMap((text) =>
    Effect.mapError(
      Schema.decode(Script)(text),
      (error) =>
        CommandError.usage(
          `The script ${file} is not a list of answers: ${
            CommandError.oneLine(ParseResult.TreeFormatter.formatErrorSync(error))
          }`
        )
    )
  ))

/**
 * A provider that answers from the file.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (file: string): Effect.Effect<Layer.Layer<ModelProvider>, CommandError.CommandError> =>
  Effect.map(read(file), (entries) =>
    ScriptedModel.layer((request) => {
      const entry = entries[answersIn(request)]
      return entry === undefined
        ? ScriptedModel.fail(
          new ModelError({
            reason: "bad-response",
            provider: "scripted",
            message: `The script has ${entries.length} answers and one more was asked for. Add it to the file.`
          })
        )
        : toStep(entry)
    }, { model: { id: file } }))
