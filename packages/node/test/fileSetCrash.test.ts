import { DenyRules } from "@capstan/node"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { build } from "esbuild"
import { spawn } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import { detect } from "../src/internal/anchor.js"
import { make } from "../src/internal/workspace.js"
import { newContents, plant, snapshot } from "./fileSetCases.js"
import { temporaryFolder } from "./workspaceCases.js"

/** The program in one file, so that it starts fast. */
const bundle = (outfile: string) =>
  Effect.promise(() =>
    build({
      entryPoints: [fileURLToPath(new URL("fileSetRuntime.ts", import.meta.url))],
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
      banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
      alias: { "@capstan/core": `${fileURLToPath(new URL("../../", import.meta.url))}core/src` },
      external: ["@vscode/ripgrep"],
      logLevel: "error"
    })
  )

/** Runs it, and says whether it was killed. */
const killed = (program: string, args: ReadonlyArray<string>) =>
  Effect.async<boolean>((resume) => {
    const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "ignore", "inherit"] })
    child.on("close", (_, signal) => resume(Effect.succeed(signal === "SIGKILL")))
  })

describe("several files at once, killed at each step", () => {
  it.scopedLive("are found whole, or as they were before", () =>
    Effect.gen(function*() {
      const base = yield* temporaryFolder()
      const program = Path.join(base, "program.mjs")
      yield* bundle(program)
      const outcomes = new Map<string, number>()

      const at = (step: number) =>
        Effect.gen(function*() {
          const [root, undoFolder] = [Path.join(base, `${step}`), Path.join(base, `${step}.undo`)]
          Fs.mkdirSync(root)
          plant(root)
          const before = snapshot(root)
          const wasKilled = yield* killed(program, [root, undoFolder, String(step)])
          const files = yield* make({
            anchor: detect(),
            mounts: [{ name: "workspace", root, access: "rw" }],
            workingDirectory: root,
            deny: DenyRules.defaults,
            allowAbsolute: false,
            privateFolders: [],
            undoFolder
          })
          const settled = yield* files.settleWriteAll({ key: "key" })
          outcomes.set(settled, (outcomes.get(settled) ?? 0) + 1)
          const after = snapshot(root)
          if (settled === "whole") {
            expect(Object.keys(after).filter((path) => path.includes(".capstan-"))).toEqual([])
            for (const { content, path } of newContents) {
              expect(Fs.readFileSync(Path.join(root, path))).toEqual(Buffer.from(content))
            }
          } else expect(after, `${settled} at ${step}`).toEqual(before)
          expect(yield* files.settleWriteAll({ key: "key" })).toBe(settled)
          return wasKilled
        })

      for (let step = 1;; step += 2) {
        const [one, two] = yield* Effect.all([at(step), at(step + 1)], { concurrency: 2 })
        if (!one || !two) break
      }
      expect(Object.fromEntries(outcomes)).toMatchObject({
        unknown: expect.any(Number),
        "taken-back": expect.any(Number),
        whole: expect.any(Number)
      })
      expect(outcomes.get("taken-back")).toBeGreaterThan(20)
    }), 60_000)
})
