/** `npm test`, also as the very first command of a fresh clone; arguments go to vitest. */
import { pathToFileURL } from "node:url"
import { root, setup } from "./setup.mjs"

setup()
process.chdir(root)
const vitest = `${root}/node_modules/vitest/vitest.mjs`
process.argv = [
  process.execPath,
  vitest,
  "run",
  "--pool=forks",
  "--minWorkers=2",
  "--maxWorkers=2",
  "--reporter=default",
  `--reporter=${root}/scripts/closing-line.mjs`,
  ...process.argv.slice(2)
]
await import(pathToFileURL(vitest).href)
