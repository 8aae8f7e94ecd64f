/**
 * From a model's text to the tool calls that stand in it, in any of the forms that models write.
 *
 * @since 0.1.0
 */
import type { TextCall } from "./TextCall.js"
import * as TextStream from "./TextStream.js"

/**
 * An answer, taken apart. `text` is what remains when the calls are taken out, reasoning included. `nearMiss` is set
 * when the whole answer is nothing but one call to a tool that is not registered; its text is then not in `text`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Normalised {
  readonly calls: ReadonlyArray<TextCall>
  readonly text: string
  readonly nearMiss?: TextCall
}

/**
 * Reads an answer. A call counts only when it names a registered tool; JSON that merely stands in the answer, calls
 * in reasoning blocks and in inline code stay text.
 *
 * @since 0.1.0
 * @category constructors
 */
export const read = (text: string, options: TextStream.Options): Normalised => {
  const machine = TextStream.make(options)
  const pieces = [...machine.push(text), ...machine.end()]
  const nearMiss = pieces.flatMap((piece) => piece._tag === "NearMiss" ? [piece.call] : [])[0]
  return {
    calls: pieces.flatMap((piece) => piece._tag === "Call" ? [piece.call] : []),
    text: pieces.map((piece) => piece._tag === "Text" || piece._tag === "Reasoning" ? piece.raw : "").join(""),
    ...(nearMiss === undefined ? {} : { nearMiss })
  }
}
