import { ProcessRunner } from "@capstan/core/ProcessRunner"
import type { OutputChunk } from "@capstan/core/ProcessRunner"
import { HostProcessRunner } from "@capstan/node"
import { expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

layer(HostProcessRunner.layer({ grace: "300 millis" }), { excludeTestServices: true })("a command on the host", (it) => {
  it.effect("streams both outputs and keeps them", () =>
    Effect.gen(function*() {
      const runner = yield* ProcessRunner
      const chunks: Array<OutputChunk> = []
      const result = yield* runner.run({
        command: "echo out; echo err > /dev/stderr; exit 3",
        cwd: "/",
        keepBytes: 1000,
        onOutput: (chunk) => Effect.sync(() => chunks.push(chunk))
      })
      expect(result.exit).toEqual({ _tag: "Exited", code: 3 })
      expect(result.stdout.head).toBe("out\n")
      expect(result.stderr.head).toBe("err\n")
      expect(chunks).toEqual([{ stream: "stdout", text: "out\n" }, { stream: "stderr", text: "err\n" }])
    }))
})
