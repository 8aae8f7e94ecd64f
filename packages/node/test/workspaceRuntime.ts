/** A program of its own for tests: it uses files as the user that it runs as, and reports what came of each as JSON. */
import type { FileError } from "@capstan/core/FileError"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Deny from "../src/DenyRules.js"
import { anchored, detect, watched } from "../src/internal/anchor.js"
import { make } from "../src/internal/workspace.js"

const [enforcement, root = "/"] = process.argv.slice(2)
const content = new TextEncoder().encode("x")

const outcome = <A>(name: string, effect: Effect.Effect<A, FileError>) =>
  Effect.map(
    Effect.either(effect),
    (either) => [name, either._tag === "Left" ? either.left.reason : either.right] as const
  )

const program = Effect.gen(function*() {
  const files = yield* make({
    anchor: enforcement === "anchored" ? anchored : watched,
    mounts: [{ name: "workspace", root, access: "rw" }],
    workingDirectory: root,
    deny: Deny.defaults,
    allowAbsolute: false,
    privateFolders: [],
    undoFolder: `${root}.undo`
  })
  const outcomes = yield* Effect.all([
    outcome("read a closed file", files.read({ path: "closed" })),
    outcome("read in a closed folder", files.read({ path: "shut/a" })),
    outcome("list a closed folder", files.list({ path: "shut" })),
    outcome("stat in a closed folder", files.stat({ path: "shut/a" })),
    outcome("write a read-only file", files.write({ path: "own/fixed", content })),
    outcome("write in a read-only folder", files.write({ path: "open/new", content })),
    outcome("make a folder in a read-only folder", files.makeDirectory({ path: "open/new/folder" })),
    outcome("remove from a read-only folder", files.remove({ path: "open/a", recursive: false })),
    outcome("remove a tree that cannot be emptied", files.remove({ path: "own/tree", recursive: true })),
    outcome("move into a read-only folder", files.move({ from: "own/a", to: "open/b", overwrite: false })),
    outcome("go up from a closed folder", files.read({ path: "shut/x/../../closed" })),
    outcome(
      "list names without their files",
      Effect.map(files.list({ path: "names" }), (entries) => entries.map(({ error, kind }) => [kind, error?.code]))
    ),
    outcome("write where it is allowed", Effect.map(files.write({ path: "own/a", content }), ({ bytes }) => bytes))
  ])
  yield* Console.log(JSON.stringify({ detected: detect().enforcement, outcomes: Object.fromEntries(outcomes) }))
})

Effect.runFork(program)
