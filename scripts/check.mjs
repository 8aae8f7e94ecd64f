/** `npm run check`: every check that needs no test to run, all of them even when one fails. */
import { spawnSync } from "node:child_process"
import { root, setup } from "./setup.mjs"

const steps = ["types:tests", "effect", "lint", "format", "unused", "architecture", "generated", "examples"]

setup()
const failed = steps.filter((step) => {
  console.log(`\n── ${step}`)
  const started = process.hrtime.bigint()
  const { status } = spawnSync("npm", ["run", "--silent", step], {
    cwd: root,
    stdio: ["ignore", 1, 2],
    shell: process.platform === "win32"
  })
  console.log(
    `── ${step}: ${status === 0 ? "ok" : "FAILED"} (${(process.hrtime.bigint() - started) / 1_000_000_000n} s)`
  )
  return status !== 0
})
if (failed.length > 0) {
  console.error(`\ncheck failed: ${failed.join(", ")}`)
  process.exitCode = 1
} else {
  console.log("\ncheck passed")
}
