import { NodeSandbox } from "@capstan/node"
import { ApplyPatch } from "@capstan/tools"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { build } from "esbuild"
import { spawn } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "./machines.js"
import { after, patch, plant, snapshot } from "./patchGround.js"
import { prepare, session } from "./toolCalls.js"

const packages = fileURLToPath(new URL("../../", import.meta.url))

/** The program in one file, in which the calls are counted before anything else is loaded. */
const bundle = (outfile: string) =>
  Effect.promise(() =>
    build({
      entryPoints: [fileURLToPath(new URL("patchRuntime.ts", import.meta.url))],
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
      banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
      alias: Object.fromEntries(
        ["core", "node", "tools"].map((name) => [`@capstan/${name}`, `${packages}${name}/src`])
      ),
      external: ["@vscode/ripgrep"],
      logLevel: "error"
    })
  )

const run = (program: string, ...args: ReadonlyArray<string>) =>
  Effect.async<{ readonly printed: string; readonly killed: boolean }>((resume) => {
    const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] })
    let printed = ""
    child.stdout.on("data", (chunk) => {
      printed += String(chunk)
    })
    child.on("close", (_, signal) => resume(Effect.succeed({ printed, killed: signal === "SIGKILL" })))
  })

const Outcomes = Schema.parseJson(Schema.Array(Schema.Struct({
  said: Schema.String,
  failed: Schema.Boolean,
  same: Schema.Boolean,
  left: Schema.Array(Schema.String)
})))

const applied = (workspace: string) => {
  for (const [path, content] of Object.entries(after)) {
    expect(Fs.readFileSync(Path.join(workspace, path), "utf8")).toBe(content)
  }
}

describe("a patch on the machine", () => {
  it.scopedLive(
    "is applied as a whole or leaves everything as it was, whichever call fails",
    () =>
      Effect.gen(function*() {
        const base = yield* temporaryFolder
        const program = Path.join(base, "program.mjs")
        yield* bundle(program)
        const { printed } = yield* run(program, base)
        const outcomes = yield* Schema.decode(Outcomes)(printed)
        expect(outcomes.length).toBeGreaterThan(30)
        const undone = outcomes.filter(({ said }) => said.includes("No file was changed: all are as they were before."))
        expect(undone.length).toBeGreaterThan(20)
        expect(outcomes.at(-1)).toMatchObject({ failed: false, left: [] })
        for (const [index, { failed, said, same }] of outcomes.entries()) {
          const shown = [`call ${index + 1}`, said]
          expect([...shown, same]).toEqual([...shown, failed])
          if (failed) continue
          applied(Path.join(base, String(index + 1), "workspace"))
        }
      }),
    60_000
  )

  it.scopedLive(
    "is found whole or taken back after the program was killed in the middle of it",
    () =>
      Effect.gen(function*() {
        const base = yield* temporaryFolder
        const program = Path.join(base, "program.mjs")
        yield* bundle(program)
        const untouched = Path.join(base, "untouched")
        Fs.mkdirSync(untouched)
        plant(untouched)
        const before = snapshot(untouched)
        const found = new Set<string>()
        const at = (step: number) =>
          Effect.gen(function*() {
            const folder = Path.join(base, String(step))
            const workspace = Path.join(folder, "workspace")
            const { killed } = yield* run(program, folder, String(step))
            const settled = yield* prepare(ApplyPatch.tool, { patch }).reconcile(session().context).pipe(
              Effect.provide(
                NodeSandbox.layer({ mounts: { workspace }, undoFolder: Path.join(folder, "undo"), osSandbox: "off" })
              )
            )
            const [part] = settled?.content ?? []
            const said = part?.type === "text" ? part.text : "unknown"
            if (said.includes("applied as a whole")) {
              found.add("whole")
              applied(workspace)
            } else {
              found.add(said === "unknown" ? said : "taken back")
              expect([step, snapshot(workspace)]).toEqual([step, before])
            }
            return killed
          })
        for (let step = 1; yield* at(step); step += 7) expect(step).toBeLessThan(200)
        expect([...found].sort()).toEqual(["taken back", "unknown", "whole"])
      }),
    60_000
  )
})
