import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import { vi } from "vitest"
import { ground, searching } from "./workspaceCases.js"

const installed = vi.hoisted(() => ({ path: "" }))
vi.mock("@vscode/ripgrep", () => ({
  get rgPath() {
    if (installed.path === "") throw new Error("no program for this system")
    return installed.path
  }
}))

const searchWith = (script: string | undefined) =>
  Effect.gen(function*() {
    const { base, files, put } = yield* ground()
    put("a", "text")
    installed.path = script === undefined ? "" : `${base}/rg`
    if (script !== undefined && script !== "missing") {
      Fs.writeFileSync(installed.path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    }
    return yield* Effect.flip(files.search(searching("text")))
  })

describe.skipIf(process.platform === "win32")("the search program", () => {
  it.scopedLive("that is not installed is an error that says so", () =>
    Effect.gen(function*() {
      expect(yield* searchWith(undefined)).toMatchObject({
        reason: "io",
        message: expect.stringContaining("not installed")
      })
    }))

  it.scopedLive("that cannot be started too", () =>
    Effect.gen(function*() {
      expect(yield* searchWith("missing")).toMatchObject({ reason: "io", message: expect.stringContaining("started") })
    }))

  it.scopedLive("that fails half-way is reported with its complaint", () =>
    Effect.gen(function*() {
      const script =
        "case \"$*\" in *--files*) printf './a\\0' ;; *--count*) echo 'rg: broken disk' >&2; exit 2 ;; *) exit 1 ;; esac"
      expect(yield* searchWith(script)).toMatchObject({ reason: "io", message: expect.stringContaining("broken disk") })
    }))
})
