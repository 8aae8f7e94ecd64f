import { NodeSandbox } from "@capstan/node"
import { FileInfo } from "@capstan/tools"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import { machines, temporaryFolder } from "./machines.js"
import { call, fail } from "./toolCalls.js"

const info = (path: string) => Effect.map(call(FileInfo.tool, { path }), (json): unknown => JSON.parse(json))

const files = { "docs/a.md": "one\n", link: { link: "docs/a.md" }, out: { link: "/etc" }, ".env": "s" }

for (const machine of machines) {
  describe(`file_info ${machine.name}`, () => {
    it.effect("tells what there is", () =>
      Effect.gen(function*() {
        expect(yield* info("./docs//a.md")).toEqual({
          path: "docs/a.md",
          exists: true,
          type: "file",
          size_bytes: 4,
          modified_epoch_ms: expect.any(Number),
          mode: "0644",
          sha256: createHash("sha256").update("one\n").digest("hex"),
          sha256_missing: null
        })
        expect(yield* info("docs")).toMatchObject({
          exists: true,
          type: "dir",
          sha256: null,
          sha256_missing: "Only regular files have a hash."
        })
        expect(yield* info("link")).toMatchObject({ path: "docs/a.md", type: "file" })
      }).pipe(Effect.provide(machine.layer(files))))

    it.effect("answers for what does not exist, and refuses what may not be seen", () =>
      Effect.gen(function*() {
        expect(yield* info("docs/none/x")).toEqual({
          path: "docs/none/x",
          exists: false,
          type: null,
          size_bytes: null,
          modified_epoch_ms: null,
          mode: null,
          sha256: null,
          sha256_missing: "There is nothing at this path."
        })
        for (const path of ["../x", "out", "out/passwd", ".env", "a\0b"]) {
          expect(yield* fail(FileInfo.tool, { path }), path).toMatchObject({ _tag: "Permission" })
        }
      }).pipe(Effect.provide(machine.layer(files))))
  })
}

describe("file_info", () => {
  it.scopedLive("says why a file of 10 GB and a pipe have no hash", () =>
    Effect.gen(function*() {
      const workspace = yield* temporaryFolder
      Fs.writeFileSync(`${workspace}/sparse`, "")
      Fs.truncateSync(`${workspace}/sparse`, 10 * 1024 ** 3)
      execFileSync("mkfifo", [`${workspace}/pipe`])
      yield* Effect.gen(function*() {
        expect(yield* info("sparse")).toMatchObject({
          size_bytes: 10 * 1024 ** 3,
          sha256: null,
          sha256_missing: "The file has 10737418240 bytes; hashes are computed up to 67108864."
        })
        expect(yield* info("pipe")).toMatchObject({ type: "other", sha256: null })
      }).pipe(Effect.provide(NodeSandbox.layer({ mounts: { workspace }, osSandbox: "off" })))
    }))
})
