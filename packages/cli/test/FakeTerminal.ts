/** A terminal in memory: what is written is kept, keys and lines come from a list. */
import * as Redaction from "@capstan/core/Redaction"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Host } from "../src/Host.js"
import * as Screen from "../src/Screen.js"
import { EditorError, type LineInput, Tty } from "../src/Tty.js"

export type Input =
  | { readonly _tag: "Key"; readonly key: string }
  | LineInput
  | { readonly _tag: "Edited"; readonly text: string }
  | { readonly _tag: "NoEditor" }

export const key = (key: string): Input => ({ _tag: "Key", key })

export const line = (text: string): Input => ({ _tag: "Line", text })

export interface FakeTerminal {
  readonly stdout: () => string
  readonly stderr: () => string
  /** What was offered for editing: the text that stood there. */
  readonly offered: () => ReadonlyArray<string>
  readonly left: () => number
  readonly interrupts: () => number
  readonly layer: Layer.Layer<Host | Tty>
}

export const make = (
  options: { readonly input?: ReadonlyArray<Input>; readonly columns?: number } = {}
): FakeTerminal => {
  let out = ""
  let err = ""
  let next = 0
  let interrupts = 0
  const offered: Array<string> = []
  const input = options.input ?? []
  const take = Effect.sync((): Input | undefined => input[next++])
  const size = { columns: options.columns ?? 80, rows: 24 }
  return {
    stdout: () => out,
    stderr: () => err,
    offered: () => offered,
    left: () => input.length - next,
    interrupts: () => interrupts,
    layer: Layer.merge(
      Layer.succeed(Host, {
        environment: {},
        cwd: "/w",
        home: "/h",
        terminal: true,
        color: true,
        columns: size.columns,
        write: (text) =>
          Effect.sync(() => {
            out += text
          }),
        warn: (text) =>
          Effect.sync(() => {
            err += text
          }),
        input: Effect.succeed("")
      }),
      Layer.succeed(Tty, {
        size: Effect.succeed(size),
        settled: Effect.void,
        key: Effect.flatMap(
          take,
          (given) =>
            given?._tag === "Key"
              ? Effect.succeed(given.key)
              : Effect.dieMessage(`no key but ${given?._tag ?? "nothing"}`)
        ),
        line: ({ initial }) =>
          Effect.flatMap(take, (given) => {
            offered.push(initial ?? "")
            return given?._tag === "Line" || given?._tag === "Interrupted" || given?._tag === "Ended"
              ? Effect.succeed<LineInput>(given)
              : Effect.dieMessage(`no line but ${given?._tag ?? "nothing"}`)
          }),
        edit: ({ text }) =>
          Effect.flatMap(take, (given) => {
            offered.push(text)
            if (given?._tag === "Edited") return Effect.succeed(given.text)
            return given?._tag === "NoEditor"
              ? Effect.fail(new EditorError({ message: "Neither VISUAL nor EDITOR is set." }))
              : Effect.dieMessage(`no editor but ${given?._tag ?? "nothing"}`)
          }),
        guarded: <A, E, R>(effect: Effect.Effect<A, E, R>) => effect,
        interrupt: Effect.sync(() => {
          interrupts++
        }),
        resumed: Effect.succeed(0)
      })
    )
  }
}

export const screen = (options: Partial<Screen.ScreenOptions> = {}) =>
  Screen.layer({
    live: false,
    stream: true,
    quiet: false,
    verbose: false,
    redactor: Redaction.patternsOnly,
    ...options
  })
