/**
 * Outputs in files that only their owner can read: one folder a session, one file a call.
 *
 * @since 0.1.0
 */
import { isHandle, OutputStore, OutputStoreError } from "@capstan/core/OutputStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { createHash, randomUUID } from "node:crypto"
import * as Fs from "node:fs/promises"
import * as Path from "node:path"

const folderMode = 0o700
const fileMode = 0o600

/**
 * Keeps outputs under an absolute folder, which is made and kept private. Names from outside become no part of a path:
 * sessions are named by a hash, and only well-formed handles are taken. A text is there whole or not at all.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: { readonly folder: string }): Layer.Layer<OutputStore> =>
  Layer.succeed(OutputStore, {
    put: ({ handle, session, text }) =>
      Effect.flatMap(placeOf(options.folder, session, handle), ({ file, folder }) =>
        tried("The output could not be kept", async () => {
          for (const path of [options.folder, folder]) {
            await makePrivate(path)
          }
          await write(file, text)
        })),
    get: ({ handle, session }) =>
      isHandle(handle)
        ? Effect.flatMap(placeOf(options.folder, session, handle), ({ file }) =>
          tried("The output could not be read", async () =>
            await Fs.readFile(file, "utf8").catch((error: unknown) =>
              codeOf(error) === "ENOENT" ? undefined : Promise.reject(error)
            )))
        : Effect.succeed(undefined)
  })

const placeOf = (root: string, session: string, handle: string) => {
  if (!isHandle(handle)) return new OutputStoreError({ message: `"${handle.slice(0, 80)}" is no handle of an output.` })
  const folder = Path.join(root, createHash("sha256").update(session).digest("hex"))
  return Effect.succeed({ folder, file: Path.join(folder, `${handle.slice("output:".length)}.txt`) })
}

const tried = <A>(what: string, attempt: () => Promise<A>): Effect.Effect<A, OutputStoreError> =>
  Effect.tryPromise({
    try: attempt,
    catch: (cause) => new OutputStoreError({ message: `${what}. Look at the folder and the space on its disk.`, cause })
  })

/** A link in the place of the folder is not followed: what is kept would end up elsewhere. */
const makePrivate = async (folder: string): Promise<void> => {
  await Fs.mkdir(folder, { recursive: true, mode: folderMode })
  const found = await Fs.lstat(folder)
  if (!found.isDirectory()) throw new Error(`${folder} is not a folder`)
  if ((found.mode & 0o777) !== folderMode) await Fs.chmod(folder, folderMode)
}

const write = async (file: string, text: string): Promise<void> => {
  const draft = `${file}.${randomUUID()}`
  try {
    await Fs.writeFile(draft, text, { mode: fileMode, flag: "wx" })
    await Fs.rename(draft, file)
  } catch (error) {
    await Fs.rm(draft, { force: true })
    throw error
  }
}

const codeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "code" in error ? error.code : undefined
