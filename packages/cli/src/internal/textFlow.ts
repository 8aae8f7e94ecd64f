/**
 * Untrusted text on its way to a screen, in whatever pieces it comes: cleaned of controls, then of secrets, in whole lines.
 */
import * as Redaction from "@capstan/core/Redaction"
import * as Sanitiser from "@capstan/core/Sanitiser"

export interface TextFlow {
  readonly sanitiser: Sanitiser.State
  readonly redaction: Redaction.StreamState
  /** What is known of the line that has not ended. */
  readonly open: string
}

export const empty: TextFlow = { sanitiser: Sanitiser.initial, redaction: Redaction.streamStart, open: "" }

const split = (text: string): readonly [ReadonlyArray<string>, string] => {
  const parts = text.split("\n")
  return [parts.slice(0, -1), parts.at(-1) ?? ""]
}

/** The lines that are complete with this piece. */
export const feed = (
  flow: TextFlow,
  piece: string,
  redactor: Redaction.Redactor
): readonly [TextFlow, ReadonlyArray<string>] => {
  const [sanitiser, clean] = Sanitiser.step(flow.sanitiser, piece)
  const [redaction, shown] = redactor.redactStreaming(flow.redaction, clean)
  const [lines, open] = split(flow.open + shown)
  return [{ sanitiser, redaction, open }, lines]
}

/** What is left at the end. */
export const end = (flow: TextFlow, redactor: Redaction.Redactor): ReadonlyArray<string> => {
  const [redaction, shown] = redactor.redactStreaming(flow.redaction, Sanitiser.end(flow.sanitiser))
  const [lines, open] = split(flow.open + shown + redactor.endStreaming(redaction))
  return open === "" ? lines : [...lines, open]
}

/** What can be shown of the lines that are not complete, for the moment: whole words only, since a secret is one word. */
export const preview = (flow: TextFlow, redactor: Redaction.Redactor): ReadonlyArray<string> => {
  const { held } = flow.redaction
  const words = held.slice(0, Math.max(held.lastIndexOf(" "), held.lastIndexOf("\n"), 0))
  const text = flow.open + redactor.redact(words)
  return text === "" ? [] : text.split("\n")
}

/** A whole text at once. */
export const whole = (text: string, redactor: Redaction.Redactor): string =>
  redactor.redact(Sanitiser.sanitise(text).text)

/** The same as one line. */
export const oneLine = (text: string, redactor: Redaction.Redactor): string =>
  whole(text, redactor).replace(/\s*\n\s*/g, " ").trim()
