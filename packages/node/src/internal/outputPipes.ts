import { ProcessError } from "@capstan/core/ProcessRunner"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import * as SystemProgram from "./systemProgram.js"
import * as TemporaryFolder from "./temporaryFolder.js"

/**
 * Makes real pipes for commands. Node itself hands out sockets, on which `> /dev/stderr` and `tee /dev/stderr` fail in
 * the command, and which allocate for every read.
 */
export interface OutputPipes {
  /** A pipe that is closed with the scope, if not before. */
  readonly open: Effect.Effect<Pipe, ProcessError, Scope.Scope>
  /** A descriptor to read a text from, of a file that has no name any more. */
  readonly holding: (text: string) => Effect.Effect<number, ProcessError, Scope.Scope>
}

/** A pipe from a command to us. `write` is for the command and closed here once the command has it. */
export interface Pipe {
  readonly write: number
  readonly closeWrite: () => void
  /**
   * Reads from now on, and again after a pause. `push` gets memory that is used again after it returns; returning false
   * pauses.
   */
  readonly resume: (push: (bytes: Buffer) => boolean) => void
  /** Takes what is still in the pipe without waiting and closes it. */
  readonly finish: (push: (bytes: Buffer) => boolean) => void
}

const batch = 16
const readSize = 64 * 1024
/** What a pipe can hold at most on Linux without privileges. */
const capacity = 1024 * 1024

const failed = (cause: unknown): ProcessError =>
  new ProcessError({
    reason: "spawn",
    message: `No pipe for the command could be made: ${cause instanceof Error ? cause.message : String(cause)}`,
    cause
  })

const closeQuietly = (descriptor: number): void => {
  try {
    fs.closeSync(descriptor)
  } catch {
    // Nothing is lost with it.
  }
}

const openPipe = (name: string): Pipe & { readonly close: () => void } => {
  const read = fs.openSync(name, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
  try {
    const write = fs.openSync(name, fs.constants.O_WRONLY)
    fs.unlinkSync(name)
    return makePipe(read, write)
  } catch (cause) {
    closeQuietly(read)
    throw cause
  }
}

const makePipe = (read: number, write: number): Pipe & { readonly close: () => void } => {
  let socket: net.Socket | undefined
  let closed = false
  let writeClosed = false

  const closeWrite = () => {
    if (!writeClosed) closeQuietly(write)
    writeClosed = true
  }
  const closeRead = () => {
    if (closed) return
    closed = true
    if (socket === undefined) closeQuietly(read)
    else socket.destroy()
  }
  const start = (push: (bytes: Buffer) => boolean) => {
    const memory = Buffer.allocUnsafe(readSize)
    const options = {
      fd: read,
      readable: true,
      writable: false,
      onread: { buffer: memory, callback: (length: number) => push(memory.subarray(0, length)) }
    }
    const started = new net.Socket(options)
    // A pipe that cannot be read any more has ended.
    started.on("error", closeRead)
    started.on("close", () => {
      closed = true
    })
    return started
  }
  const readRest = (push: (bytes: Buffer) => boolean) => {
    const memory = Buffer.allocUnsafe(readSize)
    for (let taken = 0; taken < capacity;) {
      const length = fs.readSync(read, memory, 0, readSize, null)
      if (length === 0) return
      taken += length
      push(memory.subarray(0, length))
    }
  }

  return {
    write,
    closeWrite,
    resume: (push) => {
      if (closed) return
      if (socket === undefined) socket = start(push)
      else socket.resume()
    },
    finish: (push) => {
      if (closed) return
      socket?.pause()
      try {
        readRest(push)
      } catch {
        // Empty (EAGAIN): what comes later would be printed by a process that got away.
      }
      closeRead()
    },
    close: () => {
      closeWrite()
      closeRead()
    }
  }
}

const mkfifo = (names: ReadonlyArray<string>): Effect.Effect<void, ProcessError> =>
  Effect.async((resume) => {
    execFile(SystemProgram.find("mkfifo") ?? "/usr/bin/mkfifo", ["-m", "600", ...names], { env: {} }, (error) => {
      resume(error === null ? Effect.void : Effect.fail(failed(error)))
    })
  })

/** Named pipes in a private folder that goes with the scope, made a few at a time, each used once. */
export const make: Effect.Effect<OutputPipes, never, Scope.Scope> = Effect.gen(function*() {
  const folder = yield* TemporaryFolder.make("pipes")
  const makeFolder = () => fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  const lock = yield* Effect.makeSemaphore(1)
  let names: Array<string> = []
  let next = 0

  const refill = Effect.gen(function*() {
    const fresh = Array.from({ length: batch }, () => path.join(folder, String(next++)))
    yield* Effect.try({ try: makeFolder, catch: failed })
    yield* mkfifo(fresh)
    names = fresh
  }).pipe(Effect.uninterruptible)

  const take = Effect.gen(function*() {
    if (names.length === 0) yield* refill
    const name = names.pop()
    if (name === undefined) return yield* failed("mkfifo made none")
    return yield* Effect.try({ try: () => openPipe(name), catch: failed })
  })
  // A cleaner of temporary folders may have taken the prepared ones.
  const again = Effect.suspend(() => {
    names = []
    return take
  })
  return {
    open: Effect.acquireRelease(
      lock.withPermits(1)(Effect.orElse(take, () => again)),
      (pipe) => Effect.sync(pipe.close)
    ),
    holding: (text) =>
      Effect.acquireRelease(
        Effect.try({
          try: () => {
            makeFolder()
            const name = path.join(folder, `text-${next++}`)
            fs.writeFileSync(name, text, { mode: 0o600, flag: "wx" })
            const descriptor = fs.openSync(name, "r")
            fs.unlinkSync(name)
            return descriptor
          },
          catch: failed
        }),
        (descriptor) => Effect.sync(() => closeQuietly(descriptor))
      )
  }
})
