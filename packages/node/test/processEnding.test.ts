import { HostProcessRunner } from "@capstan/node"
import { expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { cutShort, endings, stubborn } from "./processCases.js"

layer(HostProcessRunner.layer({ grace: "150 millis" }), { excludeTestServices: true })(
  "nothing is left on the host",
  (it) => {
    for (const [ending, end] of endings) {
      for (const [name, command] of stubborn) {
        it.effect(`of ${name}, on ${ending}`, () =>
          Effect.gen(function*() {
            expect(yield* cutShort({ command, end, cwd: "/" })).toEqual([])
          }))
      }
    }
  }
)
