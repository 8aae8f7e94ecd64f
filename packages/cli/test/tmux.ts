/** A real terminal for tests: the command is typed into a shell in tmux, and the screen is read. */
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import process from "node:process"
import { bin, type Folders } from "./program.js"

const works = (): boolean => {
  try {
    execFileSync("tmux", ["-V"], { stdio: "ignore" })
    return true
  } catch {
    process.stderr.write("The tests in a real terminal are skipped: tmux is not here.\n")
    return false
  }
}

export const available = works()

interface Terminal {
  /** Types a text. */
  readonly type: (text: string) => Effect.Effect<void>
  /** Presses keys by tmux's names: `Enter`, `C-c`. */
  readonly press: (...keys: ReadonlyArray<string>) => Effect.Effect<void>
  readonly paste: (text: string) => Effect.Effect<void>
  readonly resize: (columns: number, rows: number) => Effect.Effect<void>
  /** Everything that was shown, rows that went out at the top included. */
  readonly text: Effect.Effect<string>
  /** The rows that are shown. */
  readonly rows: Effect.Effect<ReadonlyArray<string>>
  /** Waits until the text has come, and gives everything that was shown. */
  readonly sees: (text: string | RegExp) => Effect.Effect<string>
  /** Starts the command. */
  readonly capstan: (args: string) => Effect.Effect<void>
}

let opened = 0

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Looks until what is seen is right. */
export const eventually = <A>(look: Effect.Effect<A>, isRight: (seen: A) => boolean) => {
  const go: Effect.Effect<A> = Effect.flatMap(
    look,
    (seen) => isRight(seen) ? Effect.succeed(seen) : Effect.delay(go, "60 millis")
  )
  return Effect.timeout(go, "15 seconds")
}

export const open = (
  at: Folders,
  options: {
    readonly columns?: number
    readonly rows?: number
    readonly environment?: Readonly<Record<string, string>>
  } = {}
) =>
  Effect.gen(function*() {
    const program = bin()
    const socket = `capstan-${process.pid}-${opened++}`
    const tmux = (...args: ReadonlyArray<string>) =>
      Effect.sync(() => execFileSync("tmux", ["-L", socket, "-f", "/dev/null", ...args], { encoding: "utf8" }))
    const environment = {
      PATH: process.env["PATH"] ?? "",
      HOME: at.home,
      XDG_DATA_HOME: at.data,
      TERM: "tmux-256color",
      LC_ALL: "C.UTF-8",
      PS1: "$ ",
      ...options.environment
    }
    const shell = [
      "env",
      "-i",
      ...Object.entries(environment).map(([name, value]) => quoted(`${name}=${value}`)),
      "bash --noprofile --norc"
    ].join(" ")
    yield* Effect.acquireRelease(
      tmux(
        "new-session",
        "-d",
        "-x",
        String(options.columns ?? 80),
        "-y",
        String(options.rows ?? 24),
        "-c",
        at.work,
        shell
      ),
      () => Effect.ignore(Effect.try(() => execFileSync("tmux", ["-L", socket, "kill-server"], { stdio: "ignore" })))
    )
    const text = tmux("capture-pane", "-p", "-J", "-S", "-")
    const type = (text: string) => Effect.asVoid(tmux("send-keys", "-l", text))
    const press = (...keys: ReadonlyArray<string>) => Effect.asVoid(tmux("send-keys", ...keys))
    const sees = (wanted: string | RegExp) => {
      const has = (shown: string) => typeof wanted === "string" ? shown.includes(wanted) : wanted.test(shown)
      return eventually(text, has).pipe(Effect.catchTag("TimeoutException", () =>
        Effect.flatMap(text, (shown) =>
          Effect.dieMessage(`${String(wanted)} did not show up in:\n${shown.trimEnd()}`))))
    }
    yield* sees("$")
    const terminal: Terminal = {
      type,
      press,
      paste: (text) =>
        Effect.zipRight(tmux("set-buffer", text), Effect.asVoid(tmux("paste-buffer"))),
      resize: (columns, rows) => Effect.asVoid(tmux("resize-window", "-x", String(columns), "-y", String(rows))),
      text,
      rows: Effect.map(tmux("capture-pane", "-p"), (shown) => shown.split("\n")),
      sees,
      capstan: (args) =>
        Effect.zipRight(
          type(`clear; ${quoted(process.execPath)} ${quoted(program)} ${args}; echo "code $?"`),
          press("Enter")
        )
    }
    return terminal
  })
