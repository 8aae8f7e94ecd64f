import { describe, expect, it } from "vitest"
import { coreLayers, layerBreaches, mayImport, packageBreaches } from "../scripts/directions.mjs"
import { importsOf, packageNames, readImports, sourceFiles } from "../scripts/imports.mjs"

const planted = (name: string, file: string, text: string) => importsOf(name, `packages/${name}/${file}`, text)

describe("package directions", () => {
  it("every package is in the table", () => {
    expect(packageNames()).toEqual(Object.keys(mayImport).toSorted())
  })

  it("sources import in the allowed directions only", () => {
    const imports = readImports("src")
    expect(imports.length).toBeGreaterThan(0)
    expect(packageBreaches(imports, "src")).toEqual([])
  })

  it("tests import their own package's directions and testing only", () => {
    expect(packageBreaches(readImports("test"), "test")).toEqual([])
  })

  it.each([
    ["a sibling", "tools", `import { Workspace } from "@capstan/node"`],
    ["a sibling's type", "tools", `import type { Workspace } from "@capstan/node/Workspace"`],
    ["a sibling, lazily", "sql", `export const load = () => import("@capstan/tools")`],
    ["a sibling by path", "sql", `export * from "../../tools/src/index.js"`],
    ["an outer package", "core", `import { ScriptedModel } from "@capstan/testing"`],
    ["closed modules", "cli", `import "@capstan/core/internal/clock"`],
    ["a platform in core", "core", `import { FileSystem } from "@effect/platform"`],
    ["Node in dialect", "dialect", `import { readFileSync } from "node:fs"`]
  ])("notices %s", (_, name, text) => {
    expect(packageBreaches(planted(name, "src/Planted.ts", text), "src")).toHaveLength(1)
  })

  it("lets tests use the testing package, sources not", () => {
    const imports = planted("tools", "test/Planted.test.ts", `import { FakeSandbox } from "@capstan/testing"`)
    expect(packageBreaches(imports, "test")).toEqual([])
    expect(packageBreaches(imports, "src")).toHaveLength(1)
  })
})

describe("layers of core", () => {
  const layers = [{ name: "nouns", modules: ["Message"] }, { name: "services", modules: ["Journal"] }]

  it("each module imports its own and inner layers only", () => {
    const files = sourceFiles("src").filter((source) => source.package === "core").map((source) => source.file)
    expect(layerBreaches(readImports("src"), files, coreLayers)).toEqual([])
  })

  it("notices an import outwards, also through an internal module", () => {
    const direct = planted("core", "src/Message.ts", `import * as Journal from "./Journal.js"`)
    const indirect = [
      ...planted("core", "src/Message.ts", `import { fold } from "./internal/fold.js"`),
      ...planted("core", "src/internal/fold.ts", `import type { Journal } from "../Journal.js"`)
    ]
    const files = ["packages/core/src/Message.ts", "packages/core/src/Journal.ts"]
    expect(layerBreaches(direct, files, layers)).toHaveLength(1)
    expect(layerBreaches(indirect, files, layers)).toHaveLength(1)
  })

  it("notices a module that is in no layer", () => {
    expect(layerBreaches([], ["packages/core/src/Stray.ts"], layers)).toHaveLength(1)
  })
})

// The linter refuses Date.now and Math.random; it has no rule for the constructor.
it("no source reads the clock through new Date()", () => {
  expect(sourceFiles("src").filter(({ text }) => /\bnew Date\(\s*\)/.test(text)).map(({ file }) => file)).toEqual([])
})
