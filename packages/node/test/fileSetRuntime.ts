/** A program of its own for tests: it writes several files and is killed just before the n-th call that changes the disk. */
import * as Effect from "effect/Effect"
import * as Deny from "../src/DenyRules.js"
import { anchoredWith, watchedWith } from "../src/internal/anchor.js"
import { system } from "../src/internal/systemCalls.js"
import { make } from "../src/internal/workspace.js"
import { counted, newContents } from "./fileSetCases.js"

const [root = "/", undoFolder = "/", at = "0"] = process.argv.slice(2)

const { calls } = counted(system, (number, run) => {
  if (number === Number(at)) process.kill(process.pid, "SIGKILL")
  return run()
})

const program = Effect.gen(function*() {
  const files = yield* make({
    anchor: process.platform === "linux" ? anchoredWith(calls) : watchedWith(calls),
    mounts: [{ name: "workspace", root, access: "rw" }],
    workingDirectory: root,
    deny: Deny.defaults,
    allowAbsolute: false,
    privateFolders: [],
    undoFolder
  })
  yield* files.writeAll({ key: "key", files: newContents })
})

Effect.runFork(program)
