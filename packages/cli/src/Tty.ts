/**
 * The person's side of the terminal: keys, lines, an editor. Only one of them reads at a time.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { spawn } from "node:child_process"
import * as fs from "node:fs/promises"
import * as os from "node:os"
import * as path from "node:path"
import process from "node:process"
import * as readline from "node:readline"

/**
 * What came of asking for a line: the line; the person pressed Ctrl-C (`text`: what stood there); or the input ended.
 *
 * @since 0.1.0
 * @category models
 */
export type LineInput =
  | { readonly _tag: "Line"; readonly text: string }
  | { readonly _tag: "Interrupted"; readonly text: string }
  | { readonly _tag: "Ended" }

/**
 * The text could not be edited outside; `message` says why.
 *
 * @since 0.1.0
 * @category errors
 */
export class EditorError extends Schema.TaggedError<EditorError>("@capstan/cli/EditorError")("EditorError", {
  message: Schema.String,
  cause: Schema.optionalWith(Schema.Defect, { exact: true })
}) {}

/**
 * The terminal that a person sits at. `size` is what it has now. `key` waits for the next key that is pressed from then on:
 * a character, or `enter`, `escape`, `backspace`; `settled` waits until a question that was just shown can have been seen,
 * and forgets the keys before. `line` is a line with the usual editing keys and `history` (latest first);
 * Tab completes to the `words` that begin like it; several lines that are pasted come as one. `edit` opens the person's editor. While `guarded` runs, keys do not show and
 * are forgotten. Ctrl-C is the signal that it always is, except in `line`; `interrupt` sends that signal. `resumed` counts how often the program was
 * stopped and taken up again, after which the screen is another.
 *
 * @since 0.1.0
 * @category services
 */
export class Tty extends Context.Tag("@capstan/cli/Tty")<Tty, {
  readonly size: Effect.Effect<{ readonly columns: number; readonly rows: number }>
  readonly key: Effect.Effect<string>
  readonly settled: Effect.Effect<void>
  readonly line: (options: {
    readonly prompt: string
    readonly initial?: string
    readonly history?: ReadonlyArray<string>
    readonly words?: ReadonlyArray<string>
  }) => Effect.Effect<LineInput>
  readonly edit: (options: { readonly text: string; readonly name: string }) => Effect.Effect<string, EditorError>
  readonly guarded: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  readonly interrupt: Effect.Effect<void>
  readonly resumed: Effect.Effect<number>
}>() {}

/** A question cannot be read sooner than this, in milliseconds. */
const settleMillis = 150

/** Lines that come this soon after one another were pasted, in milliseconds. */
const pasteMillis = 25

const named: Readonly<Record<string, string>> = {
  return: "enter",
  enter: "enter",
  escape: "escape",
  backspace: "backspace"
}

const signals: Readonly<Record<string, NodeJS.Signals>> = { "\u0003": "SIGINT", "\u001c": "SIGQUIT" }

const stop = "\u001a"

