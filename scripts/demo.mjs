/** `npm run demo`, also as the very first command of a fresh clone; arguments go to the command. */
import { pathToFileURL } from "node:url"
import { root, setup } from "./setup.mjs"

const command = `${root}/packages/cli/dist/bin.js`

setup()
process.argv = [process.execPath, command, "demo", ...process.argv.slice(2)]
await import(pathToFileURL(command).href)
