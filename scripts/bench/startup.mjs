// @ts-check
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const bin = fileURLToPath(new URL("../../packages/cli/dist/bin.js", import.meta.url))

const once = (/** @type {ReadonlyArray<string>} */ args) => {
  const begin = process.hrtime.bigint()
  const { status } = spawnSync(process.execPath, args, { stdio: "ignore" })
  if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status}`)
  return Number(process.hrtime.bigint() - begin) / 1e6
}

const median = (/** @type {ReadonlyArray<number>} */ values) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** Start-up of `capstan <args>` against bare node, run in turn so that both see the same machine. */
export const ratio = (/** @type {ReadonlyArray<string>} */ args, runs = 15) => {
  once([bin, ...args])
  const pairs = Array.from({ length: runs }, () => [once(["-e", "0"]), once([bin, ...args])])
  return {
    node: median(pairs.map(([node = 0]) => node)),
    capstan: median(pairs.map(([, capstan = 0]) => capstan)),
    ratio: median(pairs.map(([node = 1, capstan = 0]) => capstan / node))
  }
}
