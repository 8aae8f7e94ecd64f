import { ProcessError } from "@capstan/core/ProcessRunner"
import type { OutputChunk, ProcessResult, ProcessRunner } from "@capstan/core/ProcessRunner"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Mailbox from "effect/Mailbox"
import { spawn } from "node:child_process"
import type { ChildProcess, StdioOptions } from "node:child_process"
import { randomUUID } from "node:crypto"
import * as fs from "node:fs"
import process from "node:process"
import { Writable } from "node:stream"
import { StringDecoder } from "node:string_decoder"
import type * as OutputPipes from "./outputPipes.js"
import * as OutputRing from "./outputRing.js"
import * as ProcessTable from "./processTable.js"
import * as Sweep from "./sweep.js"

/** What to spawn. */
export interface Launch {
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  /** Standard input; empty if undefined. */
  readonly input: string | undefined
  /** Descriptor 3 becomes a pipe whose text is handed back (at most 4 KiB of it). */
  readonly status: boolean
  /** Descriptor 4 becomes a pipe of which so many bytes are handed back; 0: there is none. */
  readonly reportBytes: number
  /** What can be read from descriptor 5; undefined: it is closed. */
  readonly aside: string | undefined
  /** Descriptors that this process inherited and would pass on: the command gets `/dev/null` in their place. */
  readonly replaced: ReadonlyArray<number>
  /** The leader is the wall of a sandbox: a sweep spares it, and it dies with this process. */
  readonly walled: boolean
}

/** Options of `ProcessRunner.run`. */
export type RunOptions<R1, R2> = Parameters<typeof ProcessRunner.Service.run<R1, R2>>[0]

type Ending = ProcessResult["exit"]

/** Chunks that wait for a slow reader before the pipes are paused. */
const ahead = 4

/** Fills in the defaults. */
export const manner = (options: {
  readonly grace?: Duration.DurationInput
  readonly hurry?: Effect.Effect<boolean>
}): Sweep.Manner => ({
  grace: Duration.decode(options.grace ?? Duration.seconds(2)),
  hurry: options.hurry ?? Effect.succeed(false)
})

/** The name of a run, and the variable that carries it to everything the run starts. */
export const makeToken = Effect.sync(() => {
  const token = randomUUID()
  const outer = process.env[ProcessTable.tokenVariable]
  return { token, variable: { [ProcessTable.tokenVariable]: outer === undefined ? token : `${outer}:${token}` } }
})

const spawnError = (launch: Launch, cause: unknown): ProcessError => {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined
  if (code === "ENOENT") {
    return new ProcessError({ reason: "not-found", message: `${launch.file} is not on this system.`, cause })
  }
  const message = code === "E2BIG"
    ? "The command is too long for this system. Write it to a file and run that."
    : `The command could not be started: ${cause instanceof Error ? cause.message : String(cause)}`
  return new ProcessError({ reason: "spawn", message, cause })
}

const isDirectory = (folder: string): boolean => fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false

const spawnChild = (launch: Launch, stdio: StdioOptions): Effect.Effect<ChildProcess, ProcessError> =>
  Effect.async((resume) => {
    try {
      const child = spawn(launch.file, [...launch.args], {
        cwd: launch.cwd,
        env: launch.environment,
        detached: true,
        stdio
      })
      child.on("error", (cause) => resume(Effect.fail(spawnError(launch, cause))))
      if (child.pid !== undefined) resume(Effect.succeed(child))
    } catch (cause) {
      resume(Effect.fail(spawnError(launch, cause)))
    }
  })

/** The descriptor on which a program is told to begin, behind all others that may be taken. */
const startDescriptor = 6

/**
 * The same program, held back until a line comes on the start descriptor: what it does is journaled by then. If this process
 * is killed before, the program never begins.
 */
const heldBack = (launch: Launch): Launch => ({
  ...launch,
  file: "/bin/sh",
  args: [
    "-c",
    `read -r go <&${startDescriptor} && exec ${startDescriptor}<&- "$@"`,
    launch.file,
    launch.file,
    ...launch.args
  ]
})

/** Texts that a program reads. */
interface Inputs {
  readonly input: number | undefined
  readonly aside: number | undefined
}

/** Standard input, the outputs, what is read aside, the start; every other place that is not replaced stays closed. */
const descriptors = (
  { aside, input }: Inputs,
  outputs: ReadonlyArray<OutputPipes.Pipe | undefined>,
  { replaced, walled }: Launch,
  nothing: number
): StdioOptions => {
  const taken: Array<number | "pipe" | undefined> = [
    input ?? nothing,
    ...outputs.map((pipe) => pipe?.write),
    aside
  ]
  if (!walled) taken[startDescriptor] = "pipe"
  const length = Math.max(taken.length, ...replaced.map((descriptor) => descriptor + 1))
  return Array.from({ length }, (_, index) => taken[index] ?? (replaced.includes(index) ? nothing : "ignore"))
}

