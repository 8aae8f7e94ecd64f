/** `npm run check`: every check that needs no test to run, all of them even when one fails. */
import { spawn } from "node:child_process"
import { root, setup } from "./setup.mjs"

/** The slowest check takes as long as all others: the two rows run side by side. */
const rows = [["effect"], ["types:tests", "lint", "format", "unused", "architecture", "generated", "examples"]]

/** @param {string} step */
const passes = (step) => /** @type {Promise<boolean>} */ (new Promise((resolve) => {
  const started = process.hrtime.bigint()
  /** @type {Array<Buffer>} */
  const said = []
  const child = spawn("npm", ["run", "--silent", step], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32"
  })
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => said.push(chunk))
  child.on("close", (status) => {
    const seconds = (process.hrtime.bigint() - started) / 1_000_000_000n
    console.log(`\n── ${step}\n${Buffer.concat(said)}── ${step}: ${status === 0 ? "ok" : "FAILED"} (${seconds} s)`)
    resolve(status === 0)
  })
}))

/** @param {ReadonlyArray<string>} steps */
const failedIn = async (steps) => {
  const failed = []
  for (const step of steps) {
    if (!(await passes(step))) failed.push(step)
  }
  return failed
}

setup()
const failed = (await Promise.all(rows.map(failedIn))).flat()
if (failed.length > 0) {
  console.error(`\ncheck failed: ${failed.join(", ")}`)
  process.exitCode = 1
} else {
  console.log("\ncheck passed")
}
