/**
 * A program of its own for tests: it applies a patch on the real machine. `fail`: once for each call that changes the
 * disk, which fails then; what became of the files is printed. A number: before that call it is killed.
 */
import { arm, calls } from "./patchFaults.js"

import * as NodeSandbox from "@capstan/node/NodeSandbox"
import * as ApplyPatch from "@capstan/tools/ApplyPatch"
import * as ReadFile from "@capstan/tools/ReadFile"
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { existing, patch, plant, snapshot } from "./patchGround.js"
import { call, session, text } from "./toolCalls.js"

const [base = "/", step = "fail"] = process.argv.slice(2)

/** The patch in a folder, with `how` done at the n-th call; gives what the model would be told. */
const patched = (folder: string, n: number, how: () => void) =>
  Effect.gen(function*() {
    const at = session()
    for (const path of existing) yield* call(ReadFile.tool, { path }, at)
    arm(n, how)
    return yield* Effect.either(call(ApplyPatch.tool, { patch }, at))
  }).pipe(Effect.provide(NodeSandbox.layer({
    mounts: { workspace: Path.join(folder, "workspace") },
    undoFolder: Path.join(folder, "undo"),
    osSandbox: "off"
  })))

const ground = (folder: string) => {
  const workspace = Path.join(folder, "workspace")
  Fs.mkdirSync(workspace, { recursive: true })
  plant(workspace)
  return workspace
}

const failing = Effect.gen(function*() {
  const outcomes: Array<unknown> = []
  for (let n = 1;; n++) {
    const workspace = ground(Path.join(base, String(n)))
    const before = snapshot(workspace)
    const said = yield* patched(Path.join(base, String(n)), n, () => {
      throw Object.assign(new Error("EIO"), { code: "EIO" })
    })
    const reached = calls() >= n
    arm(0, () => undefined)
    const now = snapshot(workspace)
    outcomes.push({
      said: said._tag === "Left" ? text(said.left) : said.right,
      failed: said._tag === "Left",
      same: JSON.stringify(now) === JSON.stringify(before),
      left: Object.keys(now).filter((path) => path.includes(".capstan"))
    })
    if (!reached) return outcomes
  }
})

const killed = Effect.suspend(() => {
  ground(base)
  return patched(base, Number(step), () => process.kill(process.pid, "SIGKILL"))
})

const print = (outcome: unknown) => Fs.writeSync(1, JSON.stringify(outcome))

if (step === "fail") Effect.runFork(Effect.map(failing, print))
else Effect.runFork(Effect.map(killed, print))