const spawned = (
  launch: Launch,
  inputs: Inputs,
  outputs: ReadonlyArray<OutputPipes.Pipe | undefined>,
  token: string
) =>
  Effect.gen(function*() {
    if (!isDirectory(launch.cwd)) {
      return yield* new ProcessError({ reason: "bad-directory", message: `${launch.cwd} is not a folder to run in.` })
    }
    const child = yield* Effect.acquireUseRelease(
      Effect.sync(() => fs.openSync("/dev/null", "r")),
      (nothing) => spawnChild(launch.walled ? launch : heldBack(launch), descriptors(inputs, outputs, launch, nothing)),
      (nothing) => Effect.sync(() => fs.closeSync(nothing))
    )
    const exit = yield* Deferred.make<Ending>()
    child.on("exit", (code, signal) =>
      Deferred.unsafeDone(
        exit,
        Effect.succeed(signal === null ? { _tag: "Exited", code: code ?? 0 } : { _tag: "Signalled", signal })
      ))
    const begin = Effect.sync(() => {
      const start = Array.from(child.stdio)[startDescriptor]
      if (start instanceof Writable) start.on("error", () => undefined).end("\n")
    })
    return { identity: ProcessTable.identify(child.pid ?? 0, token), exit, begin }
  }).pipe(Effect.ensuring(Effect.sync(() => outputs.forEach((pipe) => pipe?.closeWrite()))))

/** Keeps the output of one stream, and offers it decoded. */
const collector = (
  stream: OutputChunk["stream"],
  keepBytes: number,
  offer: ((chunk: OutputChunk) => boolean) | undefined
) => {
  const ring = OutputRing.make(keepBytes)
  const decoder = new StringDecoder("utf8")
  const pass = (text: string) => offer === undefined || text === "" || offer({ stream, text })
  return {
    capture: ring.capture,
    push: (bytes: Buffer) => {
      ring.push(bytes)
      return offer === undefined || pass(decoder.write(bytes))
    },
    end: () => pass(decoder.end())
  }
}

/** What a program said besides its outputs. */
export interface Said {
  readonly status: string
  /** Undefined: it was more than is kept. */
  readonly report: string | undefined
}

/**
 * Runs a program to its end and leaves nothing of it behind, however this effect ends. Succeeds with the result and the
 * texts of descriptors 3 and 4.
 */
export const run = <R1 = never, R2 = never>(
  pipes: OutputPipes.OutputPipes,
  launch: Launch & { readonly token: string },
  manner: Sweep.Manner,
  options: RunOptions<R1, R2>
): Effect.Effect<Said & { readonly result: ProcessResult }, ProcessError, R1 | R2> =>
  Effect.gen(function*() {
    const onOutput = options.onOutput
    const stdout = yield* pipes.open
    const stderr = yield* pipes.open
    const status = launch.status ? yield* pipes.open : undefined
    const report = launch.reportBytes > 0 ? yield* pipes.open : undefined
    const held = (text: string | undefined) => text === undefined ? Effect.succeed(undefined) : pipes.holding(text)
    const inputs = { input: yield* held(launch.input), aside: yield* held(launch.aside) }

    const running = yield* Effect.acquireRelease(
      Effect.gen(function*() {
        const child = yield* spawned(launch, inputs, [stdout, stderr, status, report], launch.token)
        const end = yield* Effect.cached(
          Sweep.sweep(child.identity, { ...manner, byGroup: true, spareLeader: launch.walled })
        )
        return { ...child, end }
      }),
      ({ end }) => end
    )
    if (options.onStart !== undefined) yield* options.onStart(running.identity)
    yield* running.begin

    const mailbox = yield* Mailbox.make<OutputChunk>()
    let waiting = 0
    const offer = onOutput === undefined ? undefined : (chunk: OutputChunk) => {
      mailbox.unsafeOffer(chunk)
      return ++waiting < ahead
    }
    const out = collector("stdout", options.keepBytes, offer)
    const err = collector("stderr", options.keepBytes, offer)
    const told = OutputRing.make(8192)
    const reported = OutputRing.make(launch.reportBytes)
    const into = (ring: OutputRing.OutputRing) => (bytes: Buffer) => {
      ring.push(bytes)
      return true
    }
    const resume = () => {
      stdout.resume(out.push)
      stderr.resume(err.push)
    }
    resume()
    report?.resume(into(reported))

    const settle = Effect.gen(function*() {
      const exit = yield* Deferred.await(running.exit)
      const { survivors } = yield* running.end
      stdout.finish(out.push)
      stderr.finish(err.push)
      status?.finish(into(told))
      report?.finish(into(reported))
      out.end()
      err.end()
      mailbox.unsafeDone(Exit.void)
      return { exit, survivors: survivors.map(Sweep.line) }
    })
    const deliver = onOutput === undefined ? Effect.void : Effect.gen(function*() {
      while (true) {
        const [chunks, done] = yield* mailbox.takeAll
        for (const chunk of chunks) yield* onOutput(chunk)
        waiting -= chunks.length
        if (done) return
        resume()
      }
    })
    const [{ exit, survivors }] = yield* Effect.all([settle, deliver], { concurrency: "unbounded" })
    const { droppedBytes, head } = reported.capture()
    return {
      result: { exit, survivors, stdout: out.capture(), stderr: err.capture(), notes: [] },
      status: told.capture().head,
      report: droppedBytes === 0 ? head : undefined
    }
  }).pipe(Effect.scoped)
