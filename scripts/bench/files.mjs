// @ts-check
import { Workspace } from "@capstan/core"
import { NodeWorkspace } from "@capstan/node"
import { Effect } from "effect"
import { closeSync, fsyncSync, mkdirSync, openSync, realpathSync, renameSync, writeFileSync, writeSync } from "node:fs"
import { join } from "node:path"

const millis = (/** @type {bigint} */ begin) => Number(process.hrtime.bigint() - begin) / 1e6
const median = (/** @type {ReadonlyArray<number>} */ values) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** What a careful program does by hand: a temporary file, fsync, rename. */
const raw = (/** @type {string} */ file, /** @type {Uint8Array} */ content) => {
  const fd = openSync(`${file}.tmp`, "w")
  writeSync(fd, content)
  fsyncSync(fd)
  closeSync(fd)
  renameSync(`${file}.tmp`, file)
}

/**
 * Milliseconds of the decision about an existing path and of an atomic write of 4 KB, against realpath and against a write,
 * fsync and rename by hand; write by write in turn, so that both see the same disk.
 *
 * @param {string} folder
 */
export const files = (folder) => {
  const root = join(realpathSync(folder), "files")
  mkdirSync(join(root, "src", "deep"), { recursive: true })
  const path = "src/deep/file.ts"
  const content = new Uint8Array(4096).fill(120)
  writeFileSync(join(root, path), content)
  const layer = NodeWorkspace.layer({
    mounts: [{ name: "workspace", root, access: "rw" }],
    workingDirectory: root,
    undoFolder: join(root, "..", "undo")
  })
  return Effect.runPromise(Effect.provide(
    Effect.gen(function*() {
      const workspace = yield* Workspace.Workspace
      const rounds = 20_000
      for (let n = 0; n < 2000; n++) yield* workspace.decide({ path, access: "read" })
      let begin = process.hrtime.bigint()
      for (let n = 0; n < rounds; n++) yield* workspace.decide({ path, access: "read" })
      const decision = millis(begin) / rounds
      begin = process.hrtime.bigint()
      for (let n = 0; n < rounds; n++) realpathSync.native(join(root, path))
      const realpath = millis(begin) / rounds

      const pairs = []
      for (let n = 0; n < 600; n++) {
        begin = process.hrtime.bigint()
        raw(join(root, "by-hand"), content)
        const least = millis(begin)
        begin = process.hrtime.bigint()
        yield* workspace.write({ path, content })
        pairs.push({ least, write: millis(begin) })
      }
      const counted = pairs.slice(100)
      return {
        decision,
        realpath,
        write: median(counted.map(({ write }) => write)),
        least: median(counted.map(({ least }) => least)),
        ratio: median(counted.map(({ least, write }) => write / least))
      }
    }),
    layer
  ))
}
