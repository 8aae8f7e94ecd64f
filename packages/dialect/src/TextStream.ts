/**
 * Reading a model's text for tool calls while it streams.
 *
 * @since 0.1.0
 */
import { Scanner } from "./internal/scanner.js"
import { Tape } from "./internal/tape.js"
import { Toolbox } from "./internal/toolbox.js"
import type { OfferedTool, TextCall } from "./TextCall.js"

/**
 * A piece of an answer; the `text` of reasoning comes without the tags around it. `raw` is the text that it was made
 * of: the pieces' raw texts, joined, are the answer, unit for unit. Of several calls in one block the first carries
 * the block's text.
 *
 * @since 0.1.0
 * @category models
 */
export type Piece =
  | { readonly _tag: "Text"; readonly raw: string }
  | { readonly _tag: "Reasoning"; readonly raw: string; readonly text: string }
  | { readonly _tag: "Call" | "NearMiss"; readonly raw: string; readonly call: TextCall }

/**
 * What to look for: the offered tools, and whether the prompt has opened a reasoning block already.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly tools: ReadonlyArray<OfferedTool>
  readonly inReasoning?: boolean
}

/**
 * A machine for one answer: fed with its text in pieces of any size, it gives out what is decided. Text is held back
 * only while it could still become a call. However the text is split, the pieces' texts and the calls are the same.
 *
 * @since 0.1.0
 * @category models
 */
export interface TextStream {
  readonly push: (text: string) => ReadonlyArray<Piece>
  /** The text is over: gives out the rest. */
  readonly end: () => ReadonlyArray<Piece>
}

/**
 * A machine at the beginning of an answer.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): TextStream => {
  const tape = new Tape()
  const scanner = new Scanner(tape, new Toolbox(options.tools), options.inReasoning ?? false)
  return {
    push: (text) => {
      if (text === "") return []
      tape.append(text)
      return scanner.advance()
    },
    end: () => {
      tape.finish()
      return scanner.advance()
    }
  }
}
