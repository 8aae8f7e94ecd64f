/** Looks at every package as a stranger would install it: its exports, its types, its files. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { packageNames } from "./imports.mjs"
import { root, setup } from "./setup.mjs"

/** @param {ReadonlyArray<string>} args */
const run = (...args) => {
  const { status } = spawnSync("npx", ["--no-install", ...args], {
    cwd: root,
    stdio: ["ignore", 1, 2],
    shell: process.platform === "win32"
  })
  if (status !== 0) process.exitCode = 1
}

setup()
for (const name of packageNames()) {
  const folder = join("packages", name)
  run("publint", "--strict", folder)
  run("attw", "--pack", folder, "--profile", "esm-only")
}