const make = Effect.sync(() => {
  const { stdin, stdout } = process
  let depth = 0
  let resumed = 0
  let listener: ((text: string) => void) | undefined

  const raw = (on: boolean) => {
    if (stdin.isTTY) stdin.setRawMode(on)
  }
  const received = (data: Buffer) => {
    const text = data.toString("utf8")
    for (const character of text) {
      const signal = signals[character]
      if (signal !== undefined) process.kill(process.pid, signal)
      if (character === stop) suspend()
    }
    listener?.(text)
  }
  const suspend = () => {
    raw(false)
    process.once("SIGCONT", () => {
      resumed++
      raw(depth > 0)
    })
    process.kill(process.pid, "SIGTSTP")
  }
  const take = Effect.sync(() => {
    if (depth++ > 0) return
    raw(true)
    stdin.on("data", received).resume()
  })
  const release = Effect.sync(() => {
    if (--depth > 0) return
    stdin.off("data", received).pause()
    raw(false)
  })
  const guarded = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.acquireUseRelease(take, () => effect, () => release)

  /** Hands the keyboard to somebody else. */
  const lent = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        if (depth === 0) return
        stdin.off("data", received).pause()
        raw(false)
      }),
      () => effect,
      () =>
        Effect.sync(() => {
          if (depth === 0) return
          raw(true)
          stdin.on("data", received).resume()
        })
    )

  const nextKey = Effect.async<string>((resume) => {
    listener = (text) => {
      const key = keyOf(text)
      if (key === undefined) return
      listener = undefined
      resume(Effect.succeed(key))
    }
    return Effect.sync(() => {
      listener = undefined
    })
  })

  const line = (options: Parameters<Tty["Type"]["line"]>[0]) =>
    Effect.async<LineInput>((resume) => {
      const reader = readline.createInterface({
        input: stdin,
        output: stdout,
        terminal: true,
        prompt: options.prompt,
        history: [...options.history ?? []],
        completer: (begun: string) => [
          begun === "" ? [] : (options.words ?? []).filter((word) => word.startsWith(begun)),
          begun
        ],
        removeHistoryDuplicates: true
      })
      const lines: Array<string> = []
      let timer: NodeJS.Timeout | undefined
      let isDone = false
      const done = (result: LineInput) => {
        if (isDone) return
        isDone = true
        clearTimeout(timer)
        reader.close()
        resume(Effect.succeed(result))
      }
      reader.on("line", (text) => {
        lines.push(text)
        clearTimeout(timer)
        // The last of several lines may wait for its end; then the rest comes with it.
        timer = setTimeout(() => {
          if (reader.line === "") done({ _tag: "Line", text: lines.join("\n") })
        }, pasteMillis)
      })
      reader.on("SIGINT", () => {
        stdout.write("\n")
        done({ _tag: "Interrupted", text: reader.line })
      })
      reader.on("close", () => done(lines.length > 0 ? { _tag: "Line", text: lines.join("\n") } : { _tag: "Ended" }))
      reader.prompt()
      if (options.initial !== undefined) reader.write(options.initial)
      return Effect.sync(() => {
        isDone = true
        clearTimeout(timer)
        reader.close()
      })
    })

  return Tty.of({
    size: Effect.sync(() => ({ columns: stdout.columns ?? 80, rows: stdout.rows ?? 24 })),
    key: guarded(nextKey),
    settled: guarded(Effect.sleep(settleMillis)),
    line: (options) => lent(line(options)),
    edit: (options) => lent(edited(options)),
    guarded,
    interrupt: Effect.sync(() => void process.kill(process.pid, "SIGINT")),
    resumed: Effect.sync(() => resumed)
  })
})

/** The key that a piece of input stands for; sequences of arrows and the like stand for none. */
const keyOf = (text: string): string | undefined => {
  if (text === "\r" || text === "\n") return named["enter"]
  if (text === "\u007f" || text === "\b") return named["backspace"]
  if (text === "\u001b") return named["escape"]
  // Several at once are a paste, which answers nothing, or one key pressed several times.
  const [character = "", ...more] = [...text]
  if (more.some((other) => other !== character)) return undefined
  return /^[^\p{Control}]$/u.test(character) ? character : undefined
}

const edited = (options: { readonly text: string; readonly name: string }): Effect.Effect<string, EditorError> =>
  Effect.gen(function*() {
    const editor = (process.env["VISUAL"] ?? "") || (process.env["EDITOR"] ?? "")
    if (editor === "") return yield* new EditorError({ message: "Neither VISUAL nor EDITOR is set." })
    return yield* Effect.acquireUseRelease(
      Effect.tryPromise({
        try: () => fs.mkdtemp(path.join(os.tmpdir(), "capstan-edit-")),
        catch: (cause) => new EditorError({ message: "No temporary folder could be made.", cause })
      }),
      (folder) => {
        const file = path.join(folder, options.name)
        return Effect.tryPromise({
          try: () => fs.writeFile(file, options.text, { mode: 0o600 }),
          catch: (cause) => new EditorError({ message: "The text could not be written to a file.", cause })
        }).pipe(
          Effect.zipRight(opened(editor, file)),
          Effect.zipRight(Effect.tryPromise({
            try: () => fs.readFile(file, "utf8"),
            catch: (cause) => new EditorError({ message: "The edited file could not be read.", cause })
          }))
        )
      },
      (folder) => Effect.promise(() => fs.rm(folder, { recursive: true, force: true }))
    )
  })

/** The setting may hold options (`code --wait`), so a shell reads it; the file is an argument of its own. */
const opened = (editor: string, file: string): Effect.Effect<void, EditorError> =>
  Effect.async((resume) => {
    const child = spawn("/bin/sh", ["-c", `${editor} "$1"`, "editor", file], { stdio: "inherit" })
    child.once("error", (cause) => resume(new EditorError({ message: `${editor} could not be started.`, cause })))
    child.once("exit", (code) =>
      resume(code === 0 ? Effect.void : new EditorError({ message: `${editor} ended with code ${code ?? "none"}.` })))
    return Effect.sync(() =>
      void child.kill()
    )
  })

/**
 * The terminal of this process.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Tty> = Layer.effect(Tty, make)
