/**
 * `capstan tools`: what a model is told of its tools.
 *
 * @since 0.1.0
 */
import * as ToolDescription from "@capstan/dialect/ToolDescription"
import * as Effect from "effect/Effect"
import * as CommandError from "./CommandError.js"
import * as CommandLine from "./CommandLine.js"
import * as Composition from "./Composition.js"
import { Host } from "./Host.js"
import * as JsonOutput from "./JsonOutput.js"

const sorted = [...Composition.builtIn].sort((a, b) => a.definition.name < b.definition.name ? -1 : 1)

type Offered = (typeof Composition.builtIn)[number]

const described = ({ aliases, definition, idempotent, safety, trust }: Offered) => ({
  ...definition,
  aliases,
  safety,
  trust,
  idempotent
})

/**
 * Lists the tools: name, what they may do, from which trust level on, and the first sentence of their description.
 *
 * @since 0.1.0
 * @category constructors
 */
export const list = (flags: { readonly json: boolean }): Effect.Effect<void, never, Host> =>
  Effect.flatMap(Host, (host) =>
    host.write(
      flags.json
        ? JsonOutput.line({ type: "Tools", version: JsonOutput.version, tools: sorted.map(described) })
        : sorted.map(({ definition: { description, name }, safety, trust }) =>
          `${name.padEnd(18)} ${safety.padEnd(12)} ${trust.padEnd(10)} ${
            /^.*?[.](?=\s|$)/s.exec(description)?.[0] ?? description
          }\n`
        ).join("")
    ))

const audits = sorted.map(({ definition }) => ToolDescription.audit(definition)).sort((a, b) => a.score - b.score)

const marked = ({ marks, score, tool }: ToolDescription.Audit): string =>
  [
    `${score.toFixed(2)}  ${tool}\n`,
    ...marks.flatMap(({ advice, criterion, score }) =>
      advice === null ? [] : [`      ${criterion} ${score.toFixed(2)}: ${advice}\n`]
    )
  ].join("")

/**
 * Says how well each tool is described, from 0 to 1, the worst first, and what would make it better.
 *
 * @since 0.1.0
 * @category constructors
 */
export const audit = (flags: { readonly json: boolean }): Effect.Effect<void, never, Host> =>
  Effect.flatMap(Host, (host) =>
    host.write(
      flags.json
        ? JsonOutput.line({ type: "ToolAudit", version: JsonOutput.version, tools: audits })
        : audits.map(marked).join("")
    ))

/**
 * Shows one tool with its parameters.
 *
 * @since 0.1.0
 * @category constructors
 */
export const show = (
  flags: { readonly json: boolean; readonly name: string }
): Effect.Effect<void, CommandError.CommandError, Host> =>
  Effect.gen(function*() {
    const host = yield* Host
    const tool = sorted.find(({ aliases, definition }) =>
      definition.name === flags.name || aliases.includes(flags.name)
    )
    if (tool === undefined) {
      const nearest = CommandLine.nearest(flags.name, sorted.map(({ definition }) => definition.name))
      return yield* CommandError.usage(
        `No tool is called "${flags.name}".${
          nearest === undefined ? "" : ` Did you mean "${nearest}"?`
        } See "capstan tools list".`
      )
    }
    const { aliases, definition, safety, trust } = tool
    yield* host.write(
      flags.json
        ? JsonOutput.line({ type: "Tool", version: JsonOutput.version, ...described(tool) })
        : `${definition.name}${
          aliases.length === 0 ? "" : ` (also ${aliases.join(", ")})`
        }: ${safety}, from trust ${trust}\n\n`
          + `${definition.description}\n\n${JSON.stringify(definition.parameters, undefined, 2)}\n`
    )
  })
