import type { CallContext } from "@capstan/core/CallContext"
import type { FileRead } from "@capstan/core/FileRead"
import * as Limits from "@capstan/core/Limits"
import { type OutputChunk, type ProcessIdentity } from "@capstan/core/ProcessRunner"
import type { Sandbox } from "@capstan/core/Sandbox"
import type { Tool } from "@capstan/core/Tool"
import * as ToolFailure from "@capstan/core/ToolFailure"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"

/** A session of tool calls: what one call reads, the next ones know. */
export interface Session {
  readonly reads: Map<string, FileRead>
  readonly chunks: Array<OutputChunk>
  readonly processes: Array<ProcessIdentity>
  /** Bytes that were taken from the quota for writing. */
  readonly written: Array<number>
  readonly outputs: Map<string, string>
  readonly context: CallContext
}

export const session = (
  options: { readonly capacity?: number; readonly limits?: Partial<Limits.Values> } = {}
): Session => {
  const reads = new Map<string, FileRead>()
  const chunks: Array<OutputChunk> = []
  const processes: Array<ProcessIdentity> = []
  const written: Array<number> = []
  const outputs = new Map<string, string>()
  const limits = { ...Limits.strict, ...options.limits }
  return {
    reads,
    chunks,
    processes,
    written,
    outputs,
    context: {
      session: "test",
      ref: { turn: 0, iteration: 0, position: 0 },
      idempotencyKey: "key",
      user: undefined,
      workingDirectory: "/",
      limits,
      capacity: options.capacity ?? limits.maxOutputBytes,
      reserveWrite: (bytes) =>
        written.reduce((sum, one) => sum + one, bytes) > limits.bytesWrittenPerSession
          ? Effect.fail(ToolFailure.limit("bytes_written", limits.bytesWrittenPerSession, "The quota is used up."))
          : Effect.sync(() => void written.push(bytes)),
      storedOutput: (handle) => Effect.succeed(outputs.get(handle)),
      lastRead: (canonical) => reads.get(canonical),
      recordRead: (read) => Effect.sync(() => void reads.set(read.path, read)),
      emit: (chunk) => Effect.sync(() => void chunks.push(chunk)),
      processStarted: (identity) => Effect.sync(() => void processes.push(identity)),
      delegate: () => Effect.dieMessage("No tool of this package runs a sub-session.")
    }
  }
}

type Arguments = Readonly<Record<string, unknown>>

export const prepare = (tool: Tool<Sandbox>, args: Arguments) => Either.getOrThrow(tool.prepare(args))

/** The findings that refuse arguments, or undefined. */
export const findings = (tool: Tool<Sandbox>, args: Arguments) =>
  Either.match(tool.prepare(args), { onLeft: (found) => found, onRight: () => undefined })

/** The text that a call gives. */
export const call = (tool: Tool<Sandbox>, args: Arguments, at: Session = session()) =>
  Effect.map(
    prepare(tool, args).run(at.context),
    ({ content }) => content.map((part) => part.type === "text" ? part.text : "").join("")
  )

/** The failure that a call ends with. */
export const fail = (tool: Tool<Sandbox>, args: Arguments, at: Session = session()) => Effect.flip(call(tool, args, at))

/** What a model reads of a failure. */
export const text = ToolFailure.toText
