/**
 * The question about one call, so that whoever answers sees exactly what will run and no secret.
 *
 * @since 0.1.0
 */
import type { Question } from "./Approval.js"
import * as ApprovalPolicy from "./ApprovalPolicy.js"
import * as Redaction from "./Redaction.js"
import * as Sanitiser from "./Sanitiser.js"
import type * as ToolPlan from "./ToolPlan.js"

/**
 * What questions are made with. `origin` says who asks, `fingerprint` binds answers to arguments.
 *
 * @since 0.1.0
 * @category models
 */
export interface Asker {
  readonly origin: string
  readonly redactor: Redaction.Redactor
  readonly fingerprint: (text: string) => string
}

/**
 * The question about a call.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  asker: Asker,
  { facts, mustAsk, ready, ref }: Pick<
    Extract<ToolPlan.PlannedCall, { readonly _tag: "Ask" }>,
    "facts" | "mustAsk" | "ready" | "ref"
  >
): Question => {
  const { arguments: args, prepared, tool } = ready
  const show = (text: string) => shown(asker.redactor, text)
  const entry = mustAsk ? undefined : entryOf(asker, ready)
  return {
    ref,
    tool: tool.definition.name,
    summary: cut(show(prepared.summary)),
    detail: show(prepared.detail),
    preview: previewOf(asker.redactor, facts),
    arguments: Redaction.redactRecord(seeingThrough(asker.redactor), args),
    origin: show(asker.origin),
    risk: facts.assessment.risk,
    mustAsk,
    warnings: [...facts.assessment.warnings.map(show), ...suspicious(prepared.detail)],
    argumentsHash: hashOf(asker, ready),
    hint: mustAsk ? "It must be approved by a person each time." : hintOf(entry),
    entry: entry ?? null
  }
}

/**
 * What binds an answer to a call: a keyed hash of its arguments.
 *
 * @since 0.1.0
 * @category constructors
 */
export const hashOf = ({ fingerprint }: Pick<Asker, "fingerprint">, { arguments: args }: ToolPlan.Ready): string =>
  fingerprint(JSON.stringify(args))

/**
 * What a person is shown of what a call changes; null: nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const previewOf = (redactor: Redaction.Redactor, { preview }: ToolPlan.Facts): string | null =>
  preview === undefined ? null : shown(redactor, preview)

const maxSummary = 200

const cut = (text: string): string => {
  const characters = [...text]
  return characters.length <= maxSummary ? text : `${characters.slice(0, maxSummary - 1).join("")}…`
}

/**
 * Secrets go first: written-out characters would divide them. A secret that holds invisible characters is one all the same;
 * what was hidden in it is named by the warnings.
 */
const shown = (redactor: Redaction.Redactor, text: string): string =>
  Sanitiser.escapeInvisible(withoutSecrets(redactor, text))

const withoutSecrets = (redactor: Redaction.Redactor, text: string): string => {
  const direct = redactor.redact(text)
  const bare = redactor.redact(Sanitiser.sanitise(text).text)
  return bare === Sanitiser.sanitise(direct).text ? direct : bare
}

const seeingThrough = (redactor: Redaction.Redactor): Redaction.Redactor =>
  Redaction.withRedact(redactor, (text) => withoutSecrets(redactor, text))

const suspicious = (text: string): ReadonlyArray<string> => [
  ...Sanitiser.hiddenCharacters(text).map(({ codePoints, line }) =>
    `Line ${line} has hidden characters: ${codePoints.join(", ")}.`
  ),
  ...Sanitiser.lookAlikes(text).map(({ scripts, word }) => `"${word}" mixes the scripts ${scripts.join(" and ")}.`)
]

const entryOf = ({ redactor }: Asker, { arguments: args, prepared, tool }: ToolPlan.Ready): string | undefined => {
  const entry = ApprovalPolicy.narrowestEntry(tool, prepared, args)
  return entry === undefined || shown(redactor, entry) !== entry ? undefined : entry
}

const hintOf = (entry: string | undefined): string =>
  entry === undefined
    ? "No entry of the allowlist stands for exactly this call: approve it in a terminal."
    : `Allow it with the entry "${entry}" on the allowlist, or approve it in a terminal.`
