/**
 * Putting the tool calls of an answer together from the pieces in which they stream. Pure; every provider uses it.
 *
 * @since 0.1.0
 */
import { ModelDelta } from "./ModelDelta.js"
import * as ToolCall from "./ToolCall.js"

/**
 * A call that is still being written. `key` is whatever the service tells its calls apart by, `written` the number of the
 * last piece that belonged to it.
 *
 * @since 0.1.0
 * @category models
 */
export interface OpenCall {
  readonly key: string
  readonly index: number
  readonly id: string
  readonly name: string
  readonly raw: string
  readonly started: boolean
  readonly closed: boolean
  readonly written: number
}

/**
 * The calls of an answer that were not emitted yet, how many calls and how many pieces there were.
 *
 * @since 0.1.0
 * @category models
 */
export interface CallAssembly {
  readonly open: ReadonlyArray<OpenCall>
  readonly count: number
  readonly pieces: number
}

/**
 * The state after a piece, and what is to be emitted.
 *
 * @since 0.1.0
 * @category models
 */
export type Assembled = readonly [CallAssembly, ReadonlyArray<ModelDelta>]

/**
 * No calls yet.
 *
 * @since 0.1.0
 * @category constructors
 */
export const empty: CallAssembly = { open: [], count: 0, pieces: 0 }

/**
 * Adds a piece to the call with this key, which begins with its first piece. An id or a name that is known already stays. The
 * start is emitted once the name is known; text that came before it follows it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const put = (self: CallAssembly, piece: {
  readonly key: string
  readonly id?: string
  readonly name?: string
  readonly text?: string
}): Assembled => {
  const known = self.open.find((call) => call.key === piece.key)
  const before = known ?? {
    key: piece.key,
    index: self.count,
    id: "",
    name: "",
    raw: "",
    started: false,
    closed: false,
    written: 0
  }
  const name = before.name === "" ? piece.name ?? "" : before.name
  const text = piece.text ?? ""
  const after: OpenCall = {
    ...before,
    id: before.id === "" ? piece.id ?? "" : before.id,
    name,
    raw: before.raw + text,
    started: before.started || name !== "",
    written: self.pieces
  }
  return [
    {
      open: known === undefined ? [...self.open, after] : self.open.map((call) => call === known ? after : call),
      count: known === undefined ? self.count + 1 : self.count,
      pieces: self.pieces + 1
    },
    !after.started
      ? []
      : before.started
      ? deltaOf(after.index, text)
      : [startOf(after), ...deltaOf(after.index, after.raw)]
  ]
}

/**
 * Marks a call's block as closed. It is emitted by the next {@link settle} or {@link finish}: only what comes after a block
 * shows whether the service cut it off.
 *
 * @since 0.1.0
 * @category combinators
 */
export const close = (self: CallAssembly, key: string): CallAssembly => ({
  ...self,
  open: self.open.map((call) => call.key === key ? { ...call, closed: true } : call)
})

/**
 * Emits the calls whose blocks are closed; to be used when the answer goes on after them.
 *
 * @since 0.1.0
 * @category combinators
 */
export const settle = (self: CallAssembly): Assembled => [
  { ...self, open: self.open.filter((call) => !call.closed) },
  self.open.filter((call) => call.closed).flatMap(endOf)
]

/**
 * Emits all calls that are left. Where the service cut the answer (`cut` says why, in words for the model) the call that was
 * written last, and each one that is not whole, is marked as malformed.
 *
 * @since 0.1.0
 * @category combinators
 */
export const finish = (self: CallAssembly, cut: string | undefined): ReadonlyArray<ModelDelta> => {
  const last = Math.max(...self.open.map((call) => call.written))
  return self.open.flatMap((call) =>
    cut !== undefined && (call.written === last || !isWhole(call)) ? cutOff(call, cut) : endOf(call)
  )
}

/**
 * Whether the arguments of a call are complete as they stand.
 *
 * @since 0.1.0
 * @category combinators
 */
export const isWhole = (call: OpenCall): boolean => read(call).arguments !== null

/**
 * What a model is told of a call that the limit of its answer cut off.
 *
 * @since 0.1.0
 * @category constructors
 */
export const cutByLength = "the limit of the answer was reached; send it again, smaller"

/**
 * Gives the calls of an answer the names and arguments that the rest of the program knows: `name` maps a wire name back,
 * `read` a whole call whose name is mapped already.
 *
 * @since 0.1.0
 * @category combinators
 */
export const mapCalls = (options: {
  readonly name: (wireName: string) => string
  readonly read?: (call: ToolCall.ToolCall) => ToolCall.ToolCall
}) =>
(delta: ModelDelta): ModelDelta => {
  switch (delta._tag) {
    case "ToolCallStart":
      return ModelDelta.ToolCallStart({ ...delta, name: options.name(delta.name) })
    case "ToolCallEnd": {
      const call = { ...delta.call, name: options.name(delta.call.name) }
      return ModelDelta.ToolCallEnd({ index: delta.index, call: options.read?.(call) ?? call })
    }
    default:
      return delta
  }
}

const startOf = (call: OpenCall): ModelDelta =>
  ModelDelta.ToolCallStart({ index: call.index, id: call.id, name: call.name })

const deltaOf = (index: number, text: string): ReadonlyArray<ModelDelta> =>
  text === "" ? [] : [ModelDelta.ToolCallDelta({ index, text })]

const unstarted = (call: OpenCall): ReadonlyArray<ModelDelta> =>
  call.started ? [] : [startOf(call), ...deltaOf(call.index, call.raw)]

const endOf = (call: OpenCall): ReadonlyArray<ModelDelta> => [
  ...unstarted(call),
  ModelDelta.ToolCallEnd({ index: call.index, call: read(call) })
]

const cutOff = (call: OpenCall, why: string): ReadonlyArray<ModelDelta> => [
  ...unstarted(call),
  ModelDelta.ToolCallEnd({
    index: call.index,
    call: {
      id: call.id,
      name: call.name,
      raw: call.raw,
      arguments: null,
      malformed: `cut off: ${why}`,
      repairs: []
    }
  })
]

/** No text at all is how services write a call without arguments. */
const read = (call: OpenCall): ToolCall.ToolCall =>
  call.raw.trim() === ""
    ? { id: call.id, name: call.name, raw: call.raw, arguments: {}, repairs: [] }
    : ToolCall.fromJson({ id: call.id, name: call.name, raw: call.raw })
