/** `npm run recording`: runs the demo and puts what it printed into `docs/demo.txt`, and its end into the README. */
import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root, setup } from "./setup.mjs"

setup()
const { status, stdout } = spawnSync(process.execPath, [join(root, "packages/cli/dist/bin.js"), "demo"], {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"]
})
if (status !== 0) throw new Error(`the demo ended with ${status}`)

const recording = stdout.replace(/\/tmp\/capstan-demo-\w+/g, "/tmp/capstan-demo").trimEnd()
const end = recording.slice(recording.indexOf("── 4."))
writeFileSync(join(root, "docs/demo.txt"), `${recording}\n`)

const readme = join(root, "README.md")
writeFileSync(
  readme,
  readFileSync(readme, "utf8").replace(
    /<!-- demo -->[^]*<!-- \/demo -->/,
    () =>
      `<!-- demo -->\n\nThe end of a run of \`npm run demo\` ([all of it](docs/demo.txt)):\n\n\`\`\`text\n${end}\n\`\`\`\n\n<!-- /demo -->`
  )
)
