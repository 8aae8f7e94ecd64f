import type { CallContext } from "@capstan/core/CallContext"
import * as ToolFailure from "@capstan/core/ToolFailure"
import type { FileWritten, Workspace } from "@capstan/core/Workspace"
import * as Effect from "effect/Effect"
import { asFailure, toFailure } from "./fileProblem.js"
import { count } from "./textFile.js"

type Files = Workspace["Type"]

/** What a copy or move goes from and to, as the arguments of a call name it. */
export interface Transfer {
  readonly from_path: string
  readonly to_path: string
  readonly overwrite?: boolean
}

/** What is done, for messages. */
type Verb = "copied" | "moved"

const isFolder = (files: Files, path: string): Effect.Effect<boolean> =>
  files.stat({ path }).pipe(Effect.map(({ kind }) => kind === "dir"), Effect.orElseSucceed(() => false))

const inside = (folder: string, from: string): string =>
  `${folder.replace(/\/$/, "")}/${from.split("/").findLast((segment) => segment !== "") ?? ""}`

/** Says what to send instead where the target is there already. */
export const orTaken = (files: Files, tool: string, transfer: Transfer, verb: Verb) =>
<A, R>(
  effect: Effect.Effect<A, Parameters<typeof toFailure>[1], R>
): Effect.Effect<A, ToolFailure.ToolFailure, R> =>
  Effect.catchAll(effect, (error) =>
    Effect.gen(function*() {
      const { from_path, to_path } = transfer
      const again = (change: Partial<Transfer>) => `${tool} ${JSON.stringify({ ...transfer, ...change })}`
      if (error.path === to_path && (yield* isFolder(files, to_path))) {
        return yield* Effect.fail(ToolFailure.execution(
          `"${to_path}" is a folder: nothing was ${verb}.`,
          `To put it in there: ${again({ to_path: inside(to_path, from_path) })}.`
        ))
      }
      if (error.reason !== "exists") return yield* Effect.flatMap(toFailure(files, error), Effect.fail)
      return yield* Effect.fail(ToolFailure.execution(
        error.message,
        tool === "vault_copy" ? "Choose another to_path." : `To replace it: ${again({ overwrite: true })}.`
      ))
    }))

/** Copies one file within the session's quota; what the session knew of the original it knows of the copy. */
export const copy = (files: Files, tool: string, transfer: Transfer, call: CallContext, vault = false) =>
  Effect.gen(function*() {
    const { from_path: from, overwrite = false, to_path: to } = transfer
    const { canonical, size } = yield* asFailure(files)(files.stat({ path: from, vault }))
    yield* call.reserveWrite(size)
    const written = yield* orTaken(files, tool, transfer, "copied")(files.copy({ from, to, overwrite, vault }))
    const known = call.lastRead(canonical)
    yield* call.recordRead({
      path: written.canonical,
      sha256: written.sha256,
      lines: known?.sha256 === written.sha256 ? known.lines : null
    })
    return written
  })

/** One line about a copy. */
export const report = (from: string, written: FileWritten): string =>
  `copied ${from} to ${written.display}: ${count(written.bytes, "byte")}${
    written.created ? "" : ", replacing what was there"
  }. SHA-256 ${written.sha256}.`

/** For the approval prompt: what is replaced. */
export const preview = (files: Files, { from_path, overwrite, to_path }: Transfer, vault = false) =>
  Effect.gen(function*() {
    const from = yield* Effect.option(files.stat({ path: from_path, vault }))
    const to = yield* Effect.option(files.stat({ path: to_path }))
    if (from._tag === "None") return undefined
    const what = `${from_path}: ${from.value.kind === "file" ? count(from.value.size, "byte") : from.value.kind}`
    return to._tag === "None"
      ? what
      : `${what}\n${to_path} is there (${count(to.value.size, "byte")}) and is ${
        overwrite === true ? "replaced" : "left as it is: the call will fail"
      }.`
  })
