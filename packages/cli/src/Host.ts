/**
 * What the command line knows of the place where it was started: arguments' folder, environment, and who is watching.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as os from "node:os"
import process from "node:process"

/**
 * Where the program was started. `terminal`: a person can be asked (input, output and errors are a terminal); `color`:
 * colours and a spinner may be shown. `write` and `warn` print as they are, to stdout and stderr, and return when the text
 * is handed over, so that a slow reader slows the writer.
 *
 * @since 0.1.0
 * @category services
 */
export class Host extends Context.Tag("@capstan/cli/Host")<Host, {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly home: string
  readonly terminal: boolean
  readonly color: boolean
  readonly columns: number
  readonly write: (text: string) => Effect.Effect<void>
  readonly warn: (text: string) => Effect.Effect<void>
  readonly input: Effect.Effect<string>
}>() {}

const print = (stream: NodeJS.WriteStream) => (text: string): Effect.Effect<void> =>
  text === "" ? Effect.void : Effect.async<void>((resume) => {
    if (stream.write(text)) resume(Effect.void)
    else stream.once("drain", () => resume(Effect.void)).once("error", () => resume(Effect.void))
  })

const input: Effect.Effect<string> = Effect.async((resume) => {
  const chunks: Array<Buffer> = []
  process.stdin.on("data", (chunk: Buffer) => chunks.push(chunk))
  process.stdin.once("end", () => resume(Effect.succeed(Buffer.concat(chunks).toString("utf8"))))
  process.stdin.once("error", () => resume(Effect.succeed(Buffer.concat(chunks).toString("utf8"))))
})

/** The folder may be gone; then the shell's idea of it is what error messages should name. */
const workingFolder = (): string => {
  try {
    return process.cwd()
  } catch {
    return process.env["PWD"] ?? "/"
  }
}

/**
 * The process that this is.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Host> = Layer.sync(Host, () => {
  const watched = process.stdin.isTTY === true && process.stdout.isTTY === true && process.stderr.isTTY === true
  const plain = (process.env["NO_COLOR"] ?? "") !== ""
  return {
    environment: process.env,
    cwd: workingFolder(),
    home: os.homedir(),
    terminal: watched && !plain,
    color: watched && !plain,
    columns: process.stdout.columns ?? 80,
    write: print(process.stdout),
    warn: print(process.stderr),
    input
  }
})
