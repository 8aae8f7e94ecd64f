/** Runs the diagnostics of the Effect language service over every package; a warning fails too. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { packageNames } from "./imports.mjs"
import { root } from "./setup.mjs"

const service = join(root, "node_modules/@effect/language-service/cli.js")
const wanted = process.argv.slice(2)

for (const name of packageNames().filter((name) => wanted.length === 0 || wanted.includes(name))) {
  for (const config of ["tsconfig.json", "tsconfig.test.json"]) {
    const project = join("packages", name, config)
    const { status } = spawnSync(
      process.execPath,
      [service, "diagnostics", "--project", project, "--format", "text", "--strict", "--severity", "error,warning"],
      { cwd: root, stdio: ["ignore", 1, 2] }
    )
    if (status !== 0) {
      console.error(`${project}: the Effect diagnostics failed`)
      process.exitCode = 1
    }
  }
}
