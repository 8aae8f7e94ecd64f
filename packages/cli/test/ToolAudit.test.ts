import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Composition from "../src/Composition.js"
import { folders, run } from "./program.js"

interface Audited {
  readonly tool: string
  readonly score: number
}

describe("capstan tools audit", () => {
  it.scoped("scores every built-in tool, the worst first, and none below 0.8", () =>
    Effect.gen(function*() {
      const at = yield* folders
      const printed = yield* run(at, ["tools", "audit", "--json"])
      expect(printed).toMatchObject({ code: 0, stderr: "" })
      const { tools }: { readonly tools: ReadonlyArray<Audited> } = JSON.parse(printed.stdout)
      const scores = tools.map(({ score }) => score)
      expect(tools.map(({ tool }) => tool).sort()).toEqual(
        Composition.builtIn.map(({ definition }) => definition.name).sort()
      )
      expect(scores).toEqual([...scores].sort((a, b) => a - b))
      expect(tools.filter(({ score }) => score < 0.8)).toEqual([])
      const words = yield* run(at, ["tools", "audit"])
      expect(words).toMatchObject({ code: 0, stderr: "" })
      expect(words.stdout.match(/^[01]\.\d\d {2}\w+$/gm)).toHaveLength(tools.length)
    }), { timeout: 60_000 })
})
