/** A program of its own for tests: it runs one command on the host or in a sandbox and reports lines of JSON. */
import { ProcessRunner } from "@capstan/core/ProcessRunner"
import { HostProcessRunner, NodeSandbox } from "@capstan/node"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

const [backend, workspace = "/", command = "true"] = process.argv.slice(2)

const report = (value: unknown) => Console.log(JSON.stringify(value))

const program = Effect.gen(function*() {
  const runner = yield* ProcessRunner
  yield* report({ enforcement: runner.enforcement })
  const outcome = yield* Effect.either(runner.run({
    command,
    cwd: workspace,
    keepBytes: 100_000,
    onStart: (identity) => report({ identity }),
    onOutput: (chunk) => report({ chunk })
  }))
  yield* report({ outcome })
})

Effect.runFork(Effect.provide(
  program,
  backend === "host"
    ? HostProcessRunner.layer()
    : NodeSandbox.layer({ mounts: { workspace }, osSandbox: "preferred" })
))
