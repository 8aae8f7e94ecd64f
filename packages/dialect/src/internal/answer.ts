import * as CallAssembly from "@capstan/core/CallAssembly"
import { ModelDelta } from "@capstan/core/ModelDelta"
import type { ModelRequest } from "@capstan/core/ModelProvider"
import type * as ToolCall from "@capstan/core/ToolCall"
import * as ToolName from "@capstan/core/ToolName"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as JsonArguments from "../JsonArguments.js"
import type { OfferedTool, TextCall } from "../TextCall.js"
import * as TextStream from "../TextStream.js"
import * as ToolSchema from "../ToolSchema.js"

const maxNearMisses = 2
const shownText = 200

/**
 * Reads one answer: text for calls (unless the answer has native ones), and arguments of native calls where they are
 * not JSON.
 */
export class Answer {
  private readonly tools: ReadonlyArray<OfferedTool>
  private readonly index: ToolName.NameIndex
  private readonly nearMissAllowed: boolean
  private machine: TextStream.TextStream | undefined
  /**
   * From the first call in the text on everything waits for the end: a native call may still come, then it was text
   * after all.
   */
  private readonly held: Array<TextStream.Piece> = []
  private readonly kind: "rescued" | "emulated"

  constructor(
    request: ModelRequest,
    tools: ReadonlyArray<OfferedTool>,
    options: { readonly readsText: boolean; readonly kind: "rescued" | "emulated" }
  ) {
    this.tools = request.toolChoice === "none" ? [] : tools
    this.index = ToolName.index(tools)
    this.kind = options.kind
    this.nearMissAllowed = this.tools.length > 0 && nearMisses(request, this.index) < maxNearMisses
    this.machine = options.readsText ? TextStream.make({ tools: this.tools }) : undefined
  }

  next(delta: ModelDelta): ReadonlyArray<ModelDelta> {
    switch (delta._tag) {
      case "TextDelta":
        return this.machine === undefined ? [delta] : this.pieces(this.machine.push(delta.text))
      case "ToolCallStart":
        return [...this.giveUp(), delta]
      case "ToolCallEnd":
        return [ModelDelta.ToolCallEnd({ index: delta.index, call: this.repaired(delta.call) })]
      case "Finish":
        return delta.reason === "refusal" ? [...this.giveUp(), delta] : this.finish(delta)
      default:
        return [delta]
    }
  }

  private pieces(pieces: ReadonlyArray<TextStream.Piece>): ReadonlyArray<ModelDelta> {
    const out: Array<ModelDelta> = []
    for (const piece of pieces) {
      if (this.held.length > 0 || piece._tag === "Call" || piece._tag === "NearMiss") this.held.push(piece)
      else out.push(...textOf(piece))
    }
    return out
  }

  private giveUp(): ReadonlyArray<ModelDelta> {
    const rest = [...this.held, ...(this.machine?.end() ?? [])]
    this.machine = undefined
    this.held.length = 0
    return rest.flatMap(textOf)
  }

  private finish(delta: Extract<ModelDelta, { readonly _tag: "Finish" }>): ReadonlyArray<ModelDelta> {
    const before = this.machine === undefined ? [] : this.pieces(this.machine.end())
    const out: Array<ModelDelta> = [...before]
    let index = 0
    for (const piece of this.held) {
      if (piece._tag === "Call" || (piece._tag === "NearMiss" && this.nearMissAllowed)) {
        out.push(...this.callOf(piece, index++, delta.reason === "length"))
      } else if (piece._tag !== "Text" || piece.raw.trim() !== "") {
        out.push(...textOf(piece))
      }
    }
    this.held.length = 0
    const reason = index > 0 && delta.reason !== "length" ? "tool-calls" : delta.reason
    return [...out, ModelDelta.Finish({ ...delta, reason })]
  }

  private callOf(
    piece: { readonly raw: string; readonly call: TextCall },
    index: number,
    cut: boolean
  ): ReadonlyArray<ModelDelta> {
    const { name, raw } = piece.call
    const shown = piece.raw.trim().slice(0, shownText)
    const repairs = [...piece.call.repairs, {
      kind: this.kind,
      detail: `the call stood in the answer's text${shown === "" ? "" : `: ${shown}`}`
    }]
    const unfinished = cut && repairs.some((repair) => repair.kind === "cut-off" || repair.kind === "cut-off-text")
    const malformed = unfinished ? `cut off: ${CallAssembly.cutByLength}` : piece.call.malformed
    const call = this.withoutNulls({
      id: "",
      name,
      raw,
      arguments: unfinished ? null : piece.call.arguments,
      ...(malformed === undefined ? {} : { malformed }),
      repairs
    })
    return [
      ModelDelta.ToolCallStart({ index, id: "", name }),
      ...(raw === "" ? [] : [ModelDelta.ToolCallDelta({ index, text: raw })]),
      ModelDelta.ToolCallEnd({ index, call })
    ]
  }

  private repaired(call: ToolCall.ToolCall): ToolCall.ToolCall {
    if (call.malformed?.startsWith("cut off") === true) return call
    const parameters = this.parameters(call.name)
    const options = parameters === undefined ? {} : { parameters }
    const read = call.arguments === null
      ? JsonArguments.parse(call.raw, options)
      : JsonArguments.fromValue({ value: call.arguments, repairs: [] }, options)
    return Either.match(read, {
      onLeft: (error) => ({ ...call, arguments: null, malformed: error.message }),
      onRight: (found) => {
        const { malformed: _, ...rest } = call
        return this.withoutNulls({ ...rest, arguments: found.arguments, repairs: [...call.repairs, ...found.repairs] })
      }
    })
  }

  /** Models write null for what they leave out. */
  private withoutNulls(call: ToolCall.ToolCall): ToolCall.ToolCall {
    const parameters = this.parameters(call.name)
    const before = JSON.stringify(call.arguments)
    if (parameters === undefined || call.arguments === null || !before.includes("null")) return call
    const pruned = ToolSchema.removeNulls(call.arguments, parameters)
    return JSON.stringify(pruned) === before ? call : {
      ...call,
      arguments: pruned,
      repairs: [...call.repairs, { kind: "null-dropped", detail: "nulls for optional parameters were left out" }]
    }
  }

  private parameters(name: string): OfferedTool["parameters"] {
    const resolved = Option.getOrUndefined(ToolName.resolve(this.index, name))?.name
    return this.tools.find((tool) => tool.name === resolved)?.parameters
  }
}

const textOf = (piece: TextStream.Piece): ReadonlyArray<ModelDelta> => {
  if (piece._tag === "Reasoning") return piece.text === "" ? [] : [ModelDelta.ThinkingDelta({ text: piece.text })]
  return piece.raw === "" ? [] : [ModelDelta.TextDelta({ text: piece.raw })]
}

/** How many calls to tools that do not exist this user turn has seen. */
const nearMisses = (request: ModelRequest, index: ToolName.NameIndex): number => {
  const turn = request.messages.slice(request.messages.findLastIndex((message) => message.role === "user") + 1)
  return turn.flatMap((message) => message.role === "assistant" ? message.content : [])
    .filter((part) => part.type === "tool-call" && Option.isNone(ToolName.resolve(index, part.name))).length
}
