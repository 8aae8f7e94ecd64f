import { OutputStore, ToolLoop } from "@capstan/core"
import { ScriptedModel, TestLoop } from "@capstan/testing"
import { ReadFile, RunCommand } from "@capstan/tools"
import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"

const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => `line ${from + n}\n`).join("")

const resultsOf = Effect.map(
  ScriptedModel.requests,
  (requests) =>
    (requests.at(-1)?.messages ?? []).flatMap((message) =>
      message.role === "tool"
        ? message.results.map(({ content }) => content.map((part) => part.type === "text" ? part.text : "").join("\n"))
        : []
    )
)

it.effect("what a command printed can be read again by the handle that its result gives, a failed one's, too", () =>
  Effect.gen(function*() {
    yield* ToolLoop.run({ session: "s", message: "x" })
    const [failed, part, missing] = yield* resultsOf
    expect(failed).toMatch(/^The command failed with exit code 3\.\nline 1\n[^]*line 20000\n/)
    expect(failed).toContain("call read_file with {\"path\":\"output:0.0.0\",\"start_line\":1,\"end_line\":200}")
    expect(part).toContain(lines(9_000, 9_003))
    expect(part).toContain("of 20001 in output:0.0.0.")
    expect(missing).toContain("There is no output output:7.7.7 in this session.")
  }).pipe(
    Effect.provide(
      TestLoop.layer({
        model: [
          ScriptedModel.call("run_command", { command: "report" }),
          ScriptedModel.call("read_file", { path: "output:0.0.0", start_line: 9_001, end_line: 9_004 }),
          ScriptedModel.call("read_file", { path: "output:7.7.7" }),
          ScriptedModel.text("done")
        ],
        tools: [RunCommand.tool, ReadFile.tool],
        policy: { mode: "auto", trust: "shell", allowlist: ["run_command"], denylist: [] },
        commands: { report: { stdout: lines(1, 20_000), exitCode: 3 } }
      }).pipe(Layer.provide(OutputStore.layerMemory))
    )
  ))
